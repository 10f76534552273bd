//! What the conversation with a monitor changes for the server's thread.

use nandscope_blockio::virtio::GuestMemory;
use std::fs::File;
use std::sync::mpsc::Sender;

/// What a message of the monitor changes.
#[derive(Debug)]
pub(super) enum Change {
    Memory(GuestMemory),
    Features(u64),
    Size(u32),
    /// Descriptors, available, used.
    Addresses([u64; 3]),
    Base(u16),
    /// The queue stops; its place is asked for.
    Stop(Sender<u16>),
    Kick(Option<File>),
    Call(Option<File>),
    Enable(bool),
    /// The monitor is gone.
    End,
}
