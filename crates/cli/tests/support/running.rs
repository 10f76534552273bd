//! Runs of the binary on real targets that something happens to, and their results.

#![allow(dead_code, reason = "each test file uses its part of this")]

use super::Folder;
use super::loops::tool;
use super::signals::start;
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

/// Starts a run, lets it measure for a while, does something to it, and waits for its end.
pub fn disturbed(
    folder: &Folder,
    arguments: &[&str],
    disturb: impl FnOnce(u32),
) -> (Option<i32>, String) {
    disturbed_after(Duration::from_millis(1200), folder, arguments, disturb)
}

/// The same after a time of the caller's choice, counted from when the process listens to signals.
pub fn disturbed_after(
    time: Duration,
    folder: &Folder,
    arguments: &[&str],
    disturb: impl FnOnce(u32),
) -> (Option<i32>, String) {
    let mut child = start(folder, arguments);
    sleep(time);
    disturb(child.id());
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
