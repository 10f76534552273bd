//! Failures of a real target during a run: signals at any moment, a medium with bad blocks or that fails completely, a
//! device that is removed, a file system that fills up. Nothing may hang, no partial result may be lost, and the exit code
//! must match the failure.

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::block::{Mounted, can_mount};
use crate::support::loops::{Loop, tool};
use crate::support::running::{
    disturbed, disturbed_after, disturbed_when, json, operations, signal,
};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

const WRITE: &str = "[w]\nrw=randwrite\nbs=4k\niodepth=8\n";
const LONG: &str = "[r]\nrw=randread\nbs=4k\niodepth=4\nnorandommap\ntime_based\nruntime=60\n";

/// Arguments that run a job file on a target, with the result in `p.json`.
fn run_of<'a>(job: &'a str, target: &'a str, engine: &'a str) -> [&'a str; 7] {
    ["run", job, target, "--engine", engine, "--result", "p.json"]
}

#[test]
fn a_device_that_fails_at_some_places_fails_exactly_there() {
    let folder = Folder::new("real-eio-places");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    folder.file(
        "r.fio",
        "[r]\nrw=randread\nbs=4k\niodepth=8\ncontinue_on_error=all\nsize=8m\n",
    );
    // Past the end of its file a loop device answers EIO.
    truncate(&device.backing(), 5 << 20);
    for engine in ["uring", "blocking"] {
        let run = run_of("r.fio", &device.device, engine);
        folder.run(&run).fails(1, &[]);
        let document = json(&folder, "p.json");
        assert_eq!(operations(&document, 0), (5 << 20) / 4096);
        let errors = &document["steps"][0]["jobs"][0]["errors"];
        assert_eq!(
            errors["input/output error (EIO)"],
            (3 << 20) / 4096,
            "{errors}"
        );
    }
    truncate(&device.backing(), 8 << 20);
}

#[test]
fn a_file_system_that_answers_eio_at_some_places_fails_exactly_there() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new("real-fuse-eio");
    // A card served by FUSE whose bytes from 5 to 7 MiB cannot be read.
    let fault = format!("unreadable {} {}", 5 << 20, 2 << 20);
    let arguments = ["--speed", "max", "--fault", &fault];
    let mounted = Mounted::start(&folder, "sim:kingston-8gb", &arguments);
    let device = mounted.block();
    folder.file(
        "r.fio",
        "[r]\nrw=randread\nbs=64k\niodepth=8\ncontinue_on_error=all\nsize=8m\n",
    );
    for engine in ["uring", "blocking"] {
        let run = run_of("r.fio", &device.0, engine);
        folder.run(&run).fails(1, &[]);
        let document = json(&folder, "p.json");
        assert_eq!(operations(&document, 0), (6 << 20) / 65536);
        let errors = &document["steps"][0]["jobs"][0]["errors"];
        assert_eq!(
            errors["input/output error (EIO)"],
            (2 << 20) / 65536,
            "{errors}"
        );
    }
    drop(device);
    mounted.finish();
}

/// Moments within 2 s after the process has started to listen to signals; the same in each run of the test, in no order
/// (steps of the golden ratio).
fn moments(count: u32) -> impl Iterator<Item = Duration> {
    (1..=count).map(|i| Duration::from_micros(u64::from(i * 618_034 % 1_000_000) * 2))
}

