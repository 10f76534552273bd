//! Mounting and unmounting, which needs root (or the capability to mount).

use super::File;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use thiserror::Error;

/// A card that could not be mounted.
#[derive(Debug, Error)]
#[error("cannot mount at {folder}: {what}")]
pub struct MountError {
    folder: String,
    what: String,
}

/// A mount, undone when it goes: by a thread that began with it, since the server may confine itself
/// (Landlock) in the meantime, after which it could not unmount.
#[derive(Debug)]
pub struct Mount {
    /// Where the kernel's messages are read and answered.
    pub device: OwnedFd,
    /// Closed when it goes.
    present: Option<Sender<()>>,
    unmounting: Option<JoinHandle<()>>,
}

impl Mount {
    pub fn new(folder: &Path, file: &File) -> Result<Self, MountError> {
        mount(folder, file).map_err(|what| MountError {
            folder: folder.display().to_string(),
            what,
        })
    }
}

fn mount(folder: &Path, file: &File) -> Result<Mount, String> {
    let folder = folder
        .canonicalize()
        .map_err(|e| format!("{e}; name a folder that exists"))?;
    if !folder.is_dir() {
        return Err("this is no folder".to_string());
    }
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open("/dev/fuse", flags, Mode::empty())
        .map_err(|e| format!("/dev/fuse: {e}; this kernel or container has no FUSE"))?;
    let options = format!(
        "fd={},rootmode=40000,user_id={},group_id={},max_read={}",
        device.as_raw_fd(),
        file.owner.0,
        file.owner.1,
        super::LARGEST_TRANSFER
    );
    // Digits and letters only.
    let options = CString::new(options).map_err(|e| e.to_string())?;
    let restricted = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME;
    rustix::mount::mount(
        "nandscope",
        &folder,
        "fuse.nandscope",
        restricted,
        options.as_c_str(),
    )
    .map_err(|e| match e {
        Errno::PERM => "only root may mount; --nbd needs no rights".to_string(),
        other => other.to_string(),
    })?;
    unmount_later(folder, device).map_err(|e| e.to_string())
}

fn unmount_later(folder: PathBuf, device: OwnedFd) -> io::Result<Mount> {
    let (present, gone) = channel::<()>();
    let place = folder.clone();
    let unmounting = std::thread::Builder::new()
        .name("unmount".to_string())
        .spawn(move || {
            // Ends when the other end is closed.
            let _ = gone.recv();
            unmount(&place);
        })
        .inspect_err(|_| unmount(&folder))?;
    Ok(Mount {
        device,
        present: Some(present),
        unmounting: Some(unmounting),
    })
}

/// Lazily: who still has the file open gets errors once the descriptor is closed.
fn unmount(folder: &Path) {
    let _ = rustix::mount::unmount(folder, UnmountFlags::DETACH);
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.present = None;
        if let Some(thread) = self.unmounting.take() {
            let _ = thread.join();
        }
    }
}
