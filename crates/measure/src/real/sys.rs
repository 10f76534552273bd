//! The requests to the system that have no safe form in a library: discarding a range of a block
//! device, and io_uring_enter on a registered ring.

use io_uring::{EnterFlags, IoUring};
use rustix::io::Errno;
use rustix::ioctl::{Setter, ioctl, opcode};
use std::fs::File;
use std::os::fd::AsRawFd;

/// BLKDISCARD is `_IO(0x12, 119)` in linux/fs.h.
const BLKDISCARD: rustix::ioctl::Opcode = opcode::none(0x12, 119);

/// Discards a range of a block device, synchronously.
#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
pub(super) fn discard(file: &File, offset: u64, length: u64) -> Result<(), Errno> {
    // SAFETY: BLKDISCARD reads two u64 from its argument, which is such an array; for a file that is no block device it
    // fails with ENOTTY.
    unsafe { ioctl(file, Setter::<BLKDISCARD, [u64; 2]>::new([offset, length])) }
}

/// `struct io_uring_rsrc_update` of linux/io_uring.h.
#[repr(C)]
struct RingUpdate {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// IORING_REGISTER_RING_FDS and IORING_ENTER_REGISTERED_RING of linux/io_uring.h, since Linux 5.18.
const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;
const ENTER_REGISTERED_RING: u32 = 1 << 4;

/// Registers the ring with the calling thread; returns its number there, or `None` if the kernel does not support this.
#[allow(
    unsafe_code,
    reason = "a system call without a safe wrapper that keeps the number"
)]
pub(super) fn register_ring(ring: &IoUring) -> Option<u32> {
    let mut update = RingUpdate {
        offset: u32::MAX,
        reserved: 0,
        data: ring.as_raw_fd() as u64,
    };
    // SAFETY: the kernel reads one `io_uring_rsrc_update` and writes the number into its offset.
    let registered = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            ring.as_raw_fd(),
            REGISTER_RING_FDS,
            &raw mut update,
            1,
        )
    };
    (registered == 1).then_some(update.offset)
}

/// Unregisters the ring; a registered ring would be kept until the thread ends.
#[allow(unsafe_code, reason = "as `register_ring`")]
pub(super) fn unregister_ring(ring: &IoUring, index: u32) {
    let update = RingUpdate {
        offset: index,
        reserved: 0,
        data: 0,
    };
    // SAFETY: the kernel reads one `io_uring_rsrc_update`.
    unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            ring.as_raw_fd(),
            UNREGISTER_RING_FDS,
            &raw const update,
            1,
        );
    }
}

/// Submits the queued operations and waits for `want` completions. `index` is the number of the ring if the calling
/// thread has registered it.
#[inline]
pub(super) fn enter(
    ring: &IoUring,
    index: Option<u32>,
    queued: u32,
    want: u32,
) -> Result<(), Errno> {
    call(ring, index, queued, want, EnterFlags::GETEVENTS)
}

/// Submits the queued operations without waiting for completions.
#[inline]
pub(super) fn submit(ring: &IoUring, index: Option<u32>, queued: u32) -> Result<(), Errno> {
    call(ring, index, queued, 0, EnterFlags::empty())
}

#[allow(
    unsafe_code,
    reason = "a system call without a safe wrapper that takes the number"
)]
#[inline]
fn call(
    ring: &IoUring,
    index: Option<u32>,
    queued: u32,
    want: u32,
    flags: EnterFlags,
) -> Result<(), Errno> {
    let (fd, flags) = match index {
        Some(index) => (index as i32, flags.bits() | ENTER_REGISTERED_RING),
        None => (ring.as_raw_fd(), flags.bits()),
    };
    // SAFETY: no argument is an address.
    let entered = unsafe {
        libc::syscall(
            libc::SYS_io_uring_enter,
            fd,
            queued,
            want,
            flags,
            std::ptr::null::<libc::c_void>(),
            0usize,
        )
    };
    if entered >= 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}
