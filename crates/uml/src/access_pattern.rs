//! Access-pattern statistics of a file system: everything that is derived from the trace of a cell. Only the
//! measured part counts, from the first operation of the work to the end of the `sync` after it.

use crate::calls::Call;
use crate::guest::PhaseStart;
use crate::layout::{Kind, Layout};
use crate::recording::Event;
use nandscope_measure::distribution::Distribution;
use nandscope_units::{Bytes, Nanos, median};
use nandscope_workload::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Exclusive upper bounds of the size classes of writes, bytes; larger writes form one more class.
pub const SIZE_CLASSES: [(u64, &str); 6] = [
    (4096, "<4k"),
    (4097, "4k"),
    (32 << 10, "8-28k"),
    (128 << 10, "32-124k"),
    (512 << 10, "128-508k"),
    (u64::MAX, "512k+"),
];
/// Writes over which allocation units in use are counted.
const SPAN: usize = 64;
/// Maximum distance between writes that count as one place.
const PLACE: u64 = 64 << 10;

/// A part of a run's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its first instant.
    pub from: Nanos,
    /// The first instant after it.
    pub to: Nanos,
}

impl Window {
    /// The window from the start of one phase to the start of another.
    pub fn between(starts: &[PhaseStart], from: &str, to: &str) -> Option<Window> {
        let at = |name: &str| starts.iter().find(|m| m.name == name).map(|m| m.at);
        Some(Window {
            from: at(from)?,
            to: at(to)?,
        })
    }

    /// Length of the span.
    pub fn length(&self) -> Nanos {
        self.to.saturating_sub(self.from)
    }

    fn holds(&self, at: Nanos) -> bool {
        self.from <= at && at < self.to
    }
}

/// Commands of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Number of commands.
    pub commands: u64,
    /// Bytes that they cover.
    pub bytes: u64,
}

impl Amount {
    /// Mean size in whole bytes; `None` without any operation.
    pub fn mean(&self) -> Option<Bytes> {
        self.bytes.checked_div(self.commands).map(Bytes)
    }

    /// `653 writes of 31 KiB on average`, or `no writes`; whole kibibytes from 1 KiB on.
    pub fn of_writes(&self) -> String {
        match self.mean() {
            None => "no writes".to_string(),
            Some(Bytes(mean)) => {
                let shown = if mean < 1024 {
                    mean
                } else {
                    mean / 1024 * 1024
                };
                format!("{} writes of {} on average", self.commands, Bytes(shown))
            }
        }
    }
}

/// Cost per file, for a workload that creates files one by one and syncs after each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerFile {
    /// Files seen.
    pub files: usize,
    /// Writes for a file, median.
    pub writes: f64,
    /// Places written for a file (writes within 64 KiB are one place), median.
    pub places: f64,
    /// Bytes written for a file, median.
    pub bytes: f64,
    /// Kinds of structures that were written for more than half of the files.
    pub kinds: Vec<Kind>,
}

/// Access-pattern statistics of the measured part of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccessPattern {
    /// The measured part.
    pub window: Window,
    /// Read commands and their bytes.
    pub reads: Amount,
    /// Write commands and their bytes.
    pub writes: Amount,
    /// Discard commands and their bytes.
    pub discards: Amount,
    /// Flush commands.
    pub flushes: u64,
    /// Commands that the device could not do.
    pub failed: u64,
    /// Share of writes by size class, in the order of [`SIZE_CLASSES`].
    pub sizes: [f64; 6],
    /// Writes by what they were for.
    pub kinds: BTreeMap<Kind, Amount>,
    /// Bytes that programs wrote.
    pub program_bytes: u64,
    /// Share of writes that continue the previous one.
    pub sequential: f64,
    /// Distance from the end of a write to the start of the next, median in bytes.
    pub distance: u64,
    /// Allocation units in use over 64 writes: mean and most.
    pub units_mean: f64,
    /// See [`AccessPattern::units_mean`].
    pub units_most: usize,
    /// Number of writes to an AU that a card with this many open AUs would have closed: first for the
    /// card's own number, then for the powers of two around it.
    pub reopened: Vec<(u32, u64)>,
    /// The open allocation units from which on a greater number would not help (at most twice the
    /// misses of a card that never closes any).
    pub units_needed: u32,
    /// Latency of reads and writes at the device.
    pub device_latency: Distribution,
    /// Latency of the programs' calls.
    pub call_latency: Distribution,
    /// The longest call: which, and how long.
    #[serde(deserialize_with = "crate::calls::named")]
    pub longest: Option<(&'static str, Nanos)>,
    /// Allocation units in use over time: end of a span, units.
    pub units_over_time: Vec<(Nanos, f64)>,
    /// Cost per file.
    pub per_file: Option<PerFile>,
}

