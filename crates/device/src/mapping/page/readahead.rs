//! Read-ahead of sequential reads: ranges that are, or are being, read into the controller's memory before the host
//! requests them. Several streams share that memory.

use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use crate::mapping::page::lpn::Lpn;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// Number of sequential reads before read-ahead begins.
const STREAK_MIN: u32 = 2;
/// Maximum number of tracked streams. No maker states it; a few let several programs read files at the same time, and
/// cost the firmware a few comparisons per read.
const STREAMS: usize = 4;

/// Units of a command that wait for a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waiter {
    pub(crate) command: u32,
    pub(crate) first: Lpn,
    pub(crate) units: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Segment {
    units: u32,
    ready: bool,
    /// The data is lost: the segment covers nothing.
    spoiled: bool,
    waiters: Vec<Waiter>,
}

/// A range of a read command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadRange {
    pub(crate) command: u32,
    /// First sector, and the sector after the last.
    pub(crate) sectors: (u64, u64),
    /// First mapping unit, and the number of units.
    pub(crate) first: Lpn,
    pub(crate) units: u32,
}

/// Part of a range that read-ahead covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// Units from the start of the range whose data is in memory.
    pub(crate) ready: u32,
    /// Units after these that are being read.
    pub(crate) coming: u32,
    /// Number of segments that the command waits for.
    pub(crate) waits: u32,
    /// Stream of the read.
    pub(crate) stream: Option<u32>,
}

/// A segment of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SegmentId {
    pub(crate) stream: u32,
    pub(crate) number: u32,
}

/// A stream of sequential reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Stream {
    streak: u32,
    /// First unit of the first segment.
    start: Lpn,
    /// First unit after the last segment.
    end: Lpn,
    /// Number of the first segment.
    first: u32,
    segments: VecDeque<Segment>,
}

/// State of the read-ahead.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReadAhead {
    /// Memory for read-ahead, mapping units.
    window: u32,
    unit_sectors: u32,
    reads: u64,
    /// Sector after the last read of each stream. `used` is the sequence number of that read; 0 for an unused stream.
    next_sectors: [u64; STREAMS],
    used: [u64; STREAMS],
    streams: [Stream; STREAMS],
}

impl ReadAhead {
    pub(crate) fn new(window_units: u32, unit_sectors: u32) -> Self {
        ReadAhead {
            window: window_units,
            unit_sectors,
            ..ReadAhead::default()
        }
    }

    /// The parts of a new read that are in the buffer or being read. Drops segments before the end of the read.
    pub(crate) fn take(&mut self, read: &ReadRange) -> Covered {
        if self.window == 0 {
            return Covered::default();
        }
        self.reads += 1;
        let from = read.sectors.0;
        let Some(index) = self.followed_by(from) else {
            self.begin_stream(read);
            return Covered::default();
        };
        let next_unit = self.unit_of(read.sectors.1);
        self.used[index] = self.reads;
        self.next_sectors[index] = read.sectors.1;
        let stream = &mut self.streams[index];
        stream.streak = stream.streak.saturating_add(1);
        Covered {
            stream: Some(index.narrow()),
            ..stream.take(read, next_unit)
        }
    }

    /// As [`ReadAhead::take`], for a read that the buffer does not cover and that starts no read-ahead. Returns false,
    /// with nothing changed, for other reads.
    #[inline]
    pub(crate) fn takes_alone(&mut self, read: &ReadRange) -> bool {
        if self.window == 0 {
            return true;
        }
        match self.followed_by(read.sectors.0) {
            None => {
                self.reads += 1;
                self.begin_stream(read);
                true
            }
            Some(index) => {
                let stream = &self.streams[index];
                let alone = stream.streak < STREAK_MIN - 1 && stream.segments.is_empty();
                if alone {
                    self.take(read);
                }
                alone
            }
        }
    }

    /// The mapping unit of a sector.
    fn unit_of(&self, sector: u64) -> Lpn {
        Lpn((sector / u64::from(self.unit_sectors)).narrow())
    }

