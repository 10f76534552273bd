//! A block device of this machine that is held while file systems are made on it: by number, so that no name is looked
//! up again, and by a descriptor, so that the number stays with this device even if it is pulled out.

use crate::layout::Contents;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Bytes of the sectors in which sysfs counts.
const SECTOR: u64 = 512;

/// Longest use by another program that does not count.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a device cannot be used for the next run.
#[derive(Debug, Error)]
pub enum DiskError {
    /// It was removed, or sysfs does not show it.
    #[error("{0} is gone; connect it again, and start anew")]
    Gone(String),
    /// Another medium, or another size.
    #[error("{0} has changed: its medium or its size is another one; nothing was written to it")]
    Changed(String),
    /// It is mounted, or another program has it for itself.
    #[error("{0} is in use by another program, or mounted; unmount it, and start anew")]
    InUse(String),
    /// A file system of a run that did not let go of it.
    #[error(
        "{0} is still in use {1} s after its file system was to be unmounted: the kernel writes to it, or waits for it; look for `mount` in /proc/*/mounts, or reboot before you remove it"
    )]
    StillInUse(String, u64),
    /// The system's reason.
    #[error("{0}: {1}")]
    System(String, io::Error),
}

/// A held block device: a disk or a partition.
#[derive(Debug)]
pub struct Disk {
    held: File,
    name: String,
    major: u32,
    minor: u32,
    /// Folder of the device in sysfs.
    folder: PathBuf,
    /// Folder of the whole disk.
    whole: PathBuf,
    /// First byte on the whole disk.
    start: u64,
    size: u64,
    /// Number that another medium or another attachment changes (Linux 5.15).
    sequence: Option<u64>,
    /// Keeps udev from reading file systems that are made here, and desktops from mounting them.
    _lock: Option<File>,
}

impl Disk {
    /// Holds the block device that `open` is; `name` is for messages. `open` may be exclusive: it is closed.
    ///
    /// # Errors
    /// [`DiskError`] if it is no block device, or sysfs does not know it.
    pub fn hold(name: &str, open: File) -> Result<Disk, DiskError> {
        let system = |e: io::Error| DiskError::System(name.to_string(), e);
        let held = reopened(&open, OFlags::empty()).map_err(|e| system(e.into()))?;
        let device = held.metadata().map_err(system)?.rdev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let folder = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
        let folder = folder.canonicalize().map_err(system)?;
        let whole = match folder.parent() {
            Some(disk) if folder.join("partition").exists() => disk.to_path_buf(),
            _ => folder.clone(),
        };
        let size = number(&folder.join("size")).unwrap_or(0) * SECTOR;
        Ok(Disk {
            _lock: lock(&held, &folder, &whole),
            start: number(&folder.join("start")).map_or(0, |sectors| sectors * SECTOR),
            sequence: number(&whole.join("diskseq")),
            name: name.to_string(),
            held,
            major,
            minor,
            folder,
            whole,
            size,
        })
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Major and minor number.
    pub fn number(&self) -> (u32, u32) {
        (self.major, self.minor)
    }

    /// Major and minor number of the whole disk, if sysfs shows it.
    pub fn whole_number(&self) -> Option<(u32, u32)> {
        let text = std::fs::read_to_string(self.whole.join("dev")).ok()?;
        let (major, minor) = text.trim().split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// First byte on the whole disk, and size, bytes.
    pub fn range(&self) -> (u64, u64) {
        (self.start, self.size)
    }

    /// File of the kernel's counts of its requests.
    pub fn counts(&self) -> PathBuf {
        self.folder.join("stat")
    }

    /// The sequence number that it had when it was taken, and the file that shows the present one.
    pub fn sequence(&self) -> (Option<u64>, PathBuf) {
        (self.sequence, self.whole.join("diskseq"))
    }

    /// Checks that it is the device that was taken, and that nobody uses it.
    ///
    /// # Errors
    /// [`DiskError`] if it is gone, has changed, or is in use.
    pub fn check(&self) -> Result<(), DiskError> {
        let name = || self.name.clone();
        // A program that looks at all devices may have it for a moment.
        let _ = self.wait_until_free(PATIENCE);
        match self.exclusively() {
            Ok(_) => {}
            Err(Errno::BUSY) => return Err(DiskError::InUse(name())),
            Err(e) if is_gone(e) => return Err(DiskError::Gone(name())),
            Err(e) => return Err(DiskError::System(name(), e.into())),
        }
        if self.is_gone() {
            return Err(DiskError::Gone(name()));
        }
        let sectors = number(&self.folder.join("size")).unwrap_or(0);
        let sequence = number(&self.whole.join("diskseq"));
        if sectors * SECTOR != self.size || sequence != self.sequence {
            return Err(DiskError::Changed(name()));
        }
        Ok(())
    }

    /// Whether it was removed: the kernel takes its size away then, or shows it no more.
    pub fn is_gone(&self) -> bool {
        let end = rustix::fs::seek(&self.held, rustix::fs::SeekFrom::End(0));
        end == Ok(0) || number(&self.folder.join("size")).unwrap_or(0) == 0
    }

    /// Waits until no file system is mounted on it, or it is gone.
    ///
    /// # Errors
    /// [`DiskError::StillInUse`] after `limit`.
    pub fn wait_until_free(&self, limit: Duration) -> Result<(), DiskError> {
        let began = Instant::now();
        loop {
            match self.exclusively() {
                Err(Errno::BUSY) => {}
                _ => return Ok(()),
            }
            if began.elapsed() >= limit {
                return Err(DiskError::StillInUse(self.name.clone(), limit.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sectors written so far, as the kernel counts them; `None` if it does not.
    pub fn written(&self) -> Option<u64> {
        let text = std::fs::read_to_string(self.counts()).ok()?;
        let sectors: u64 = text.split_whitespace().nth(6)?.parse().ok()?;
        Some(sectors * SECTOR)
    }

    /// The kernel refuses this while the device is mounted, in use for swap, or held exclusively.
    fn exclusively(&self) -> Result<File, Errno> {
        reopened(&self.held, OFlags::EXCL)
    }
}

impl Contents for Disk {
    fn capacity(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, to: &mut [u8]) -> Option<()> {
        self.held.read_exact_at(to, offset).ok()
    }
}

/// Opens the same device again, read-only.
fn reopened(file: &File, flags: OFlags) -> Result<File, Errno> {
    let place = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(place, flags, Mode::empty())?))
}

/// Locks the whole disk as systemd asks of programs that change partitions or file systems. Without the lock, a desktop
/// may mount what was just made; it is not needed for anything else.
fn lock(held: &File, folder: &Path, whole: &Path) -> Option<File> {
    let file = if folder == whole {
        held.try_clone().ok()?
    } else {
        File::open(Path::new("/dev").join(whole.file_name()?)).ok()?
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NXIO | Errno::NODEV | Errno::NOMEDIUM)
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}
