//! One operation of a die, and whose it is.

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

/// Source of an operation, which waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Owner {
    /// A host read: command, bytes for the link.
    HostRead { command: u32, bytes: u32 },
    /// A page of the map: number of the fetch.
    MapRead { fetch: u32 },
    /// Old data of a partly written unit: sequence number of the program that takes it.
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

/// An operation as it is handed to the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlashOp {
    pub(crate) class: OpClass,
    /// In the queue of host reads, before programs and background reads.
    pub(crate) urgent: bool,
    pub(crate) die: Die,
    /// Time of the array.
    pub(crate) array_ns: u32,
    /// Bytes over the channel.
    pub(crate) bus_bytes: u32,
    /// Page transfers, each with its command overhead.
    pub(crate) transfers: u32,
    /// Times that all of them are made again, after failed decoding.
    pub(crate) retransfers: u16,
    /// Planes that a read takes.
    pub(crate) planes: PlaneSet,
    pub(crate) owner: Owner,
}

impl FlashOp {
    /// Bytes over the channel, those of repeated transfers included.
    #[inline]
    pub(crate) fn bytes_on_bus(&self) -> u64 {
        u64::from(self.bus_bytes) * (1 + u64::from(self.retransfers))
    }
}

/// Pages that a read has transferred to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PagesRead {
    pub(crate) pages: u32,
    /// Failed attempts to decode each of them, before the one that is due.
    pub(crate) failed: u16,
}

/// How far an operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The die has the data of a program.
    Transferred(Owner),
    /// Done, with pages to decode.
    Finished(Owner, PagesRead),
}