    /// The stream that a read from a sector continues.
    #[inline]
    fn followed_by(&self, from: u64) -> Option<usize> {
        (0..STREAMS).find(|i| self.next_sectors[*i] == from && self.used[*i] > 0)
    }

    /// Begins a stream with a read that continues no other: replaces the least recently used stream without waiting
    /// commands.
    #[inline]
    fn begin_stream(&mut self, read: &ReadRange) {
        let mut oldest = 0;
        for i in 1..STREAMS {
            if self.used[i] < self.used[oldest] {
                oldest = i;
            }
        }
        if self.streams[oldest].is_waited_for() {
            let free = (0..STREAMS).filter(|i| !self.streams[*i].is_waited_for());
            let Some(free) = free.min_by_key(|i| self.used[*i]) else {
                return;
            };
            oldest = free;
        }
        let stream = &mut self.streams[oldest];
        stream.drop_all();
        stream.streak = 0;
        self.used[oldest] = self.reads;
        self.next_sectors[oldest] = read.sectors.1;
    }

    /// Next range to read ahead in a stream, if any: first unit and maximum number of units. The active streams share
    /// the memory equally.
    pub(crate) fn wanted(&self, stream: u32, user_units: u32) -> Option<(Lpn, u32)> {
        let is_ahead = |s: &&Stream| s.streak >= STREAK_MIN;
        let sharing = self.streams.iter().filter(is_ahead).count().narrow();
        let next_sector = *self.next_sectors.get(stream as usize)?;
        let stream = self.streams.get(stream as usize).filter(is_ahead)?;
        let next_unit = self.unit_of(next_sector);
        if !stream.segments.is_empty() && !(stream.start..=stream.end).contains(&next_unit) {
            // Commands still wait for segments of an older stream.
            return None;
        }
        let from = if stream.segments.is_empty() {
            next_unit
        } else {
            stream.end
        };
        let window = (self.window / sharing.max(1)).max(1);
        let until = Lpn(next_unit.0.saturating_add(window).min(user_units));
        (from < until).then(|| (from, until - from))
    }

    /// Adds a segment of `units` from `unit`, which is being read, or `ready` because it holds no data.
    pub(crate) fn push(&mut self, stream: u32, unit: Lpn, units: u32, ready: bool) -> SegmentId {
        let own = &mut self.streams[stream as usize];
        if own.segments.is_empty() {
            own.start = unit;
            own.end = unit;
        }
        own.end += units;
        own.segments.push_back(Segment {
            units,
            ready,
            spoiled: false,
            waiters: Vec::new(),
        });
        SegmentId {
            stream,
            number: own.first.wrapping_add(own.segments.len().narrow() - 1),
        }
    }

    /// Marks a segment as read; returns the commands that waited for it.
    pub(crate) fn arrived(&mut self, id: SegmentId) -> Vec<Waiter> {
        match self.segment(id) {
            Some(segment) => {
                segment.ready = true;
                std::mem::take(&mut segment.waiters)
            }
            None => Vec::new(),
        }
    }

    /// Marks the data of a segment as lost.
    pub(crate) fn spoil(&mut self, id: SegmentId) {
        if let Some(segment) = self.segment(id) {
            segment.spoiled = true;
        }
    }

    fn segment(&mut self, id: SegmentId) -> Option<&mut Segment> {
        let stream = self.streams.get_mut(id.stream as usize)?;
        let index = id.number.wrapping_sub(stream.first) as usize;
        stream.segments.get_mut(index)
    }

    /// Drops read-ahead data of a range that the host writes or discards.
    pub(crate) fn invalidate(&mut self, unit: Lpn, units: u32) {
        for stream in &mut self.streams {
            if unit < stream.end && unit + units > stream.start {
                stream.drop_all();
            }
        }
    }

    /// Drops all segments that no command waits for.
    pub(crate) fn drop_all(&mut self) {
        self.streams.iter_mut().for_each(Stream::drop_all);
    }

