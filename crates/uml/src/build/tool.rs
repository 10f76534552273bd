//! Runs the programs of a build. A program is killed with its children if the build is stopped.

use super::error::BuildError;
use nandscope_files::{Access, create_new};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Time between two checks whether a program has ended.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the programs of one build.
pub struct Tools<'a> {
    /// A folder for what they say.
    pub work: &'a Path,
    /// Returns true if the build should stop.
    pub stop: &'a dyn Fn() -> bool,
}

/// Creates a file in place of the one of an earlier program.
fn fresh(path: &Path) -> Result<File, BuildError> {
    // A file that is missing need not be removed, and creating one fails if the old one could not be.
    let _ = std::fs::remove_file(path);
    Ok(create_new(path, Access::Owner)?)
}

impl Tools<'_> {
    /// Runs a program; if it fails, its output becomes part of the error.
    ///
    /// # Errors
    /// `BuildError::Io` if it cannot be started, `Failed` if it fails, `Interrupted` if it is stopped.
    pub fn run(&self, command: &mut Command, what: &str) -> Result<(), BuildError> {
        self.run_counting(command, what, &mut |_| {})
    }

    /// As [`Tools::run`]; calls `lines` occasionally with the number of lines on standard output.
    ///
    /// # Errors
    /// As [`Tools::run`].
    pub fn run_counting(
        &self,
        command: &mut Command,
        what: &str,
        lines: &mut dyn FnMut(u32),
    ) -> Result<(), BuildError> {
        let place = command.get_program().to_os_string();
        let io = |source| BuildError::Io {
            place: OsStr::to_string_lossy(&place).into_owned(),
            source,
        };
        let [out, err] = ["said.out", "said.err"].map(|name| self.work.join(name));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(fresh(&out)?)
            .stderr(fresh(&err)?)
            // Ctrl-C on the terminal is for us, who end it; a program ended by it would count as failed.
            .process_group(0)
            .spawn()
            .map_err(io)?;
        let said = File::open(&out).map_err(io)?;
        let Some(status) = self.wait(&mut child, said, lines).map_err(io)? else {
            return Err(BuildError::Interrupted);
        };
        if status.success() {
            return Ok(());
        }
        let text = |path: &Path| std::fs::read(path).unwrap_or_default();
        let mut said = text(&err);
        if said.trim_ascii().is_empty() {
            said = text(&out);
        }
        let said = String::from_utf8_lossy(&said);
        let last: Vec<_> = said.lines().collect();
        Err(BuildError::Failed {
            what: what.to_string(),
            status: status.to_string(),
            said: last[last.len().saturating_sub(12)..].join("\n"),
        })
    }

    /// Waits for the end of a program; `None` if it was stopped.
    fn wait(
        &self,
        child: &mut Child,
        mut said: File,
        lines: &mut dyn FnMut(u32),
    ) -> io::Result<Option<ExitStatus>> {
        let mut count = 0u32;
        let mut chunk = vec![0; 64 << 10];
        loop {
            let before = count;
            loop {
                let got = said.read(&mut chunk)?;
                if got == 0 {
                    break;
                }
                for _ in chunk[..got].iter().filter(|b| **b == b'\n') {
                    count = count.saturating_add(1);
                }
            }
            if count > before {
                lines(count);
            }
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if (self.stop)() {
                end(child);
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Ends a program and its group, compilers among them.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// Checks that programs are in the search path.
///
/// # Errors
/// `BuildError::Tools` with the missing tools and their packages.
pub fn check_tools(tools: &[(&str, &str)]) -> Result<(), BuildError> {
    let missing: Vec<_> = tools.iter().filter(|(name, _)| !in_path(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let join = |words: Vec<&str>, by: &str| words.join(by);
    Err(BuildError::Tools {
        missing: join(missing.iter().map(|(name, _)| *name).collect(), ", "),
        packages: join(missing.iter().map(|(_, package)| *package).collect(), " "),
    })
}

/// True if the program exists in the search path or in the system's folders, which a user's path may
/// lack.
pub fn in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::cell::Cell;

    #[test]
    fn lines_are_counted_and_errors_are_told() {
        let work = Scratch::new(&std::env::temp_dir(), "nandscope-tool").unwrap();
        let tools = Tools {
            work: work.path(),
            stop: &|| false,
        };
        let mut heard = 0;
        let mut shell = Command::new("sh");
        let failing = shell.args(["-c", "seq 1000; echo broken >&2; exit 3"]);
        let error = tools.run_counting(failing, "counting", &mut |n| heard = n);
        let text = error.unwrap_err().to_string();
        assert_eq!(heard, 1000);
        assert!(
            text.contains("counting") && text.ends_with("broken"),
            "{text}"
        );
    }

    #[test]
    fn who_is_stopped_ends_with_what_it_started() {
        let work = Scratch::new(&std::env::temp_dir(), "nandscope-tool").unwrap();
        let asked = Cell::new(false);
        let tools = Tools {
            work: work.path(),
            stop: &|| asked.get(),
        };
        let mut shell = Command::new("sh");
        // The number of the inner process, once it is there.
        let sleeping = shell.args(["-c", "sleep 1000 & echo $! >number; echo; wait"]);
        sleeping.current_dir(work.path());
        let stopped = tools.run_counting(sleeping, "sleeping", &mut |_| asked.set(true));
        assert!(matches!(stopped, Err(BuildError::Interrupted)));
        let number = std::fs::read_to_string(work.path().join("number")).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
        for _ in 0..1000 {
            if !state().is_ok_and(|s| !s.contains(") Z ")) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("what it started is still there");
    }
}
