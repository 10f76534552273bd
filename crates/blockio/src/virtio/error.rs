//! Errors caused by the guest.

use std::io;
use thiserror::Error;

/// Shared memory, a ring or a request that cannot be used.
#[derive(Debug, Error)]
pub enum VirtioError {
    /// The memory cannot be mapped.
    #[error("the guest's memory cannot be mapped: {0}")]
    Map(String),
    /// An address that lies in no shared region.
    #[error("the guest named {length} bytes of memory at {address:#x}, which it has not shared")]
    Outside {
        /// First address of the access.
        address: u64,
        /// Length in bytes.
        length: u64,
    },
    /// The system refused to read or write the memory.
    #[error("the guest's memory at {address:#x}: {source}")]
    Io {
        /// First address of the access.
        address: u64,
        /// The system's error.
        source: io::Error,
    },
    /// A ring or a request breaks a rule of virtio.
    #[error("the guest's request queue is broken: {0}")]
    Broken(&'static str),
    /// The ring cannot be used.
    #[error("the guest's request queue is broken: {0}")]
    Ring(#[from] virtio_queue::Error),
}
