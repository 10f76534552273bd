//! One run: a kernel started in a folder of its own, driven over a device until it switches
//! itself off, and what it left: commands, marks of its script, calls, logs.

use crate::aftermath::Change;
use crate::block::Disk;
use crate::calls::{self, Call};
use crate::contents::Contents;
use crate::machine::{Ended, Limits, Machine, MachineError};
use crate::process::{self, Process, Start, StartError};
use crate::recording::Event;
use nandscope_measure::sim::VirtualDevice;
use nandscope_units::Nanos;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long a kernel that has closed its sockets may take to end.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// A run that did not come to its end.
#[derive(Debug, Error)]
#[error("{reason}{}", said(.log))]
pub struct SessionError {
    /// What went wrong.
    pub reason: Reason,
    /// The last lines that the kernel and its script said.
    pub log: String,
    /// Where the logs are kept.
    pub kept: Option<PathBuf>,
}

/// Why a run did not come to its end.
#[derive(Debug, Error)]
pub enum Reason {
    /// The folder or the sockets.
    #[error("the folder of the run: {0}")]
    Folder(#[from] io::Error),
    /// The kernel's process.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Virtual time.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The kernel ended before its script did.
    #[error("the kernel ended before its script came to its end ({0})")]
    Died(String),
    /// The script says that something failed.
    #[error("the script inside the kernel failed: {0}")]
    Script(String),
}

fn said(log: &str) -> String {
    if log.is_empty() {
        String::new()
    } else {
        format!("; the last that it said:\n{log}")
    }
}

/// What is run, and how.
#[derive(Clone, Debug)]
pub struct Session<'a> {
    /// The kernel's executable.
    pub kernel: &'a Path,
    /// The whole script that the kernel starts; see [`crate::guest`].
    pub script: &'a str,
    /// What the block device says of itself.
    pub disk: Disk,
    /// Memory of the machine in MiB.
    pub memory_mib: u32,
    /// Everything that the kernel draws at random follows from it.
    pub seed: u64,
    /// What a system call costs the processor, nanoseconds.
    pub call_ns: u64,
    /// What moving a byte costs the processor, picoseconds.
    pub byte_ps: u64,
    /// Longest real time without a message.
    pub silence: Duration,
    /// Longest real time.
    pub wall: Duration,
    /// Longest virtual time.
    pub virtual_time: Nanos,
    /// Virtual time of a power cut, if there is one.
    pub cut: Option<Nanos>,
    /// Whether what the kernel changes on the device is kept.
    pub keep_changes: bool,
    /// Flushes are answered at once and never reach the device.
    pub flushes_lie: bool,
}

/// What a run left.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub ended: Ended,
    /// What the device was asked, in the order in which it was done.
    pub events: Vec<Event>,
    /// The calls of programs to files on the device, in the order of their ends.
    pub calls: Vec<Call>,
    /// What the kernel changed on the device, where that was to be kept.
    pub changes: Vec<Change>,
    /// What the script said.
    pub console: String,
    /// Virtual time at the end.
    pub end: Nanos,
    /// Messages that the kernel sent.
    pub messages: u64,
    /// Real time that it took.
    pub took: Duration,
}

