//! Read-ahead of sequential reads: which part of the address range has been or is being read into
//! the controller's memory before the host asks. One stream; a second one takes it over.

use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// Reads in sequence before read-ahead begins.
const STREAK_MIN: u32 = 2;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Segment {
    units: u32,
    ready: bool,
    /// Its data is lost: it covers nothing.
    spoiled: bool,
    /// Commands that wait for it, and for how many units.
    waiters: Vec<(u32, u32)>,
}

/// What read-ahead has of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Covered {
    /// Units from the start of the range that are ready.
    pub(crate) ready: u32,
    /// Units after them that are on their way.
    pub(crate) coming: u32,
    /// Segments that the command now waits for.
    pub(crate) waits: u32,
}

/// State of the read-ahead.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReadAhead {
    window: u32,
    next_expected: u32,
    streak: u32,
    /// First unit of the first segment.
    start: u32,
    /// First unit after the last segment.
    end: u32,
    /// Number of the first segment.
    first: u32,
    segments: VecDeque<Segment>,
}

impl ReadAhead {
    pub(crate) fn new(window_units: u32) -> Self {
        ReadAhead {
            window: window_units,
            ..ReadAhead::default()
        }
    }

    /// A read of `units` from `unit` arrives: what of it is at hand? Segments before its end are dropped.
    pub(crate) fn take(&mut self, unit: u32, units: u32, command: u32) -> Covered {
        if self.window == 0 {
            return Covered {
                ready: 0,
                coming: 0,
                waits: 0,
            };
        }
        self.streak = if unit == self.next_expected {
            self.streak.saturating_add(1)
        } else {
            0
        };
        self.next_expected = unit + units;
        if self.streak == 0 || unit < self.start || unit >= self.end {
            self.drop_all();
            return Covered {
                ready: 0,
                coming: 0,
                waits: 0,
            };
        }
        let wanted_end = (unit + units).min(self.end);
        let mut covered = Covered {
            ready: 0,
            coming: 0,
            waits: 0,
        };
        let mut at = self.start;
        for segment in &mut self.segments {
            let (from, to) = (at.max(unit), (at + segment.units).min(wanted_end));
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
                segment.waiters.push((command, to - from));
            }
        }
        self.drop_before(wanted_end);
        covered
    }

    /// The next range to read ahead of a read that ended at `unit_end`, if any: first unit and most units.
    pub(crate) fn wanted(&self, unit_end: u32, user_units: u32) -> Option<(u32, u32)> {
        if self.window == 0 || self.streak < STREAK_MIN {
            return None;
        }
        if !self.segments.is_empty() && !(self.start..=self.end).contains(&unit_end) {
            // Segments of an older stream that commands still wait for.
            return None;
        }
        let from = if self.segments.is_empty() {
            unit_end
        } else {
            self.end
        };
        let until = unit_end.saturating_add(self.window).min(user_units);
        (from < until).then(|| (from, until - from))
    }

    /// A segment of `units` from `unit` is being read (or holds nothing and is `ready`); returns its number.
    pub(crate) fn push(&mut self, unit: u32, units: u32, ready: bool) -> u32 {
        if self.segments.is_empty() {
            self.start = unit;
            self.end = unit;
        }
        self.end += units;
        self.segments.push_back(Segment {
            units,
            ready,
            spoiled: false,
            waiters: Vec::new(),
        });
        self.first.wrapping_add(self.segments.len() as u32 - 1)
    }

    /// A segment has been read; returns the commands that waited for it with their units.
    pub(crate) fn arrived(&mut self, number: u32) -> Vec<(u32, u32)> {
        let index = number.wrapping_sub(self.first) as usize;
        match self.segments.get_mut(index) {
            Some(segment) => {
                segment.ready = true;
                std::mem::take(&mut segment.waiters)
            }
            None => Vec::new(),
        }
    }

    /// The data of a segment is lost.
    pub(crate) fn spoil(&mut self, number: u32) {
        let index = number.wrapping_sub(self.first) as usize;
        if let Some(segment) = self.segments.get_mut(index) {
            segment.spoiled = true;
        }
    }

    /// The host writes or discards a range: what was read ahead of it is stale.
    pub(crate) fn invalidate(&mut self, unit: u32, units: u32) {
        if unit < self.end && unit + units > self.start {
            self.drop_all();
        }
    }

    /// Checks that the segments lie within the host's units, and that each that has not come is among
    /// those `coming`. Returns the commands that wait for segments.
    pub(crate) fn audit(
        &self,
        window: u32,
        user_units: u32,
        coming: &BTreeSet<u32>,
    ) -> Checked<Vec<u32>> {
        let all: u64 = self.segments.iter().map(|s| u64::from(s.units)).sum();
        ensure!(
            self.window == window
                && u64::from(self.start) + all == u64::from(self.end)
                && self.end <= user_units
                && self.next_expected <= user_units,
            "read-ahead has units {} to {} of {user_units}",
            self.start,
            self.end
        );
        let mut waiters = Vec::new();
        for (offset, segment) in (0u32..).zip(&self.segments) {
            let comes = coming.contains(&self.first.wrapping_add(offset));
            ensure!(
                if segment.ready {
                    segment.waiters.is_empty()
                } else {
                    comes && segment.waiters.iter().all(|(_, n)| *n <= segment.units)
                },
                "commands wait for what read-ahead has, or never gets"
            );
            waiters.extend(segment.waiters.iter().map(|(command, _)| *command));
        }
        Ok(waiters)
    }

    /// Segments that commands wait for stay until they have arrived.
    fn drop_before(&mut self, unit: u32) {
        while let Some(segment) = self.segments.front() {
            if self.start + segment.units > unit || !segment.waiters.is_empty() {
                break;
            }
            self.start += segment.units;
            self.first = self.first.wrapping_add(1);
            self.segments.pop_front();
        }
    }

    pub(crate) fn drop_all(&mut self) {
        while let Some(segment) = self.segments.front() {
            if !segment.waiters.is_empty() {
                // Commands still wait for parts of the old stream; it ends with them.
                break;
            }
            self.start += segment.units;
            self.first = self.first.wrapping_add(1);
            self.segments.pop_front();
        }
        if self.segments.iter().all(|s| s.waiters.is_empty()) {
            self.first = self.first.wrapping_add(self.segments.len() as u32);
            self.segments.clear();
            self.start = 0;
            self.end = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_after_a_streak_and_serves_what_is_ready() {
        let mut ahead = ReadAhead::new(64);
        assert_eq!(ahead.take(0, 8, 1).ready, 0);
        ahead.take(8, 8, 2);
        assert_eq!(ahead.wanted(16, 1000), Some((16, 64)));
        let first = ahead.push(16, 32, false);
        let second = ahead.push(48, 32, true);
        assert_eq!(ahead.wanted(16, 1000), None);
        assert_eq!(
            ahead.take(16, 8, 3),
            Covered {
                ready: 0,
                coming: 8,
                waits: 1
            }
        );
        assert_eq!(ahead.arrived(first), [(3, 8)]);
        assert_eq!(
            ahead.take(24, 40, 4),
            Covered {
                ready: 40,
                coming: 0,
                waits: 0
            }
        );
        assert!(ahead.arrived(second).is_empty());
        ahead.take(500, 8, 5);
        assert_eq!(ahead.wanted(508, 1000), None);
    }

    #[test]
    fn what_is_spoiled_covers_nothing_from_there_on() {
        let mut ahead = ReadAhead::new(64);
        ahead.take(0, 8, 1);
        ahead.take(8, 8, 2);
        ahead.push(16, 8, true);
        let lost = ahead.push(24, 8, true);
        ahead.push(32, 8, true);
        ahead.spoil(lost);
        let covered = ahead.take(16, 24, 3);
        assert_eq!((covered.ready, covered.coming), (8, 0));
        assert_eq!(ahead.take(40, 8, 4).ready, 0);
    }
}
