//! Mounting and unmounting, which needs root (or the capability to mount).

use super::file::{File, LARGEST_TRANSFER};
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
#[error("cannot mount at {folder}: {reason}")]
pub struct MountError {
    folder: String,
    reason: Reason,
}

/// Why a card could not be mounted.
#[derive(Debug, Error)]
enum Reason {
    #[error("{0}; name a folder that exists")]
    NoFolder(io::Error),
    #[error("not a folder")]
    NotAFolder,
    #[error("/dev/fuse: {0}; this kernel or container has no FUSE")]
    NoFuse(Errno),
    #[error("only root may mount; --nbd needs no privileges")]
    NoRights,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A mount, undone when this value is dropped: by a thread that began with it, since the server may confine itself
/// (Landlock) in the meantime, after which it could not unmount.
#[derive(Debug)]
pub struct Mount {
    /// Descriptor of the kernel's messages.
    pub device: OwnedFd,
    /// Closing this end when the mount is dropped tells the thread `unmounting` to unmount.
    present: Option<Sender<()>>,
    unmounting: Option<JoinHandle<()>>,
}

impl Mount {
    /// Mounts the file at a folder.
    ///
    /// # Errors
    /// [`MountError`] if the folder does not exist, the kernel has no FUSE, the user may not mount, or a system call
    /// fails.
    pub fn new(folder: &Path, file: &File) -> Result<Self, MountError> {
        mount(folder, file).map_err(|reason| MountError {
            folder: folder.display().to_string(),
            reason,
        })
    }
}

fn mount(folder: &Path, file: &File) -> Result<Mount, Reason> {
    let folder = folder.canonicalize().map_err(Reason::NoFolder)?;
    if !folder.is_dir() {
        return Err(Reason::NotAFolder);
    }
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open("/dev/fuse", flags, Mode::empty()).map_err(Reason::NoFuse)?;
    let options = format!(
        "fd={},rootmode=40000,user_id={},group_id={},max_read={}",
        device.as_raw_fd(),
        file.owner.0,
        file.owner.1,
        LARGEST_TRANSFER
    );
    // Digits and letters only.
    let options = CString::new(options).map_err(io::Error::from)?;
    let restricted = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME;
    rustix::mount::mount(
        "nandscope",
        &folder,
        "fuse.nandscope",
        restricted,
        options.as_c_str(),
    )
    .map_err(|error| match error {
        Errno::PERM => Reason::NoRights,
        other => Reason::Io(other.into()),
    })?;
    Ok(unmount_later(folder, device)?)
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
