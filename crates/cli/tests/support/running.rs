//! Runs of the binary on real targets that something happens to, and their results.

#![allow(dead_code, reason = "each test file uses its part of this")]

use super::Folder;
use super::loops::tool;
use super::signals::{start, wait_for};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A result, as it was written.
pub fn json(folder: &Folder, name: &str) -> serde_json::Value {
    serde_json::from_str(&folder.read(name)).unwrap()
}

/// Operations of all jobs of a step.
pub fn operations(document: &serde_json::Value, step: usize) -> u64 {
    let jobs = document["steps"][step]["jobs"].as_array().unwrap();
    let directions = jobs
        .iter()
        .flat_map(|j| j["directions"].as_array().unwrap());
    directions.map(|d| d["operations"].as_u64().unwrap()).sum()
}

/// Starts a run, waits until one of its jobs does I/O, calls a function with the process, and waits for its end.
pub fn disturbed(
    folder: &Folder,
    arguments: &[&str],
    disturb: impl FnOnce(u32),
) -> (Option<i32>, String) {
    /// Processor time after which a job does I/O, in units of 10 ms: a thread needs less to prepare its buffers.
    const TICKS: u64 = 3;
    disturbed_when(
        |process| job_ticks(process) >= TICKS,
        folder,
        arguments,
        disturb,
    )
}

/// As [`disturbed`], once `is_ready` is true of the process.
pub fn disturbed_when(
    mut is_ready: impl FnMut(u32) -> bool,
    folder: &Folder,
    arguments: &[&str],
    disturb: impl FnOnce(u32),
) -> (Option<i32>, String) {
    let mut child = start(folder, arguments);
    wait_for("I/O", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        is_ready(child.id()).then_some(())
    });
    disturb(child.id());
    ended(child)
}

/// As [`disturbed`], `time` after the process has started to listen to signals.
pub fn disturbed_after(
    time: Duration,
    folder: &Folder,
    arguments: &[&str],
    disturb: impl FnOnce(u32),
) -> (Option<i32>, String) {
    let child = start(folder, arguments);
    sleep(time);
    disturb(child.id());
    ended(child)
}

/// The processor time of the busiest thread of a job, in hundredths of a second.
fn job_ticks(process: u32) -> u64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return 0;
    };
    let ticks = threads.flatten().filter_map(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).ok()?;
        let (_, fields) = stat
            .rsplit_once(')')
            .filter(|(name, _)| name.contains("(job "))?;
        // User and system time are the twelfth and thirteenth field after the name.
        let times = fields.split_whitespace().skip(11).take(2);
        times
            .map(|time| time.parse::<u64>().ok())
            .sum::<Option<u64>>()
    });
    ticks.max().unwrap_or(0)
}

fn ended(mut child: std::process::Child) -> (Option<i32>, String) {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it hangs");
        sleep(Duration::from_millis(20));
    }
    let done = child.wait_with_output().unwrap();
    (
        done.status.code(),
        String::from_utf8_lossy(&done.stderr).into_owned(),
    )
}

/// Sends a signal.
pub fn signal(process: u32, name: &str) {
    tool("kill", &["-s", name, &process.to_string()]).unwrap();
}
