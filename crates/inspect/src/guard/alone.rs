//! Detects other users of a file by any name: the kernel refuses a write lease if others have the file open. A loop
//! device has its backing file open.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// From `asm-generic/fcntl.h`; libc names it for a few systems only.
const F_SETSIG: c_int = 10;

/// Checks that this is the only open descriptor of the file. The kernel answers only the owner of the
/// file and holders of CAP_LEASE; some file systems have no leases.
///
/// # Errors
/// The kernel's message if the file is open elsewhere or leases are unavailable.
pub(super) fn is_alone(file: &File) -> io::Result<()> {
    // Opening the file during the lease causes a signal: SIGIO would end the process, SIGURG is ignored.
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
