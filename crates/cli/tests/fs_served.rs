//! Virtual time against real time: the same programs on ext4 on the same card, once in virtual time
//! (`nandscope fs`), once on the served card, mounted by the kernel of this machine through FUSE and a loop device.

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::block::{Mounted, can_mount};
use crate::support::serving::{have, run};
use std::io::Write;

/// Lines of a log and files of 128 KiB, each synced, so that both kernels write at equal moments.
const LOAD: &str = r#"
work() {
    try perl -e '
        use strict; use warnings; use IO::Handle;
        my ($folder) = @ARGV;
        open(my $log, ">>", "$folder/log") or die "$!";
        for my $n (1 .. 200) {
            syswrite($log, sprintf("%06d something happened\n", $n)) or die "$!";
            $log->sync or die "$!";
            next if $n % 5;
            open(my $file, ">", "$folder/file$n") or die "$!";
            syswrite($file, "d" x 131072) or die "$!";
            $file->sync or die "$!";
        }' "$MNT"
}
"#;
/// Options with which `nandscope fs` makes and mounts ext4.
const MKFS: [&str; 6] = [
    "-q",
    "-F",
    "-U",
    "6e616e64-7363-4f70-a550-000000000001",
    "-E",
    "hash_seed=6e616e64-7363-4f70-a550-000000000001",
];

/// Seconds of the load on the served card, in real time, and whether this machine kept up with the card. The
/// commands are in seen.nstrace.
fn served(folder: &Folder, target: &str) -> (f64, bool) {
    let mounted = Mounted::start(folder, target, &["--record", "seen.nstrace"]);
    let device = mounted.block();
    run(folder, "mkfs.ext4", &[&MKFS[..], &[&device.0]].concat());
    let options = "noatime,noinit_itable";
    run(
        folder,
        "mount",
        &["-t", "ext4", "-o", options, &device.0, "fs"],
    );
    let script = "set -e; try() { \"$@\"; }; . ./load.sh; mkdir -p fs/w; MNT=fs/w; sync -f fs; \
                  from=$EPOCHREALTIME; work; sync -f fs; echo $from $EPOCHREALTIME";
    let said = run(folder, "bash", &["-c", script]);
    run(folder, "umount", &["fs"]);
    drop(device);
    let ran = mounted.finish();
    let kept_up = !(ran.out + &ran.err).contains("is too slow for the device");
    let times: Vec<f64> = said
        .split_whitespace()
        .map(|t| t.parse().unwrap())
        .collect();
    (times[1] - times[0], kept_up)
}

/// Time that the card needs for the commands of a trace, one after the other and without pauses, seconds.
fn device_time(folder: &Folder, target: &str, trace: &str) -> f64 {
    let job = format!("[replay]\nread_iolog={trace}\nreplay_no_stall=1\n");
    folder.file("replay.fio", &job);
    folder
        .run(&["run", "replay.fio", target, "--result", "replay.json"])
        .succeeds();
    let result: serde_json::Value = serde_json::from_str(&folder.read("replay.json")).unwrap();
    result["steps"][0]["end_s"].as_f64().unwrap()
}

#[test]
#[ignore = "slow: half a minute in real time"]
fn slow_ext4_takes_as_long_in_virtual_time_as_on_the_served_card() {
    if !can_mount() || !have(&["mkfs.ext4", "losetup", "mount", "perl"]) {
        return;
    }
    let folder = Folder::new("fs-served");
    if folder.run(&["kernel", "path"]).code != Some(0) {
        let text =
            "SKIPPED: virtual against real time: there is no kernel (`nandscope kernel build`)";
        let _ = writeln!(std::io::stderr(), "{text}");
        return;
    }
    // Small, so that both kernels make and read little.
    let text = include_str!("../../../profiles/kingston-8gb.toml");
    let line = text.lines().find(|l| l.starts_with("capacity_bytes"));
    let text = text.replace(line.unwrap(), "capacity_bytes = 536870912");
    let target = format!("sim:{}", folder.file("small.toml", &text).display());
    folder.file("load.sh", LOAD);
    std::fs::create_dir(folder.0.join("fs")).unwrap();
    let arguments = [
        "fs", &target, "--fs", "ext4", "--script", "load.sh", "-o", "virtual", "--record", "trace",
    ];
    folder.run(&arguments).succeeds();
    let result: serde_json::Value =
        serde_json::from_str(&folder.read("virtual/result.json")).unwrap();
    let figures = result["figures"].as_array().unwrap();
    let time = figures.iter().find(|f| f["id"] == "fs.load-ext4.time");
    let time = time.unwrap()["value"].as_f64().unwrap();
    let trace = "trace/kingston-8gb-ext4-load.nstrace";
    let expected = device_time(&folder, &target, trace);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (real, kept_up) = served(&folder, &target);
        let device = device_time(&folder, &target, "seen.nstrace");
        let text = format!(
            "the card needs {expected:.3} s for the commands of virtual time, {device:.3} s for those of the served \
             card; the load takes {time:.3} s in virtual time, {real:.3} s in real time"
        );
        assert!((0.9..=1.1).contains(&(device / expected)), "{text}");
        seen.push(text);
        // Other work on this machine only adds to real time, which the server notices.
        if (0.9..=1.1).contains(&(real / time)) {
            println!("{}", seen.join("\n"));
            return;
        }
        assert!(!kept_up || seen.len() < 3, "{seen:?}");
    }
    let text = "SKIPPED: real time itself: this machine is too slow for the device with the card";
    let _ = writeln!(std::io::stderr(), "{text}: {}", seen.join("\n"));
}
