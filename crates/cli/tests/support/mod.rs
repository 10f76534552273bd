//! Runs the binary in a separate folder.

#![allow(dead_code, reason = "each test file uses its part of this")]

pub mod block;
pub mod fio;
pub mod fio_json;
#[cfg(target_os = "linux")]
pub mod guest;
pub mod loops;
pub mod mutation;
#[path = "../../../export/tests/support/mod.rs"]
pub mod nbd;
pub mod running;
pub mod serving;
pub mod signals;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The small device of the tests.
pub const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny.toml");

/// A folder that is empty at the start and removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let folder = Folder(path);
        let _ = std::fs::remove_dir_all(folder.state());
        folder
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nandscope"));
        command.args(arguments).current_dir(&self.0);
        // Results that cannot be written to their place are saved here, not in the home of the user who runs the tests.
        command.env("XDG_STATE_HOME", self.state());
        command
    }

    /// State folder of the commands, next to this folder.
    pub fn state(&self) -> PathBuf {
        let mut path = self.0.as_os_str().to_os_string();
        path.push(".state");
        path.into()
    }

    /// Results that were saved in the state folder because they could not be written elsewhere.
    pub fn kept(&self) -> Vec<PathBuf> {
        let results = self.state().join("nandscope/results");
        let entries = std::fs::read_dir(results).into_iter().flatten().flatten();
        let mut kept: Vec<_> = entries.map(|e| e.path()).collect();
        kept.sort();
        kept
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// A command line and its output through a pipe.
    #[track_caller]
    pub fn screen(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        format!("$ nandscope {}\n{}", arguments.join(" "), ran.shown())
    }

    /// A copy of the small device. Its name is the same on every machine, so that line breaks are the same.
    pub fn tiny(&self) -> &'static str {
        std::fs::copy(TINY, self.0.join("tiny.toml")).unwrap();
        "sim:./tiny.toml"
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = std::fs::remove_dir_all(self.state());
    }
}

/// Exit code and outputs of a run of the binary.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// Asserts the exit code, and that standard error contains each of `parts`.
    #[track_caller]
    pub fn fails(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "no `{part}` in:\n{}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }

    /// The output through a pipe, for a snapshot, without notes of progress. Asserts that it has no colours, and that no line of
    /// standard output is wider than 80 columns.
    #[track_caller]
    pub fn shown(&self) -> String {
        let mut text = self.out.clone();
        let err = without_progress(&self.err);
        if !err.is_empty() {
            text += &format!("--- standard error\n{err}");
        }
        if let Some(code) = self.code.filter(|code| *code != 0) {
            text += &format!("--- exit code {code}\n");
        }
        assert!(!text.contains(['\u{1b}', '\r']), "{text}");
        let wide = self.out.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{text}");
        text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }

    #[track_caller]
    pub fn succeeds(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }
}

/// Standard error without the notes of progress: a slow machine prints one every half minute, a fast one none.
fn without_progress(err: &str) -> String {
    let is_progress = |line: &str| {
        let counted = line
            .split_once(": ")
            .and_then(|(_, rest)| rest.split_once(" of "));
        counted.is_some_and(|(done, all)| {
            let all = all.split([' ', ',']).next().unwrap_or_default();
            done.parse::<u64>().is_ok() && all.parse::<u64>().is_ok()
        })
    };
    let lines = err.lines().filter(|line| !is_progress(line));
    lines.map(|line| format!("{line}\n")).collect()
}

pub fn tiny() -> String {
    format!("sim:{TINY}")
}
