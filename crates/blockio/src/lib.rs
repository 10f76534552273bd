//! Block devices with contents, independent of the frontend.
//!
//! [`image`] holds bytes by address, sparse and copy-on-write. [`store`] adds a file on disk and the
//! faults of fake cards. [`undo`] keeps the data under unpersisted writes, so that a power cut can
//! restore it. [`fault`] parses fault commands and holds the faults in effect. [`virtio`] is virtio-blk
//! from the device's side.
//!
//! This crate has no notion of time, clients or flash.

pub mod fault;
pub mod image;
pub mod store;
pub mod undo;
#[cfg(target_os = "linux")]
pub mod virtio;

/// Converts a length to `usize`; lengths beyond the address space become `usize::MAX`.
pub fn memory_len(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
