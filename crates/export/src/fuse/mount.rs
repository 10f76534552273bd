//! Mounting and unmounting, which needs root (or the capability to mount).

use super::File;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A card that could not be mounted.
#[derive(Debug, Error)]
#[error("cannot mount at {folder}: {what}")]
pub struct MountError {
    folder: String,
    what: String,
}

/// A mount, undone when it goes.
#[derive(Debug)]
pub struct Mount {
    /// Where the kernel's messages are read and answered.
    pub device: OwnedFd,
    folder: PathBuf,
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
    Ok(Mount { device, folder })
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: who still has the file open gets errors once the descriptor is closed.
        let _ = rustix::mount::unmount(&self.folder, UnmountFlags::DETACH);
    }
}
