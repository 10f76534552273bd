//! The state in which a device is before a run: as it came from the factory, filled, overwritten, or in the steady state
//! of random writes. Nothing here takes time of the device's clock.

mod preparation;
mod steadiness;

pub use preparation::{Preparation, PreparationStep};

use nandscope_device::{Afterwards, Device, Fill, FillError};
use preparation::Progress;
use std::ops::ControlFlow;
use std::str::FromStr;
use steadiness::{Round, Steadiness};
use thiserror::Error;

/// Forms of a state, for messages and help.
pub const FORMS: &str =
    "none, sequential[:PERCENT], random[:PERCENT], overwritten[:TIMES] or steady";
/// Rounds for each capacity.
const ROUNDS_PER_CAPACITY: f64 = 2.0;
/// Number of rounds after which a device counts as never steady: 20 capacities.
const MOST_ROUNDS: usize = 40;
/// Largest number of capacities that are overwritten.
const MOST_TIMES: f64 = 1000.0;

/// Why a device is not brought into a state.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PreconditionError {
    /// The state has another form.
    #[error("unknown state; use {FORMS}")]
    Form,
    /// The fullness is out of range.
    #[error("`{0}` is not a percentage; give a number above 0 and up to 100")]
    Percent(String),
    /// The number of overwrites is out of range.
    #[error("`{0}` is not a number of overwrites; give a number above 0 and up to {MOST_TIMES}")]
    Times(String),
    /// Commands are outstanding, which before a run would be a fault of the program.
    #[error("the device has commands outstanding and cannot be filled")]
    Busy,
    /// The caller ended the preparation.
    #[error("interrupted while the device was prepared; nothing was measured")]
    Stopped,
    /// The device did not become steady.
    #[error(
        "the device is not steady after {0} capacities of random writes; use overwritten:TIMES instead of steady"
    )]
    Unsteady(usize),
    /// The device reached its end of life.
    #[error("the device reached its end of life while it was overwritten; use fewer overwrites")]
    ReadOnly,
}

/// Preparation of a device, as on the command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// As it is: `none`.
    None,
    /// Written from the start up to this percentage, in order: `sequential[:PERCENT]`.
    Sequential(f64),
    /// The same units, once each, in random order: `random[:PERCENT]`.
    Random(f64),
    /// Written in full, in order; then random units are overwritten, this many times the capacity:
    /// `overwritten[:TIMES]`, by default 2.
    Overwritten(f64),
    /// Written in full, in order; then random units are overwritten until write amplification is level (see [`Precondition::apply`]),
    /// and the free space is that at which collection sets the pace of the host: `steady`.
    Steady,
}

impl From<FillError> for PreconditionError {
    fn from(error: FillError) -> Self {
        match error {
            FillError::Busy => PreconditionError::Busy,
            FillError::Stopped => PreconditionError::Stopped,
        }
    }
}

impl FromStr for Precondition {
    type Err = PreconditionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (how, number) = match text.split_once(':') {
            None => (text, None),
            Some((how, number)) => (how, Some(number)),
        };
        let percent = || match number {
            None => Ok(100.0),
            Some(text) => within(text.trim_end_matches('%'), 100.0)
                .ok_or_else(|| PreconditionError::Percent(text.to_string())),
        };
        match how {
            "none" if number.is_none() => Ok(Precondition::None),
            "steady" if number.is_none() => Ok(Precondition::Steady),
            "sequential" => Ok(Precondition::Sequential(percent()?)),
            "random" => Ok(Precondition::Random(percent()?)),
            "overwritten" => match number {
                None => Ok(Precondition::Overwritten(2.0)),
                Some(text) => within(text, MOST_TIMES)
                    .map(Precondition::Overwritten)
                    .ok_or_else(|| PreconditionError::Times(text.to_string())),
            },
            _ => Err(PreconditionError::Form),
        }
    }
}

/// A number above 0 and up to `most`.
fn within(text: &str, most: f64) -> Option<f64> {
    let number = text.parse::<f64>().ok();
    number.filter(|n| *n > 0.0 && *n <= most)
}