/// Numbers of open AUs for which reopened AUs are counted.
const OPEN: [u32; 8] = [1, 2, 4, 6, 8, 12, 24, 64];

impl AccessPattern {
    /// Derives the statistics. `unit` is the allocation unit of the card, `open` its number of open AUs.
    pub fn of(
        window: Window,
        events: &[Event],
        calls: &[Call],
        layout: &Layout,
        unit: Bytes,
        open: u32,
    ) -> AccessPattern {
        let mut seen: Vec<&Event> = events
            .iter()
            .filter(|e| window.holds(e.submitted))
            .collect();
        seen.sort_by_key(|e| e.submitted);
        let amount = |kind: OpKind| {
            seen.iter()
                .filter(|e| e.kind == kind)
                .fold(Amount::default(), |a, e| Amount {
                    commands: a.commands + 1,
                    bytes: a.bytes + e.length,
                })
        };
        let writes: Vec<&Event> = seen
            .iter()
            .filter(|e| e.kind == OpKind::Write)
            .copied()
            .collect();
        let within: Vec<&Call> = calls.iter().filter(|c| window.holds(c.start)).collect();
        let mut device_latency = Distribution::new();
        for e in seen
            .iter()
            .filter(|e| matches!(e.kind, OpKind::Read | OpKind::Write))
        {
            device_latency.record(e.latency());
        }
        let mut call_latency = Distribution::new();
        for call in within.iter().filter(|c| c.name() != "sync") {
            call_latency.record(call.latency());
        }
        let longest = within
            .iter()
            .filter(|c| c.name() != "sync")
            .max_by_key(|c| c.latency())
            .map(|c| (c.name(), c.latency()));
        let units = units(&writes, unit.0.max(4096));
        let touched: BTreeSet<u64> = units.iter().copied().collect();
        let mut numbers: Vec<u32> = OPEN.iter().copied().filter(|n| *n != open).collect();
        numbers.insert(0, open.max(1));
        let reopened: Vec<(u32, u64)> = numbers
            .iter()
            .map(|n| (*n, misses(&units, *n as usize) - touched.len() as u64))
            .collect();
        let enough = touched.len() as u64;
        let units_needed = (1..=64)
            .find(|n| misses(&units, *n as usize) <= 2 * enough)
            .unwrap_or(65);
        let over_time = units_over_time(&writes, unit.0.max(4096));
        AccessPattern {
            window,
            reads: amount(OpKind::Read),
            writes: amount(OpKind::Write),
            discards: amount(OpKind::Trim),
            flushes: amount(OpKind::Flush).commands,
            failed: seen.iter().filter(|e| !e.done).count() as u64,
            sizes: sizes(&writes),
            kinds: kinds(&writes, layout),
            program_bytes: within
                .iter()
                .filter(|c| c.name() == "write")
                .filter_map(|c| u64::try_from(c.result).ok())
                .sum(),
            sequential: sequential(&writes),
            distance: distance(&writes),
            units_mean: mean(over_time.iter().map(|(_, units)| *units)),
            units_most: over_time
                .iter()
                .map(|(_, units)| *units as usize)
                .max()
                .unwrap_or(0),
            reopened,
            units_needed,
            device_latency,
            call_latency,
            longest,
            units_over_time: over_time,
            per_file: per_file(&writes, &within, layout),
        }
    }

