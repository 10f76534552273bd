//! The script of a run in namespaces of its own: what it mounts is mounted nowhere else. When its first process ends, the
//! kernel kills the others and unmounts the file system. It ends with this process, however that ends.

use super::NativeError;
use crate::observer::Observer;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes of output that are kept.
const MOST_OUTPUT: usize = 4 << 20;
/// Pause between two looks at the process.
const PAUSE: Duration = Duration::from_millis(20);
/// Longest time for killed processes to end: one that waits for a device ends when the device answers.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// Programs that start the script, and the Debian packages that have them.
pub const PROGRAMS: [(&str, &str); 7] = [
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
    ("mount", "mount"),
    ("blockdev", "util-linux"),
    ("wipefs", "util-linux"),
    ("bash", "bash"),
    ("perl", "perl-base"),
];

/// A running script.
pub(super) struct Namespaces {
    child: Child,
    output: Option<JoinHandle<Vec<u8>>>,
}

impl Namespaces {
    /// Starts a script.
    ///
    /// # Errors
    /// `io::Error` if a program is missing.
    pub(super) fn start(script: &Path) -> std::io::Result<Namespaces> {
        let (read, write) = std::io::pipe()?;
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--", "unshare", "--mount"])
            .args(["--propagation", "private", "--pid", "--fork"])
            .args(["--kill-child=KILL", "--", "bash"])
            .arg(script)
            .current_dir("/")
            .env_clear()
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .stdin(Stdio::null())
            .stdout(write.try_clone()?)
            .stderr(write)
            // Ctrl-C on the terminal is for us, who end it.
            .process_group(0);
        let child = command.spawn()?;
        // The command holds the writing end: without this, the output would never end.
        drop(command);
        let mut namespaces = Namespaces {
            child,
            output: None,
        };
        let reader = std::thread::Builder::new().name("output of the run".to_string());
        namespaces.output = Some(reader.spawn(move || collect(read))?);
        Ok(namespaces)
    }

    /// Waits until the script has ended; `look` is called several times per second.
    ///
    /// # Errors
    /// [`NativeError`] if `observer` stops it, it takes longer than `limit`, or `look` returns one. Then it is killed.
    pub(super) fn wait(
        &mut self,
        limit: Duration,
        observer: &dyn Observer,
        look: &mut dyn FnMut(Duration) -> Result<(), NativeError>,
    ) -> Result<(), NativeError> {
        let began = Instant::now();
        let mut looked = Duration::ZERO;
        loop {
            if self.child.try_wait().map_err(NativeError::Start)?.is_some() {
                return Ok(());
            }
            let elapsed = began.elapsed();
            if observer.stop() {
                return Err(NativeError::Interrupted);
            }
            if elapsed > limit {
                return Err(NativeError::TimeLimit(limit.as_secs()));
            }
            if elapsed - looked > Duration::from_millis(250) {
                looked = elapsed;
                look(elapsed)?;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Kills what runs, and returns the output once no process has it open any more. It is empty if one that waits for
    /// the device does not end within [`LAST_WORDS`].
    pub(super) fn end(mut self) -> String {
        self.kill();
        let began = Instant::now();
        let is_open = |output: &JoinHandle<Vec<u8>>| !output.is_finished();
        while self.output.as_ref().is_some_and(is_open) {
            if began.elapsed() > LAST_WORDS {
                return String::new();
            }
            std::thread::sleep(PAUSE / 10);
        }
        let bytes = self.output.take().and_then(|output| output.join().ok());
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    }

    fn kill(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            if let Some(group) = Pid::from_raw(self.child.id() as i32) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        self.kill();
    }
}

/// All output up to a limit; the rest is read, so that no program waits.
fn collect(mut from: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut chunk = [0; 8192];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        let room = MOST_OUTPUT.saturating_sub(kept.len());
        kept.extend_from_slice(&chunk[..count.min(room)]);
    }
    kept
}
