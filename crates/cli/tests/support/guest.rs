//! Support for tests of `nandscope fs`: the kernel, and the processes that run it.

use super::Folder;
use std::time::{Duration, Instant};

/// Path of the kernel; without one, reports that `test` is skipped and returns `None`.
pub fn kernel(folder: &Folder, test: &str) -> Option<String> {
    let ran = folder.run(&["kernel", "path"]);
    if ran.code == Some(0) {
        return Some(ran.out.trim().to_string());
    }
    skipped(test, "there is no kernel (`nandscope kernel build`)");
    None
}

/// Reports a skipped test on standard error itself: the test harness hides the output of tests that pass.
pub fn skipped(test: &str, reason: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}");
}

pub fn wait_until(what: &str, done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "not in 30 s: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Processes with this executable, including those inside a kernel.
pub fn processes(executable: &str) -> Vec<u32> {
    let executable = std::fs::canonicalize(executable).unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            let link = std::fs::read_link(entry.path().join("exe")).ok()?;
            (link == executable).then_some(number)
        })
        .collect()
}
