//! Choice of the next direction in a job with two. Offsets and sizes are chosen elsewhere.

use super::Random;
use crate::job::Access;
use crate::{OpKind, Pace};

/// Chooses directions as fio does.
#[derive(Clone, Debug)]
pub struct Mix {
    access: Access,
    read_percent: u32,
    random: Random,
    /// Operations so far: reads, writes.
    issued: [u64; 2],
    now: usize,
    /// Number of operations up to which the present direction is kept.
    keep_until: u64,
}

const READ: usize = 0;
const WRITE: usize = 1;

impl Mix {
    /// A mix of the directions of a job; `read_percent` is used only for reads and writes.
    pub fn new(access: Access, read_percent: u32, random: Random) -> Self {
        Mix {
            access,
            read_percent,
            random,
            issued: [0; 2],
            now: READ,
            keep_until: 0,
        }
    }

    /// Draws the next direction, regardless of the share of the present one. As in fio, a new pass begins with this.
    pub(super) fn redraw(&mut self) {
        self.keep_until = 0;
    }

    /// Replaces the random sequence.
    pub(super) fn draw_from(&mut self, random: Random) {
        self.random = random;
    }

    /// Counts an operation of this direction that had room. As in fio, others do not count.
    #[inline]
    pub fn issue(&mut self, kind: OpKind) {
        match kind {
            OpKind::Read => self.issued[READ] += 1,
            OpKind::Write => self.issued[WRITE] += 1,
            OpKind::Trim | OpKind::Flush => {}
        }
    }

    /// The next direction. A job of trims and writes begins each block with the trim; the caller adds the write that
    /// follows.
    #[inline]
    pub fn next_kind(&mut self, pace: Option<&Pace>) -> OpKind {
        match self.access {
            Access::Read => OpKind::Read,
            Access::Write => OpKind::Write,
            Access::Trim | Access::TrimWrite => OpKind::Trim,
            Access::ReadWrite => self.mixed(pace),
        }
    }

    /// As in fio's `rate_ddir`: if the current direction is ahead of its rate, the other one is next, if it is due;
    /// if both are ahead, the one that is due first.
    fn paced(&self, pace: &Pace) -> usize {
        let next = [pace.read, pace.write];
        let other = 1 - self.now;
        let share = [self.read_percent, 100 - self.read_percent][other];
        if next[self.now] <= pace.now || share == 0 {
            return self.now;
        }
        if next[other] <= pace.now || next[other] < next[self.now] {
            return other;
        }
        self.now
    }

    /// Draws as fio does: a direction with the job's probabilities once the present one has had its share; after a
    /// change, stays with the new direction until that has caught up with the old one.
    fn mixed(&mut self, pace: Option<&Pace>) -> OpKind {
        if self.issued[self.now] >= self.keep_until {
            let drawn = if self.random.percent(self.read_percent) {
                READ
            } else {
                WRITE
            };
            if drawn != self.now {
                let other = match drawn {
                    READ => self.read_percent,
                    _ => 100 - self.read_percent,
                };
                self.keep_until =
                    (u128::from(self.issued[self.now]) * u128::from(other) / 100) as u64;
            }
            self.now = drawn;
        }
        if let Some(pace) = pace {
            self.now = self.paced(pace);
        }
        [OpKind::Read, OpKind::Write][self.now]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::Nanos;

    /// fio 3.33, `rw=rw rate_iops=900,100`, 2 s: 1,800 reads and 200 writes.
    #[test]
    fn rates_by_direction_are_both_kept() {
        let mut mix = Mix::new(Access::ReadWrite, 50, Random::new(9, &[]));
        let mut now = Nanos::ZERO;
        let mut counts = [0u64; 2];
        while now < Nanos::from_secs(2) {
            let pace = Pace {
                now,
                read: Nanos(counts[READ] * 1_000_000_000 / 900),
                write: Nanos(counts[WRITE] * 1_000_000_000 / 100),
            };
            let kind = mix.next_kind(Some(&pace));
            mix.issue(kind);
            let (direction, due) = match kind {
                OpKind::Read => (READ, pace.read),
                _ => (WRITE, pace.write),
            };
            counts[direction] += 1;
            now = now.max(due);
        }
        assert!((1799..=1801).contains(&counts[READ]), "{counts:?}");
        assert!((199..=201).contains(&counts[WRITE]), "{counts:?}");
    }

    #[test]
    fn keeps_the_ratio() {
        for percent in [0, 1, 10, 30, 50, 65, 70, 95, 100] {
            let mut mix = Mix::new(Access::ReadWrite, percent, Random::new(9, &[]));
            let total = 200_000;
            let mut reads = 0;
            for _ in 0..total {
                let kind = mix.next_kind(None);
                mix.issue(kind);
                reads += u32::from(kind == OpKind::Read);
            }
            let share = f64::from(reads) / f64::from(total);
            let expected = f64::from(percent) / 100.0;
            let sigma = (expected * (1.0 - expected) / f64::from(total)).sqrt();
            assert!(
                (share - expected).abs() <= 6.0 * sigma,
                "{percent}: {share}"
            );
        }
    }
}