impl Precondition {
    /// Brings a device into this state, in no time of its clock.
    ///
    /// A steady device has been overwritten in rounds of half its capacity until the write amplification of five rounds in
    /// a row has a range of at most 5 % of its mean, and changes by at most 2.5 % along its trend. It is left as in the
    /// middle of these writes, without idle time: the next write meets the free space of a busy device.
    ///
    /// # Errors
    /// [`PreconditionError::Busy`] if commands are outstanding; [`PreconditionError::Unsteady`] or
    /// [`PreconditionError::ReadOnly`] if the state cannot be reached.
    pub fn apply(self, device: &mut Device, seed: u64) -> Result<(), PreconditionError> {
        self.apply_in_steps(device, seed, &mut |_| ControlFlow::Continue(()))
    }

    /// Brings the device into this state in steps of some milliseconds. `step` is called after each with the progress,
    /// and can end the preparation; the device is then filled in part.
    ///
    /// # Errors
    /// As [`Precondition::apply`], and [`PreconditionError::Stopped`] if `step` ended it.
    pub fn apply_in_steps(
        self,
        device: &mut Device,
        seed: u64,
        step: &mut PreparationStep<'_>,
    ) -> Result<(), PreconditionError> {
        let (percent, fill, is_first) = match self {
            Precondition::None => return Ok(()),
            Precondition::Sequential(percent) => (percent, Fill::Sequential, false),
            Precondition::Random(percent) => (percent, Fill::Random { seed }, false),
            Precondition::Overwritten(_) | Precondition::Steady => (100.0, Fill::Sequential, true),
        };
        let mut progress = Progress::filling(device, (percent / 100.0, is_first), step);
        device.fill(percent / 100.0, fill, &mut |done| progress.step(done))?;
        progress.is_full(device.free_room());
        match self {
            Precondition::Overwritten(times) => {
                let units = times * units(device);
                progress.begin_to_overwrite(units);
                overwrite(
                    device,
                    (units as u64, seed),
                    Afterwards::Idle,
                    &mut progress,
                )?;
                Ok(())
            }
            Precondition::Steady => overwrite_until_steady(device, seed, &mut progress),
            _ => Ok(()),
        }
    }

    /// In words, for the result document.
    pub fn describe(self) -> Option<String> {
        match self {
            Precondition::None => None,
            Precondition::Sequential(p) => Some(format!("filled to {p} % in order")),
            Precondition::Random(p) => Some(format!("filled to {p} % in random order")),
            Precondition::Overwritten(n) => Some(format!(
                "filled in order, and {n} times its capacity was overwritten at random"
            )),
            Precondition::Steady => Some(
                "filled in order, and overwritten at random until write amplification was level"
                    .to_string(),
            ),
        }
    }
}

/// Units of a device that are overwritten one by one.
fn units(device: &Device) -> f64 {
    device.capacity().0 as f64 / device.overwrite_unit().0.max(1) as f64
}

/// Overwrites `count` random units, drawn with `seed`.
fn overwrite(
    device: &mut Device,
    (count, seed): (u64, u64),
    afterwards: Afterwards,
    progress: &mut Progress<'_>,
) -> Result<Round, PreconditionError> {
    let erases = device.counters().erases;
    let done = device.overwrite(count, seed, afterwards, &mut |done| progress.step(done))?;
    progress.round_is_over(done);
    if device.telemetry().read_only_since.is_some() {
        return Err(PreconditionError::ReadOnly);
    }
    let after = device.counters();
    Ok(Round {
        write_amplification: done.write_amplification(),
        erases: after.erases.saturating_sub(erases),
        free: after.free,
    })
}

