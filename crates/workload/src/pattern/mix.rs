//! Which direction comes next in a job that has two. Offsets and sizes are chosen elsewhere.

use super::Random;
use crate::OpKind;
use crate::job::Access;

/// Chooses directions as fio does.
#[derive(Clone, Debug)]
pub struct Mix {
    access: Access,
    read_percent: u32,
    random: Random,
    /// Operations so far: reads, writes.
    issued: [u64; 2],
    now: usize,
    /// The present direction is kept until it has had this many operations.
    keep_until: u64,
}

const READ: usize = 0;
const WRITE: usize = 1;

impl Mix {
    /// For the directions of a job; `read_percent` counts only where they are reads and writes.
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

    /// The next direction. A job of trims and writes begins each block with the trim; the write
    /// that follows it is the caller's.
    #[inline]
    pub fn next_kind(&mut self) -> OpKind {
        match self.access {
            Access::Read => OpKind::Read,
            Access::Write => OpKind::Write,
            Access::Trim | Access::TrimWrite => OpKind::Trim,
            Access::ReadWrite => self.mixed(),
        }
    }

    /// fio draws a direction with the job's odds once the present one has had its due, and after a
    /// change stays with the new one until it has caught up with its share of the old.
    fn mixed(&mut self) -> OpKind {
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
        self.issued[self.now] += 1;
        [OpKind::Read, OpKind::Write][self.now]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_ratio() {
        for percent in [0, 1, 10, 30, 50, 65, 70, 95, 100] {
            let mut mix = Mix::new(Access::ReadWrite, percent, Random::new(9, &[]));
            let total = 200_000;
            let reads = (0..total)
                .filter(|_| mix.next_kind() == OpKind::Read)
                .count();
            let share = reads as f64 / f64::from(total);
            let expected = f64::from(percent) / 100.0;
            let sigma = (expected * (1.0 - expected) / f64::from(total)).sqrt();
            assert!(
                (share - expected).abs() <= 6.0 * sigma,
                "{percent}: {share}"
            );
        }
    }
}