    /// Checks that the segments lie within the host's units, and that unfinished ones are among `coming`. Returns the
    /// commands that wait for segments.
    pub(crate) fn audit(
        &self,
        window: u32,
        unit_sectors: u32,
        user_units: u32,
        coming: &BTreeSet<SegmentId>,
    ) -> Checked<Vec<u32>> {
        ensure!(
            (self.window, self.unit_sectors) == (window, unit_sectors),
            "read-ahead of {} units of {} sectors",
            self.window,
            self.unit_sectors
        );
        let mut waiters = Vec::new();
        for (number, stream) in (0u32..).zip(&self.streams) {
            let all: u64 = stream.segments.iter().map(|s| u64::from(s.units)).sum();
            let next_sector = self.next_sectors[number as usize];
            ensure!(
                u64::from(stream.start) + all == u64::from(stream.end)
                    && stream.end.0 <= user_units
                    && next_sector <= u64::from(user_units) * u64::from(unit_sectors)
                    && self.used[number as usize] <= self.reads,
                "read-ahead has units {} to {} of {user_units}",
                stream.start,
                stream.end
            );
            for (offset, segment) in (0u32..).zip(&stream.segments) {
                let id = SegmentId {
                    stream: number,
                    number: stream.first.wrapping_add(offset),
                };
                let within = |w: &Waiter| w.units <= segment.units && w.first.0 < user_units;
                ensure!(
                    if segment.ready {
                        segment.waiters.is_empty()
                    } else {
                        coming.contains(&id) && segment.waiters.iter().all(within)
                    },
                    "commands wait for read-ahead data that is loaded already or never requested"
                );
                waiters.extend(segment.waiters.iter().map(|w| w.command));
            }
        }
        Ok(waiters)
    }
}

impl Stream {
    fn take(&mut self, read: &ReadRange, next_unit: Lpn) -> Covered {
        let mut covered = Covered::default();
        let (first, end) = (read.first, read.first + read.units);
        if first < self.start || first >= self.end {
            self.drop_all();
            return covered;
        }
        let wanted_end = end.min(self.end);
        let mut at = self.start;
        for segment in &mut self.segments {
            let (from, to) = (at.max(first), (at + segment.units).min(wanted_end));
            at += segment.units;
            if from >= to {
                continue;
            }
            if segment.spoiled {
                break;
            }
            if segment.ready {
                covered.ready += to - from;
            } else {
                covered.coming += to - from;
                covered.waits += 1;
                segment.waiters.push(Waiter {
                    command: read.command,
                    first: from,
                    units: to - from,
                });
            }
        }
        // A partly read unit is kept: its rest is likely to be read next.
        self.drop_before(wanted_end.min(next_unit));
        covered
    }

    fn is_waited_for(&self) -> bool {
        self.segments.iter().any(|s| !s.waiters.is_empty())
    }

    /// Drops segments before a unit; those that commands wait for stay until they have been read.
    fn drop_before(&mut self, unit: Lpn) {
        while let Some(segment) = self.segments.front() {
            if self.start + segment.units > unit || !segment.waiters.is_empty() {
                break;
            }
            self.start += segment.units;
            self.first = self.first.wrapping_add(1);
            self.segments.pop_front();
        }
    }

    #[inline]
    fn drop_all(&mut self) {
        if !self.segments.is_empty() {
            self.drop_segments();
        }
        if self.segments.is_empty() {
            self.start = Lpn(0);
            self.end = Lpn(0);
        }
    }

