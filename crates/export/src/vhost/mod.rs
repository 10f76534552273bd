//! The card for a virtual machine: a vhost-user-blk device, which QEMU and others show to their
//! guests as virtio-blk, with discard, flush and the card's topology.
//!
//! `control` speaks vhost-user with the virtual machine monitor, on a thread of its own, so that
//! a slow one holds nobody up, and sends what changes to the server's thread; `ring` takes requests
//! from the guest's memory there and answers in it; `bell` notifies the guest. One queue for each monitor.
//! Memory is taken only if it is sealed against shrinking and has no huge pages, descriptors only if
//! they are event descriptors. Left out: migration and packed rings.

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
