//! A flash operation of one die, and its owner.

use super::die::Die;
use super::plane::PlaneSet;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::{ProgramId, SegmentId};
use serde::{Deserialize, Serialize};

/// Class of an array operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OpClass {
    /// Array read, then transfer to the controller.
    Read,
    /// Transfer to the die, then array program.
    Program,
    /// Array erase on all planes.
    Erase,
}

/// Owner of an operation, which waits for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Owner {
    /// A host read: number of the command, bytes to transfer to the host.
    HostRead { command: u32, bytes: u32 },
    /// A read of a map page: number of the fetch.
    MapRead { fetch: u32 },
    /// A read of old data for a partly written unit: sequence number of its program.
    MergeRead { sequence: u32 },
    /// Read-ahead of a segment.
    ReadAhead { segment: SegmentId },
    /// A program of the host stream: its sequence number, superblock and places in the write buffer.
    HostProgram {
        sequence: u32,
        superblock: SuperblockId,
        host_units: u32,
    },
    /// A program of map pages.
    MapProgram {
        superblock: SuperblockId,
        program: ProgramId,
    },
    /// A read for relocation: index of the job.
    RelocationRead { job: u32 },
    /// The program of a relocation job.
    RelocationProgram { job: u32 },
    /// Part of the erase of a superblock.
    Erase { superblock: SuperblockId },
    /// The program of parity in a superblock.
    ParityProgram { superblock: SuperblockId },
}

/// An operation submitted to the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlashOp {
    pub(crate) class: OpClass,
    /// Whether the operation goes to the queue of host reads, which precedes programs and background reads.
    pub(crate) urgent: bool,
    pub(crate) die: Die,
    /// Array time, ns.
    pub(crate) array_ns: u32,
    /// Bytes transferred over the channel.
    pub(crate) bus_bytes: u32,
    /// Number of page transfers, each with its command overhead.
    pub(crate) transfers: u32,
    /// Number of times that all transfers are repeated after failed decoding.
    pub(crate) retransfers: u16,
    /// Planes of a read.
    pub(crate) planes: PlaneSet,
    pub(crate) owner: Owner,
}

impl FlashOp {
    /// Bytes over the channel, including repeated transfers.
    #[inline]
    pub(crate) fn bytes_on_bus(&self) -> u64 {
        u64::from(self.bus_bytes) * (1 + u64::from(self.retransfers))
    }
}

/// Pages transferred to the controller by a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PagesRead {
    pub(crate) pages: u32,
    /// Failed decoding attempts of each page before the one due now.
    pub(crate) failed: u16,
}

/// Progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The data of a program is in the die.
    Transferred(Owner),
    /// The operation has ended, with pages to decode.
    Finished(Owner, PagesRead),
}
