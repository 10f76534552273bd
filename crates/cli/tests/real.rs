//! The command on real targets: new files, files of others, loop devices, folders. Tests that need a loop device or a mount
//! report that they are skipped if it is not allowed.

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::loops::{Loop, skipped, tool};
use crate::support::running::{disturbed, disturbed_when, json, operations, signal};
use std::io::Write;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

const READ: &str = "[r]\nrw=randread\nbs=4k\niodepth=8\nnumjobs=2\n";
const WRITE: &str = "[w]\nrw=randwrite\nbs=4k\niodepth=8\n";

#[test]
fn a_new_file_is_made_written_and_used_again() {
    let folder = Folder::new("real-file");
    folder.file("w.fio", WRITE);
    folder.file("r.fio", READ);
    let ran = folder.run(&[
        "run", "w.fio", "./t.img", "--size", "8m", "--result", "w.json",
    ]);
    ran.succeeds();
    let document = json(&folder, "w.json");
    assert_eq!(operations(&document, 0), 2048);
    assert_eq!(document["target"]["kind"], "file");
    assert_eq!(document["target"]["capacity_bytes"], 8 << 20);
    let cost = document["environment"]["generator cost"].as_str().unwrap();
    assert!(cost.contains("ns of processor time"), "{cost}");
    for engine in ["uring", "blocking"] {
        let ran = folder.run(&[
            "run", "r.fio", "./t.img", "--engine", engine, "--result", "r.json",
        ]);
        ran.succeeds();
        assert_eq!(operations(&json(&folder, "r.json"), 0), 4096, "{engine}");
    }
    folder.run(&["run", "w.fio", "./t.img"]).succeeds();
    // Holes left by a discard are reported, and filled again with `--size`.
    folder.file("t.fio", "[t]\nrw=trim\nbs=1m\nsize=4m\n");
    let holes = "4 MiB of the file are holes";
    for (arguments, there) in [
        (&["run", "t.fio", "./t.img"][..], false),
        (&["run", "r.fio", "./t.img"], true),
        (&["run", "r.fio", "./t.img", "--size", "8m"], false),
        (&["run", "r.fio", "./t.img"], false),
    ] {
        let ran = folder.run(arguments);
        ran.succeeds();
        let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.contains(holes), there, "{arguments:?}: {text}");
    }
}

#[test]
fn what_is_not_ours_is_never_written() {
    let folder = Folder::new("real-foreign");
    folder.file("w.fio", WRITE);
    folder.file("r.fio", READ);
    let data = vec![7u8; 1 << 20];
    std::fs::write(folder.0.join("mine.img"), &data).unwrap();
    for arguments in [
        &["run", "w.fio", "./mine.img"][..],
        &["run", "w.fio", "./mine.img", "--destroy-data"],
        &["run", "w.fio", "./mine.img", "--size", "2m"],
        &["review", "./mine.img", "--quick", "-o", "report"],
        &["run", "w.fio", "./absent.img"],
        &["run", "w.fio", "./huge.img", "--size", "900p"],
        &["run", "w.fio", "/dev/null", "--destroy-data"],
    ] {
        let ran = folder.run(arguments);
        let refused = ran.code == Some(2) || ran.code == Some(3);
        assert!(
            refused && ran.err.contains("error: "),
            "{arguments:?}: {ran:?}"
        );
    }
    assert!(!folder.0.join("report").exists(), "an empty folder is left");
    folder.run(&["run", "r.fio", "./mine.img"]).succeeds();
    assert_eq!(std::fs::read(folder.0.join("mine.img")).unwrap(), data);
    assert!(!folder.0.join("huge.img").exists());
}

/// The suites other than `card`, which other tests review, and `ssd`, which takes minutes.
const SUITES: [&str; 5] = ["fill", "flashbench", "iometer", "plain", "speed-class"];

/// Runs every suite on a target and checks that each one ends, with figures and a page.
fn every_suite_ends(folder: &Folder, target: &[&str]) {
    for suite in SUITES {
        let mut review = vec!["review"];
        review.extend(target);
        review.extend(["--suite", suite, "--quick", "-o", suite]);
        folder.run(&review).succeeds();
        let result = folder.0.join(suite).join("result.json");
        let document = nandscope_result::json::read(&result).unwrap();
        assert!(document.complete, "{suite}: {:?}", document.notices);
        assert!(document.all_figures().count() > 0, "{suite}");
        assert!(document.target.modes.is_empty(), "{suite}");
        assert!(folder.0.join(suite).join("report.html").exists(), "{suite}");
    }
}

