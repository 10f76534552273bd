//! A server of the binary on a socket in a folder, ended with the test; and external programs that use it.

#![allow(dead_code, reason = "each test file uses its part of this")]

use super::signals::{send, stat, ticks_at_the_end};
use super::{Folder, Ran};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// The system's own programs: nbdsh needs the Python that its module was installed for.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// `nandscope serve`, running.
pub struct Serving {
    child: Option<Child>,
    /// Standard output that was read so far.
    pub said: String,
    pub socket: PathBuf,
}

impl Serving {
    /// Serves `target` at `card.sock` in the folder, with further arguments, and waits until clients can connect.
    pub fn start(folder: &Folder, target: &str, more: &[&str]) -> Self {
        let arguments = [&["serve", target, "--nbd", "unix:card.sock"], more].concat();
        let mut serving = Self::with(folder, &arguments);
        serving.wait_for("nbd+unix");
        serving
    }

    /// Any command line of `serve`.
    pub fn with(folder: &Folder, arguments: &[&str]) -> Self {
        let mut command = folder.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Serving {
            child: Some(command.spawn().unwrap()),
            said: String::new(),
            socket: folder.0.join("card.sock"),
        }
    }

    /// Reads standard output up to a line that contains `part`.
    pub fn wait_for(&mut self, part: &str) {
        assert!(self.says(part), "it ended after: {}", self.said);
    }

    /// As [`Self::wait_for`]; returns false if the server ended before such a line.
    pub fn says(&mut self, part: &str) -> bool {
        let child = self.child.as_mut().unwrap();
        let mut out = BufReader::with_capacity(1, child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            if out.read_line(&mut line).unwrap() == 0 {
                return false;
            }
            self.said.push_str(&line);
        }
        child.stdout = Some(out.into_inner());
        true
    }

    pub fn uri(&self) -> String {
        format!("nbd+unix:///?socket={}", self.socket.display())
    }

    pub fn pid(&self) -> String {
        self.child.as_ref().unwrap().id().to_string()
    }

    /// A line of `/proc/PID/status` about the memory of the server, in bytes.
    pub fn memory(&self, name: &str) -> u64 {
        memory(self.child.as_ref().unwrap().id(), name)
    }

    /// Ends the server by a signal; returns its exit code and remaining output.
    pub fn end(mut self, signal: &str) -> Ran {
        let child = self.child.take().unwrap();
        let kill = ["-s", signal, &child.id().to_string()];
        assert!(Command::new("kill").args(kill).status().unwrap().success());
        Ran::from(child.wait_with_output().unwrap())
    }

    /// Ends the server by a signal; returns also its processor time from then on, in ticks of a hundredth of a second, and its
    /// largest memory, bytes.
    pub fn end_measured(mut self, signal: &str, limit: Duration) -> (Ran, u64, u64) {
        let child = self.child.take().unwrap();
        let (_, before) = stat(child.id()).unwrap();
        let memory = memory(child.id(), "VmHWM");
        send(signal, &[child.id().into()]);
        let after = ticks_at_the_end(child.id(), limit, "the server");
        let ran = Ran::from(child.wait_with_output().unwrap());
        (ran, after.saturating_sub(before), memory)
    }

    /// Waits until the server has ended by itself.
    pub fn ended(mut self) -> Ran {
        Ran::from(self.child.take().unwrap().wait_with_output().unwrap())
    }

    /// Ends the server by SIGINT, and asserts that it succeeds.
    pub fn finish(self) -> Ran {
        let ran = self.end("INT");
        ran.succeeds();
        ran
    }
}

fn memory(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether the programs are installed. If not, reports that the test is skipped; in CI (`NANDSCOPE_DEMAND_TOOLS`),
/// after scripts/install-tools.sh has run, the test fails.
pub fn have(programs: &[&str]) -> bool {
    for program in programs {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .env("PATH", SYSTEM_PATH)
            .output()
            .is_ok_and(|o| o.status.success());
        if !found {
            assert!(
                std::env::var_os("NANDSCOPE_DEMAND_TOOLS").is_none(),
                "{program} is missing; scripts/install-tools.sh installs it"
            );
            eprintln!("SKIPPED: {program} is missing; scripts/install-tools.sh installs it");
            return false;
        }
    }
    true
}

/// Runs an external program in the folder and returns its output if it succeeds.
#[track_caller]
pub fn run(folder: &Folder, program: &str, arguments: &[&str]) -> String {
    let output = attempt(folder, program, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Runs an external program in the folder; returns its outcome.
pub fn attempt(folder: &Folder, program: &str, arguments: &[&str]) -> Output {
    Command::new(program)
        .args(arguments)
        .current_dir(&folder.0)
        .env("PATH", SYSTEM_PATH)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|e| panic!("{program}: {e}"))
}
