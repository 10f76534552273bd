//! The card for a virtual machine: a vhost-user-blk device, which QEMU and others present to their
//! guests as virtio-blk with discard, flush and the card's topology.
//!
//! `control` speaks vhost-user with the virtual machine monitor in a separate thread, so that a slow
//! monitor delays nobody, and sends changes to the server's thread. There `ring` takes requests from the
//! guest's memory and completes them; `bell` notifies the guest. Each monitor has one queue. Memory must
//! be sealed against shrinking and must not use huge pages; descriptors must be event descriptors. Not
//! supported: migration and packed rings.

mod bell;
mod change;
mod control;
mod disk;
mod machines;
mod ring;

pub use disk::Disk;
pub(crate) use machines::Machines;
pub use machines::{VhostError, accept};
pub use ring::VhostClient;
