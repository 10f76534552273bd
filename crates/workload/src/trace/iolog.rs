//! fio's I/O logs, versions 2 and 3 (`man fio`, TRACE FILE FORMAT).
//!
//! Version 2: `file action [offset length]`; as fio's manual says, a `wait` gives microseconds since the previous wait,
//! so the waits add up to the time. Version 3: `timestamp file action [offset length]`, the time
//! in microseconds from the start of the run (as fio 3.33 writes it), without `wait`. As in fio, a request with an
//! earlier timestamp than the one before it follows that at once, and later ones count from it.
//! A log may use several files. They are concatenated in the order in which they are
//! added, each as long as the log reaches into it and starting on a whole MiB; a single file
//! starts at zero.

use super::TraceError;
use super::builder::Builder;
use super::lines::{Line, lines, shortened};
use crate::OpKind;
use nandscope_units::{Bytes, Nanos};
use std::collections::HashMap;

const FILE_ALIGNMENT: u64 = 1 << 20;

pub(super) fn is_header(text: &str) -> bool {
    version(text).is_some()
}

fn version(text: &str) -> Option<u32> {
    let rest = text.trim().strip_prefix("fio version ")?;
    rest.strip_suffix("iolog")?.trim().parse().ok()
}

/// The files of a log, in the order in which they were added.
#[derive(Default)]
struct Files {
    numbers: HashMap<String, usize>,
    ends: Vec<u64>,
    /// The file of each record.
    of_record: Vec<usize>,
}

pub(super) fn parse(
    name: &str,
    bytes: &[u8],
    builder: &mut Builder<'_>,
) -> Result<bool, TraceError> {
    let mut files = Files::default();
    let mut clock = Clock::default();
    let mut all = lines(name, bytes);
    if let Some(first) = all.next() {
        let first = first?;
        builder.count_line();
        clock.version = match version(first.text) {
            Some(v @ (2 | 3)) => v,
            Some(v) => {
                return Err(first.error(format!("iolog version {v} is not known; 2 and 3 are")));
            }
            None => {
                return Err(first.error("expected `fio version 2 iolog` or `fio version 3 iolog`"));
            }
        };
    }
    for line in all {
        let line = line?;
        builder.count_line();
        parse_line(&line, &mut clock, &mut files, builder)?;
    }
    files.lay_out(name, builder)?;
    clock.doubts(name, builder);
    Ok(clock.version == 3 || clock.waits)
}

#[derive(Default)]
struct Clock {
    version: u32,
    now: Nanos,
    waits: bool,
    /// The timestamp of the last line, and the largest one so far, microseconds.
    last: u64,
    largest: u64,
    /// Number of different timestamps above zero; then how many of them are whole thousands.
    stamps: u64,
    thousands: u64,
}

/// Number of timestamps that is enough to distinguish nanoseconds from microseconds by their last digits.
const ENOUGH_STAMPS: u64 = 3;
/// Mean distance of timestamps, microseconds, above which they are hardly microseconds.
const LONG_MEAN_US: u64 = 1_000_000;

impl Clock {
    /// Handles the timestamp of a line, microseconds.
    fn stamp(&mut self, stamp: u64, builder: &mut Builder<'_>) {
        if stamp != self.last && stamp > 0 {
            self.stamps += 1;
            self.thousands += u64::from(stamp.is_multiple_of(1000));
        }
        let goes_back = stamp < self.last && !builder.sorts();
        if goes_back {
            builder.note("timestamp that goes back: as in fio, the request follows the one before it at once");
        }
        self.now = match builder.sorts() {
            true => Nanos::from_micros(stamp),
            false => self.now + Nanos::from_micros(stamp.saturating_sub(self.last)),
        };
        self.last = stamp;
        self.largest = self.largest.max(stamp);
    }

    /// Warns of times that fio interprets otherwise, or that are probably in another unit.
    fn doubts(&self, name: &str, builder: &mut Builder<'_>) {
        if self.waits {
            builder.warn(format!(
                "{name}: each `wait` of an iolog of version 2 counts as microseconds after the previous one, as fio's manual says; fio 3.33 itself takes it for milliseconds since the start of the run"
            ));
        }
        let all_thousands = self.stamps >= ENOUGH_STAMPS && self.thousands == self.stamps;
        let mean = self.largest.checked_div(self.stamps).unwrap_or(0);
        let is_slow = self.stamps > 2 * ENOUGH_STAMPS && mean >= LONG_MEAN_US;
        if all_thousands || is_slow {
            let why = match all_thousands {
                true => "all are whole thousands".to_string(),
                false => format!("they are {} apart on average", Nanos::from_micros(mean)),
            };
            builder.warn(format!(
                "{name}: the timestamps look like nanoseconds ({why}), and an iolog of version 3 has microseconds: the replay takes 1000 times as long if so; divide them by 1000, or set replay_time_scale=100000"
            ));
        }
    }
}

