//! The inode generation, which distinguishes files that had the same inode one after the other:
//! FS_IOC_GETVERSION of `linux/fs.h`.

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::ffi::c_long;
use std::os::fd::AsFd;

/// `_IOR('v', 1, long)`.
const GET_VERSION: Opcode = opcode::read::<c_long>(b'v', 1);

/// Generation of an inode, if the file system has generations.
#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
pub(super) fn of(file: impl AsFd) -> Option<u32> {
    // The kernel writes an `int`, a few file systems the `long` of the number's definition.
    let mut generation = [0u32; 2];
    // SAFETY: FS_IOC_GETVERSION writes at most a `long`, for which there is room, and any bits are
    // good ones for these integers.
    unsafe { ioctl(file, Updater::<GET_VERSION, [u32; 2]>::new(&mut generation)) }.ok()?;
    Some(generation[0])
}
