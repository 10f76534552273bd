//! A channel: the bus between the controller and its dies, which carries one page at a time.
//!
//! Transfers in the same direction are served in the order of their requests. The transfer of a program unit is a
//! sequence of page transfers, and other dies may use the channel between two of them: a read page is transferred at
//! the next page boundary, and while both wait, read pages and pages of the program alternate. Commands and status
//! polling of other dies are part of the overhead of a page.

use crate::invariant::{Checked, check_near, ensure};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Number of a channel. Consecutive dies are on consecutive channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct ChannelId(pub(crate) u32);

impl ChannelId {
    /// Index in a list of all channels.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Bookings of a channel: without a gap from the present to `free`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Channel {
    /// End of all bookings.
    free: Nanos,
    /// End of the last page booked out of a die.
    reads_until: Nanos,
    /// Transfers into dies, in the order of their ends.
    programs: VecDeque<DataIn>,
}

/// The transfer of a program unit into a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DataIn {
    /// Index of the flash operation.
    op: u32,
    /// Present estimate of the end; later reads may delay it.
    end: Nanos,
    /// Transfer time of one page.
    page: Nanos,
}

impl DataIn {
    /// First page boundary at or after `at`, which is before the end.
    fn boundary(&self, at: Nanos) -> Nanos {
        let pages = (self.end.0 - at.0) / self.page.0.max(1);
        Nanos(self.end.0 - pages * self.page.0)
    }
}

impl Channel {
    /// Books the transfer of the pages of one read, which takes `time`; returns its end.
    #[inline]
    pub(crate) fn book_read(&mut self, time: Nanos, now: Nanos) -> Nanos {
        let from = self.reads_until.max(now);
        let start = if self.free <= from {
            from
        } else {
            self.make_room(from, time)
        };
        self.reads_until = start + time;
        self.free = self.free.max(self.reads_until);
        debug_assert!(start >= now, "a transfer begins before its request");
        self.reads_until
    }

    /// End of all bookings, and end of the last page booked out of a die.
    #[inline]
    pub(crate) fn booked(&self) -> (Nanos, Nanos) {
        (self.free, self.reads_until)
    }

    /// Takes back bookings of reads: `booked` is the result of [`Channel::booked`] before them; nothing else may have
    /// been booked since.
    pub(crate) fn take_back(&mut self, booked: (Nanos, Nanos)) {
        debug_assert!(booked <= self.booked(), "more is booked than before");
        (self.free, self.reads_until) = booked;
    }

    /// Delays program transfers so that a read of length `time` fits at or after `from`; returns the start of the read.
    fn make_room(&mut self, from: Nanos, time: Nanos) -> Nanos {
        let Some(current) = self.programs.iter().find(|p| p.end > from) else {
            return self.free;
        };
        let mut start = current.boundary(from);
        if start == self.reads_until {
            // After a read, one page of the program is transferred.
            start = (start + current.page).min(current.end);
        }
        for program in &mut self.programs {
            if program.end > start {
                program.end += time;
            }
        }
        if self.free > start {
            self.free += time;
        }
        start
    }

    /// Books the transfer of a program unit of `pages` pages that take the time `page` each; returns its end,
    /// which reads may delay.
    pub(crate) fn book_program(&mut self, op: u32, page: Nanos, pages: u32, now: Nanos) -> Nanos {
        let end = self.free.max(now) + Nanos(page.0 * u64::from(pages));
        self.free = end;
        self.programs.push_back(DataIn { op, end, page });
        end
    }

    /// Handles the planned end of a program's transfer; returns the new end if reads have delayed it.
    pub(crate) fn end_program(&mut self, op: u32, now: Nanos) -> Option<Nanos> {
        let place = self.programs.iter().position(|p| p.op == op)?;
        let end = self.programs[place].end;
        if end > now {
            return Some(end);
        }
        self.programs.remove(place);
        None
    }

