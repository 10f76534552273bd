//! Requests to stop: which signals count as one, and which results are kept when the terminal goes away.
#![cfg(target_os = "linux")]
use crate::support;
use crate::support::signals::{
    ENDLESS, HUP, OnTerminal, end, has_signal, send, start, start_by, wait_for,
};
use crate::support::{Folder, Ran, tiny};
use nandscope_result::json;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Signals the process and, at the same moment, its group, as `timeout` does.
#[test]
fn the_same_signal_twice_in_a_moment_is_one_request() {
    let folder = Folder::new("signals-twice");
    folder.file("job.fio", ENDLESS);
    for signal in ["TERM", "INT"] {
        let result = format!("{signal}.json");
        let mut command = folder.command(&["run", "job.fio", &tiny(), "--result", &result]);
        command.process_group(0);
        let child = start_by(command);
        let process = i64::from(child.id());
        send(signal, &[process, process, -process, -process]);
        let ran = Ran::from(child.wait_with_output().unwrap());
        ran.fails(130, &["interrupted", &result]);
        assert!(!json::read(&folder.0.join(&result)).unwrap().complete);
    }
}

#[test]
fn timeout_keeps_the_result() {
    let folder = Folder::new("signals-timeout");
    folder.file("job.fio", ENDLESS);
    let nandscope = folder.command(&["run", "job.fio", &tiny(), "--result", "r.json"]);
    let mut command = Command::new("timeout");
    // The tiny device would be worn out some seconds later.
    command.args(["--preserve-status", "2"]);
    command
        .arg(nandscope.get_program())
        .args(nandscope.get_args());
    let ran = Ran::from(command.current_dir(&folder.0).output().unwrap());
    ran.fails(130, &["interrupted", "r.json"]);
    assert!(!json::read(&folder.0.join("r.json")).unwrap().complete);
}

#[test]
fn sighup_keeps_what_was_measured() {
    let folder = Folder::new("signals-hup");
    folder.file("job.fio", ENDLESS);
    let ran = end(
        start(&folder, &["run", "job.fio", &tiny(), "--result", "r.json"]),
        "HUP",
    );
    ran.fails(130, &["interrupted", "r.json"]);
    assert!(!json::read(&folder.0.join("r.json")).unwrap().complete);
}

#[test]
fn under_nohup_a_run_goes_on() {
    let folder = Folder::new("signals-nohup");
    folder.file("job.fio", ENDLESS);
    let nandscope = folder.command(&["run", "job.fio", &tiny(), "--result", "r.json"]);
    let mut command = Command::new("nohup");
    command
        .arg(nandscope.get_program())
        .args(nandscope.get_args());
    command.current_dir(&folder.0);
    let child = start_by(command);
    assert!(has_signal(child.id(), "SigIgn", HUP));
    end(child, "INT").fails(130, &["interrupted"]);
}

/// Every command that measures or serves, on a terminal that is closed during the run: none panics, and the result is
/// saved.
#[test]
fn a_lost_terminal_costs_nothing() {
    let folder = Folder::new("signals-terminal");
    folder.file("job.fio", ENDLESS);
    let tiny = tiny();
    for (name, arguments) in [
        (
            "run",
            &["run", "job.fio", &tiny, "--result", "out/result.json"][..],
        ),
        ("review", &["review", "sim:sm2708-250gb", "-o", "out"]),
        (
            "sweep",
            &["sweep", "fullness", "sim:sm2262en-2tb", "-o", "out"],
        ),
    ] {
        std::fs::create_dir(folder.0.join("out")).unwrap();
        let running = OnTerminal::start(&folder, arguments);
        assert_eq!(running.hang_up(), "130", "{name}");
        let result = json::read(&folder.0.join("out/result.json")).unwrap();
        assert!(!result.complete, "{name}");
        std::fs::remove_dir_all(folder.0.join("out")).unwrap();
    }
}

/// A probe has no partial result, and a verification of a simulated device has no data to restore: both end as they do on
/// Ctrl-C.
#[test]
fn a_lost_terminal_ends_what_has_no_result_yet() {
    let folder = Folder::new("signals-no-result");
    for arguments in [
        &["probe", "--self-test", "--devices", "100000"][..],
        &["validate"],
    ] {
        let running = OnTerminal::start(&folder, arguments);
        assert_eq!(running.hang_up(), "130", "{arguments:?}");
    }
}

#[test]
fn a_lost_terminal_ends_a_server_in_order() {
    let folder = Folder::new("signals-serve");
    let tiny = tiny();
    let serve = [
        "serve",
        &tiny,
        "--nbd",
        "unix:card.sock",
        "--store",
        "card.img",
    ];
    let running = OnTerminal::start(&folder, &serve);
    wait_for("socket", || {
        folder.0.join("card.sock").exists().then_some(())
    });
    assert_eq!(running.hang_up(), "0");
    // The socket and the journal were removed, the state was saved.
    assert_eq!(folder.names(), ["card.img", "card.img.device"]);
}

#[test]
fn a_lost_terminal_unmounts_a_served_card() {
    let folder = Folder::new("signals-mount");
    let root = Command::new("id").arg("-u").output().unwrap();
    if root.stdout != b"0\n" || !std::path::Path::new("/dev/fuse").exists() {
        return support::loops::skipped("mounting needs root and /dev/fuse");
    }
    std::fs::create_dir(folder.0.join("card")).unwrap();
    let tiny = tiny();
    let running = OnTerminal::start(&folder, &["serve", &tiny, "--fuse", "card"]);
    let file = folder.0.join("card/card.img");
    wait_for("mounted file", || file.exists().then_some(()));
    assert_eq!(running.hang_up(), "0");
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let place = folder.0.join("card");
    assert!(!mounts.contains(place.to_str().unwrap()));
}
