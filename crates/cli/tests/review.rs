//! `nandscope review` from the outside: its files after success, after an interruption, and when it cannot write.

use crate::support::{Folder, Ran, TINY, signals};
use nandscope_result::{StopReason, json};
use std::process::Command;
use std::time::{Duration, Instant};

const QUICK: [&str; 4] = ["--quick", "--mode", "SD Express", "-o"];

fn quick(folder: &Folder, out: &str) -> Ran {
    let mut arguments = vec!["review", "sim:sm2708-250gb"];
    arguments.extend(QUICK);
    arguments.push(out);
    folder.run(&arguments)
}

#[test]
fn several_drives_are_reviewed_and_compared() {
    let folder = Folder::new("review-several");
    let tiny_text = std::fs::read_to_string(TINY).unwrap();
    folder.file(
        "other.toml",
        &tiny_text.replace("A tiny device", "Another tiny device"),
    );
    let other = "sim:./other.toml";
    let ran = folder.run(&[
        "review",
        folder.tiny(),
        other,
        "--suite",
        "fill",
        "-o",
        "both",
    ]);
    insta::assert_snapshot!("review_several", ran.shown());
    for name in ["both/tiny/report.html", "both/other/report.html"] {
        assert!(folder.read(name).contains("</html>"));
    }
    let page = folder.read("both/compare.html");
    assert!(page.contains("Another tiny device") && page.contains("baseline"));
    folder
        .run(&["review", other, other, "--suite", "fill", "-o", "twice"])
        .fails(2, &["named twice"]);
}

#[test]
fn a_review_leaves_a_report_a_result_tables_and_plots() {
    let folder = Folder::new("review-whole");
    let ran = quick(&folder, "out");
    insta::assert_snapshot!("review", ran.shown());
    let page = folder.read("out/report.html");
    assert!(page.contains("SM2708") && page.trim_end().ends_with("</html>"));
    assert!(
        !page.contains("src=\"http") && !page.contains("href=\"http"),
        "the page wants the network"
    );
    let document = json::read(&folder.0.join("out/result.json")).unwrap();
    assert!(document.complete && document.wall.elapsed_s.is_some());
    let count = |sub: &str, ending: &str| {
        let entries = std::fs::read_dir(folder.0.join("out").join(sub)).unwrap();
        entries
            .filter(|e| {
                e.as_ref()
                    .unwrap()
                    .file_name()
                    .to_string_lossy()
                    .ends_with(ending)
            })
            .count()
    };
    let series: usize = document.steps.iter().map(|s| s.series.len()).sum();
    let index = folder.read("out/series-index.csv");
    assert_eq!(index.lines().count(), series + 1);
    let values: usize = document
        .steps
        .iter()
        .flat_map(|s| &s.series)
        .map(|s| s.v.len())
        .sum();
    assert_eq!(folder.read("out/series.csv").lines().count(), values + 1);
    assert!(count("plots", ".svg") > 20);
}

#[test]
fn two_reviews_differ_in_nothing_but_the_wall_clock() {
    let folder = Folder::new("review-twice");
    let text = |out: &str| {
        quick(&folder, out).succeeds();
        let text = folder.read(&format!("{out}/result.json"));
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value.as_object_mut().unwrap().remove("wall");
        value.to_string()
    };
    assert!(text("a") == text("b"), "the same seed gave two results");
}

#[test]
fn ctrl_c_in_the_middle_keeps_what_is_done_and_says_so() {
    let folder = Folder::new("review-interrupted");
    let child = signals::start(&folder, &["review", "sim:sm2708-250gb", "-o", "out"]);
    signals::wait_until_under_way(&child);
    let asked = Instant::now();
    let ran = signals::end(child, "INT");
    assert!(asked.elapsed() < Duration::from_secs(20));
    ran.fails(130, &["interrupted", "out"]);
    let document = json::read(&folder.0.join("out/result.json")).unwrap();
    assert!(!document.complete);
    let last = document.steps.last().unwrap();
    assert_eq!(last.incomplete, Some(StopReason::Interrupted));
    // The message names the command that makes the page.
    folder
        .run(&["report", "out/result.json", "-o", "out"])
        .succeeds();
    assert!(folder.read("out/report.html").contains(&last.title));
}

#[test]
fn a_folder_that_cannot_be_written_is_found_out_before_the_review() {
    let folder = Folder::new("review-unwritable");
    folder.file("file", "");
    let began = Instant::now();
    folder
        .run(&["review", "sim:sm2708-250gb", "-o", "file"])
        .fails(3, &["cannot write file"]);
    folder
        .run(&["review", "sim:sm2708-250gb", "-o", "/proc/nandscope"])
        .fails(3, &["cannot write /proc/nandscope"]);
    // The review itself takes minutes in this build.
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_target_that_is_refused_leaves_no_empty_folder() {
    let folder = Folder::new("review-refused");
    std::fs::create_dir(folder.0.join("mine")).unwrap();
    folder.file("r.fio", "[a]\nrw=read\nsize=1m\nwrite_lat_log=a\n");
    for arguments in [
        &["review", "./no.img", "--quick", "-o", "new/report"][..],
        &["review", "./no.img", "--quick"],
        &["review", "./no.img", "--quick", "-o", "mine/report"],
        &["verify", "./no.img", "-o", "new/report"],
        &["probe", "./no.img", "-o", "new/report"],
        &["run", "r.fio", "./no.img", "--log-dir", "new/logs"],
    ] {
        folder.run(arguments).fails(3, &["no.img"]);
        // An existing empty folder is kept.
        assert_eq!(folder.names(), ["mine", "r.fio"], "{arguments:?}");
        assert!(!folder.0.join("mine/report").exists(), "{arguments:?}");
    }
    folder
        .run(&["review", "sim:sm2708-250gb", "--mode", "SPI", "-o", "new"])
        .fails(2, &["unknown mode `SPI`"]);
    assert_eq!(folder.names(), ["mine", "r.fio"]);
}

#[test]
fn wrong_devices_modes_and_suites() {
    let folder = Folder::new("review-wrong");
    for (arguments, parts) in [
        (
            &["sim:nothing"][..],
            &["unknown device `nothing`", "`nandscope devices` lists"][..],
        ),
        (&["sdz"], &["unknown target", "sim:NAME", "/dev/sdX"]),
        (
            &["sim:sm2708-250gb", "--mode", "SPI"],
            &["unknown mode `SPI`", "`UHS-I`"],
        ),
        (
            &["sim:sm2708-250gb", "--suite", "tea"],
            &["invalid value 'tea'", "card", "plain"],
        ),
        (
            &["sim:sm2708-250gb", "--host", "nobody"],
            &["unknown host `nobody`"],
        ),
    ] {
        let mut all = vec!["review"];
        all.extend(arguments);
        folder.run(&all).fails(2, parts);
    }
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let folder = Folder::new("review-full-disk");
    let disk = folder.0.join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=200k", "nandscope-test"])
        .arg(&disk)
        .output();
    if !mounted.is_ok_and(|o| o.status.success()) {
        println!("skipped: mounting a small file system needs root");
        return;
    }
    let ran = quick(&folder, "disk/out");
    let left: Vec<_> = std::fs::read_dir(&disk)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    let unmounted = Command::new("umount").arg(&disk).status().unwrap();
    assert!(unmounted.success());
    ran.fails(3, &["disk/out", "result.json", "No space left"]);
    assert!(left.is_empty(), "{left:?}");
}