#[test]
fn a_signal_at_any_moment_loses_no_result_and_leaves_no_half_file() {
    let folder = Folder::new("real-moments");
    folder.file("long.fio", LONG);
    folder.file("w.fio", WRITE);
    folder
        .run(&["run", "w.fio", "./t.img", "--size", "4m"])
        .succeeds();
    let run = ["run", "long.fio", "./t.img", "--result", "p.json"];
    let mut kept = 0;
    for (number, after) in moments(16).enumerate() {
        let name = ["INT", "KILL"][number % 2];
        let (code, stderr) = disturbed_after(after, &folder, &run, |id| signal(id, name));
        let result = folder.0.join("p.json");
        match code {
            Some(130) => {
                let document = json(&folder, "p.json");
                assert_eq!(document["complete"], false, "after {after:?}");
                kept += 1;
                std::fs::remove_file(result).unwrap();
            }
            // Killed, or interrupted before the program had begun: nothing was measured yet.
            None => {
                assert!(
                    name == "KILL" || after < Duration::from_millis(300),
                    "{stderr}"
                );
                assert!(!result.exists(), "half a result, {after:?}");
            }
            other => panic!("{name} after {after:?}: {other:?}, {stderr}"),
        }
        let mut names = folder.names();
        names.sort();
        assert_eq!(
            names,
            ["long.fio", "t.img", "w.fio"],
            "{name} after {after:?}"
        );
    }
    assert!(kept >= 6, "{kept} of 8 interrupted runs kept a result");
    folder.run(&["run", "w.fio", "./t.img"]).succeeds();
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_a_killed_one_leaves_no_half_file() {
    let folder = Folder::new("real-signals");
    folder.file("long.fio", LONG);
    folder.file("w.fio", WRITE);
    folder
        .run(&["run", "w.fio", "./t.img", "--size", "4m"])
        .succeeds();
    for engine in ["uring", "blocking"] {
        for name in ["INT", "TERM"] {
            let run = [
                "run", "long.fio", "./t.img", "--engine", engine, "--result", "p.json",
            ];
            let (code, stderr) = disturbed(&folder, &run, |id| signal(id, name));
            assert_eq!(code, Some(130), "{stderr}");
            let document = json(&folder, "p.json");
            assert_eq!(document["complete"], false);
            assert!(operations(&document, 0) > 0);
            std::fs::remove_file(folder.0.join("p.json")).unwrap();
        }
        let run = run_of("long.fio", "./t.img", engine);
        let (code, _) = disturbed(&folder, &run, |id| signal(id, "KILL"));
        assert_eq!(code, None, "killed");
        assert!(!folder.0.join("p.json").exists());
        // The next run can use the target at once.
        folder
            .run(&["run", "w.fio", "./t.img", "--engine", engine])
            .succeeds();
    }
}

#[test]
fn a_device_whose_medium_fails_in_mid_run_ends_the_run_with_what_was_measured() {
    let folder = Folder::new("real-eio");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    folder.file("long.fio", LONG);
    for engine in ["uring", "blocking"] {
        let run = run_of("long.fio", &device.device, engine);
        // A loop device that has lost its file's end answers EIO there.
        let (code, stderr) = disturbed(&folder, &run, |_| truncate(&device.backing(), 0));
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("EIO"), "{stderr}");
        let document = json(&folder, "p.json");
        assert_eq!(document["complete"], false);
        assert!(operations(&document, 0) > 0);
        truncate(&device.backing(), 8 << 20);
    }
}

#[test]
fn a_device_that_loses_its_size_in_mid_run_is_gone() {
    let folder = Folder::new("real-gone");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    folder.file("long.fio", &format!("{LONG}continue_on_error=all\n"));
    for engine in ["uring", "blocking"] {
        let run = run_of("long.fio", &device.device, engine);
        // As the kernel does when a drive is pulled out.
        let (code, stderr) = disturbed(&folder, &run, |_| {
            truncate(&device.backing(), 0);
            tool("losetup", &["--set-capacity", &device.device]).unwrap();
        });
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("the target is gone"), "{stderr}");
        assert_eq!(json(&folder, "p.json")["complete"], false);
        truncate(&device.backing(), 8 << 20);
        tool("losetup", &["--set-capacity", &device.device]).unwrap();
    }
}

fn truncate(path: &Path, length: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(length).unwrap();
}

#[test]
fn a_loop_device_that_is_detached_in_mid_run_hangs_nothing() {
    let folder = Folder::new("real-detach");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    folder.file(
        "s.fio",
        "[r]\nrw=randread\nbs=4k\nnorandommap\ntime_based\nruntime=3\n",
    );
    let run = ["run", "s.fio", &device.device, "--result", "p.json"];
    let (code, stderr) = disturbed(&folder, &run, |_| {
        tool("losetup", &["--detach", &device.device]).unwrap();
    });
    // Newer kernels detach an open loop device only when it is closed; older ones detach it at once.
    assert!(code == Some(0) || code == Some(1), "{code:?}: {stderr}");
    assert!(operations(&json(&folder, "p.json"), 0) > 0);
}

#[test]
fn a_file_system_that_fills_up_fails_writes_and_keeps_the_result() {
    let folder = Folder::new("real-full");
    let Some(device) = Loop::new(&folder, 1) else {
        return;
    };
    let mount = device.mount.to_str().unwrap().to_string();
    folder.file("w.fio", WRITE);
    folder.file(
        "t.fio",
        "[t]\nrw=trim\nbs=1m\n[w]\nstonewall\nrw=write\nbs=64k\nrate=2m\n",
    );
    let target = format!("{mount}/t.img");
    let make = folder.run(&["run", "w.fio", &target, "--size", "16m"]);
    make.succeeds();
    let run = ["run", "t.fio", &target, "--result", "p.json"];
    let filler = device.mount.join("filler");
    // The file has whole MiB during the trims, and less than 1 MiB when the writes begin.
    let is_written = |_| {
        let bytes = std::fs::metadata(&target).unwrap().blocks() * 512;
        (1..1 << 20).contains(&bytes)
    };
    let (code, stderr) = disturbed_when(is_written, &folder, &run, |_| {
        // Fills the file system.
        let _ = std::fs::write(&filler, vec![1u8; 64 << 20]);
    });
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("ENOSPC"), "{stderr}");
    let document = json(&folder, "p.json");
    assert_eq!(document["complete"], false);
    assert!(
        operations(&document, 1) > 0,
        "what was written before is counted"
    );
}