    /// Drops all segments before the first one that a command waits for.
    fn drop_segments(&mut self) {
        self.drop_before(Lpn(u32::MAX));
        if !self.is_waited_for() {
            self.first = self.first.wrapping_add(self.segments.len().narrow());
            self.segments.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(command: u32, sector: u64, sectors: u64) -> ReadRange {
        let first = (sector / 8) as u32;
        ReadRange {
            command,
            sectors: (sector, sector + sectors),
            first: Lpn(first),
            units: (sector + sectors).div_ceil(8) as u32 - first,
        }
    }

    fn take(ahead: &mut ReadAhead, unit: u64, units: u64, command: u32) -> Covered {
        ahead.take(&range(command, unit * 8, units * 8))
    }

    #[test]
    fn begins_after_a_streak_and_serves_what_is_ready() {
        let mut ahead = ReadAhead::new(64, 8);
        assert_eq!(take(&mut ahead, 0, 8, 1), Covered::default());
        take(&mut ahead, 8, 8, 2);
        assert_eq!(ahead.wanted(0, 1000), None);
        take(&mut ahead, 16, 8, 3);
        assert_eq!(ahead.wanted(0, 1000), Some((Lpn(24), 64)));
        let first = ahead.push(0, Lpn(24), 32, false);
        let second = ahead.push(0, Lpn(56), 32, true);
        assert_eq!(ahead.wanted(0, 1000), None);
        let covered = take(&mut ahead, 24, 8, 4);
        assert_eq!((covered.ready, covered.coming, covered.waits), (0, 8, 1));
        let waiter = Waiter {
            command: 4,
            first: Lpn(24),
            units: 8,
        };
        assert_eq!(ahead.arrived(first), [waiter]);
        let covered = take(&mut ahead, 32, 40, 5);
        assert_eq!((covered.ready, covered.coming, covered.waits), (40, 0, 0));
        assert!(ahead.arrived(second).is_empty());
        assert_eq!(take(&mut ahead, 500, 8, 6).stream, None);
    }

    #[test]
    fn what_is_spoiled_covers_nothing_from_there_on() {
        let mut ahead = ReadAhead::new(64, 8);
        take(&mut ahead, 0, 8, 1);
        take(&mut ahead, 8, 8, 2);
        ahead.push(0, Lpn(16), 8, true);
        let lost = ahead.push(0, Lpn(24), 8, true);
        ahead.push(0, Lpn(32), 8, true);
        ahead.spoil(lost);
        let covered = take(&mut ahead, 16, 24, 3);
        assert_eq!((covered.ready, covered.coming), (8, 0));
        assert_eq!(take(&mut ahead, 40, 8, 4).ready, 0);
    }

    #[test]
    fn the_rest_of_a_unit_that_was_read_in_part_stays() {
        let mut ahead = ReadAhead::new(64, 8);
        for part in 0..3 {
            ahead.take(&range(0, part * 4, 4));
        }
        // The next sector belongs to the seventh half unit.
        assert_eq!(ahead.wanted(0, 1000), Some((Lpn(1), 64)));
        ahead.push(0, Lpn(1), 2, true);
        for part in 3..6 {
            assert_eq!(ahead.take(&range(0, part * 4, 4)).ready, 1, "part {part}");
        }
        assert_eq!(ahead.take(&range(0, 24, 4)).ready, 0);
    }

    #[test]
    fn streams_are_followed_side_by_side_and_share_the_memory() {
        let mut ahead = ReadAhead::new(64, 8);
        let mut streams = [None; 2];
        for round in 0..4 {
            for (which, stream) in streams.iter_mut().enumerate() {
                *stream = take(&mut ahead, which as u64 * 500 + round * 4, 4, 0).stream;
            }
        }
        let [Some(a), Some(b)] = streams else {
            panic!("{streams:?}");
        };
        assert_eq!(ahead.wanted(a, 1000), Some((Lpn(16), 32)));
        assert_eq!(ahead.wanted(b, 1000), Some((Lpn(516), 32)));
        // Random reads do not end streams in use.
        for unit in [700, 300, 900] {
            take(&mut ahead, unit, 4, 0);
            assert_eq!(take(&mut ahead, 16, 0, 0).stream, Some(a));
            assert_eq!(take(&mut ahead, 516, 0, 0).stream, Some(b));
        }
    }
}
