//! `nandscope qualify`, `nandscope lifetime` and `nandscope health` from outside: exit codes, refusals, results.

use crate::support::Folder;
use crate::support::running::json;
use nandscope_fitness::health::{HealthReading, line};

const VIDEO: &str = "format = 1\ntitle = \"video\"\n[[stream]]\nname = \"v\"\nrate = \"RATE\"\nblock = \"256 KiB\"\npattern = \"sequential\"\n";

#[test]
fn the_exit_code_says_fit_unfit_or_not_known() {
    let folder = Folder::new("qualify-codes");
    folder.file("fit.toml", &VIDEO.replace("RATE", "1 MB/s"));
    folder.file("unfit.toml", &VIDEO.replace("RATE", "50 MB/s"));
    let cold = VIDEO.replace("RATE", "1 MB/s");
    folder.file(
        "cold.toml",
        &cold.replacen("title", "temperature_c = [-40, 20]\ntitle", 1),
    );
    let run = |file: &str| {
        folder.run(&[
            "qualify",
            "sim:kingston-8gb",
            "--for",
            file,
            "--state",
            "full",
            "--length",
            "20",
            "-o",
            "out",
        ])
    };
    let fit = run("./fit.toml");
    fit.succeeds();
    assert!(fit.out.starts_with("Fit: "), "{}", fit.out);
    let document = json(&folder, "out/qualify.json");
    assert_eq!(document["verdict"]["answer"], "yes");
    assert!(
        document["verdict"]["streams"][0]["buffer"]
            .as_u64()
            .unwrap()
            >= 262_144
    );
    let unfit = run("./unfit.toml");
    assert_eq!(unfit.code, Some(14), "{}", unfit.shown());
    assert!(
        unfit.out.contains("Fails first: v: rate (full)"),
        "{}",
        unfit.out
    );
    assert_eq!(run("./cold.toml").code, Some(15));
}

#[test]
fn wrong_files_names_and_targets_are_refused() {
    let folder = Folder::new("qualify-refused");
    folder.file(
        "wrong.toml",
        &VIDEO
            .replace("RATE", "1 MB")
            .replace("format = 1", "format = 7"),
    );
    folder.file(
        "unpaced.fio",
        "[w]\nrw=randwrite\nbs=4k\nsize=64m\nioengine=libaio\ndirect=1\n",
    );
    folder.file("disk.img", "");
    let cases: &[(&[&str], &str)] = &[
        (
            &["qualify", "sim:kingston-8gb", "--for", "./wrong.toml"],
            "wrong.toml:5",
        ),
        (
            &["qualify", "sim:kingston-8gb", "--for", "./wrong.toml"],
            "write `format = 1`",
        ),
        (
            &["qualify", "sim:kingston-8gb", "--for", "dashcm"],
            "--list",
        ),
        (
            &[
                "qualify",
                "./disk.img",
                "--for",
                "dashcam",
                "--state",
                "full",
            ],
            "simulated devices only",
        ),
        (&["qualify", "./disk.img", "--for", "dashcam"], "disk.img"),
        (&["qualify", "--show", "nothing"], "--list"),
        (
            &["lifetime", "unpaced.fio", "sim:kingston-8gb"],
            "--per-day",
        ),
        (
            &[
                "lifetime",
                "rand-read",
                "sim:kingston-8gb",
                "--job",
                "number_ios=10",
            ],
            "writes nothing",
        ),
        (
            &["lifetime", "unpaced.fio", "./disk.img", "--per-day", "1GB"],
            "simulated devices only",
        ),
    ];
    for (arguments, part) in cases {
        folder.run(arguments).fails(2, &[part]);
    }
}

#[test]
fn the_library_of_requirements_is_listed_and_each_can_be_shown() {
    let folder = Folder::new("qualify-library");
    let all: serde_json::Value =
        serde_json::from_str(&folder.run(&["qualify", "--list", "--json"]).out).unwrap();
    let all = all.as_array().unwrap();
    assert!(all.len() >= 12);
    for one in all {
        let name = one["name"].as_str().unwrap();
        assert!(
            folder
                .run(&["qualify", "--show", name])
                .out
                .contains("[[stream]]"),
            "{name}"
        );
    }
}

