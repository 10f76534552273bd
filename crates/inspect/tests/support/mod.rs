//! Real loop devices, mounts and swap, for tests that run as root. Where the machine does not let
//! them, the test says so on standard error, whatever the harness swallows.

#![allow(dead_code, reason = "each test file uses its part of this")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Folders of the system's tools, some of which a user's path may lack.
const PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";

/// Says past the harness why a test proves nothing here.
pub fn skip(test: &str, why: &str) {
    let line = format!("SKIPPED {test}: {why}\n");
    // The harness captures `eprintln!` of tests that pass.
    let told = File::options().write(true).open("/proc/self/fd/2");
    let _ = told.and_then(|mut out| out.write_all(line.as_bytes()));
}

/// A command with its arguments in one line.
pub fn run(line: &str) -> Output {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap();
    let mut command = Command::new("/usr/bin/env");
    command.arg(program).args(words).env("PATH", PATH);
    command.output().unwrap()
}

/// As [`run`], where it must succeed.
pub fn must(line: &str) -> String {
    let out = run(line);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{line}: {said}");
    String::from_utf8(out.stdout).unwrap().trim().to_string()
}

pub fn has(tool: &str) -> bool {
    PATH.split(':')
        .any(|folder| Path::new(folder).join(tool).exists())
}

/// A program that another test starts has the descriptors of this one for a moment, and so holds
/// its devices: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A folder that goes away. While a test has it, no other test of this file runs.
pub struct Folder(pub PathBuf, MutexGuard<'static, ()>);

impl Folder {
    pub fn new(name: &str) -> Self {
        let turn = ONE_AT_A_TIME.lock();
        let turn = turn.unwrap_or_else(|failed| failed.into_inner());
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path.canonicalize().unwrap(), turn)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A loop device over a file of this size.
pub struct Loop {
    pub device: PathBuf,
    pub file: PathBuf,
}

impl Loop {
    /// `None`, said aloud, where there can be none.
    pub fn new(test: &str, folder: &Folder, name: &str, mib: u64) -> Option<Self> {
        if !Path::new("/dev/loop-control").exists() {
            skip(test, "there is no /dev/loop-control");
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            skip(test, "only root may set up loop devices");
            return None;
        }
        let file = folder.path(name);
        File::create(&file).unwrap().set_len(mib << 20).unwrap();
        let out = run(&format!(
            "losetup --find --show --partscan {}",
            file.display()
        ));
        if !out.status.success() {
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            skip(test, &format!("losetup does not work: {said}"));
            return None;
        }
        let device = PathBuf::from(String::from_utf8(out.stdout).unwrap().trim());
        Some(Loop { device, file })
    }

    pub fn name(&self) -> String {
        self.device
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned()
    }

    pub fn show(&self) -> String {
        self.device.display().to_string()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run(&format!("losetup -d {}", self.show()));
    }
}

/// Something to be undone, such as a mount.
pub struct Undo(pub String);

impl Drop for Undo {
    fn drop(&mut self) {
        run(&self.0);
    }
}

/// Whether a race goes on: for some seconds, and until both of its outcomes were seen, since a loaded
/// machine gives a thread its turns late. After a minute it ends without them.
pub fn race_goes_on(began: Instant, seconds: u64, opened: u32, refused: u32) -> bool {
    let seconds = if opened > 0 && refused > 0 {
        seconds
    } else {
        60
    };
    began.elapsed() < Duration::from_secs(seconds)
}

/// Ends a thread beside the test, whatever becomes of the test.
pub struct Stop<'a>(pub &'a std::sync::atomic::AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
