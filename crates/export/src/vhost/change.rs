//! Messages from the monitor's thread to the server's thread.

use nandscope_blockio::virtio::GuestMemory;
use std::fs::File;
use std::sync::mpsc::Sender;

/// Change requested by the monitor.
#[derive(Debug)]
pub(super) enum Change {
    Memory(GuestMemory),
    Features(u64),
    Size(u32),
    /// Descriptors, available, used.
    Addresses([u64; 3]),
    Base(u16),
    /// The queue stops; the receiver gets its position.
    Stop(Sender<u16>),
    Kick(Option<File>),
    Call(Option<File>),
    Enable(bool),
    /// The monitor is gone.
    End,
}