fn overwrite_until_steady(
    device: &mut Device,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<(), PreconditionError> {
    let units = units(device) / ROUNDS_PER_CAPACITY;
    let mut steadiness = Steadiness::default();
    for round in 0..MOST_ROUNDS {
        progress.begin_round(units, round, &steadiness);
        let seed = seed.wrapping_add(round as u64);
        let drawn = (units as u64, seed);
        steadiness.add(overwrite(device, drawn, Afterwards::Load, progress)?);
        if steadiness.is_attained() {
            return Ok(());
        }
    }
    let capacities = MOST_ROUNDS as f64 / ROUNDS_PER_CAPACITY;
    Err(PreconditionError::Unsteady(capacities as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::{Command, CommandKind};
    use nandscope_units::{Lba, Nanos};

    #[test]
    fn forms() {
        for (text, state) in [
            ("none", Precondition::None),
            ("sequential", Precondition::Sequential(100.0)),
            ("random:80", Precondition::Random(80.0)),
            ("random:12.5%", Precondition::Random(12.5)),
            ("overwritten", Precondition::Overwritten(2.0)),
            ("overwritten:0.5", Precondition::Overwritten(0.5)),
            ("steady", Precondition::Steady),
        ] {
            assert_eq!(text.parse(), Ok(state));
        }
        for text in [
            "",
            "none:5",
            "random:0",
            "random:101",
            "random:x",
            "full",
            "steady:1",
            "overwritten:0",
            "overwritten:nan",
            "overwritten:1e9",
        ] {
            assert!(text.parse::<Precondition>().is_err(), "{text}");
        }
    }

    /// The reference drive with 20 % spare and superblocks of a 32nd of their size.
    fn small_drive() -> Device {
        let source = crate::device_source("reference-nvme-64gb").unwrap();
        let set = |key, value| crate::ProfileOverride::new(key, value);
        let small = [
            set("ftl.over_provisioning", "0.2"),
            set("nand.word_lines", "2"),
        ];
        let source = crate::overrides::apply(source, &small).unwrap();
        let host = crate::host_source("direct").unwrap();
        Device::new(&source.profile, &host.profile, 1).unwrap()
    }

    /// Write amplification of random writes at queue depth 32, after each of these numbers of them.
    fn amplification(device: &mut Device, after: &[u64]) -> Vec<f64> {
        let units = units(device) as u64;
        let before = device.counters();
        let mut random = nandscope_units::random::SplitMix64::new(7);
        let (mut submitted, mut completions) = (0, Vec::new());
        let mut measured = Vec::new();
        for number in after {
            while submitted < *number {
                let under_way = 32.min(*number - submitted);
                for tag in 0..under_way {
                    let write = Command {
                        tag,
                        kind: CommandKind::Write { fua: false },
                        lba: Lba(random.below(units) * 8),
                        sectors: 8,
                    };
                    device.submit(write, device.now()).unwrap();
                }
                completions.clear();
                while completions.len() < under_way as usize {
                    device.advance(Nanos::MAX, &mut completions);
                }
                submitted += under_way;
            }
            measured.push(device.counters().since(&before).write_amplification());
        }
        measured
    }

    /// However few writes are measured: superblocks have 3,072 units.
    #[test]
    fn write_amplification_of_a_steady_device_does_not_depend_on_the_number_of_writes() {
        let mut device = small_drive();
        Precondition::Steady.apply(&mut device, 1).unwrap();
        assert_eq!(device.counters().host_written.0, 0);
        let numbers = [10_000, 30_000, 400_000];
        let measured = amplification(&mut device, &numbers);
        // Of 192 superblocks, six are free when a victim is chosen, and so is the one that the host has just opened; that of
        // relocation is half full.
        let alpha = (192.0 - 6.0 - 1.5) * 3072.0 / units(&device);
        let expected = nandscope_device::theory::greedy(alpha, 3072);
        for (number, value) in numbers.iter().zip(&measured) {
            let share = value / expected - 1.0;
            assert!(
                share.abs() < 0.05,
                "{number} writes: {measured:?}, theory {expected}"
            );
        }
    }

    #[test]
    fn a_steady_device_amplifies_as_one_that_was_overwritten_for_long() {
        let erases = |state: Precondition| {
            let mut device = small_drive();
            state.apply(&mut device, 1).unwrap();
            let before = device.counters().erases;
            device.overwrite_randomly(4 * units(&device) as u64, 99);
            (device.counters().erases - before) as f64
        };
        let (steady, long) = (
            erases(Precondition::Steady),
            erases(Precondition::Overwritten(10.0)),
        );
        assert!((steady / long - 1.0).abs() < 0.03, "{steady} {long}");
        let fresh = erases(Precondition::None);
        assert!(fresh < 0.95 * long, "{fresh} {long}");
    }
}
