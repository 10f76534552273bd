//! Formats of trace files, options for reading, and the report of a reading.

use std::collections::BTreeMap;

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// fio's I/O log, version 2 or 3 (the first line says which).
    FioIolog,
    /// The default output of `blkparse`.
    Blkparse,
    /// The binary records of blktrace.
    Blktrace,
    /// The traces of Microsoft Research Cambridge (SNIA IOTTA 388).
    MsrCambridge,
    /// The block traces of Alibaba Cloud (github.com/alibaba/block-traces).
    Alibaba,
    /// The format of the Storage Performance Council (the UMass trace repository).
    Spc,
    /// The traces of Systor '17 (SNIA IOTTA 4964).
    Systor,
    /// Our own compact file.
    Nstrace,
}

/// The formats with the names that jobs give them.
const NAMES: [(&str, Format); 9] = [
    ("iolog", Format::FioIolog),
    ("fio", Format::FioIolog),
    ("blkparse", Format::Blkparse),
    ("blktrace", Format::Blktrace),
    ("msr", Format::MsrCambridge),
    ("alibaba", Format::Alibaba),
    ("spc", Format::Spc),
    ("systor", Format::Systor),
    ("nstrace", Format::Nstrace),
];

impl Format {
    /// All of them.
    pub const ALL: [Format; 8] = [
        Format::FioIolog,
        Format::Blkparse,
        Format::Blktrace,
        Format::MsrCambridge,
        Format::Alibaba,
        Format::Spc,
        Format::Systor,
        Format::Nstrace,
    ];

    /// The format with that name (`iolog`, `blkparse`, `msr`, …).
    #[must_use]
    pub fn named(name: &str) -> Option<Format> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format)
    }

    /// The name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Format::FioIolog => "a fio iolog",
            Format::Blkparse => "blkparse text",
            Format::Blktrace => "a blktrace file",
            Format::MsrCambridge => "an MSR Cambridge CSV",
            Format::Alibaba => "an Alibaba CSV",
            Format::Spc => "an SPC trace",
            Format::Systor => "a Systor '17 CSV",
            Format::Nstrace => "an nstrace file",
        }
    }
}

/// The treatment of a record that is earlier than its predecessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// An earlier record is an error.
    #[default]
    Strict,
    /// The records are sorted by time, and the displaced ones counted.
    Sort,
}

/// Event of a request at which it is taken into the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockEvent {
    /// `Q`: submission by the file system to the block layer, before merging and scheduling.
    Queue,
    /// `D`: issue by the driver to the device, as the device saw it.
    #[default]
    Issue,
    /// `C`: completion by the device.
    Complete,
}

/// Options for reading a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// blkparse and blktrace: which event of a request counts.
    pub event: BlockEvent,
    /// Only this device: `8,0` in blkparse text and blktrace files, the disk number in MSR traces, the device id in
    /// Alibaba traces, the storage unit in SPC traces, the LUN in those of Systor '17. Without it, a file that mixes devices is an error.
    pub device: Option<String>,
    /// Treatment of records out of order.
    pub order: Order,
}

/// Counts of records read and skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseReport {
    /// Format as detected or given by the caller.
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
    /// Doubts about the meaning of the file, for the user.
    pub warnings: Vec<String>,
}