fn parse_line(
    line: &Line<'_>,
    clock: &mut Clock,
    files: &mut Files,
    builder: &mut Builder<'_>,
) -> Result<(), TraceError> {
    let mut fields = line.text.split_whitespace();
    if clock.version == 3 {
        let stamp = line.number(fields.next().unwrap_or_default(), "the timestamp")?;
        clock.stamp(stamp, builder);
    }
    let fields: Vec<&str> = fields.collect();
    let (file, action, range) = match fields[..] {
        [file, action] => (file, action, None),
        [file, "wait", time] => (file, "wait", Some((time, "0"))),
        [file, action, offset, length] => (file, action, Some((offset, length))),
        _ => return Err(line.error("expected `file action` or `file action offset length`")),
    };
    match action {
        "add" => {
            files.add(file);
            builder.pass_over("file action add");
            return Ok(());
        }
        "open" | "close" => {
            builder.pass_over(format!("file action {action}"));
            return Ok(());
        }
        "wait" => return wait(line, clock, range, builder),
        _ => {}
    }
    let kind = match action {
        "read" => OpKind::Read,
        "write" => OpKind::Write,
        "trim" => OpKind::Trim,
        "sync" | "datasync" => OpKind::Flush,
        _ => {
            return Err(line.error(format!(
                "action `{}` is not known; known are add, open, close, wait, read, write, trim, sync, datasync",
                shortened(action)
            )));
        }
    };
    let number = files.number(file).ok_or_else(|| {
        line.error(format!(
            "file `{}` is used before it is added",
            shortened(file)
        ))
    })?;
    let (offset, length) = match (kind, range) {
        (OpKind::Flush, _) => (0, 0),
        (_, Some((offset, length))) => (
            line.number(offset, "the offset")?,
            line.number(length, "the length")?,
        ),
        (_, None) => return Err(line.error(format!("`{action}` needs an offset and a length"))),
    };
    builder.push(line, clock.now, kind, offset, length)?;
    files.used(number, offset.saturating_add(length), builder);
    Ok(())
}

fn wait(
    line: &Line<'_>,
    clock: &mut Clock,
    range: Option<(&str, &str)>,
    builder: &mut Builder<'_>,
) -> Result<(), TraceError> {
    if clock.version == 3 {
        return Err(line.error("version 3 knows no `wait`: its lines carry timestamps"));
    }
    let Some((time, _)) = range else {
        return Err(line.error("`wait` needs a time in microseconds"));
    };
    clock.now += Nanos::from_micros(line.number(time, "the wait")?);
    clock.waits = true;
    builder.pass_over("wait");
    Ok(())
}

impl Files {
    fn add(&mut self, file: &str) {
        let next = self.ends.len();
        if *self.numbers.entry(file.to_string()).or_insert(next) == next {
            self.ends.push(0);
        }
    }

    fn number(&self, file: &str) -> Option<usize> {
        self.numbers.get(file).copied()
    }

    /// Updates the extent of a file; the builder may have made none, one or several records of the request.
    fn used(&mut self, number: usize, end: u64, builder: &mut Builder<'_>) {
        self.ends[number] = self.ends[number].max(end);
        self.of_record.resize(builder.records_mut().len(), number);
    }

    fn lay_out(self, name: &str, builder: &mut Builder<'_>) -> Result<(), TraceError> {
        let mut starts = Vec::with_capacity(self.ends.len());
        let mut next = 0u64;
        for end in self.ends {
            starts.push(next);
            next = next
                .checked_add(end)
                .and_then(|n| n.checked_next_multiple_of(FILE_ALIGNMENT))
                .ok_or_else(|| TraceError::Binary {
                    file: name.to_string(),
                    what: "its files laid end to end reach beyond 2^64 bytes".to_string(),
                })?;
        }
        for (record, file) in builder.records_mut().iter_mut().zip(self.of_record) {
            if record.kind != OpKind::Flush {
                record.offset = Bytes(record.offset.0 + starts[file]);
            }
        }
        Ok(())
    }
}