#[test]
#[ignore = "slow: measures for a minute in real time"]
fn slow_every_suite_ends_on_a_file() {
    let folder = Folder::new("real-suites-file");
    every_suite_ends(&folder, &["./card.img", "--size", "512m"]);
    folder
        .run(&["review", "./card.img", "--suite", "ssd", "-o", "ssd"])
        .fails(2, &["too small for the suite"]);
    folder
        .run(&[
            "review",
            "./card.img",
            "--suite",
            "ssd",
            "--peers",
            "-o",
            "ssd",
        ])
        .fails(2, &["--peers compares simulated drives"]);
}

#[test]
fn a_plan_of_a_simulated_device_or_a_folder_is_refused() {
    let folder = Folder::new("real-plan-refused");
    for (target, part) in [
        ("sim:kingston-8gb", "and sim:kingston-8gb is simulated"),
        ("./", "and ./ is a folder"),
        ("./absent.img", "create it with --size"),
    ] {
        let ran = folder.run(&["review", target, "--plan"]);
        assert!(matches!(ran.code, Some(2 | 3)), "{ran:?}");
        assert!(ran.err.contains(part), "{ran:?}");
    }
}

/// The plan has the steps of the review that follows it, and writes no result.
#[test]
#[ignore = "slow: measures for half a minute in real time"]
fn slow_a_plan_has_the_steps_of_the_review() {
    let folder = Folder::new("real-plan");
    let review = ["review", "./card.img", "--size", "256m", "--suite", "fill"];
    let plan = folder.run(&[&review[..], &["--plan"]].concat());
    assert_eq!(plan.code, Some(0), "{plan:?}");
    assert!(!folder.0.join("review-card").exists());
    folder
        .run(&[&review[..], &["-o", "fill"]].concat())
        .succeeds();
    let result = folder.0.join("fill/result.json");
    let document = nandscope_result::json::read(&result).unwrap();
    for step in &document.steps {
        assert!(plan.out.contains(&step.title), "{}: {plan:?}", step.title);
    }
    // Two fills of 256 MiB.
    assert!(plan.out.contains("537\u{202f}MB written"), "{plan:?}");
}

#[test]
#[ignore = "slow: measures for a minute in real time"]
fn slow_every_suite_ends_on_a_loop_device() {
    let folder = Folder::new("real-suites-loop");
    let Some(device) = Loop::new(&folder, 512) else {
        return;
    };
    let named = format!("--destroy-data={}", device.name());
    every_suite_ends(&folder, &[&device.device, &named, "--yes", device.name()]);
}

#[test]
fn a_block_device_is_written_only_where_that_was_said() {
    let folder = Folder::new("real-block");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    folder.file("w.fio", WRITE);
    folder.file("r.fio", READ);
    folder.file("t.fio", "[t]\nrw=trim\nbs=1m\nsize=4m\n");
    let before = std::fs::read(device.backing()).unwrap();
    let yes = device.name();
    let named = format!("--destroy-data={yes}");
    let named = named.as_str();
    for (rest, part) in [
        (&[][..], "allow writing with --destroy-data"),
        (&["--destroy-data", "--yes", yes], "data of no known format"),
        (&[named], "confirm with --yes loop"),
        (&[named, "--yes", "WD-123"], "nothing was written"),
        (&["--destroy-data=sdz", "--yes", yes], "names `sdz`"),
    ] {
        let mut run = vec!["run", "w.fio", &device.device];
        run.extend(rest);
        folder.run(&run).fails(2, &[part]);
    }
    let review = ["review", &device.device, "--quick", "-o", "report"];
    folder
        .run(&review)
        .fails(2, &["allow writing with --destroy-data"]);
    assert!(!folder.0.join("report").exists(), "an empty folder is left");
    folder.run(&["run", "r.fio", &device.device]).succeeds();
    assert_eq!(std::fs::read(device.backing()).unwrap(), before);
    let write = [
        "run",
        "w.fio",
        &device.device,
        named,
        "--yes",
        yes,
        "--result",
        "w.json",
    ];
    folder.run(&write).succeeds();
    assert_eq!(operations(&json(&folder, "w.json"), 0), 2048);
    let after = std::fs::read(device.backing()).unwrap();
    let changed = after
        .chunks(4096)
        .zip(before.chunks(4096))
        .filter(|(a, b)| a != b);
    assert_eq!(changed.count(), 2048, "every block is written");
    for engine in ["uring", "blocking"] {
        let trim = [
            "run",
            "t.fio",
            &device.device,
            named,
            "--yes",
            yes,
            "--engine",
            engine,
        ];
        folder.run(&trim).succeeds();
    }
    let after = std::fs::read(device.backing()).unwrap();
    assert!(after[..4 << 20].iter().all(|b| *b == 0), "discarded");
    assert!(
        after[4 << 20..]
            .chunks(4096)
            .all(|c| c.iter().any(|b| *b != 0))
    );
}

