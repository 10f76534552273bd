//! The NBD protocol, server side: fixed newstyle, simple and structured replies, several
//! connections, block sizes, flush, FUA, trim, write-zeroes, cache, read-only.
//!
//! [`session`] is a connection's state without any socket, so that it can be fed whatever bytes;
//! [`crate::server`] owns the one thread on which everything runs. There is no TLS: sockets
//! are private to the user, and TCP is bound to loopback. There is no block status.

pub(crate) mod connection;
mod negotiation;
pub mod output;
pub mod session;
pub mod socket;
pub mod wire;

use nandscope_units::{Bytes, SECTOR_BYTES};
use wire::flag;

/// Smallest block and alignment: a sector.
pub const SMALLEST_BLOCK: u32 = SECTOR_BYTES as u32;
/// Preferred block size: a memory page of common machines.
pub const PREFERRED_BLOCK: u32 = 4096;
/// Most data in one request; what the protocol suggests.
pub const LARGEST_BLOCK: u32 = 32 << 20;

/// Properties of the export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name; the empty name means it as well.
    pub name: String,
    /// A line for people.
    pub description: String,
    /// Size that clients see.
    pub size: Bytes,
    /// No writes are taken.
    pub read_only: bool,
    /// Discards reach the device.
    pub discards: bool,
}

impl Export {
    /// The transmission flags.
    pub(crate) fn flags(&self, structured: bool) -> u16 {
        let mut flags = flag::HAS_FLAGS
            | flag::SEND_FLUSH
            | flag::SEND_FUA
            | flag::CAN_MULTI_CONN
            | flag::SEND_CACHE;
        if self.read_only {
            flags |= flag::READ_ONLY;
        } else {
            flags |= flag::SEND_WRITE_ZEROES;
            if self.discards {
                flags |= flag::SEND_TRIM | flag::SEND_FAST_ZERO;
            }
        }
        if structured {
            flags |= flag::SEND_DF;
        }
        flags
    }
}
