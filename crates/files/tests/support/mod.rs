//! A temporary folder for a test, and helpers that create files of all kinds in it.

#![allow(dead_code, reason = "each test file uses its part of this")]

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};

/// A temporary folder, removed when it is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = base.join(format!("files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path.canonicalize().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    pub fn link(&self, name: &str, to: impl AsRef<Path>) -> PathBuf {
        symlink(to, self.path(name)).unwrap();
        self.path(name)
    }

    pub fn fifo(&self, name: &str) -> PathBuf {
        mknodat(CWD, self.path(name), FileType::Fifo, Mode::RWXU, 0).unwrap();
        self.path(name)
    }

    /// Creates a device node; `None`, with a notice, where the system forbids it.
    pub fn node(&self, name: &str, kind: FileType, major: u32, minor: u32) -> Option<PathBuf> {
        let path = self.path(name);
        let made = mknodat(CWD, &path, kind, Mode::RWXU, makedev(major, minor));
        if made.is_err() {
            skip(name, "only root may make device nodes");
        }
        made.ok().map(|()| path)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Prints, past the test harness's capture, that something was not tested.
pub fn skip(what: &str, why: &str) {
    let told = fs::File::options().write(true).open("/proc/self/fd/2");
    let _ = told.and_then(|mut out| writeln!(out, "SKIPPED {what}: {why}"));
}

pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).unwrap().is_symlink()
}

pub fn is_character_device(path: &Path) -> bool {
    let kind = fs::symlink_metadata(path).unwrap().file_type();
    kind.is_char_device()
}

pub fn is_block_device(path: &Path) -> bool {
    let kind = fs::symlink_metadata(path).unwrap().file_type();
    kind.is_block_device()
}
