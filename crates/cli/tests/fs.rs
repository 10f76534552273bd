//! Real file systems on a simulated card, from the command line to the result; mostly slow, and only with a kernel from
//! `nandscope kernel build`: without one each test reports that it is skipped.

#![cfg(target_os = "linux")]

use crate::support::guest::{kernel, processes, skipped, wait_until};
use crate::support::serving::have;
use crate::support::{Folder, Ran};
use std::process::Command;
use std::time::{Duration, Instant};

const CARD: &str = "sim:samsung-evo-16gb";

/// Runs `nandscope fs` on the card, with arguments separated by spaces.
fn fs(folder: &Folder, arguments: &str) -> Ran {
    fs_on(CARD, folder, arguments)
}

fn fs_on(card: &str, folder: &Folder, arguments: &str) -> Ran {
    let words = arguments.split_whitespace();
    folder.run(&["fs", card].into_iter().chain(words).collect::<Vec<_>>())
}

/// One message names all that is missing, and one command that installs it; only what the cells need.
#[test]
fn a_missing_kernel_is_named_with_the_missing_programs() {
    let folder = Folder::new("fs-needs");
    let run = |arguments: &[&str]| {
        let arguments = [&["fs", CARD, "--fs", "vfat"], arguments].concat();
        let mut command = folder.command(&arguments);
        Ran::from(command.env("XDG_CACHE_HOME", &folder.0).output().unwrap())
    };
    for arguments in [&["--workload", "log"][..], &["--cuts", "2"]] {
        let ran = run(arguments);
        ran.fails(
            3,
            &["missing for these file systems and workloads", "the kernel"],
        );
        assert!(
            ran.err.trim_end().ends_with("nandscope kernel build"),
            "{}",
            ran.err
        );
        assert!(!ran.err.contains("postmark"), "{}", ran.err);
    }
    // The name of an unknown workload comes before what is missing.
    run(&["--workload", "nothing"]).fails(2, &["unknown workload `nothing`"]);
}

/// A result without its wall-clock times.
fn steps(folder: &Folder, name: &str) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_str(&folder.read(name)).unwrap();
    value.as_object_mut().unwrap().remove("wall");
    value
}

#[test]
fn a_file_system_runs_in_virtual_time() {
    let folder = Folder::new("fs-quick");
    if kernel(&folder, "a file system").is_none() {
        return;
    }
    let ran = fs(
        &folder,
        "--fs ext4 --workload log --setting LOG_LINES=40 -o out --json",
    );
    let answer: serde_json::Value = serde_json::from_str(&ran.succeeds().out).unwrap();
    let result = steps(&folder, "out/result.json");
    assert_eq!(result["complete"], true);
    let told = answer[0]["figures"].as_array().unwrap();
    for known in result["steps"][0]["figures"].as_array().unwrap() {
        let same = told.iter().find(|f| f["figure"]["id"] == known["id"]);
        assert_eq!(same.unwrap()["figure"]["value"], known["value"]);
    }
    let flushes = figure(&result, "fs.log-ext4.flushes");
    assert!(flushes >= 40.0, "a flush for each fsync, {flushes}");
}

