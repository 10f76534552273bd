//! The card as a file: a FUSE file system with one file of the card's size. `losetup --direct-io=on`
//! turns it into a block device for file systems, flashbench or f3. Punching a hole discards, fsync
//! flushes.
//!
//! It speaks the protocol of `/dev/fuse` itself in the server's only thread: a library would add a
//! thread and a queue, which cost more than the rest of the path. Nothing is cached; there are no other
//! files, owners or times. [`session`] is the protocol without the descriptor.

mod client;
mod file;
mod mount;
pub mod session;
pub mod wire;

pub use client::FuseClient;
pub use file::{File, LARGEST_TRANSFER};
pub use mount::MountError;