#[test]
fn a_block_device_with_something_on_it_must_be_named() {
    let folder = Folder::new("real-carries");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    folder.file("w.fio", WRITE);
    tool("mkswap", &[&device.device]).unwrap();
    let before = std::fs::read(device.backing()).unwrap();
    let yes = ["--yes", device.name()];
    let write = |destroy: &str| {
        folder.run(&[&["run", "w.fio", &device.device, destroy], &yes[..]].concat())
    };
    write("--destroy-data").fails(2, &["swap", &format!("--destroy-data={}", device.name())]);
    assert_eq!(std::fs::read(device.backing()).unwrap(), before);
    match tool("swapon", &[&device.device]) {
        Some(_) => {
            let named = write(&format!("--destroy-data={}", device.name()));
            tool("swapoff", &[&device.device]).unwrap();
            named.fails(2, &["is used for swap"]);
            assert_eq!(std::fs::read(device.backing()).unwrap(), before);
        }
        None => skipped("in part, swapon is not allowed here"),
    }
    write(&format!("--destroy-data={}", device.name())).succeeds();
    assert_ne!(std::fs::read(device.backing()).unwrap(), before);
}

#[test]
fn what_comes_to_have_the_name_of_the_target_in_mid_run_is_not_touched() {
    let folder = Folder::new("real-renamed");
    folder.file("w.fio", WRITE);
    folder.file(
        "slow.fio",
        "[w]\nrw=randwrite\nbs=4k\nnorandommap\nrate_iops=2000\ntime_based\nruntime=3\n",
    );
    let made = folder.run(&["run", "w.fio", "./t.img", "--size", "4m"]);
    made.succeeds();
    let (there, away) = (folder.0.join("t.img"), folder.0.join("away.img"));
    let mine = vec![7u8; 4 << 20];
    let run = ["run", "slow.fio", "./t.img", "--result", "p.json"];
    let mut before = Vec::new();
    let (code, stderr) = disturbed(&folder, &run, |_| {
        std::fs::rename(&there, &away).unwrap();
        std::fs::write(&there, &mine).unwrap();
        before = std::fs::read(&away).unwrap();
    });
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(std::fs::read(&there).unwrap(), mine);
    assert_ne!(
        std::fs::read(&away).unwrap(),
        before,
        "it went on with its own"
    );
}

#[test]
fn verification_finds_a_wrong_byte_and_names_it() {
    let folder = Folder::new("real-verify");
    folder.file("w.fio", &format!("{WRITE}verify=crc32c\n"));
    folder.file(
        "r.fio",
        "[r]\nrw=read\nbs=64k\niodepth=4\nverify=crc32c\nverify_interval=4k\ncontinue_on_error=all\n",
    );
    let write = [
        "run", "w.fio", "./t.img", "--size", "4m", "--result", "w.json",
    ];
    folder.run(&write).succeeds();
    let document = json(&folder, "w.json");
    assert_eq!(document["steps"].as_array().unwrap().len(), 2);
    assert_eq!(operations(&document, 1), 1024, "all was read back");
    let read = ["run", "r.fio", "./t.img", "--result", "r.json"];
    folder.run(&read).succeeds();
    let path = folder.0.join("t.img");
    let mut data = std::fs::read(&path).unwrap();
    data[1_234_567] ^= 1;
    let (a, b) = data.split_at_mut(8192);
    a[4096..4608].copy_from_slice(&b[..512]);
    // Overwritten in place: a new file would not be recognized as nandscope's.
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&data, 0).unwrap();
    file.sync_all().unwrap();
    let ran = folder.run(&read);
    ran.fails(1, &[]);
    let document = json(&folder, "r.json");
    let texts = document["notices"].to_string();
    assert!(
        texts.contains(&format!(
            "block at byte {} is wrong",
            1_234_567 / 4096 * 4096
        )),
        "{texts}"
    );
    assert!(
        texts.contains("the block at byte 4096 holds what was written to byte 8192"),
        "{texts}"
    );
    let errors = &document["steps"][0]["jobs"][0]["errors"];
    assert_eq!(errors["verify: data of another place"], 1, "{errors}");
    assert_eq!(errors["verify: wrong data"], 1, "{errors}");
}

