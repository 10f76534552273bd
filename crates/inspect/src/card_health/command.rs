//! CMD56 of SD cards, through the kernel's pass-through of commands (linux/mmc/ioctl.h). It needs the rights of root and a card in a
//! native slot.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use thiserror::Error;

/// Length of a page, bytes.
pub const PAGE_BYTES: usize = 512;
/// General command: a block of data in the maker's own format.
const GENERAL: u32 = 56;
/// Response R1 with a data transfer, in the flags of the kernel's `mmc_command`.
const R1_WITH_DATA: u32 = 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 7;

/// `struct mmc_ioc_cmd`.
#[derive(Default)]
#[repr(C)]
struct Pass {
    write: i32,
    is_application: i32,
    opcode: u32,
    argument: u32,
    response: [u32; 4],
    flags: u32,
    block_bytes: u32,
    blocks: u32,
    sleep_us: [u32; 2],
    data_timeout_ns: u32,
    command_timeout_ms: u32,
    padding: u32,
    data: u64,
}

// `MMC_IOC_CMD` is `_IOWR(MMC_BLOCK_MAJOR, 0, struct mmc_ioc_cmd)`, and contains this size.
const _: () = assert!(size_of::<Pass>() == 72);
const COMMAND: libc::c_ulong = 0xc048_b300;

/// Why a card did not answer.
#[derive(Debug, Error)]
#[error("the card does not answer the command: {0}")]
pub struct CommandError(io::Error);

/// Reads a page by CMD56 with this argument; `file` is the card's whole block device.
///
/// # Errors
/// [`CommandError`] if the kernel does not allow it, or the card does not know the command.
#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
pub fn read(file: &File, argument: u32) -> Result<Vec<u8>, CommandError> {
    let mut page = vec![0; PAGE_BYTES];
    let mut pass = Pass {
        opcode: GENERAL,
        argument,
        flags: R1_WITH_DATA,
        block_bytes: PAGE_BYTES as u32,
        blocks: 1,
        data: page.as_mut_ptr() as u64,
        ..Pass::default()
    };
    // SAFETY: the kernel reads and writes one `mmc_ioc_cmd`, and writes `blocks` times `block_bytes` bytes to `data`, which has as
    // many; for a file that is no card it fails with ENOTTY.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), COMMAND as _, &raw mut pass) };
    match done {
        0 => Ok(page),
        _ => Err(CommandError(io::Error::last_os_error())),
    }
}