/// A recording has a schedule: the table says whether it keeps up, the result how late it was.
#[test]
fn a_recording_says_whether_it_keeps_up() {
    let folder = Folder::new("fs-camera");
    if kernel(&folder, "a recording").is_none() {
        return;
    }
    let ran = fs(
        &folder,
        "--fs exfat --workload camera --setting CAMERA_SECONDS=3 -o out",
    );
    let table = &ran.succeeds().out;
    assert!(table.contains("  KEEPS UP"), "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    let result = steps(&folder, "out/result.json");
    let late = figure(&result, "fs.camera-exfat.late");
    let row = table
        .lines()
        .find(|line| line.contains(" camera "))
        .unwrap();
    assert_eq!(row.contains("  yes "), late <= 2.0, "{late}: {table}");
    assert_eq!(row.contains("  no "), late > 2.0, "{late}: {table}");
    assert!(figure(&result, "fs.camera-exfat.time") >= 3.0);
}

/// Power cuts from the command line: a table, a page, and no confirmed data lost on the honest card.
#[test]
#[ignore = "slow: boots kernels"]
fn slow_cuts_make_a_table() {
    let folder = Folder::new("fs-cuts");
    if kernel(&folder, "cuts").is_none() {
        return;
    }
    let ran = fs(&folder, "--fs nilfs2 --cuts 2 --page page.md");
    ran.succeeds();
    assert!(ran.out.contains("lying"), "{}", ran.out);
    let page = folder.read("page.md");
    assert!(
        page.contains("no file system loses a confirmed line"),
        "{page}"
    );
    assert!(page.contains("| NILFS2 | lying |"), "{page}");
    let rows = folder.read("page.csv");
    let honest = rows.lines().find(|l| l.starts_with("NILFS2,honest,2,"));
    let cells: Vec<&str> = honest.unwrap().split(',').collect();
    assert!(cells[6].starts_with("0/") && cells[4] == "0", "{rows}");
}

/// Finished cells in a journal.
fn finished(folder: &Folder, journal: &str) -> usize {
    let bytes = std::fs::read(folder.0.join(journal)).unwrap_or_default();
    nandscope_measure::steps::read(&bytes).map_or(0, |contents| contents.steps())
}

#[test]
#[ignore = "slow: boots kernels"]
fn slow_cells_that_are_done_are_not_measured_again_after_a_kill() {
    let folder = Folder::new("fs-resume");
    if kernel(&folder, "resume").is_none() {
        return;
    }
    let cells = "--fs ext4,vfat --workload log,postmark --setting LOG_LINES=40 --threads 1";
    fs(&folder, &format!("{cells} -o whole --record whole")).succeeds();
    let line = format!("fs {CARD} {cells} -o out --record out");
    let mut child = folder
        .command(&line.split(' ').collect::<Vec<_>>())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while finished(&folder, "out/result.steps") < 2 {
        assert!(child.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    folder
        .run(&["report", "--recover", "out/result.steps", "-o", "recovered"])
        .succeeds();
    let (whole, recovered) = (
        steps(&folder, "whole/result.json"),
        steps(&folder, "recovered/result.json"),
    );
    let step = |value: &serde_json::Value, number: usize| value["steps"][number].clone();
    // Conclusions and tables over several cells come last.
    for number in 0..2 {
        let (whole, recovered) = (step(&whole, number), step(&recovered, number));
        assert_eq!(whole["jobs"], recovered["jobs"]);
        assert_eq!(whole["id"], recovered["id"]);
    }
    assert_eq!(recovered["complete"], false);
    let again = fs(&folder, &format!("{cells} -o out"));
    again.fails(2, &["out/result.steps", "--resume"]);
    let ran = fs(&folder, &format!("{cells} -o out --record out --resume"));
    ran.succeeds();
    assert!(ran.err.contains("resuming after"), "{}", ran.err);
    assert_eq!(steps(&folder, "out/result.json"), whole);
    let name = "samsung-evo-16gb-ext4-log.nstrace";
    let [one, two] = ["whole", "out"].map(|d| std::fs::read(folder.0.join(d).join(name)).unwrap());
    assert!(one == two, "the traces differ");
    assert!(!folder.0.join("out/result.steps").exists());
}

fn figure(result: &serde_json::Value, id: &str) -> f64 {
    let figures = result["figures"].as_array().unwrap();
    let found = figures.iter().find(|f| f["id"] == id);
    found.unwrap_or_else(|| panic!("no figure {id}"))["value"]
        .as_f64()
        .unwrap()
}

/// Kind of place to which each file system must write at an fsync of an appended line; file systems without such a kind
/// are left out.
const PROMISES: [(&str, &str); 5] = [
    ("ext4", "journal"),
    ("f2fs", "inode"),
    ("nilfs2", "log"),
    ("btrfs", "tree"),
    ("xfs", "journal"),
];

/// Number of a step's writes to places of a kind.
fn writes_of_kind(result: &serde_json::Value, step: &str, kind: &str) -> f64 {
    let steps = result["steps"].as_array().unwrap();
    let step = steps.iter().find(|s| s["id"] == step).unwrap();
    let tables = step["tables"].as_array().unwrap();
    let table = tables.iter().find(|t| t["title"] == "What was written");
    let rows = table.unwrap()["rows"].as_array().unwrap();
    let row = rows.iter().find(|r| r["label"] == kind);
    row.map_or(0.0, |r| r["cells"][0].as_f64().unwrap())
}

#[test]
#[ignore = "slow: boots kernels"]
fn slow_every_file_system_comes_through_clean_and_twice_the_same() {
    let folder = Folder::new("fs-twice");
    if kernel(&folder, "every file system").is_none() {
        return;
    }
    for output in ["one", "two"] {
        let cells = "--fs ext4,f2fs,nilfs2,vfat,exfat,btrfs,xfs --workload postmark,log --setting LOG_LINES=40";
        fs(&folder, &format!("{cells} -o {output} --record {output}")).succeeds();
    }
    let (one, two) = (
        steps(&folder, "one/result.json"),
        steps(&folder, "two/result.json"),
    );
    assert_eq!(one["steps"].as_array().unwrap().len(), 14);
    assert_eq!(one["complete"], true);
    // Equal virtual times of every command, for all seven.
    assert_eq!(one["steps"], two["steps"], "two runs differ");
    assert_eq!(one["figures"], two["figures"], "two runs differ");
    let name = "samsung-evo-16gb-ext4-postmark.nstrace";
    let mut traces = 0;
    for entry in std::fs::read_dir(folder.0.join("one")).unwrap() {
        let entry = entry.unwrap().file_name();
        if entry.to_string_lossy().ends_with(".nstrace") {
            let [one, two] =
                ["one", "two"].map(|d| std::fs::read(folder.0.join(d).join(&entry)).unwrap());
            assert!(one == two, "two traces differ: {}", entry.display());
            traces += 1;
        }
    }
    assert_eq!(traces, 14);
    folder
        .run(&["trace", "info", &format!("one/{name}")])
        .succeeds();
    // NILFS2 writes one log; FAT32 has no journal and sends no flush itself in postmark.
    let writes = |fs: &str| figure(&one, &format!("fs.postmark-{fs}.writes"));
    assert!(
        writes("nilfs2") * 2.0 < writes("ext4"),
        "{} {}",
        writes("nilfs2"),
        writes("ext4")
    );
    for fs in ["ext4", "f2fs", "nilfs2", "vfat", "exfat", "btrfs", "xfs"] {
        let of = |what: &str| figure(&one, &format!("fs.log-{fs}.{what}"));
        assert!(
            of("flushes") >= 40.0,
            "{fs}: a flush for each fsync, {}",
            of("flushes")
        );
        // Each fsync writes to the journal, log, tree or inode that makes the line durable.
        for (own, kind) in PROMISES.iter().filter(|(own, _)| *own == fs) {
            let writes = writes_of_kind(&one, &format!("log-{own}"), kind);
            assert!(writes >= 40.0, "{own}: {writes} writes to {kind}");
        }
        assert!(of("stall") > 0.0, "{fs}: fsync takes time");
        assert!(of("written") > 0.04, "{fs}: {}", of("written"));
    }
}

#[test]
#[ignore = "slow: boots kernels"]
fn slow_another_seed_is_another_run() {
    let folder = Folder::new("fs-seeds");
    if kernel(&folder, "seeds").is_none() {
        return;
    }
    fs(&folder, "--fs ext4 --workload untar --seeds 6 -o out").succeeds();
    let result = steps(&folder, "out/result.json");
    let spread = result["figures"].as_array().unwrap();
    let spread = spread
        .iter()
        .find(|f| f["id"] == "fs.untar-ext4.time-over-seeds")
        .unwrap();
    let bound = |name: &str| spread[name].as_f64().unwrap();
    assert!(
        bound("low") > 0.0 && bound("low") < bound("high"),
        "{spread}"
    );
    // The seed selects one of a few places for a directory, so that two seeds may agree.
    let steps = result["steps"].as_array().unwrap();
    let first = &steps[0]["series"];
    assert!(steps.len() == 6 && steps.iter().any(|s| s["series"] != *first));
}

/// The variants of a file system: each named everywhere, compared with the default, and mkfs's refusal reported.
#[test]
#[ignore = "slow: boots kernels"]
fn slow_a_sweep_holds_the_variants_against_the_default() {
    let folder = Folder::new("fs-sweep");
    if kernel(&folder, "a sweep").is_none() {
        return;
    }
    let cells = "--fs nilfs2 --workload log --setting LOG_LINES=5 --sweep";
    let ran = fs(
        &folder,
        &format!("{cells} -o out --record traces --page page.md"),
    );
    ran.succeeds();
    assert!(ran.out.contains("RATIO"), "{}", ran.out);
    let result = steps(&folder, "out/result.json");
    // AUs of 4 MiB: segments of 2 MiB and of an AU; two AUs are the default.
    let names = [
        "",
        "-segments-of-2-mib",
        "-segments-of-an-au",
        "-at-one-au",
        "-at-1-mib",
        "-at-half-an-au",
        "-at-sector-63",
    ];
    let steps = result["steps"].as_array().unwrap();
    assert_eq!(steps.len(), names.len());
    for (step, name) in steps.iter().zip(names) {
        assert_eq!(step["id"], format!("log-nilfs2{name}"));
    }
    let time = |name: &str| figure(&result, &format!("fs.log-nilfs2{name}.time"));
    for name in &names[1..] {
        let ratio = figure(&result, &format!("fs.log-nilfs2{name}.over-default"));
        assert!(
            (ratio * time("") - time(name)).abs() < 1e-6,
            "{name} {ratio}"
        );
        assert!(
            folder
                .0
                .join(format!("traces/samsung-evo-16gb-nilfs2-log{name}.nstrace"))
                .exists()
        );
    }
    let text = |step: usize, key: &str| steps[step][key].as_str().unwrap().to_string();
    assert!(text(2, "description").contains("mkfs with -B 1024"));
    assert_eq!(text(3, "title"), "log on NILFS2, at one AU");
    assert!(lowest(&steps[0]) < 1.0 && lowest(&steps[3]) >= 4.0);
    let rows = steps[0]["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows[1]["label"], "segments of 2 MiB (-B 512)");
    assert_eq!(rows[1]["cells"][0], time("-segments-of-2-mib"));
    assert!(folder.read("page.md").contains("| NILFS2 |"));
    let rows = folder.read("page.csv");
    for name in ["segments of 2 MiB", "segments of an AU"] {
        let line = format!("{name},NILFS2,within 5 % of the default");
        assert!(rows.contains(&line), "{rows}");
    }

    // A variant that mkfs refuses is reported with its options and the tool's message.
    let refused = folder.run(&[
        "fs",
        CARD,
        "--fs",
        "nilfs2",
        "--workload",
        "log",
        "--sweep",
        "--mkfs",
        "nilfs2:-B 600",
    ]);
    assert!(refused.out.contains("failed"), "{}", refused.out);
    refused.fails(
        1,
        &[
            "segments of an AU (-B 1024)",
            "-B 1024 -B 600",
            "Error: invalid number of blocks per segment: 600",
        ],
    );
}

/// The lowest address that a step's writes went to, MiB.
fn lowest(step: &serde_json::Value) -> f64 {
    let series = step["series"].as_array().unwrap().iter();
    let of_addresses = series.filter(|s| s["name"] != "allocation units in use");
    let all = of_addresses.flat_map(|s| s["v"].as_array().unwrap());
    all.map(|v| v.as_f64().unwrap()).fold(f64::MAX, f64::min)
}

#[test]
#[ignore = "slow: boots kernels"]
fn slow_what_goes_wrong_inside_is_told_and_leaves_nobody_behind() {
    let folder = Folder::new("fs-wrong");
    let Some(kernel) = kernel(&folder, "what goes wrong inside") else {
        return;
    };
    // A unique name, which distinguishes its processes from those of other tests.
    let own = folder.0.join("linux-of-this-test");
    std::fs::copy(&kernel, &own).unwrap();
    let own = own.to_str().unwrap();
    folder.file("fails.sh", "work() { try false; }\n");
    folder.file("spins.sh", "work() { while :; do :; done; }\n");
    folder.file("crashes.sh", "work() { echo c >/proc/sysrq-trigger; }\n");
    folder.file("kills.sh", "work() { kill -9 -1; exec /nowhere; }\n");
    let cases = [
        ("fails.sh", "15", &["false (exit code 1)"][..]),
        ("spins.sh", "6", &["took more than 6 s"]),
        ("crashes.sh", "60", &["ended before its script", "logs:"]),
        ("kills.sh", "60", &["logs:"]),
    ];
    for (script, limit, parts) in cases {
        let began = Instant::now();
        let limits = ["--kernel", own, "--time-limit", limit];
        let cell = ["fs", CARD, "--fs", "vfat", "--script", script];
        folder.run(&[&cell[..], &limits].concat()).fails(1, parts);
        assert!(began.elapsed() < Duration::from_secs(120), "{script}");
        // The host ends the processes inside a kernel shortly after the kernel.
        wait_until(script, || processes(own).is_empty());
    }
    // nandscope itself is killed.
    let arguments = [
        "fs", CARD, "--fs", "vfat", "--script", "spins.sh", "--kernel", own,
    ];
    let mut child = folder.command(&arguments).spawn().unwrap();
    wait_until("the kernel runs", || processes(own).len() > 1);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the kernel and its processes are gone", || {
        processes(own).is_empty()
    });
}

#[test]
fn without_a_kernel_the_command_says_how_to_get_one() {
    let folder = Folder::new("fs-no-kernel");
    let mut command = folder.command(&["fs", CARD, "--fs", "ext4", "--workload", "log"]);
    let output = command.env("XDG_CACHE_HOME", &folder.0).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("nandscope kernel build"), "{text}");
}

#[test]
fn names_that_do_not_exist_are_refused_before_anything_runs() {
    let folder = Folder::new("fs-names");
    let refused: [(&str, &[&str]); 5] = [
        ("--fs ntfs", &["unknown file system `ntfs`", "exfat"]),
        (
            "--workload bonnie",
            &["unknown workload `bonnie`", "--script"],
        ),
        ("--partition 100", &["--partition", "multiple of 512 bytes"]),
        ("--setting LOG_LINE=3", &["LOG_LINE"]),
        ("--sweep --cuts 2", &["--sweep", "--cuts"]),
    ];
    for (arguments, parts) in refused {
        fs(&folder, arguments).fails(2, parts);
    }
    folder
        .run(&["kernel", "build", "--source", ".", "--force"])
        .fails(2, &["is not a source of Linux"]);
}

/// A small and full partition, so that the load writes more than its free space, on a used card.
const FULL: &str = "--partition 8MiB --partition-size 512MiB --fullness 80 --age 1 --used";

/// On a slow card the cleaner keeps up: the blocks that it copies are the writes of NILFS2 beyond those of the programs.
#[test]
#[ignore = "slow: boots kernels"]
fn slow_the_cleaner_of_nilfs2_makes_room() {
    let folder = Folder::new("fs-cleaner");
    if kernel(&folder, "cleaner").is_none() {
        return;
    }
    let load = "--workload dbench --setting DBENCH_CLIENTS=2 --setting DBENCH_ROUNDS=800";
    let cell = format!("--host sabrelite --fs nilfs2 {load} {FULL} --cleaner 0 -o out");
    fs_on("sim:toshiba-class10-16gb", &folder, &cell).succeeds();
    let result = steps(&folder, "out/result.json");
    let figures = result["steps"][0]["figures"].as_array().unwrap();
    let found = figures.iter().find(|f| f["id"] == "fs.dbench-nilfs2.fs-wa");
    let written = found.unwrap()["value"].as_f64().unwrap();
    assert!(written > 1.3, "{written}");
}

/// Filling a partition fills the kernel's page cache as well: which pages are evicted, and when, must not depend on the
/// addresses at which the host has placed the kernel.
#[test]
#[ignore = "slow: boots kernels"]
fn slow_a_full_file_system_repeats_itself() {
    let folder = Folder::new("fs-full-twice");
    if kernel(&folder, "a full file system").is_none() {
        return;
    }
    let fixed = Command::new("setarch").args(["-R", "true"]).status();
    if !fixed.is_ok_and(|status| status.success()) {
        skipped(
            "a full file system",
            "programs may not be started at fixed addresses here",
        );
        return;
    }
    for output in ["one", "two"] {
        let cell = format!("--fs vfat --workload log --setting LOG_LINES=20 {FULL}");
        fs(&folder, &format!("{cell} --record {output}")).succeeds();
    }
    let [one, two] = ["one", "two"].map(|output| {
        let name = "samsung-evo-16gb-vfat-log.nstrace";
        std::fs::read(folder.0.join(output).join(name)).unwrap()
    });
    assert!(one == two, "two traces differ");
}

/// Conditioning a card and filling a partition takes no memory for contents that are never read.
#[test]
#[ignore = "slow: boots kernels"]
fn slow_a_used_card_takes_less_than_a_gigabyte_of_memory() {
    let folder = Folder::new("fs-memory");
    if kernel(&folder, "memory of a used card").is_none() || !have(&["/usr/bin/time"]) {
        return;
    }
    let cell = "--fs ext4 --workload log --setting LOG_LINES=20 --used --fullness 80";
    let output = Command::new("/usr/bin/time")
        .args(["-f", "%M", env!("CARGO_BIN_EXE_nandscope"), "fs", CARD])
        .args(cell.split(' '))
        .current_dir(&folder.0)
        .env("XDG_STATE_HOME", folder.state())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let kib: u64 = said.lines().last().unwrap().trim().parse().unwrap();
    assert!(kib < 1_000_000, "{kib} KiB");
}