    /// Bytes written to the device per byte that programs wrote.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.program_bytes > 0).then(|| self.writes.bytes as f64 / self.program_bytes as f64)
    }

    /// Number of reopened AUs with the card's number of open AUs.
    pub fn reopened_units(&self) -> u64 {
        self.reopened.first().map_or(0, |(_, times)| *times)
    }

    /// Bytes that programs wrote, per second of the measured time.
    pub fn throughput(&self) -> f64 {
        let seconds = self.window.length().as_secs_f64();
        if seconds > 0.0 {
            self.program_bytes as f64 / seconds
        } else {
            0.0
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, n), v| (sum + v, n + 1));
    if count == 0 {
        0.0
    } else {
        sum / f64::from(count)
    }
}

fn sizes(writes: &[&Event]) -> [f64; 6] {
    let mut counts = [0u64; 6];
    for write in writes {
        let class = SIZE_CLASSES
            .iter()
            .position(|(end, _)| write.length < *end)
            .unwrap_or(5);
        counts[class] += 1;
    }
    counts.map(|n| n as f64 / writes.len().max(1) as f64)
}

/// A write over several kinds counts for each with the bytes that fall to it.
fn kinds(writes: &[&Event], layout: &Layout) -> BTreeMap<Kind, Amount> {
    let mut kinds: BTreeMap<Kind, Amount> = BTreeMap::new();
    for write in writes {
        let mut met = BTreeSet::new();
        let mut at = write.offset;
        let end = write.offset + write.length;
        while at < end {
            let piece = (4096 - at % 4096).min(end - at);
            let kind = layout.kind(at);
            kinds.entry(kind).or_default().bytes += piece;
            met.insert(kind);
            at += piece;
        }
        for kind in met {
            kinds.entry(kind).or_default().commands += 1;
        }
    }
    kinds
}

fn sequential(writes: &[&Event]) -> f64 {
    let pairs = writes.len().saturating_sub(1);
    if pairs == 0 {
        return 0.0;
    }
    let follows = writes
        .windows(2)
        .filter(|w| w[1].offset == w[0].offset + w[0].length);
    follows.count() as f64 / pairs as f64
}

fn distance(writes: &[&Event]) -> u64 {
    let distances = writes
        .windows(2)
        .map(|w| w[1].offset.abs_diff(w[0].offset + w[0].length) as f64);
    median(&distances.collect::<Vec<_>>()) as u64
}

/// The allocation units of the writes, in order.
fn units(writes: &[&Event], unit: u64) -> Vec<u64> {
    writes
        .iter()
        .filter(|w| w.length > 0)
        .flat_map(|w| w.offset / unit..=(w.offset + w.length - 1) / unit)
        .collect()
}

/// Number of touches of a unit that is not among the `open` units touched last; first touches count.
fn misses(units: &[u64], open: usize) -> u64 {
    let mut held: VecDeque<u64> = VecDeque::with_capacity(open + 1);
    let mut misses = 0;
    for unit in units {
        match held.iter().position(|u| u == unit) {
            Some(place) => _ = held.remove(place),
            None => misses += 1,
        }
        held.push_back(*unit);
        if held.len() > open {
            held.pop_front();
        }
    }
    misses
}

fn units_over_time(writes: &[&Event], unit: u64) -> Vec<(Nanos, f64)> {
    writes
        .chunks(SPAN)
        .filter_map(|span| {
            let distinct: BTreeSet<u64> = units(span, unit).into_iter().collect();
            Some((span.last()?.submitted, distinct.len() as f64))
        })
        .collect()
}

