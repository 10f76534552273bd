//! Attaches a file to a free loop device: LOOP_CTL_GET_FREE and LOOP_CONFIGURE (Linux 5.8) of `linux/loop.h`. The kernel
//! detaches it when the last descriptor and the last mount are gone, however the process ends (LO_FLAGS_AUTOCLEAR).

use super::status::Info;
use crate::roots::{self, Roots};
use std::ffi::{c_int, c_ulong};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

const CTL_GET_FREE: c_ulong = 0x4c82;
const CONFIGURE: c_ulong = 0x4c0a;
const AUTOCLEAR: u32 = 4;
const DIRECT_IO: u32 = 16;
/// Free devices that another process may take before us.
const TRIES: u32 = 16;
/// Longest time for the kernel to detach a device that nobody has open.
const DETACH: Duration = Duration::from_secs(5);

/// Why a file cannot be attached.
#[derive(Debug, Error)]
pub enum AttachError {
    /// There are no loop devices, or they are not allowed.
    #[error("no loop device: {0}; attaching a file needs root and the module `loop`")]
    Control(io::Error),
    /// The kernel refused it.
    #[error("cannot attach the file to {}: {source}; this needs root and Linux 5.8", device.display())]
    Configure {
        /// The loop device.
        device: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// A file that is attached to a loop device as long as its descriptors are open.
#[derive(Debug)]
pub struct Attached {
    /// The device, such as `/dev/loop3`.
    pub device: PathBuf,
    /// An open descriptor of the device; the device is detached when the last one is closed.
    pub open: File,
}

/// `struct loop_config`.
#[repr(C)]
struct Config {
    file: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

// The size that the kernel reads.
const _: () = assert!(size_of::<Config>() == 304);

impl Attached {
    /// Attaches `file`, open for reading and writing, with direct I/O if its file system can do it.
    ///
    /// # Errors
    /// [`AttachError`] if loop devices are missing or not allowed.
    pub fn new(file: &File) -> Result<Attached, AttachError> {
        let control = |e| AttachError::Control(e);
        let both = |path: &Path| File::options().read(true).write(true).open(path);
        let all = both(Path::new("/dev/loop-control")).map_err(control)?;
        let mut tries = 0;
        loop {
            let number = free(&all).map_err(control)?;
            let device = PathBuf::from(format!("/dev/loop{number}"));
            let open = both(&device).map_err(control)?;
            match configure(&open, file) {
                Ok(()) => return Ok(Attached { device, open }),
                // Another process took it.
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) && tries < TRIES => tries += 1,
                Err(source) => return Err(AttachError::Configure { device, source }),
            }
        }
    }
}

/// Whether the loop device passes requests to its file without the page cache; `None` if that is unknown.
pub fn is_direct(roots: &Roots, device: &Path) -> Option<bool> {
    roots::flag(&folder(roots, device).join("dio"))
}

/// Waits until a loop device has no file any more; false if it still has one after some seconds.
pub fn is_detached(roots: &Roots, device: &Path) -> bool {
    let began = Instant::now();
    while folder(roots, device).exists() {
        if began.elapsed() > DETACH {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

fn folder(roots: &Roots, device: &Path) -> PathBuf {
    let name = roots::file_name(device);
    roots.sys.join("block").join(name).join("loop")
}

#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
fn free(control: &File) -> io::Result<c_int> {
    // SAFETY: the descriptor is open; LOOP_CTL_GET_FREE takes no argument and touches no memory.
    match unsafe { libc::ioctl(control.as_raw_fd(), CTL_GET_FREE as _) } {
        -1 => Err(io::Error::last_os_error()),
        number => Ok(number),
    }
}

#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
fn configure(device: &File, file: &File) -> io::Result<()> {
    let mut config = Config {
        file: file.as_raw_fd() as u32,
        block_size: 0,
        info: Info::default(),
        reserved: [0; 8],
    };
    config.info.flags = AUTOCLEAR | DIRECT_IO;
    let place: *const Config = &config;
    // SAFETY: LOOP_CONFIGURE reads one `struct loop_config`, which lives until the call returns.
    match unsafe { libc::ioctl(device.as_raw_fd(), CONFIGURE as _, place) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