#[test]
fn a_lifetime_follows_from_the_rate_of_the_job() {
    let folder = Folder::new("lifetime");
    folder.file(
        "log.fio",
        "[w]\nrw=write\nbs=1m\nrate=1m\nsize=64m\nioengine=libaio\ndirect=1\n",
    );
    folder
        .run(&["lifetime", "log.fio", "sim:kingston-8gb", "-o", "out"])
        .succeeds();
    let estimate = &json(&folder, "out/lifetime.json")["estimate"];
    let per_day = estimate["host_per_day"].as_f64().unwrap();
    assert!(
        (per_day / (1_048_576.0 * 86_400.0) - 1.0).abs() < 0.05,
        "{per_day}"
    );
    let years = &estimate["years"];
    let [low, rated, high] = ["low", "rated", "high"].map(|k| years[k].as_f64().unwrap());
    assert!(low < rated && rated < high);
    // 3,000 cycles of 8 GB, at 90.6 GB a day and no write amplification: 0.7 years.
    assert!((0.6..0.8).contains(&rated), "{rated}");
}

#[test]
fn a_lifetime_from_iostat_is_between_writes_in_order_and_at_random() {
    let folder = Folder::new("lifetime-iostat");
    let head = "Device r/s rkB/s w/s wkB/s f/s %util\n";
    folder.file(
        "stat.txt",
        &format!(
            "{head}mmcblk0 0 0 900 9000 0 1\n\n{head}mmcblk0 0 0 20 200 2 1\nsda 0 0 0 0 0 0\n"
        ),
    );
    let arguments = ["lifetime", "--iostat", "stat.txt", "sim:kingston-8gb"];
    let run = folder.run(&[&arguments[..], &["-o", "out"]].concat());
    run.succeeds();
    let document = json(&folder, "out/lifetime.json");
    // The first report, since the machine started, does not count.
    let per_day = document["in_order"]["host_per_day"].as_f64().unwrap();
    assert!(
        (per_day / (204_800.0 * 86_400.0) - 1.0).abs() < 1e-6,
        "{per_day}"
    );
    let rated = |order: &str| document[order]["years"]["rated"].as_f64().unwrap();
    assert!(rated("in_order") > 5.0 * rated("at_random"), "{}", run.out);
    folder
        .run(&[&arguments[..], &["--disk", "sdb"]].concat())
        .fails(2, &["no disk `sdb`", "mmcblk0, sda"]);
    folder
        .run(&[&arguments[..], &["--disk", "sda"]].concat())
        .fails(2, &["not written"]);
    folder.file("plain.txt", "Device tps kB_read/s\nsda 1 2\n");
    folder
        .run(&["lifetime", "--iostat", "plain.txt", "sim:kingston-8gb"])
        .fails(2, &["plain.txt:1", "iostat -x"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_is_examined_as_it_is() {
    let folder = Folder::new("qualify-file");
    folder.file("fit.toml", &VIDEO.replace("RATE", "1 MB/s"));
    let lasts = VIDEO.replace("RATE", "1 MB/s");
    folder.file(
        "years.toml",
        &lasts.replacen("title", "years = 5\npower_cuts = true\ntitle", 1),
    );
    let run = |file: &str, more: &[&str]| {
        let all = [
            "qualify",
            "./test.img",
            "--for",
            file,
            "--length",
            "2",
            "-o",
            "out",
        ];
        folder.run(&[&all[..], more].concat())
    };
    run("./fit.toml", &["--size", "64m"]).succeeds();
    let document = json(&folder, "out/qualify.json");
    assert_eq!(document["verdict"]["answer"], "yes");
    assert_eq!(document["states"][0]["state"], "as it is");
    assert!(folder.read("out/qualify.html").contains("Fit: ./test.img"));
    let years = run("./years.toml", &[]);
    assert_eq!(years.code, Some(15), "{}", years.shown());
    assert!(years.out.contains("nandscope health"), "{}", years.out);
    run("./fit.toml", &["--host", "direct"]).fails(2, &["simulated devices only"]);
    folder
        .run(&[
            "qualify",
            "sim:kingston-8gb",
            "--for",
            "./fit.toml",
            "--size",
            "64m",
        ])
        .fails(2, &["real targets only"]);
}

#[test]
fn health_is_logged_and_forecast_and_an_end_is_an_alarm() {
    let folder = Folder::new("health");
    let smart = |day: i64, used: u32, warning: u32| {
        let time = 1_700_000_000 + day * 86_400;
        format!(
            "{{\"smartctl\": {{\"exit_status\": 0}}, \"local_time\": {{\"time_t\": {time}}}, \"model_name\": \"Example\", \"serial_number\": \"S1\", \"nvme_smart_health_information_log\": {{\"critical_warning\": {warning}, \"percentage_used\": {used}, \"available_spare\": 100}}}}"
        )
    };
    let health = |more: &[&str]| {
        let all = [
            "health",
            "--smart",
            "s.json",
            "--log",
            "log.jsonl",
            "--prometheus",
            "m.prom",
        ];
        folder.run(&[&all[..], more].concat())
    };
    for day in 0..5 {
        folder.file("s.json", &smart(day * 100, 10 * day as u32, 0));
        health(&[]).succeeds();
    }
    // 40 % in 400 days: 600 days are left.
    let run = health(&["--json"]);
    let document: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let left = |bound: &str| {
        let at = document["forecast"][bound].as_f64().unwrap();
        (at - document["reading"]["time"].as_f64().unwrap()) / 86_400.0
    };
    assert!(
        left("earliest") < 600.0 && left("latest") > 600.0,
        "{}",
        run.out
    );
    assert!(
        left("earliest") > 500.0 && left("latest") < 700.0,
        "{}",
        run.out
    );
    assert_eq!(health(&["--within", "900d"]).code, Some(14));
    let metrics = folder.read("m.prom");
    assert!(
        metrics.contains("nandscope_health_alarm{device=\"Example S1\"} 1\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("nandscope_health_used_ratio{device=\"Example S1\"} 0.4\n"),
        "{metrics}"
    );
    folder.file("s.json", &smart(500, 50, 8));
    let run = health(&[]);
    assert_eq!(run.code, Some(14));
    assert!(run.out.contains("read-only"), "{}", run.out);
    let other = HealthReading {
        device: "another".to_string(),
        ..HealthReading::default()
    };
    folder.file("log.jsonl", &line(&other));
    health(&[]).fails(2, &["a log for each device"]);
    assert_eq!(folder.read("log.jsonl"), line(&other));
    folder
        .run(&["health", "./s.json"])
        .fails(2, &["not a block device"]);
    folder
        .run(&["health", "/dev/absent"])
        .fails(3, &["/dev/absent"]);
    folder.run(&["health", "sim:kingston-8gb"]).succeeds();
}

#[test]
fn the_health_page_of_an_industrial_card_is_signed_and_checked() {
    let folder = Folder::new("health-page");
    let page = |values: &[(usize, &[u8])]| {
        let mut page = vec![0u8; 512];
        for (at, bytes) in values {
            page[*at..*at + bytes.len()].copy_from_slice(bytes);
        }
        page
    };
    let file = |name: &str, page: &[u8]| std::fs::write(folder.0.join(name), page).unwrap();
    file("sandisk", &page(&[(0, b"DS"), (8, &[3])]));
    let ran = folder.run(&["health", "--card-page", "sandisk"]);
    assert!(ran.succeeds().out.contains("3.00 %"), "{ran:?}");
    file("worn", &page(&[(96, &45_300u16.to_be_bytes())]));
    folder
        .run(&["health", "--card-page", "worn"])
        .fails(2, &["no known layout", "--layout apacer"]);
    let worn = folder.run(&["health", "--card-page", "worn", "--layout", "apacer"]);
    assert_eq!(worn.code, Some(14), "{worn:?}");
    assert!(worn.out.contains("302"), "{worn:?}");
    let contradiction = page(&[
        (0, b"Sw"),
        (48, &3000u32.to_be_bytes()),
        (60, &1500u32.to_be_bytes()),
        (80, &[90]),
    ]);
    file("contradiction", &contradiction);
    let ran = folder.run(&["health", "--card-page", "contradiction"]);
    assert_eq!(ran.code, Some(15), "{ran:?}");
    assert!(
        ran.out.contains("which of these values is right"),
        "{ran:?}"
    );
    file("short", &[0; 100]);
    folder
        .run(&["health", "--card-page", "short"])
        .fails(2, &["512 bytes"]);
    folder
        .run(&["health", "sim:kingston-8gb", "--vendor"])
        .fails(2, &["simulated"]);
}
