//! The kernel as a child process: started with its sockets in a separate folder, watched, and killed
//! with its children when its owner ends for any reason.
//!
//! Three mechanisms: dropping [`Process`] kills it; `setpriv --pdeathsig` kills it if this process dies
//! without dropping; and the patched kernel has its children (each process inside is one of the host)
//! killed with it (`PTRACE_O_EXITKILL`).
//!
//! It writes in its own folders only ([`crate::confine`]), and keeps only root's capability to read.

use crate::confine::{self, Keeper};
use nandscope_files::{Access, create_new};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Name of the time-travel socket in the folder of a run.
pub const TIME_TRAVEL_SOCKET: &str = "time";
/// Name of the block device's socket.
pub const DISK_SOCKET: &str = "disk";
/// Name of the file with what the kernel and the programs inside say.
pub const CONSOLE_LOG: &str = "console.log";
/// Name of the file with the kernel's own messages.
pub const KERNEL_LOG: &str = "kernel.log";
/// Name of the file with the calls of programs.
pub const CALLS: &str = "calls.bin";
/// Name of the script that the kernel starts.
pub const SCRIPT: &str = "init";

/// Seconds since 1970 at which every kernel starts: 2015-01-16, 00:00:00 UTC.
pub const START_OF_DAY_S: u64 = 1_421_366_400;

/// Why a kernel could not be started.
#[derive(Debug, Error)]
#[error("cannot start {program}: {source}")]
pub struct StartError {
    program: String,
    source: io::Error,
}

/// Parameters of a kernel's start.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// Executable of the kernel.
    pub kernel: &'a Path,
    /// The folder of the run: sockets, script, logs.
    pub folder: &'a Path,
    /// The folder of the file that is the machine's memory.
    pub memory_folder: &'a Path,
    /// Memory of the machine in MiB.
    pub memory_mib: u32,
    /// Everything that the kernel draws at random follows from it.
    pub seed: u64,
    /// Processor time of a system call, nanoseconds.
    pub call_ns: u64,
    /// Processor time per byte moved, picoseconds.
    pub byte_ps: u64,
    /// Calls of programs are recorded.
    pub calls: bool,
}

/// A running kernel.
#[derive(Debug)]
pub struct Process {
    child: Child,
    ended: Option<ExitStatus>,
    /// Goes after the process has been killed.
    _keeper: Keeper,
}

impl Start<'_> {
    fn arguments(&self) -> Vec<OsString> {
        let mut init = OsString::from("init=");
        init.push(self.folder.join(SCRIPT));
        let mut list: Vec<OsString> = [
            format!("mem={}M", self.memory_mib),
            "root=/dev/root".to_string(),
            "rootfstype=hostfs".to_string(),
            "rootflags=/".to_string(),
            "ro".to_string(),
            "norandmaps".to_string(),
            format!("virtio_uml.device={DISK_SOCKET}:2"),
            format!("time-travel=ext:{TIME_TRAVEL_SOCKET}"),
            format!("time-travel-start={}", START_OF_DAY_S * 1_000_000_000),
            "con=null".to_string(),
            "con0=fd:0,fd:1".to_string(),
            "uml_dir=.".to_string(),
            "umid=kernel".to_string(),
            "panic=-1".to_string(),
            "quiet".to_string(),
        ]
        .into_iter()
        .map(OsString::from)
        .collect();
        list.push(init);
        list
    }

    /// Starts the kernel. The sockets must be listening already.
    ///
    /// # Errors
    /// [`StartError`] if the executable, `setpriv` (util-linux) or a log file is not available.
    pub fn spawn(&self) -> Result<Process, StartError> {
        let fail = |program: PathBuf| {
            move |source| StartError {
                program: program.display().to_string(),
                source,
            }
        };
        let log = |name: &str| {
            let path = self.folder.join(name);
            create_new(&path, Access::Owner).map_err(|error| fail(path)(error.into_io()))
        };
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if rustix::process::geteuid().is_root() {
            command.args(["--inh-caps=-all", "--bounding-set=-all,+dac_read_search"]);
        }
        command.arg("--");
        if has_fixed_addresses() {
            command.args(FIXED_ADDRESSES);
        }
        command
            .arg(self.kernel)
            .args(self.arguments())
            .current_dir(self.folder)
            .env_clear()
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("TMPDIR", self.memory_folder)
            .env("NANDSCOPE_SEED", self.seed.to_string())
            .env("NANDSCOPE_CALL_NS", self.call_ns.to_string())
            .env("NANDSCOPE_BYTE_PS", self.byte_ps.to_string())
            .stdin(Stdio::null())
            .stdout(log(CONSOLE_LOG)?)
            .stderr(log(KERNEL_LOG)?)
            // Ctrl-C on the terminal is for us, who end it.
            .process_group(0);
        if self.calls {
            command.env("NANDSCOPE_CALLS", CALLS);
        }
        let (child, keeper) = confine::spawn(command, &[self.folder, self.memory_folder])
            .map_err(fail(PathBuf::from("setpriv")))?;
        Ok(Process {
            child,
            ended: None,
            _keeper: keeper,
        })
    }
}

/// Starts a program without address space randomisation. The kernel's memory starts after its heap: with
/// a random heap, every run has a different amount of memory and reclaims pages at different times once
/// it is full.
const FIXED_ADDRESSES: [&str; 2] = ["setarch", "-R"];

/// True if the system allows such a start; some containers do not.
fn has_fixed_addresses() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let [program, option] = FIXED_ADDRESSES;
        let mut command = Command::new(program);
        command.args([option, "true"]).stdin(Stdio::null());
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    })
}

impl Process {
    /// True if the process is running.
    pub fn is_alive(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended.is_none()
    }

    /// Waits for its end, up to `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        while self.is_alive() && began.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.ended
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, with all that it started.
    pub fn kill(&mut self) {
        if self.is_alive() {
            let _ = self.child.kill();
            // The kernel makes itself the leader of a session; its helpers are in its group.
            if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            self.ended = self.child.wait().ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
