//! The one request to the system that has no safe form in a library: discarding a range of a
//! block device.

use rustix::io::Errno;
use rustix::ioctl::{Setter, ioctl, opcode};
use std::fs::File;

/// BLKDISCARD is `_IO(0x12, 119)` in linux/fs.h.
const BLKDISCARD: rustix::ioctl::Opcode = opcode::none(0x12, 119);

/// Discards a range of a block device; returns when it is done.
#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
pub(super) fn discard(file: &File, offset: u64, length: u64) -> Result<(), Errno> {
    // SAFETY: BLKDISCARD reads two u64 from its argument, which is what it is given; a file that is
    // no block device answers ENOTTY.
    unsafe { ioctl(file, Setter::<BLKDISCARD, [u64; 2]>::new([offset, length])) }
}
