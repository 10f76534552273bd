//! The card for a virtual machine: a vhost-user-blk device, which QEMU and others show to their
//! guests as virtio-blk, with discard, flush and the card's topology.
//!
//! [`control`] speaks vhost-user with the virtual machine monitor, on a thread of its own, so that
//! a slow one holds nobody up, and sends what changes to the server's thread; [`ring`] takes requests
//! from the guest's memory there and answers in it; [`bell`] calls the guest. One queue for each monitor.
//! Memory is taken only if it is sealed against shrinking and has no huge pages, descriptors only if
//! they are event descriptors. Left out: migration and packed rings.

mod bell;
mod control;
mod ring;

pub use control::{VhostError, accept};
pub use ring::VhostClient;

use crate::nbd::socket::{Listener, Stream};
use nandscope_units::{Bytes, Nanos, SECTOR_BYTES};
use rustix::event::{PollFd, PollFlags};
use std::io;
use std::sync::Arc;

/// Entries of the queue at most.
const QUEUE_SIZE: u16 = 256;
/// Segments of a request at most: all entries but those of the header and the status.
const SEGMENTS: u32 = QUEUE_SIZE as u32 - 2;
/// Data of one request at most.
const LARGEST_REQUEST: u32 = 16 << 20;
/// Sectors of one discard or zeroing at most.
const LARGEST_DISCARD: u32 = 1 << 22;

/// What the guest is told of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its size.
    pub size: Bytes,
    /// It takes no writes.
    pub read_only: bool,
    /// Discards reach it.
    pub discards: bool,
    /// The allocation unit or what is best written at once, where it is known.
    pub unit: Option<Bytes>,
}

/// Where monitors come in.
#[derive(Debug)]
pub(crate) struct Machines {
    listener: Listener,
    disk: Disk,
    /// Held by every thread that works for a monitor.
    token: Arc<()>,
}

impl Machines {
    pub fn new(listener: Listener, disk: Disk) -> Self {
        Machines {
            listener,
            disk,
            token: Arc::default(),
        }
    }

    /// Monitors that come from now on are offered a disk that takes no writes.
    pub const fn set_read_only(&mut self) {
        self.disk.read_only = true;
    }

    /// The descriptor to be waited for.
    pub fn descriptor(&self) -> PollFd<'_> {
        PollFd::new(&self.listener, PollFlags::IN)
    }

    /// The next monitor that waits, if any; an error where it cannot be served.
    pub fn accept(&self, now: Nanos) -> Option<Result<VhostClient, VhostError>> {
        let Ok(Stream::Unix(stream)) = self.listener.accept() else {
            return None;
        };
        if Arc::strong_count(&self.token) > ring::MOST_THREADS {
            return Some(Err(io::Error::other("too many monitors").into()));
        }
        let client = accept(stream, self.disk, self.token.clone());
        Some(client.map(|client| client.since(now)))
    }
}

/// Feature bits of virtio and its block device (virtio 1.2, 5.2.3 and 6).
mod feature {
    pub const SEGMENTS: u64 = 1 << 2;
    pub const READ_ONLY: u64 = 1 << 5;
    pub const BLOCK_SIZE: u64 = 1 << 6;
    pub const FLUSH: u64 = 1 << 9;
    pub const TOPOLOGY: u64 = 1 << 10;
    pub const DISCARD: u64 = 1 << 13;
    pub const WRITE_ZEROES: u64 = 1 << 14;
    pub const INDIRECT: u64 = 1 << 28;
    pub const EVENT_INDEX: u64 = 1 << 29;
    pub const VHOST_PROTOCOL: u64 = 1 << 30;
    pub const VERSION_1: u64 = 1 << 32;
}

impl Disk {
    /// The features that are offered.
    fn features(&self) -> u64 {
        let mut features = feature::SEGMENTS
            | feature::BLOCK_SIZE
            | feature::FLUSH
            | feature::TOPOLOGY
            | feature::INDIRECT
            | feature::EVENT_INDEX
            | feature::VHOST_PROTOCOL
            | feature::VERSION_1;
        if self.read_only {
            features |= feature::READ_ONLY;
        } else {
            features |= feature::WRITE_ZEROES;
            if self.discards {
                features |= feature::DISCARD;
            }
        }
        features
    }

    /// The device's configuration (struct virtio_blk_config, virtio 1.2, 5.2.4).
    fn config(&self) -> [u8; 60] {
        // Blocks of 4 KiB are best; the unit is told where it fits.
        const EXPONENT: u8 = 3;
        let unit = self
            .unit
            .map_or(0, |u| (u.0 / SECTOR_BYTES).min(u64::from(u32::MAX)) as u32);
        let mut config = [0; 60];
        let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &(self.size.0 / SECTOR_BYTES).to_le_bytes());
        put(12, &SEGMENTS.to_le_bytes());
        put(20, &(SECTOR_BYTES as u32).to_le_bytes());
        put(24, &[EXPONENT]);
        put(26, &(1u16 << EXPONENT).to_le_bytes());
        put(28, &unit.to_le_bytes());
        put(34, &1u16.to_le_bytes());
        put(36, &LARGEST_DISCARD.to_le_bytes());
        put(40, &1u32.to_le_bytes());
        put(44, &(1u32 << EXPONENT).to_le_bytes());
        put(48, &LARGEST_DISCARD.to_le_bytes());
        put(52, &1u32.to_le_bytes());
        put(56, &[u8::from(self.discards)]);
        config
    }
}
