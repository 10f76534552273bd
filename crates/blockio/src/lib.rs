//! Block devices with contents, whoever drives them.
//!
//! [`image`] holds bytes by address, sparse and copy-on-write. [`store`] adds a file on disk and the faults of fake
//! cards. [`undo`] keeps what lies under unpersisted writes, so that a power cut can take them back.
//! [`fault`] reads fault commands and holds the state that follows from them. [`virtio`] is virtio-blk as the
//! device sees it.
//!
//! This crate knows no clock, no client and no flash.

pub mod fault;
pub mod image;
pub mod store;
pub mod undo;
#[cfg(target_os = "linux")]
pub mod virtio;

/// The length of data that is in memory, or is to be: more than memory can hold becomes `usize::MAX`.
pub fn memory_len(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
