//! How far a device is on its way to a state, for people who wait for it.

use super::steadiness::Steadiness;
use nandscope_device::{Device, FillProgress};
use nandscope_units::Bytes;
use std::ops::ControlFlow;

/// Rounds after which a device is steady, as a rule: drives of the library need 6 to 10, cards 5.
const EXPECTED_ROUNDS: usize = 8;

/// A step of a preparation: hears how far it is, and may end it.
pub type PreparationStep<'a> = dyn FnMut(&Preparation) -> ControlFlow<()> + 'a;

/// Progress of a preparation. It has one or two parts, whose speeds differ: the device is filled, then overwritten.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Preparation {
    /// The device is full, and is overwritten now.
    pub overwrites: bool,
    /// Written in this part so far.
    pub written: Bytes,
    /// Written at its end; of a steady state, at least.
    pub total: Bytes,
    /// Written at its end as expected: more than `total` while few rounds of a steady state are over.
    pub expected: Bytes,
    /// Written in this part when its speed becomes level. The first random writes go into free space and move nothing.
    pub level_from: Bytes,
    /// Whether the device is overwritten after this part, which then is the short one.
    pub is_first: bool,
    /// Whether the end is not known before: the device is overwritten until it is steady.
    pub until_steady: bool,
    /// Bytes programmed per byte written, over the present round.
    pub write_amplification: f64,
    /// Range of the write amplification in the last rounds, as a share of its mean; `None` before the second round has
    /// ended.
    pub range: Option<f64>,
}

impl Preparation {
    /// Share of this part that is done, 0 to 1.
    pub fn fraction(&self) -> f64 {
        match self.total.0 {
            0 => 1.0,
            total => (self.written.0 as f64 / total as f64).min(1.0),
        }
    }

    /// Seconds that the rest of this part takes, if writing from `from` up to the present took `seconds`.
    pub fn seconds_left(&self, from: Bytes, seconds: f64) -> f64 {
        let done = self.written.0.saturating_sub(from.0).max(1) as f64;
        let left = self.expected.0.saturating_sub(self.written.0) as f64;
        seconds * left / done
    }

    /// The amounts of this part and what slows it down, in words. `seconds` is the time since `from` was written.
    pub fn reason(&self, from: Bytes, seconds: f64) -> String {
        let done = self.written.0.saturating_sub(from.0) as f64;
        let rate = done / seconds.max(1e-9) / 1e9;
        let (written, expected) = (self.written.as_gb(), self.expected.as_gb());
        if !self.overwrites {
            return format!(
                "{expected:.0} GB are written, {written:.1} GB so far, at {rate:.2} GB/s"
            );
        }
        let about = if self.until_steady { "about " } else { "" };
        let amplification = self.write_amplification;
        format!(
            "the device is full, and {about}{expected:.0} GB of it are overwritten at random at {rate:.2} GB/s, with a write amplification of {amplification:.1}"
        )
    }

    /// The present work in words, with its amounts.
    pub fn text(&self) -> String {
        let (written, total) = (self.written.as_gb(), self.total.as_gb());
        if !self.overwrites {
            return format!("filling the device: {written:.1} of {total:.1} GB");
        }
        let least = if self.until_steady { "at least " } else { "" };
        let amplification = self.write_amplification;
        let range = self.range.map_or_else(String::new, |range| {
            format!(", which varies by {:.1} %", range * 100.0)
        });
        format!(
            "overwriting the device at random: {written:.1} of {least}{total:.1} GB, write amplification {amplification:.2}{range}"
        )
    }
}

/// Turns the steps of the device into those of a preparation.
pub(super) struct Progress<'a> {
    now: Preparation,
    /// Written in this part before the present round.
    before: u64,
    unit: u64,
    /// Units that can be overwritten before others are moved.
    free: u64,
    step: &'a mut PreparationStep<'a>,
}

impl<'a> Progress<'a> {
    /// Of a device whose first `share` is about to be filled. `is_first` if it is overwritten afterwards.
    pub(super) fn filling(
        device: &Device,
        (share, is_first): (f64, bool),
        step: &'a mut PreparationStep<'a>,
    ) -> Self {
        let total = Bytes((device.capacity().0 as f64 * share) as u64);
        Progress {
            now: Preparation {
                total,
                expected: total,
                is_first,
                ..Preparation::default()
            },
            before: 0,
            unit: device.overwrite_unit().0,
            free: 0,
            step,
        }
    }

    /// The device is full, with `free` bytes of free space.
    pub(super) fn is_full(&mut self, free: Option<Bytes>) {
        self.free = free.map_or(0, |free| free.0 / self.unit.max(1));
    }

    /// The device is full; from now on `units` are overwritten.
    pub(super) fn begin_to_overwrite(&mut self, units: f64) {
        let total = self.bytes(units as u64);
        self.now = Preparation {
            overwrites: true,
            total,
            expected: total,
            ..Preparation::default()
        };
        self.set_level();
        self.before = 0;
    }