/// A folder that goes when its owner does, unless it is kept.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    fn new() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let base = std::env::temp_dir();
        for _ in 0..1000 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("nandscope-kernel-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path, keep: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no free name for a folder"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

impl Session<'_> {
    /// Runs it on `device`, whose present is `device_now`, with `contents`.
    ///
    /// # Errors
    /// Where the kernel cannot be started, breaks a protocol, exceeds a limit or ends before its script; the logs
    /// are kept then.
    pub fn run<D: VirtualDevice>(
        &self,
        device: &mut D,
        device_now: Nanos,
        contents: &mut Contents,
        stop: &dyn Fn() -> bool,
    ) -> Result<Run, SessionError> {
        let began = Instant::now();
        let mut folder = Folder::new().map_err(|error| SessionError {
            reason: error.into(),
            log: String::new(),
            kept: None,
        })?;
        let result = self.run_in(&folder.path, device, device_now, contents, stop);
        result
            .map(|run| Run {
                took: began.elapsed(),
                ..run
            })
            .map_err(|reason| {
                folder.keep = !matches!(reason, Reason::Machine(MachineError::Interrupted));
                SessionError {
                    reason,
                    log: last_words(&folder.path),
                    kept: folder.keep.then(|| folder.path.clone()),
                }
            })
    }

    fn run_in<D: VirtualDevice>(
        &self,
        folder: &Path,
        device: &mut D,
        device_now: Nanos,
        contents: &mut Contents,
        stop: &dyn Fn() -> bool,
    ) -> Result<Run, Reason> {
        let script = folder.join(process::SCRIPT);
        std::fs::write(&script, self.script)?;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
        let calendar = UnixListener::bind(folder.join(process::CALENDAR_SOCKET))?;
        let disk = UnixListener::bind(folder.join(process::DISK_SOCKET))?;
        let limits = Limits {
            silence: self.silence,
            wall: self.wall,
            virtual_time: self.virtual_time,
            start_of_day: process::START_OF_DAY_S * 1_000_000_000,
            cut: self.cut,
            keep_changes: self.keep_changes,
            flushes_lie: self.flushes_lie,
        };
        let mut machine = Machine::new(
            device, device_now, contents, self.disk, limits, calendar, disk,
        );
        let mut kernel = Start {
            kernel: self.kernel,
            folder,
            memory_mib: self.memory_mib,
            seed: self.seed,
            call_ns: self.call_ns,
            byte_ps: self.byte_ps,
            calls: true,
        }
        .spawn()?;
        let ended = match machine.run(&mut || kernel.is_alive(), stop) {
            Ok(ended) => ended,
            Err(MachineError::Interrupted) => return Err(MachineError::Interrupted.into()),
            // A file system may not let go when its script has failed; what failed first is the reason.
            Err(error) => {
                let console = read_console(folder).unwrap_or_default();
                crate::guest::check_failed(&console)?;
                return Err(error.into());
            }
        };
        let status = leave(&mut kernel, ended);
        let console = read_console(folder)?;
        if ended == Ended::Closed {
            crate::guest::check_end(&console, &status)?;
        }
        let recorded = std::fs::read(folder.join(process::CALLS)).unwrap_or_default();
        let (end, messages) = (machine.now(), machine.messages());
        let (events, changes) = machine.into_record();
        Ok(Run {
            ended,
            events,
            changes,
            calls: calls::read(&recorded),
            console,
            end,
            messages,
            took: Duration::ZERO,
        })
    }
}

/// Waits for a kernel that switches itself off; ends one whose power is cut.
fn leave(kernel: &mut Process, ended: Ended) -> String {
    if ended == Ended::Closed
        && let Some(status) = kernel.wait(LAST_WORDS)
    {
        return status.to_string();
    }
    kernel.kill();
    "it had to be killed".to_string()
}

fn read_console(folder: &Path) -> io::Result<String> {
    let console = std::fs::read(folder.join(process::CONSOLE_LOG))?;
    Ok(String::from_utf8_lossy(&console).replace('\r', ""))
}

/// The last lines of both logs, of the script's up to where it says that something failed.
fn last_words(folder: &Path) -> String {
    const MOST: usize = 8;
    let mut text = String::new();
    for name in [process::KERNEL_LOG, process::CONSOLE_LOG] {
        let bytes = std::fs::read(folder.join(name)).unwrap_or_default();
        let log = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<&str> = log.lines().filter(|l| !l.trim().is_empty()).collect();
        if let Some(failed) = lines.iter().position(|l| crate::guest::is_failure(l)) {
            lines.truncate(failed);
        }
        for line in &lines[lines.len().saturating_sub(MOST)..] {
            text.push_str("  ");
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}
