//! Whether a file is open anywhere else, by whatever name and for whomever: the kernel grants a lease for
//! writing only where it is not. What is behind a loop device, the loop device has open.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// From `asm-generic/fcntl.h`; libc names it for a few systems only.
const F_SETSIG: c_int = 10;

/// Whether this descriptor is the only one of its file. Only the owner of the file, or who has CAP_LEASE,
/// gets an answer; file systems without leases give none.
///
/// # Errors
/// What the kernel said where somebody else has the file open, or it does not tell.
pub(super) fn is_alone(file: &File) -> io::Result<()> {
    // Who opens the file before the lease is given back causes a signal: SIGIO would end the process, SIGURG
    // is ignored.
    control(file, F_SETSIG, libc::SIGURG)?;
    control(file, libc::F_SETLEASE, libc::F_WRLCK)?;
    control(file, libc::F_SETLEASE, libc::F_UNLCK)
}

#[allow(unsafe_code, reason = "commands of fcntl without a safe wrapper")]
fn control(file: &File, command: c_int, argument: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open, and these commands take an integer and touch no memory.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
