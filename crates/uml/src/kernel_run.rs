//! One run: a kernel in its own folder, driven over a device until it shuts down, and its results:
//! commands, phases of its script, calls, logs.

use crate::calls::{self, Call};
use crate::machine::{Ended, Limits, Machine, MachineError};
use crate::observer::Observer;
use crate::post_crash::Change;
use crate::process::{self, Process, Start};
use crate::reason::Reason;
use crate::recording::Event;
use crate::scratch::Scratch;
use nandscope_blockio::image::Image;
use nandscope_blockio::virtio::BlockConfig;
use nandscope_device::SimulatedDevice;
use nandscope_files::{Access, FollowLinks, WriteError, begin_unsynced, create_new, open_regular};
use nandscope_units::Nanos;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Longest time for a kernel to end after it has closed its sockets.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// A run that did not come to its end.
#[derive(Debug, Error)]
#[error("{reason}{}", said(.log))]
pub struct KernelRunError {
    /// Cause of the error.
    pub reason: Reason,
    /// The last lines that the kernel and its script said.
    pub log: String,
    /// Folder of the saved logs.
    pub kept: Option<PathBuf>,
}

impl KernelRunError {
    /// An error outside the kernel, without kernel messages.
    pub(crate) fn of(reason: impl Into<Reason>) -> Self {
        KernelRunError {
            reason: reason.into(),
            log: String::new(),
            kept: None,
        }
    }
}

fn said(log: &str) -> String {
    if log.is_empty() {
        String::new()
    } else {
        format!("; its last output:\n{log}")
    }
}

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct KernelRun<'a> {
    /// The kernel's executable.
    pub kernel: &'a Path,
    /// The whole script that the kernel starts; see [`crate::guest`].
    pub script: &'a str,
    /// Configuration of the block device.
    pub disk: BlockConfig,
    /// Memory of the machine in MiB.
    pub memory_mib: u32,
    /// Seed of the random number generator of the kernel.
    pub seed: u64,
    /// Processor time of a system call, nanoseconds.
    pub call_ns: u64,
    /// Processor time per byte moved, picoseconds.
    pub byte_ps: u64,
    /// Longest real time without a message.
    pub silence: Duration,
    /// Longest real time.
    pub wall: Duration,
    /// Limit of the kernel's virtual time.
    pub virtual_time: Nanos,
    /// Virtual time of a power cut, if there is one.
    pub cut: Option<Nanos>,
    /// True if changes of the device are recorded.
    pub keep_changes: bool,
    /// Flushes are acknowledged but not performed.
    pub flushes_lie: bool,
}

/// Results of a run.
#[derive(Debug)]
pub struct Run {
    /// Reason of the end.
    pub ended: Ended,
    /// Commands of the device in the order of completion.
    pub events: Vec<Event>,
    /// The calls of programs to files on the device, in the order of their ends.
    pub calls: Vec<Call>,
    /// Changes of the device, if they were recorded.
    pub changes: Vec<Change>,
    /// Output of the script.
    pub console: String,
    /// Virtual time at the end.
    pub end: Nanos,
    /// Messages that the kernel sent.
    pub messages: u64,
    /// Real time that it took.
    pub took: Duration,
}

/// Prefix of the folders of runs.
const FOLDER: &str = "nandscope-kernel";
/// Prefix of the folders with the logs of failed runs.
const LOGS: &str = "nandscope-logs";
/// Folder of the machine's memory: on a disk, the file would be written out repeatedly.
const SHARED_MEMORY: &str = "/dev/shm";

/// The folders of a run.
struct Folders {
    run: Scratch,
    /// Folder of the machine's memory, if it is not the folder of its other files.
    memory: Option<Scratch>,
}

impl Folders {
    fn new() -> io::Result<Self> {
        let run = Scratch::new(&std::env::temp_dir(), FOLDER)?;
        let shared = Path::new(SHARED_MEMORY);
        let is_memory = rustix::fs::statfs(shared).is_ok_and(|fs| fs.f_type == TMPFS);
        let memory = is_memory.then(|| Scratch::new(shared, FOLDER).ok());
        Ok(Folders {
            run,
            memory: memory.flatten(),
        })
    }

