//! Recorded block traces: read them from the formats of others, keep them compactly, replay them.
//!
//! A [`Trace`] is a list of requests with times. It is read from fio's I/O logs, blktrace's records, blkparse's text,
//! the MSR Cambridge, Alibaba, SPC and Systor block traces, or our own compact file ([`nstrace`](Header)), and
//! becomes an [`OpSource`](crate::OpSource) with [`Replay`]. [`library()`] holds recordings of real
//! programs. This module does no I/O: it is given the bytes of a file and the name to put into errors.

mod blkparse;
mod blktrace;
mod builder;
mod csv;
mod error;
mod fit;
mod format;
mod gzip;
mod iolog;
mod library;
mod lines;
mod nstrace;
mod read;
mod replay;

#[cfg(test)]
mod tests;

pub use error::{ReplayError, TraceError};
pub use fit::Fit;
pub use format::{BlockEvent, Format, Order, ParseOptions, ParseReport};
pub use gzip::unpacked;
pub use library::{NamedTrace, find, library};
pub use nstrace::{Header, read as read_nstrace, write as write_nstrace};
pub use replay::{Replay, ReplayOptions, Timing};

use crate::OpKind;
use nandscope_units::{Bytes, Nanos};

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Time of the request, from the first record of the trace.
    pub time: Nanos,
    /// Offset in bytes from the start of the recorded device; zero for a flush.
    pub offset: Bytes,
    /// Length in bytes; zero for a flush, never zero otherwise.
    pub length: u32,
    /// Kind of the operation.
    pub kind: OpKind,
}

impl Record {
    /// End of the request, exclusive; saturates at 2^64.
    pub const fn end(&self) -> u64 {
        self.offset.0.saturating_add(self.length as u64)
    }
}

/// A list of requests in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    records: Vec<Record>,
    timed: bool,
    capacity: Option<Bytes>,
    walls: Vec<Nanos>,
}

impl Trace {
    /// A trace of records in any order. `timed` is false if the source had no times (an iolog of version 2 without
    /// `wait`): such a trace can only be replayed in a closed loop. `capacity` is the size of the recorded device, if
    /// known.
    ///
    /// Times count from the first record; records out of order are sorted, equal times keep their order.
    pub fn new(mut records: Vec<Record>, timed: bool, capacity: Option<Bytes>) -> Self {
        if !records.is_sorted_by_key(|r| r.time) {
            records.sort_by_key(|r| r.time);
        }
        let start = records.first().map_or(Nanos::ZERO, |r| r.time);
        for record in &mut records {
            record.time = record.time.saturating_sub(start);
        }
        Trace {
            records,
            timed,
            capacity,
            walls: Vec::new(),
        }
    }

    /// Adds the wall time of each request, with any origin: for traces of a simulated device that was served. Replay
    /// does not use it.
    ///
    /// # Panics
    /// If the numbers of times and requests differ.
    #[must_use]
    pub fn with_walls(mut self, walls: Vec<Nanos>) -> Self {
        assert_eq!(walls.len(), self.records.len(), "a time for each request");
        self.walls = walls;
        self
    }

    /// Sets the size of the recorded device; `None` keeps the known one.
    #[must_use]
    pub fn with_capacity(mut self, capacity: Option<Bytes>) -> Self {
        self.capacity = capacity.or(self.capacity);
        self
    }

    /// Wall time of each request; empty if unknown.
    pub fn walls(&self) -> &[Nanos] {
        &self.walls
    }

    /// Parses a trace with the default [`ParseOptions`]. `name` is the file's name in errors.
    ///
    /// # Errors
    /// Returns [`TraceError`] if a line or field cannot be read, time goes backwards, several devices are mixed, or
    /// there is no request at all. Errors name the file and the line.
    pub fn parse(
        format: Format,
        name: &str,
        bytes: &[u8],
    ) -> Result<(Trace, ParseReport), TraceError> {
        Self::parse_with(format, name, bytes, &ParseOptions::default())
    }

    /// Reads a trace with options of your own.
    ///
    /// # Errors
    /// As [`Trace::parse`].
    pub fn parse_with(
        format: Format,
        name: &str,
        bytes: &[u8],
        options: &ParseOptions,
    ) -> Result<(Trace, ParseReport), TraceError> {
        read::parse(format, name, bytes, options)
    }

    /// The requests, in the order of time.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Whether the times of the records are meaningful.
    pub const fn is_timed(&self) -> bool {
        self.timed
    }

    /// Size of the recorded device, if the file states it.
    pub const fn capacity(&self) -> Option<Bytes> {
        self.capacity
    }

    /// From the first request to the last.
    pub fn duration(&self) -> Nanos {
        self.records.last().map_or(Nanos::ZERO, |r| r.time)
    }

    /// End of the last request, exclusive: size of the smallest device that holds all requests at their offsets.
    pub fn extent(&self) -> Bytes {
        Bytes(self.records.iter().map(Record::end).max().unwrap_or(0))
    }

    /// Requests of one kind, and the bytes that they cover.
    pub fn total(&self, kind: OpKind) -> (u64, Bytes) {
        self.records
            .iter()
            .filter(|r| r.kind == kind)
            .fold((0, Bytes::ZERO), |(n, bytes), r| {
                (n + 1, bytes + Bytes(u64::from(r.length)))
            })
    }
}