    /// Checks that the bookings are in order; `is_staging` says whether the data of an operation is being transferred
    /// over this channel.
    pub(crate) fn audit(&self, now: Nanos, is_staging: impl Fn(u32) -> bool) -> Checked {
        check_near("the end of the transfers", self.free, now)?;
        let ends = self.programs.iter().map(|p| p.end);
        ensure!(
            self.reads_until <= self.free
                && ends.clone().is_sorted()
                && ends.clone().all(|end| end >= now && end <= self.free),
            "the transfers of a channel are out of order"
        );
        for (place, program) in self.programs.iter().enumerate() {
            let once = self.programs.iter().take(place).all(|p| p.op != program.op);
            ensure!(
                program.page <= program.end,
                "a page of operation {} takes longer than its transfer",
                program.op
            );
            ensure!(
                once && is_staging(program.op),
                "operation {} is on a channel and has no data to move",
                program.op
            );
        }
        Ok(())
    }

    /// Number of program transfers that have not ended.
    pub(crate) fn programs(&self) -> usize {
        self.programs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const PAGE: u64 = 100;

    fn program(channel: &mut Channel, op: u32, pages: u32, now: u64) -> u64 {
        channel.book_program(op, Nanos(PAGE), pages, Nanos(now)).0
    }

    fn read(channel: &mut Channel, now: u64) -> u64 {
        channel.book_read(Nanos(70), Nanos(now)).0
    }

    #[test]
    fn a_read_goes_between_two_pages_of_a_program() {
        let mut channel = Channel::default();
        assert_eq!(program(&mut channel, 1, 12, 0), 1200);
        assert_eq!(program(&mut channel, 2, 12, 0), 2400);
        assert_eq!(read(&mut channel, 250), 370);
        assert_eq!(channel.end_program(1, Nanos(1200)), Some(Nanos(1270)));
        assert_eq!(channel.end_program(1, Nanos(1270)), None);
        assert_eq!(channel.end_program(2, Nanos(2400)), Some(Nanos(2470)));
        assert_eq!(channel.end_program(2, Nanos(2470)), None);
        // A program requested later comes after both.
        assert_eq!(program(&mut channel, 3, 1, 2470), 2570);
    }

    #[test]
    fn reads_and_pages_of_programs_take_turns() {
        let mut channel = Channel::default();
        program(&mut channel, 1, 4, 0);
        // Pages of the program and reads alternate; the last reads have the channel to themselves.
        let ends: Vec<u64> = (0..6).map(|_| read(&mut channel, 1)).collect();
        assert_eq!(ends, [170, 340, 510, 680, 750, 820]);
        assert_eq!(channel.end_program(1, Nanos(400)), Some(Nanos(610)));
    }

    #[test]
    fn without_programs_reads_follow_one_another() {
        let mut channel = Channel::default();
        assert_eq!(read(&mut channel, 0), 70);
        assert_eq!(read(&mut channel, 10), 140);
        assert_eq!(read(&mut channel, 200), 270);
        // A program requested after these reads delays later reads by at most one page.
        assert_eq!(program(&mut channel, 1, 3, 200), 570);
        assert_eq!(read(&mut channel, 200), 440);
        assert_eq!(channel.end_program(1, Nanos(570)), Some(Nanos(640)));
    }

    /// For any sequence: no two transfers at once, no gap while one waits, and a read waits only for one page of a
    /// program and for earlier reads.
    #[test]
    fn the_channel_carries_everything_once_and_rests_only_when_nothing_waits() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let mut channel = Channel::default();
            let (mut now, mut idle, mut moved) = (0, 0, 0);
            let mut live: Vec<u32> = Vec::new();
            for op in 0..60u32 {
                let step = random.below(400);
                idle += (now + step).saturating_sub(channel.free.0.max(now));
                now += step;
                live.retain(|op| {
                    let end = channel.programs.iter().find(|p| p.op == *op).map(|p| p.end);
                    let over = end.is_some_and(|end| end.0 <= now);
                    !over || channel.end_program(*op, Nanos(now)).is_some()
                });
                if random.below(3) == 0 {
                    let pages = 1 + random.below(12) as u32;
                    program(&mut channel, op, pages, now);
                    live.push(op);
                    moved += PAGE * u64::from(pages);
                } else {
                    let waiting = channel.reads_until.0.saturating_sub(now);
                    let end = read(&mut channel, now);
                    assert!(end - now <= waiting + PAGE + 70, "at {now}: {end}");
                    moved += 70;
                }
                assert_eq!(channel.free.0, idle + moved);
                let is_live = |op| live.contains(&op);
                channel.audit(Nanos(now), is_live).expect("in order");
            }
        }
    }
}
