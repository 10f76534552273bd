//! The block trace of a run: commands of the block device with their times, the source of all
//! access-pattern statistics.

use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use nandscope_workload::trace::{Record, Trace};
use serde::{Deserialize, Serialize};

/// One command that the kernel sent to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Operation.
    pub kind: OpKind,
    /// First byte; zero for a flush.
    pub offset: u64,
    /// Bytes; zero for a flush.
    pub length: u64,
    /// Virtual time at which the kernel submitted it.
    pub submitted: Nanos,
    /// Virtual time at which the device completed it.
    pub completed: Nanos,
    /// The device could do it.
    pub done: bool,
}

impl Event {
    /// From submission to completion.
    pub fn latency(&self) -> Nanos {
        self.completed.saturating_sub(self.submitted)
    }
}

/// A record holds lengths of 32 bits; longer discards become several.
const PIECE: u64 = 1 << 31;

/// The commands as a trace that can be replayed on other devices, times counted from the first.
pub fn trace(events: &[Event], capacity: Bytes) -> Trace {
    let mut records = Vec::with_capacity(events.len());
    for event in events {
        let mut record = |at: u64, length: u64| {
            records.push(Record {
                time: event.submitted,
                offset: Bytes(event.offset + at),
                // At most `PIECE`.
                length: u32::try_from(length).unwrap_or(u32::MAX),
                kind: event.kind,
            });
        };
        if event.kind == OpKind::Flush {
            record(0, 0);
            continue;
        }
        let mut at = 0;
        while at < event.length {
            let length = (event.length - at).min(PIECE);
            record(at, length);
            at += length;
        }
    }
    Trace::new(records, true, Some(capacity))
}

/// A number that two runs share exactly where they gave the same commands at the same times.
pub fn fingerprint(events: &[Event]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    for event in events {
        sum.update(&[event.kind as u8]);
        for number in [
            event.offset,
            event.length,
            event.submitted.0,
            event.completed.0,
        ] {
            sum.update(&number.to_le_bytes());
        }
    }
    sum.finalize()
}
