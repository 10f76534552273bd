//! The formats of trace files, options for reading, and the account of what was read.

use std::collections::BTreeMap;

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// fio's I/O log, version 2 or 3 (the first line says which).
    FioIolog,
    /// The default output of `blkparse`.
    Blkparse,
    /// The traces of Microsoft Research Cambridge (SNIA IOTTA 388).
    MsrCambridge,
    /// The block traces of Alibaba Cloud (github.com/alibaba/block-traces).
    Alibaba,
    /// Our own compact file.
    Nstrace,
}

impl Format {
    /// The name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Format::FioIolog => "a fio iolog",
            Format::Blkparse => "blkparse text",
            Format::MsrCambridge => "an MSR Cambridge CSV",
            Format::Alibaba => "an Alibaba CSV",
            Format::Nstrace => "an nstrace file",
        }
    }
}

/// The treatment of a record that is earlier than its predecessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// It is an error.
    #[default]
    Strict,
    /// The records are sorted by time, and the displaced ones counted.
    Sort,
}

/// The event of a request that counts as the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockEvent {
    /// `Q`: the file system submitted it to the block layer, before merging and scheduling.
    Queue,
    /// `D`: the driver issued it to the device, as the device saw it.
    #[default]
    Issue,
    /// `C`: the device had finished it.
    Complete,
}

/// Options for reading a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// blkparse: which event of a request counts.
    pub event: BlockEvent,
    /// Only this device: `8,0` in blkparse text, the disk number in MSR traces, the device id in
    /// Alibaba traces. Without it, a file that mixes devices is an error.
    pub device: Option<String>,
    /// Treatment of records out of order.
    pub order: Order,
}

/// Counts of records read and skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseReport {
    /// As detected, or as the caller said.
    pub format: Format,
    /// Lines that are not empty; zero for a binary file.
    pub lines: u64,
    /// Records in the trace. A line may give several: a flush before or after its write, or pieces
    /// of a request longer than 2 GiB.
    pub records: u64,
    /// Lines or requests that are not in the trace, counted per reason.
    pub passed_over: BTreeMap<String, u64>,
    /// Counts of properties that a record cannot express and that were translated, such as a forced unit access.
    pub notes: BTreeMap<String, u64>,
}
