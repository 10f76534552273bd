//! The state in which a device is before a run: as it came from the factory, filled, overwritten, or in the steady state
//! of random writes. Nothing here takes time of the device's clock.

use nandscope_device::{Device, Fill};
use std::collections::VecDeque;
use std::str::FromStr;
use thiserror::Error;

/// Forms of a state, for messages and help.
pub const FORMS: &str =
    "none, sequential[:PERCENT], random[:PERCENT], overwritten[:TIMES] or steady";
/// Rounds of a steady state that are judged together, as SNIA PTS judges five.
const WINDOW: usize = 5;
/// Largest range of the rounds, and largest change along their trend, as shares of their mean (SNIA PTS 2.0.2, 2.1.24).
const RANGE: f64 = 0.2;
const TREND: f64 = 0.1;
/// Rounds for each capacity.
const ROUNDS_PER_CAPACITY: f64 = 2.0;
/// Rounds after which a device that is not steady is given up: 20 capacities.
const MOST_ROUNDS: usize = 40;
/// Most times that a capacity is overwritten.
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
    /// Written in full, in order; then random units are overwritten until as many blocks are erased in each half of the
    /// capacity, by the criterion of SNIA PTS: over five rounds a range of at most 20 % of the mean, and at most 10 %
    /// along the trend. `steady`.
    Steady,
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
    /// # Errors
    /// [`PreconditionError::Busy`] if commands are outstanding; [`PreconditionError::Unsteady`] or
    /// [`PreconditionError::ReadOnly`] if the state cannot be reached.
    pub fn apply(self, device: &mut Device, seed: u64) -> Result<(), PreconditionError> {
        let (percent, fill) = match self {
            Precondition::None => return Ok(()),
            Precondition::Sequential(percent) => (percent, Fill::Sequential),
            Precondition::Random(percent) => (percent, Fill::Random { seed }),
            Precondition::Overwritten(_) | Precondition::Steady => (100.0, Fill::Sequential),
        };
        if !device.precondition(percent / 100.0, fill) {
            return Err(PreconditionError::Busy);
        }
        match self {
            Precondition::Overwritten(times) => overwrite(device, times, seed),
            Precondition::Steady => overwrite_until_steady(device, seed),
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
                "filled in order, and overwritten at random until erases per write were steady"
                    .to_string(),
            ),
        }
    }
}

/// Overwrites random units, `times` the capacity.
fn overwrite(device: &mut Device, times: f64, seed: u64) -> Result<(), PreconditionError> {
    let units = times * device.capacity().0 as f64 / device.overwrite_unit().0.max(1) as f64;
    if !device.overwrite_randomly(units as u64, seed) {
        return Err(PreconditionError::Busy);
    }
    match device.telemetry().read_only_since {
        None => Ok(()),
        Some(_) => Err(PreconditionError::ReadOnly),
    }
}

fn overwrite_until_steady(device: &mut Device, seed: u64) -> Result<(), PreconditionError> {
    let mut rounds = VecDeque::with_capacity(WINDOW + 1);
    for round in 0..MOST_ROUNDS {
        let before = device.counters();
        overwrite(
            device,
            1.0 / ROUNDS_PER_CAPACITY,
            seed.wrapping_add(round as u64),
        )?;
        let after = device.counters();
        let erases = after.erases.saturating_sub(before.erases) as f64;
        rounds.push_back((erases, after.free.0));
        if rounds.len() > WINDOW {
            rounds.pop_front();
            if is_steady(&rounds) {
                return Ok(());
            }
        }
    }
    let capacities = MOST_ROUNDS as f64 / ROUNDS_PER_CAPACITY;
    Err(PreconditionError::Unsteady(capacities as usize))
}

/// Whether erases per round, with the free bytes at their end, do not drift any more. Without erases the free space must
/// not shrink: a card that merges in idle time has none, a drive whose spare is not used up has none yet.
fn is_steady(rounds: &VecDeque<(f64, u64)>) -> bool {
    let n = rounds.len() as f64;
    let erases = || rounds.iter().map(|(erases, _)| *erases);
    let mean = erases().sum::<f64>() / n;
    if erases().any(|erases| erases == 0.0) {
        return mean == 0.0
            && rounds
                .iter()
                .all(|(_, free)| Some(*free) == rounds.front().map(|r| r.1));
    }
    let (low, high) = erases().fold((f64::INFINITY, 0.0_f64), |(low, high), e| {
        (low.min(e), high.max(e))
    });
    let middle = (n - 1.0) / 2.0;
    let x = |i: usize| i as f64 - middle;
    let slope = erases()
        .enumerate()
        .map(|(i, e)| x(i) * (e - mean))
        .sum::<f64>()
        / (0..rounds.len()).map(|i| x(i) * x(i)).sum::<f64>();
    high - low <= RANGE * mean && (slope * (n - 1.0)).abs() <= TREND * mean
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn rounds(erases: [u32; WINDOW], free: [u64; WINDOW]) -> VecDeque<(f64, u64)> {
        let erases = erases.map(f64::from);
        erases.into_iter().zip(free).collect()
    }

    #[test]
    fn the_criterion_of_steadiness() {
        for (erases, free, steady) in [
            ([100, 101, 99, 100, 100], [5; WINDOW], true),
            ([90, 105, 95, 108, 100], [5; WINDOW], true),
            // A range of 25 %; a trend of 12 %.
            ([90, 100, 115, 100, 100], [5; WINDOW], false),
            ([94, 97, 100, 103, 106], [5; WINDOW], false),
            // Collection has only just begun; the spare is used up; a card.
            ([0, 100, 100, 100, 100], [5; WINDOW], false),
            ([0; WINDOW], [9, 8, 7, 6, 5], false),
            ([0; WINDOW], [5; WINDOW], true),
        ] {
            assert_eq!(
                is_steady(&rounds(erases, free)),
                steady,
                "{erases:?} {free:?}"
            );
        }
    }

    #[test]
    fn a_steady_device_amplifies_as_one_that_was_overwritten_for_long() {
        let source = crate::device_source("reference-nvme-64gb").unwrap();
        let set = |key, value| crate::ProfileOverride::new(key, value);
        let small = [
            set("ftl.over_provisioning", "0.2"),
            set("nand.word_lines", "2"),
        ];
        let source = crate::overrides::apply(source, &small).unwrap();
        let host = crate::host_source("direct").unwrap();
        let erases = |state: Precondition| {
            let mut device = Device::new(&source.profile, &host.profile, 1).unwrap();
            state.apply(&mut device, 1).unwrap();
            assert_eq!(device.counters().host_written.0, 0);
            let before = device.counters().erases;
            overwrite(&mut device, 4.0, 99).unwrap();
            (device.counters().erases - before) as f64
        };
        let (steady, long) = (
            erases(Precondition::Steady),
            erases(Precondition::Overwritten(10.0)),
        );
        assert!((steady / long - 1.0).abs() < 0.05, "{steady} {long}");
        let fresh = erases(Precondition::None);
        assert!(fresh < 0.95 * long, "{fresh} {long}");
    }
}