    fn memory(&self) -> &Path {
        self.memory.as_ref().unwrap_or(&self.run).path()
    }
}

/// Type of a memory file system in `statfs`.
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

/// Copies what says why a run failed into a folder that stays.
fn keep_logs(run: &Path) -> Option<PathBuf> {
    let mut name = run.file_name()?.to_str()?.strip_prefix(FOLDER)?.to_string();
    name.insert_str(0, LOGS);
    let folder = run.with_file_name(name);
    DirBuilder::new().mode(0o700).create(&folder).ok()?;
    for name in [process::SCRIPT, process::KERNEL_LOG, process::CONSOLE_LOG] {
        // Without the other files, one of them still helps.
        let _ = copy(&run.join(name), &folder.join(name));
    }
    Some(folder)
}

/// Copies a regular file to a name that does not exist.
fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let from = open_regular(from, FollowLinks::No).map_err(io::Error::other)?;
    let to = create_new(to, Access::Owner).map_err(WriteError::into_io)?;
    io::copy(&mut &from, &mut &to)
}

impl KernelRun<'_> {
    /// Runs the kernel on `device` with `contents`; `device_now` is the device's current time.
    ///
    /// # Errors
    /// [`KernelRunError`] if the kernel cannot be started, violates a protocol, exceeds a limit or ends before its
    /// script; then the logs are saved.
    pub fn run<D: SimulatedDevice>(
        &self,
        device: &mut D,
        device_now: Nanos,
        contents: &mut Image,
        observer: &dyn Observer,
    ) -> Result<Run, KernelRunError> {
        let began = Instant::now();
        let folders = Folders::new().map_err(KernelRunError::of)?;
        let result = self.run_in(&folders, device, device_now, contents, observer);
        result
            .map(|run| Run {
                took: began.elapsed(),
                ..run
            })
            .map_err(|reason| {
                // The signal that interrupted this process may have killed the kernel too.
                let reason = if observer.stop() {
                    MachineError::Interrupted.into()
                } else {
                    reason
                };
                let run = folders.run.path();
                let interrupted = matches!(reason, Reason::Machine(MachineError::Interrupted));
                KernelRunError {
                    reason,
                    log: last_words(run),
                    kept: (!interrupted).then(|| keep_logs(run)).flatten(),
                }
            })
    }

    fn run_in<D: SimulatedDevice>(
        &self,
        folders: &Folders,
        device: &mut D,
        device_now: Nanos,
        contents: &mut Image,
        observer: &dyn Observer,
    ) -> Result<Run, Reason> {
        let folder = folders.run.path();
        let script = folder.join(process::SCRIPT);
        let file = begin_unsynced(&script, self.script.as_bytes(), Access::Owner);
        let file = file.map_err(WriteError::into_io)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o755))?;
        // A file that is open for writing is not executed.
        drop(file);
        let time_travel = UnixListener::bind(folder.join(process::TIME_TRAVEL_SOCKET))?;
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
            device,
            device_now,
            contents,
            self.disk,
            limits,
            time_travel,
            disk,
        );
        let mut kernel = Start {
            kernel: self.kernel,
            folder,
            memory_folder: folders.memory(),
            memory_mib: self.memory_mib,
            seed: self.seed,
            call_ns: self.call_ns,
            byte_ps: self.byte_ps,
            calls: true,
        }
        .spawn()?;
        let ended = match machine.run(&mut || kernel.is_alive(), observer) {
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
    "it did not exit and was killed".to_string()
}

fn read_console(folder: &Path) -> io::Result<String> {
    let console = std::fs::read(folder.join(process::CONSOLE_LOG))?;
    Ok(String::from_utf8_lossy(&console).replace('\r', ""))
}

/// The last lines of both logs; of the script's log, up to the line that reports a failure.
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