    /// The speed is level when the free space is used up; a small amount does not wait for that.
    fn set_level(&mut self) {
        let most = Bytes(self.now.expected.0 / 4);
        self.now.level_from = self.bytes(self.free).min(most);
    }

    /// A round of random writes to `units` begins; `so_far` has the rounds before it.
    pub(super) fn begin_round(&mut self, units: f64, round: usize, so_far: &Steadiness) {
        if round == 0 {
            self.begin_to_overwrite(units);
        }
        let rounds = round + so_far.rounds_left();
        self.now.total = self.bytes((units * rounds as f64) as u64);
        let expected = rounds.max(EXPECTED_ROUNDS) as f64;
        self.now.expected = self.bytes((units * expected) as u64);
        self.set_level();
        self.now.until_steady = true;
        self.now.range = (round > 1).then(|| so_far.range());
    }

    /// Hears of a step of the device.
    pub(super) fn step(&mut self, done: FillProgress) -> ControlFlow<()> {
        self.now.written = self.bytes(self.before + done.written);
        self.now.write_amplification = done.write_amplification();
        (self.step)(&self.now)
    }

    /// A round is over, in which this was done.
    pub(super) fn round_is_over(&mut self, done: FillProgress) {
        self.before += done.written;
    }

    fn bytes(&self, units: u64) -> Bytes {
        Bytes(units.saturating_mul(self.unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precondition::{Precondition, PreconditionError};

    fn prepared(
        state: Precondition,
        stop_after: usize,
    ) -> (Vec<Preparation>, Result<(), PreconditionError>) {
        let source = crate::device_source("kingston-8gb").unwrap();
        let host = crate::host_source("direct").unwrap();
        let mut device = Device::new(&source.profile, &host.profile, 1).unwrap();
        let mut steps = Vec::new();
        let ended = state.apply_in_steps(&mut device, 1, &mut |now| {
            steps.push(*now);
            match steps.len() < stop_after {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        // Also one that was interrupted is whole.
        device.audit().unwrap();
        assert_eq!(device.counters().host_written, Bytes::ZERO);
        (steps, ended)
    }

    #[test]
    fn a_preparation_says_how_far_it_is() {
        for state in [
            Precondition::Sequential(50.0),
            Precondition::Random(100.0),
            Precondition::Overwritten(0.5),
            Precondition::Steady,
        ] {
            let (steps, ended) = prepared(state, usize::MAX);
            assert_eq!(ended, Ok(()), "{state:?}");
            let last = steps.last().unwrap();
            assert!(last.fraction() > 0.95, "{state:?}: {last:?}");
            for pair in steps.windows(2) {
                let same_part = pair[0].overwrites == pair[1].overwrites;
                assert!(!same_part || pair[0].written < pair[1].written, "{pair:?}");
            }
            assert_eq!(last.until_steady, state == Precondition::Steady);
        }
    }

    #[test]
    fn the_time_left_and_its_reason() {
        let gb = |n: u64| Bytes(n * 1_000_000_000);
        let mut now = Preparation {
            written: gb(30),
            total: gb(64),
            expected: gb(64),
            ..Preparation::default()
        };
        assert_eq!(now.seconds_left(Bytes::ZERO, 15.0), 17.0);
        let text = "64 GB are written, 30.0 GB so far, at 2.00 GB/s";
        assert_eq!(now.reason(Bytes::ZERO, 15.0), text);
        now = Preparation {
            overwrites: true,
            until_steady: true,
            expected: gb(230),
            write_amplification: 6.96,
            ..now
        };
        assert_eq!(now.seconds_left(gb(10), 2.0), 20.0);
        let text = "the device is full, and about 230 GB of it are overwritten at random at 10.00 GB/s, with a write amplification of 7.0";
        assert_eq!(now.reason(gb(10), 2.0), text);
    }

    #[test]
    fn a_preparation_ends_when_it_is_told_to() {
        for state in [
            Precondition::Sequential(100.0),
            Precondition::Random(100.0),
            Precondition::Overwritten(2.0),
            Precondition::Steady,
        ] {
            for after in [1, 2, 20] {
                let (steps, ended) = prepared(state, after);
                assert_eq!(ended, Err(PreconditionError::Stopped), "{state:?}");
                assert_eq!(steps.len(), after, "{state:?}");
            }
        }
    }

    #[test]
    fn the_text_says_what_is_left() {
        let mut now = Preparation {
            written: Bytes(2_500_000_000),
            total: Bytes(64_000_000_000),
            ..Preparation::default()
        };
        assert_eq!(now.text(), "filling the device: 2.5 of 64.0 GB");
        now = Preparation {
            overwrites: true,
            until_steady: true,
            write_amplification: 3.914,
            range: Some(0.0712),
            ..now
        };
        let text = "overwriting the device at random: 2.5 of at least 64.0 GB, write amplification 3.91, which varies by 7.1 %";
        assert_eq!(now.text(), text);
    }
}