/// Writes between the ends of successive `sync` calls, if there are several, or else of `fsync` calls.
fn per_file(writes: &[&Event], calls: &[&Call], layout: &Layout) -> Option<PerFile> {
    let ends_of = |name: &str| -> Vec<Nanos> {
        let mine = calls.iter().filter(|c| c.name() == name);
        mine.map(|c| c.end).collect()
    };
    let mut ends = ends_of("sync");
    if ends.len() < 2 {
        ends = ends_of("fsync");
    }
    // The first file includes one-time setup; the last sync is the one after the work.
    if ends.len() < 5 {
        return None;
    }
    let (mut counts, mut places, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let mut met: BTreeMap<Kind, usize> = BTreeMap::new();
    for pair in ends[..ends.len() - 1].windows(2) {
        let span = Window {
            from: pair[0],
            to: pair[1],
        };
        let mut mine: Vec<&Event> = writes
            .iter()
            .filter(|w| span.holds(w.submitted))
            .copied()
            .collect();
        counts.push(mine.len() as f64);
        bytes.push(mine.iter().map(|w| w.length as f64).sum());
        for kind in kinds(&mine, layout).into_keys() {
            *met.entry(kind).or_default() += 1;
        }
        mine.sort_by_key(|w| w.offset);
        let mut end = None;
        let mut distinct = 0.0;
        for write in mine {
            if end.is_none_or(|end: u64| write.offset > end.saturating_add(PLACE)) {
                distinct += 1.0;
            }
            end = Some(end.unwrap_or(0).max(write.offset + write.length));
        }
        places.push(distinct);
    }
    let files = counts.len();
    Some(PerFile {
        files,
        writes: median(&counts),
        places: median(&places),
        bytes: median(&bytes),
        kinds: met
            .into_iter()
            .filter(|(_, n)| 2 * n > files)
            .map(|(kind, _)| kind)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, length: u64, at: u64) -> Event {
        Event {
            kind: OpKind::Write,
            offset,
            length,
            submitted: Nanos(at),
            completed: Nanos(at + 5),
            done: true,
        }
    }

    fn of(events: &[Event], calls: &[Call], open: u32) -> AccessPattern {
        let window = Window {
            from: Nanos(10),
            to: Nanos(1000),
        };
        AccessPattern::of(
            window,
            events,
            calls,
            &Layout::default(),
            Bytes::mib(4),
            open,
        )
    }

    #[test]
    fn two_alternating_places_miss_on_a_card_with_one_open_unit() {
        let events: Vec<Event> = (0..10)
            .map(|i| write((i % 2) * (64 << 20) + i / 2 * 4096, 4096, 10 + i * 10))
            .collect();
        let pattern = of(&events, &[], 1);
        assert_eq!(pattern.reopened[0], (1, 8));
        assert_eq!(pattern.units_needed, 2);
        assert_eq!(pattern.reopened.iter().find(|r| r.0 == 2), Some(&(2, 0)));
        assert_eq!(pattern.sequential, 0.0);
        assert_eq!(pattern.sizes[1], 1.0);
    }

    #[test]
    fn what_lies_outside_the_measured_part_does_not_count() {
        let events = [
            write(0, 4096, 9),
            write(4096, 8192, 10),
            write(0, 4096, 1000),
        ];
        let pattern = of(&events, &[], 2);
        let expected = Amount {
            commands: 1,
            bytes: 8192,
        };
        assert_eq!(pattern.writes, expected);
    }

    #[test]
    fn a_file_costs_what_is_written_between_two_syncs() {
        let sync = |at: u64| Call {
            start: Nanos(at - 1),
            end: Nanos(at),
            result: 0,
            number: 162,
            process: 1,
        };
        let syncs: Vec<Call> = (1..=6).map(|n| sync(n * 100)).collect();
        let events: Vec<Event> = (1..=5)
            .flat_map(|n| {
                let at = n * 100 + 20;
                [
                    write(0, 4096, at),
                    write(8192, 4096, at + 1),
                    write(1 << 30, 4096, at + 2),
                ]
            })
            .collect();
        let per_file = of(&events, &syncs, 2).per_file.unwrap();
        assert_eq!(
            (per_file.files, per_file.writes, per_file.places),
            (4, 3.0, 2.0)
        );
        assert_eq!(per_file.bytes, 12_288.0);
    }

    #[test]
    fn writes_in_words_have_a_size() {
        let words = |commands, bytes| Amount { commands, bytes }.of_writes();
        assert_eq!(words(0, 0), "no writes");
        assert_eq!(words(2, 65_536 + 3), "2 writes of 32 KiB on average");
        assert_eq!(words(3, 1536), "3 writes of 512 B on average");
    }
}
