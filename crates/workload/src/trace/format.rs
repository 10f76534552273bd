//! The formats of trace files: recognition, options for reading, and the account of what was read.

use super::blkparse::BlockEvent;
use super::builder::Builder;
use super::{Trace, TraceError, blkparse, csv, iolog, lines, nstrace};
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

    /// The format of a file, from its first line that says something; `None` where none fits.
    pub fn detect(bytes: &[u8]) -> Option<Format> {
        if nstrace::is_nstrace(bytes) {
            return Some(Format::Nstrace);
        }
        // The first lines only: blkparse may begin with a message, a CSV with its headings.
        lines::lines("", bytes)
            .take(16)
            .filter_map(Result::ok)
            .find_map(|line| {
                let text = line.text;
                if iolog::is_header(text) {
                    Some(Format::FioIolog)
                } else if blkparse::is_event(text) {
                    Some(Format::Blkparse)
                } else if csv::MSR.is_record(text) {
                    Some(Format::MsrCambridge)
                } else if csv::ALIBABA.is_record(text) {
                    Some(Format::Alibaba)
                } else {
                    None
                }
            })
    }

    /// As [`Format::detect`], with an error for people where nothing fits.
    ///
    /// # Errors
    /// Returns [`TraceError`] if no known format fits.
    pub fn detect_or_error(name: &str, bytes: &[u8]) -> Result<Format, TraceError> {
        Format::detect(bytes).ok_or_else(|| TraceError::UnknownFormat {
            file: name.to_string(),
        })
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

/// How to read a trace.
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
    /// The format.
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

pub(super) fn parse(
    format: Format,
    name: &str,
    bytes: &[u8],
    options: &ParseOptions,
) -> Result<(Trace, ParseReport), TraceError> {
    let mut builder = Builder::new(options);
    let timed = match format {
        Format::FioIolog => iolog::parse(name, bytes, &mut builder)?,
        Format::Blkparse => blkparse::parse(name, bytes, options.event, &mut builder)?,
        Format::MsrCambridge => csv::MSR.parse(name, bytes, &mut builder)?,
        Format::Alibaba => csv::ALIBABA.parse(name, bytes, &mut builder)?,
        Format::Nstrace => {
            let (_, trace) = nstrace::read(name, bytes)?;
            let report = ParseReport {
                format,
                lines: 0,
                records: trace.records().len() as u64,
                passed_over: BTreeMap::new(),
                notes: BTreeMap::new(),
            };
            return Ok((trace, report));
        }
    };
    builder.finish(format, name, timed)
}
