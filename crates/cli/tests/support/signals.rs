//! Commands that are running, for tests that send them signals or take their terminal away.

#![allow(dead_code, reason = "each test file uses its part of this")]

use super::{Folder, Ran};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A load that would take hours.
pub const ENDLESS: &str =
    "[a]\nrw=randrw\nbs=4k\niodepth=4\nnorandommap\ntime_based\nruntime=100d\n";
/// Time limit of every wait, longer than any takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The numbers of SIGHUP and SIGINT.
pub const HUP: u32 = 1;
const INT: u32 = 2;

/// Waits until something is there.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < LIMIT, "no {what} within {LIMIT:?}");
        sleep(Duration::from_millis(10));
    }
}

/// Whether a process has a signal in one of the masks of `/proc/PID/status`.
pub fn has_signal(process: u32, mask: &str, signal: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(mask));
    let mask =
        line.and_then(|mask| u64::from_str_radix(mask.trim_start_matches(':').trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Whether a process is nandscope already, and catches these signals. The child of a shell catches the shell's signals
/// until it executes its program, and a signal in that time ends it.
fn listens(process: u32, signals: &[u32]) -> bool {
    let program = std::fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
    program.ends_with("nandscope") && signals.iter().all(|s| has_signal(process, "SigCgt", *s))
}

/// Starts a command, and waits until it listens to signals; by then it has checked its arguments.
pub fn start(folder: &Folder, arguments: &[&str]) -> Child {
    start_by(folder.command(arguments))
}

/// As [`start`], for a command that executes nandscope.
pub fn start_by(mut command: Command) -> Child {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_for("listening", || {
        let ended = child.try_wait().unwrap().is_some();
        (ended || listens(child.id(), &[INT])).then_some(())
    });
    child
}

/// Waits until a command that listens has computed for a while, however busy the machine is.
pub fn wait_until_under_way(child: &Child) {
    /// Processor time in units of 10 ms.
    const TICKS: u64 = 30;
    wait_for("progress", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        // The name in brackets may hold spaces; user time is the twelfth field after it.
        let field = stat.rsplit(')').next()?.split_whitespace().nth(11)?;
        (field.parse::<u64>().ok()? >= TICKS).then_some(())
    });
}

/// State of a process in `/proc/PID/stat`, and its processor time in ticks of a hundredth of a second.
pub fn stat(process: u32) -> Option<(char, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = text.rsplit(')').next()?.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut times = fields
        .skip(10)
        .map(|field| field.parse::<u64>().unwrap_or(0));
    Some((state, times.next()? + times.next()?))
}

/// Waits until a process is a zombie; gives its processor time in ticks.
pub fn ticks_at_the_end(process: u32, limit: Duration, what: &str) -> u64 {
    let began = Instant::now();
    loop {
        match stat(process) {
            Some(('Z', ticks)) => return ticks,
            None => return 0,
            _ => {}
        }
        assert!(began.elapsed() < limit, "{what}: no end within {limit:?}");
        sleep(Duration::from_millis(2));
    }
}

/// Sends a signal to each of these processes; a negative number is a process group.
pub fn send(signal: &str, to: &[i64]) {
    let to: Vec<String> = to.iter().map(i64::to_string).collect();
    let mut kill = Command::new("kill");
    assert!(
        kill.args(["-s", signal, "--"])
            .args(to)
            .status()
            .unwrap()
            .success()
    );
}

/// Ends a command by a signal.
pub fn end(child: Child, signal: &str) -> Ran {
    send(signal, &[child.id().into()]);
    Ran::from(child.wait_with_output().unwrap())
}

/// A command on a separate terminal.
pub struct OnTerminal<'a> {
    folder: &'a Folder,
    script: Child,
    /// Process of the command.
    pub process: u32,
}

impl<'a> OnTerminal<'a> {
    /// Starts it, and waits until it listens to signals.
    pub fn start(folder: &'a Folder, arguments: &[&str]) -> Self {
        let command = folder.command(arguments);
        let words: Vec<String> = std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(|word| format!("'{}'", word.to_str().unwrap()))
            .collect();
        // The first shell ends with its terminal; then the system sends SIGHUP to all processes in the foreground. The
        // second shell traps SIGHUP and reports the exit code of the command, which does not inherit the trap.
        let line = format!(
            "(trap : HUP; {}; echo $? > code.part; mv code.part code); true",
            words.join(" ")
        );
        let script = Command::new("script")
            .args(["-q", "-e", "-c", &line, "/dev/null"])
            .current_dir(&folder.0)
            .env("XDG_STATE_HOME", folder.state())
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let shell = wait_for("shell", || child_of(script.id()));
        let process = wait_for("command", || {
            let command = child_of(child_of(shell)?);
            command.filter(|process| listens(*process, &[INT, HUP]))
        });
        OnTerminal {
            folder,
            script,
            process,
        }
    }

    /// Takes the terminal away, and gives the exit code of the command.
    pub fn hang_up(mut self) -> String {
        self.script.kill().unwrap();
        self.script.wait().unwrap();
        let code = self.folder.0.join("code");
        wait_for("end", || Path::new(&code).exists().then_some(()));
        let text = std::fs::read_to_string(&code).unwrap();
        std::fs::remove_file(&code).unwrap();
        text.trim().to_string()
    }
}

fn child_of(process: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    children.ok()?.split_whitespace().next()?.parse().ok()
}
