//! Loop devices, for tests that need a block device.

use super::Folder;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// Reports a skipped test on standard error itself: the test harness hides the output of tests that pass.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Runs a system tool; returns its standard output, or `None` if it failed.
pub fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    let done = Command::new(name).args(arguments).output().ok()?;
    done.status
        .success()
        .then(|| String::from_utf8_lossy(&done.stdout).trim().to_string())
}

/// A loop device over a file of random data in a separate tmpfs.
pub struct Loop {
    /// Mount point of the tmpfs.
    pub mount: PathBuf,
    /// The device, such as `/dev/loop3`.
    pub device: String,
}

impl Loop {
    /// Creates a loop device of `mib` MiB; if that is not allowed here, reports it and returns `None`.
    pub fn new(folder: &Folder, mib: usize) -> Option<Loop> {
        let mount = folder.0.join("tmpfs");
        std::fs::create_dir_all(&mount).unwrap();
        let at = mount.to_str().unwrap();
        let room = format!("size={}m", mib + 56);
        if tool("mount", &["-t", "tmpfs", "-o", &room, "tmpfs", at]).is_none() {
            skipped("mounting a tmpfs is not allowed here");
            return None;
        }
        let backing = mount.join("backing");
        std::fs::write(&backing, vec![0xa5u8; mib << 20]).unwrap();
        let backing = backing.to_str().unwrap();
        let device = tool("losetup", &["--find", "--show", "--direct-io=on", backing]);
        let Some(device) = device else {
            skipped("a loop device is not to be had here");
            tool("umount", &[at]);
            return None;
        };
        Some(Loop { mount, device })
    }

    /// Kernel name of the device; it has no serial number.
    pub fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    /// The file behind it.
    pub fn backing(&self) -> PathBuf {
        self.mount.join("backing")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        tool("losetup", &["--detach", &self.device]);
        // The kernel lets go of the file a little later.
        for _ in 0..50 {
            if tool("umount", &[self.mount.to_str().unwrap()]).is_some() {
                return;
            }
            sleep(Duration::from_millis(100));
        }
    }
}
