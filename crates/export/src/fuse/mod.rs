//! The card as a file: a folder with one file of the card's size, by the kernel's FUSE protocol.
//! `losetup --direct-io=on` makes a block device of it, and then anything goes: file systems,
//! flashbench, f3. A punched hole is a discard, fsync is a flush.
//!
//! It speaks to `/dev/fuse` itself, on the one thread of the server: a library would put a thread
//! and a queue in between, which costs more than the rest of the way. Nothing is cached; there are
//! no other files, owners, or times. [`session`] is the protocol without the descriptor.

mod client;
mod file;
mod mount;
pub mod session;
pub mod wire;

pub use client::FuseClient;
pub use file::{File, LARGEST_TRANSFER};
pub use mount::MountError;
