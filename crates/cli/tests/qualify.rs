//! `nandscope qualify` and `nandscope lifetime` from outside: exit codes, refusals, results.

use crate::support::Folder;
use crate::support::running::json;

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
            &["qualify", "./disk.img", "--for", "dashcam"],
            "simulated devices only",
        ),
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
