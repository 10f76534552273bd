//! Collects the records of one file by the rules of all formats: one device, ascending times, lengths that fit a
//! record, and counts of everything skipped.

use super::format::{Format, Order, ParseOptions, ParseReport};
use super::lines::Line;
use super::{Record, Trace, TraceError};
use crate::OpKind;
use nandscope_units::{Bytes, Nanos, saturating_u32};
use std::collections::BTreeMap;

/// Longest request, bytes; longer ones count as damage, since no block layer makes them.
const LONGEST_BYTES: u64 = 1 << 40;

/// Longest length of a record, which has 32 bits; longer requests (discards of a whole device) become several records.
const PIECE_BYTES: u64 = 1 << 31;

pub(super) struct Builder<'a> {
    options: &'a ParseOptions,
    records: Vec<Record>,
    passed_over: BTreeMap<String, u64>,
    notes: BTreeMap<String, u64>,
    warnings: Vec<String>,
    device: Option<String>,
    latest: Nanos,
    lines: u64,
}

impl<'a> Builder<'a> {
    pub(super) fn new(options: &'a ParseOptions) -> Self {
        Builder {
            options,
            records: Vec::new(),
            passed_over: BTreeMap::new(),
            notes: BTreeMap::new(),
            warnings: Vec::new(),
            device: None,
            latest: Nanos::ZERO,
            lines: 0,
        }
    }

    pub(super) fn count_line(&mut self) {
        self.lines += 1;
    }

    /// Counts a skipped line, or part of one, with the reason.
    pub(super) fn pass_over(&mut self, why: impl Into<String>) {
        *self.passed_over.entry(why.into()).or_default() += 1;
    }

    /// Counts a property of a request that a record cannot express.
    pub(super) fn note(&mut self, what: &str) {
        *self.notes.entry(what.to_string()).or_default() += 1;
    }

    /// A doubt about the meaning of the file.
    pub(super) fn warn(&mut self, what: String) {
        self.warnings.push(what);
    }

    /// Whether records are to be sorted by time.
    pub(super) fn sorts(&self) -> bool {
        self.options.order == Order::Sort
    }

    /// Whether a line of this device is to be read.
    pub(super) fn takes_device(
        &mut self,
        line: &Line<'_>,
        device: &str,
    ) -> Result<bool, TraceError> {
        if let Some(chosen) = &self.options.device {
            let taken = chosen == device;
            if !taken {
                self.pass_over("another device");
            }
            return Ok(taken);
        }
        match &self.device {
            None => self.device = Some(device.to_string()),
            Some(first) if first != device => {
                return Err(TraceError::Devices {
                    file: line.file.to_string(),
                    line: line.number,
                    first: first.clone(),
                    second: super::lines::shortened(device),
                });
            }
            Some(_) => {}
        }
        Ok(true)
    }

    pub(super) fn push(
        &mut self,
        line: &Line<'_>,
        time: Nanos,
        kind: OpKind,
        offset: u64,
        length: u64,
    ) -> Result<(), TraceError> {
        self.check_time(line, time)?;
        if kind == OpKind::Flush {
            self.records.push(Record {
                time,
                offset: Bytes::ZERO,
                length: 0,
                kind,
            });
            return Ok(());
        }
        if length == 0 {
            self.pass_over("request of no length");
            return Ok(());
        }
        if length > LONGEST_BYTES {
            return Err(line.error(format!("a request of {length} bytes; 1 TiB is the most")));
        }
        if offset.checked_add(length).is_none() {
            return Err(line.error("the request reaches beyond 2^64 bytes"));
        }
        let mut done = 0;
        while done < length {
            let piece = (length - done).min(PIECE_BYTES);
            self.records.push(Record {
                time,
                offset: Bytes(offset + done),
                length: saturating_u32(piece),
                kind,
            });
            done += piece;
        }
        Ok(())
    }

    fn check_time(&mut self, line: &Line<'_>, time: Nanos) -> Result<(), TraceError> {
        if time < self.latest {
            if self.options.order == Order::Strict {
                return Err(TraceError::Backwards {
                    file: line.file.to_string(),
                    line: line.number,
                    back_ns: self.latest.saturating_sub(time).0,
                });
            }
            self.note("out of order, sorted");
        }
        self.latest = self.latest.max(time);
        Ok(())
    }

    pub(super) fn records_mut(&mut self) -> &mut Vec<Record> {
        &mut self.records
    }

    /// Advice for a trace without requests: blkparse may have printed other events only, or the file may be of
    /// other devices.
    fn remedy(&self) -> String {
        let others = ["Q", "D", "C"];
        let event = others
            .into_iter()
            .find(|event| self.passed_over.contains_key(&format!("event {event}")));
        if let Some(event) = event {
            return format!(
                " The requests may be those of another event: `nandscope_trace_event={event}` in the job (`--event {event}` of `nandscope trace`)"
            );
        }
        match (&self.options.device, self.passed_over.get("another device")) {
            (Some(device), Some(_)) => format!(" The device `{device}` does not occur"),
            _ => String::new(),
        }
    }

    pub(super) fn finish(
        self,
        format: Format,
        name: &str,
        timed: bool,
    ) -> Result<(Trace, ParseReport), TraceError> {
        if self.records.is_empty() {
            let seen: Vec<String> = self
                .passed_over
                .iter()
                .map(|(why, n)| format!("{n} × {why}"))
                .collect();
            return Err(TraceError::Empty {
                file: name.to_string(),
                format: format.title(),
                remedy: self.remedy(),
                seen: if seen.is_empty() {
                    "it is empty".to_string()
                } else {
                    seen.join(", ")
                },
            });
        }
        let trace = Trace::new(self.records, timed, None);
        let report = ParseReport {
            format,
            lines: self.lines,
            records: trace.records().len() as u64,
            passed_over: self.passed_over,
            notes: self.notes,
            warnings: self.warnings,
        };
        Ok((trace, report))
    }
}
