//! One operation of a workload.

use nandscope_units::Bytes;
use serde::{Deserialize, Serialize};

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OpKind {
    /// Data moves from the target to the host.
    Read,
    /// Data moves from the host to the target.
    Write,
    /// Discard the range.
    Trim,
    /// Make everything written so far durable (fsync, fdatasync, flush).
    Flush,
}

/// One operation with its place and length. Offsets are absolute within the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Op {
    /// Operation on the range.
    pub kind: OpKind,
    /// Offset in bytes from the start of the target.
    pub offset: Bytes,
    /// Length in bytes; zero for a flush.
    pub length: u32,
}
