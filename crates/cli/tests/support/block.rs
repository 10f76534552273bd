//! A served card as a file in a folder and as a block device; both are removed when dropped.

#![allow(dead_code, reason = "each test file uses its part of this")]

use super::Folder;
use super::serving::{Serving, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether cards can be mounted here. If not, reports that the test is skipped.
pub fn can_mount() -> bool {
    let root = Command::new("id").arg("-u").output();
    let root = root.is_ok_and(|o| o.stdout == b"0\n");
    let devices = ["/dev/fuse", "/dev/loop-control"];
    let missing = devices.iter().find(|d| !Path::new(d).exists());
    if !root || missing.is_some() {
        eprintln!("SKIPPED: mounting needs root, /dev/fuse and /dev/loop-control");
    }
    root && missing.is_none()
}

/// A served card in the folder `card`.
pub struct Mounted<'a> {
    serving: Option<Serving>,
    folder: &'a Folder,
    pub file: PathBuf,
}

impl<'a> Mounted<'a> {
    pub fn start(folder: &'a Folder, target: &str, more: &[&str]) -> Self {
        let place = folder.0.join("card");
        let _ = std::fs::create_dir(&place);
        let arguments = [&["serve", target, "--fuse", "card"], more].concat();
        let mut serving = Serving::with(folder, &arguments);
        serving.wait_for("card.img");
        Mounted {
            serving: Some(serving),
            folder,
            file: place.join("card.img"),
        }
    }

    /// Makes a block device of the file.
    pub fn block(&self) -> Loop {
        let file = self.file.display().to_string();
        let arguments = ["--find", "--show", "--direct-io=on", &file];
        let device = run(self.folder, "losetup", &arguments).trim().to_string();
        Loop(device)
    }

    /// Waits until the server has ended by itself.
    pub fn ended(mut self) -> super::Ran {
        self.serving.take().unwrap().ended()
    }

    pub fn finish(mut self) -> super::Ran {
        self.serving.take().unwrap().finish()
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if self.serving.take().is_some() {
            let place = self.folder.0.join("card");
            let _ = Command::new("umount").arg("-l").arg(place).status();
        }
    }
}

/// A loop device, detached at the end.
pub struct Loop(pub String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}
