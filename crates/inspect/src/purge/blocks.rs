//! Requests of the kernel for block devices: discards, and dropping its cache.

use super::PurgeError;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::ioctl::{NoArg, Opcode, Setter, ioctl, opcode};
use std::fs::File;

/// `BLKDISCARD`, `BLKSECDISCARD` and `BLKFLSBUF` of linux/fs.h.
const DISCARD: Opcode = opcode::none(0x12, 119);
const SECURE_DISCARD: Opcode = opcode::none(0x12, 125);
const DROP_CACHE: Opcode = opcode::none(0x12, 97);

/// Length of one discard, bytes: short enough to end soon after a signal.
const STEP: u64 = 1 << 30;

/// Discards `size` bytes from the beginning; returns the number of bytes discarded, which is smaller if `goes_on` answered
/// false. `goes_on` gets the completed share.
pub(super) fn discard(
    file: &File,
    size: u64,
    secure: bool,
    goes_on: &mut dyn FnMut(f64) -> bool,
) -> Result<u64, PurgeError> {
    let mut at = 0;
    while at < size && goes_on(at as f64 / size as f64) {
        let length = STEP.min(size - at);
        let done = match secure {
            true => discard_range::<SECURE_DISCARD>(file, at, length),
            false => discard_range::<DISCARD>(file, at, length),
        };
        done.map_err(|e| PurgeError::System(e.into()))?;
        at += length;
    }
    Ok(at)
}

#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
fn discard_range<const REQUEST: Opcode>(
    file: &File,
    offset: u64,
    length: u64,
) -> Result<(), Errno> {
    // SAFETY: both requests read two u64 from their argument, which is such an array.
    unsafe { ioctl(file, Setter::<REQUEST, [u64; 2]>::new([offset, length])) }
}

/// Drops what the kernel has cached of a block device, so that reads reach it.
#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
pub(super) fn drop_cache(file: &File) -> Result<(), Errno> {
    // SAFETY: BLKFLSBUF has no argument.
    unsafe { ioctl(file, NoArg::<DROP_CACHE>::new()) }
}

/// Clears `O_DIRECT`, which a measurement through the same open file may have set: buffers need no alignment then.
pub(super) fn buffered(file: &File) -> Result<(), Errno> {
    let flags = fcntl_getfl(file)?;
    fcntl_setfl(file, flags - OFlags::DIRECT)
}