#[test]
fn conditions_and_instruments_stand_in_the_result_and_power_becomes_energy_per_gigabyte() {
    let folder = Folder::new("real-conditions");
    folder.file(
        "r.fio",
        "[r]\nrw=randread\nbs=4k\nnorandommap\ntime_based\nruntime=2\n",
    );
    let meter = folder.file("meter.csv", "time_s,voltage_V,current_A\n");
    let run = [
        "run",
        "r.fio",
        "./t.img",
        "--size",
        "4m",
        "--power",
        "meter.csv",
        "--result",
        "p.json",
    ];
    let mut child = folder.command(&run).stdout(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let mut file = std::fs::File::options().append(true).open(&meter).unwrap();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it hangs");
        writeln!(file, "{:.3},5,0.8", begin.elapsed().as_secs_f64()).unwrap();
        sleep(Duration::from_millis(50));
    }
    assert!(child.wait().unwrap().success());
    let document = json(&folder, "p.json");
    let environment = &document["environment"];
    for name in [
        "kernel",
        "engine",
        "direct I/O",
        "file system",
        "processor",
        "generator cost",
    ] {
        assert!(environment[name].is_string(), "{name}: {environment}");
    }
    assert_eq!(environment["instrument: power"], "meter, meter.csv");
    assert!(environment["instrument: device temperature"].is_string());
    let step = &document["steps"][0];
    let series = step["series"].as_array().unwrap();
    let power = series.iter().find(|s| s["name"] == "power").unwrap();
    let watts: Vec<f64> = power["v"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect();
    let mean = watts.iter().sum::<f64>() / watts.len() as f64;
    assert!(watts.len() >= 5 && (3.6..4.4).contains(&mean), "{watts:?}");
    let joules = step["counters"]["energy_j"].as_f64().unwrap();
    let seconds = step["end_s"].as_f64().unwrap() - step["start_s"].as_f64().unwrap();
    assert!(
        (3.5..4.5).contains(&(joules / seconds)),
        "{joules} J in {seconds} s at 4 W"
    );
    let bytes = operations(&document, 0) as f64 * 4096.0;
    let figures = step["figures"].as_array().unwrap();
    let per_gb = figures.iter().find(|f| f["unit"] == "J/GB").unwrap()["value"]
        .as_f64()
        .unwrap();
    assert!((per_gb * bytes / 1e9 / joules - 1.0).abs() < 1e-6);
}

#[test]
fn folders_are_copied_into_a_folder_and_nothing_of_them_stays() {
    let folder = Folder::new("real-folders");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    let mount = device.mount.to_str().unwrap();
    std::fs::write(device.mount.join("mine"), "mine").unwrap();
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(&device.mount)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = names();
    folder.file("r.fio", READ);
    folder
        .run(&["run", "r.fio", mount])
        .fails(2, &["is a folder"]);
    let review = ["review", mount, "--quick", "-o", "report"];
    folder.run(&review).succeeds();
    assert_eq!(names(), before);
    let document = json(&folder, "report/result.json");
    assert_eq!(document["target"]["kind"], "directory");
    assert!(document["environment"]["cached"].is_string());
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 4);
    for step in steps {
        let bytes = |job: usize, kind: &str| {
            let all = step["jobs"][job]["directions"].as_array().unwrap();
            let found = all.iter().find(|d| d["kind"] == kind);
            found.map(|d| d["bytes"].as_u64().unwrap()).unwrap()
        };
        // Written, synced, read, deleted.
        assert!(bytes(0, "write") > 20 << 20, "{step}");
        assert_eq!(bytes(0, "write"), bytes(2, "read"));
        assert_eq!(step["jobs"][1]["directions"][0]["kind"], "flush");
        assert_eq!(step["jobs"][3]["directions"][0]["kind"], "trim");
        assert_eq!(step["figures"].as_array().unwrap().len(), 2);
    }
    // Stopped in mid-run it cleans up as well.
    let copies = |_| names() != before;
    let (code, stderr) = disturbed_when(copies, &folder, &review, |id| signal(id, "INT"));
    assert_eq!(code, Some(130), "{stderr}");
    assert_eq!(names(), before);
}

#[test]
fn polling_where_the_driver_cannot_is_an_error_that_says_so() {
    let folder = Folder::new("real-poll");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    folder.file("r.fio", READ);
    folder
        .run(&["run", "r.fio", &device.device, "--poll"])
        .fails(1, &["leave --poll out"]);
}

#[test]
fn a_probe_says_what_a_discarded_block_reads_as() {
    let folder = Folder::new("real-probe");
    let Some(device) = Loop::new(&folder, 64) else {
        return;
    };
    let named = format!("--destroy-data={}", device.name());
    let arguments = [
        "probe",
        &device.device,
        &named,
        "--yes",
        device.name(),
        "--time",
        "60",
        "-o",
        "out",
    ];
    let ran = folder.run(&arguments);
    ran.succeeds();
    // The file behind it is between the program and the flash.
    let document = nandscope_result::json::read(&folder.0.join("out/result.json")).unwrap();
    let conclusions = document.steps.iter().flat_map(|step| &step.conclusions);
    let stated: Vec<_> = conclusions.filter(|c| c.confidence.is_some()).collect();
    assert!(!stated.is_empty());
    for conclusion in stated {
        assert!(conclusion.confidence <= Some(0.5), "{conclusion:?}");
    }
    // A loop device punches holes into its file.
    for line in ["Discards: taken", "A discarded block reads as: zeroes"] {
        assert!(ran.out.contains(line), "{}", ran.out);
    }
}
