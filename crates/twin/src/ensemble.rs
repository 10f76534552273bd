//! The file beside a fitted profile: sets of values that fit equally well, and what was measured. Predictions are runs on
//! all of them.

use crate::observation::{Cell, Direction, Figure, Figures, Observation, Pattern, State};
use crate::search::{Fitted, member_profiles};
use nandscope_device::profile::Profile;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Version of the file's format.
const FORMAT: u32 = 1;
/// Quantile of the normal distribution for an interval that holds 90 %.
const NINETY_PERCENT: f64 = 1.645;
/// Most members of a file.
const MOST_MEMBERS: usize = 1000;

/// Sets of values that fit equally well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ensemble {
    /// Version of this format; 1.
    pub format: u32,
    /// Name of the fitted profile.
    pub profile: String,
    /// Name or file of the host to which the device was attached in the fit.
    pub host: String,
    /// Loss of the fitted profile: mean absolute logarithm of simulated divided by measured.
    pub loss: f64,
    /// Standard deviation of the logarithm of a rate, and of a percentile, that the model does not explain.
    pub spread: (f64, f64),
    /// Keys of the values of `members`; of `nand.blocks_per_plane` the value is the over-provisioning, a share of the
    /// capacity.
    pub keys: Vec<String>,
    /// Values of each member.
    pub members: Vec<Vec<f64>>,
    /// Ranges of the measurements that the fit used.
    pub domain: Domain,
}

/// Range of the measurements of a fit. Predictions outside are extrapolations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// Each combination of direction, pattern, mixed or not, and state, with its range of blocks and depths.
    pub kinds: Vec<DomainKind>,
}

/// One kind of workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainKind {
    /// Direction.
    pub direction: Direction,
    /// Order of addresses.
    pub pattern: Pattern,
    /// Whether reads and writes ran together.
    pub is_mixed: bool,
    /// State before the measurement.
    pub state: State,
    /// Least and greatest block size, bytes.
    pub block_bytes: (u64, u64),
    /// Least and greatest number of outstanding operations of all jobs.
    pub outstanding: (u32, u32),
}

/// An ensemble cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: {what}")]
pub struct EnsembleError {
    file: String,
    what: String,
}

impl Domain {
    /// The range of measurements.
    pub fn of(observations: &[Observation]) -> Domain {
        let mut kinds: Vec<DomainKind> = Vec::new();
        let in_turn = |cell: &Cell| cell.interleaved.is_some_and(|i| i.units > 1);
        for cell in observations.iter().map(|o| o.cell).filter(|c| !in_turn(c)) {
            let is_mixed = cell.read_percent.is_some();
            let (block, depth) = (cell.block.0, cell.outstanding());
            let same = kinds.iter_mut().find(|kind| {
                (kind.direction, kind.pattern, kind.is_mixed, kind.state)
                    == (cell.direction, cell.pattern, is_mixed, cell.state)
            });
            match same {
                Some(kind) => {
                    let (low, high) = kind.block_bytes;
                    kind.block_bytes = (low.min(block), high.max(block));
                    let (low, high) = kind.outstanding;
                    kind.outstanding = (low.min(depth), high.max(depth));
                }
                None => kinds.push(DomainKind {
                    direction: cell.direction,
                    pattern: cell.pattern,
                    is_mixed,
                    state: cell.state,
                    block_bytes: (block, block),
                    outstanding: (depth, depth),
                }),
            }
        }
        Domain { kinds }
    }

    /// Why a workload is outside of what was measured, in words; `None` if it is inside.
    pub fn outside(&self, cell: &Cell) -> Option<String> {
        let kind = |k: &&DomainKind| k.direction == cell.direction && k.pattern == cell.pattern;
        let like: Vec<&DomainKind> = self.kinds.iter().filter(kind).collect();
        if like.is_empty() {
            return Some(format!(
                "no {} {}s were measured",
                cell.pattern, cell.direction
            ));
        }
        let is_mixed = cell.read_percent.is_some();
        if !like.iter().any(|k| k.is_mixed == is_mixed) {
            return Some(match is_mixed {
                true => "no mix of reads and writes was measured".to_string(),
                false => format!("{}s were measured in a mix only", cell.direction),
            });
        }
        if !like.iter().any(|k| k.state == cell.state) {
            return Some(format!(
                "no {} {}s of a {} device were measured",
                cell.pattern, cell.direction, cell.state
            ));
        }
        let low = like.iter().map(|k| k.block_bytes.0).min().unwrap_or(0);
        let high = like.iter().map(|k| k.block_bytes.1).max().unwrap_or(0);
        if !(low..=high).contains(&cell.block.0) {
            let shown = nandscope_units::number::binary_bytes;
            return Some(format!(
                "blocks of {} are outside of the measured {} to {}",
                shown(cell.block.0),
                shown(low),
                shown(high)
            ));
        }
        let low = like.iter().map(|k| k.outstanding.0).min().unwrap_or(0);
        let high = like.iter().map(|k| k.outstanding.1).max().unwrap_or(0);
        let outstanding = cell.outstanding();
        (!(low..=high).contains(&outstanding)).then(|| {
            format!(
                "{outstanding} outstanding operations are outside of the measured {low} to {high}"
            )
        })
    }
}

impl Ensemble {
    /// The ensemble of a fit.
    pub fn of(fitted: &Fitted, name: &str, host: &str, observations: &[Observation]) -> Ensemble {
        Ensemble {
            format: FORMAT,
            profile: name.to_string(),
            host: host.to_string(),
            loss: fitted.loss,
            spread: fitted.spread,
            keys: fitted.values.iter().map(|v| v.key.to_string()).collect(),
            members: fitted.members.clone(),
            domain: Domain::of(observations),
        }
    }

    /// Reads the file of an ensemble.
    ///
    /// # Errors
    /// [`EnsembleError`] if it is none, or its values do not belong to its keys.
    pub fn read(file: &str, text: &str) -> Result<Ensemble, EnsembleError> {
        let fault = |what: String| EnsembleError {
            file: file.to_string(),
            what,
        };
        let ensemble: Ensemble = serde_json::from_str(text).map_err(|e| {
            fault(format!(
                "not an ensemble of nandscope fit ({e}); fit the device again"
            ))
        })?;
        if ensemble.format != FORMAT {
            return Err(fault(format!(
                "format {} is not known; this build reads {FORMAT}",
                ensemble.format
            )));
        }
        for key in &ensemble.keys {
            if crate::parameter::find(key).is_none() {
                return Err(fault(format!(
                    "`{key}` is no parameter of a fit; fit the device again"
                )));
            }
        }
        let is_value = |v: &f64| v.is_finite() && *v > 0.0;
        let is_sound = |m: &Vec<f64>| m.len() == ensemble.keys.len() && m.iter().all(is_value);
        if ensemble.members.is_empty()
            || ensemble.members.len() > MOST_MEMBERS
            || !ensemble.members.iter().all(is_sound)
        {
            return Err(fault(format!(
                "an ensemble has 1 to {MOST_MEMBERS} members with a number above 0 for each of its {} keys; fit the device again",
                ensemble.keys.len()
            )));
        }
        let spreads = [ensemble.spread.0, ensemble.spread.1];
        if !spreads
            .iter()
            .all(|s| s.is_finite() && (0.0..10.0).contains(s))
        {
            return Err(fault(
                "`spread` is not two numbers from 0 to 10; fit the device again".to_string(),
            ));
        }
        Ok(ensemble)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// Returns the serialiser's error; there is none for finite numbers.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Profiles of the members.
    pub fn profiles(&self, base: &Profile) -> Vec<Profile> {
        let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        member_profiles(base, &keys, &self.members)
    }
}

/// A predicted figure with its 90 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Median of the members.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Interval of the values of members, widened by `spread`, the standard deviation of the logarithm that no member
    /// explains; `None` without a value above 0.
    pub fn of(values: &[f64], spread: f64) -> Option<Interval> {
        let positive = values.iter().filter(|v| v.is_finite() && **v > 0.0);
        let logs: Vec<f64> = positive.map(|v| libm::log(*v)).collect();
        if logs.is_empty() {
            return None;
        }
        let center = nandscope_units::median(&logs);
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let variance =
            logs.iter().map(|l| (l - mean) * (l - mean)).sum::<f64>() / (count - 1.0).max(1.0);
        let half = NINETY_PERCENT * libm::sqrt(variance + spread * spread);
        Some(Interval {
            value: libm::exp(center),
            low: libm::exp(center - half),
            high: libm::exp(center + half),
        })
    }

    /// Whether a measured value is inside.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Predictions of a figure of one cell from the figures of the members.
pub fn interval(
    figure: Figure,
    members: &[Option<Figures>],
    spread: (f64, f64),
) -> Option<Interval> {
    let values: Vec<f64> = members
        .iter()
        .filter_map(|f| f.as_ref()?.get(figure))
        .collect();
    let spread = if figure == Figure::Iops {
        spread.0
    } else {
        spread.1
    };
    Interval::of(&values, spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv;

    #[test]
    fn an_interval_has_the_spread_of_members_and_of_residuals() {
        let exact = Interval::of(&[100.0, 100.0], 0.1).unwrap();
        assert!((exact.value - 100.0).abs() < 1e-9);
        assert!((exact.high - 100.0 * libm::exp(0.1645)).abs() < 1e-9);
        let wide = Interval::of(&[80.0, 100.0, 125.0], 0.0).unwrap();
        assert!(wide.holds(75.0) && wide.holds(140.0) && !wide.holds(60.0));
        assert_eq!(Interval::of(&[0.0, f64::NAN], 0.1), None);
    }

    #[test]
    fn questions_outside_of_the_measurements_are_named() {
        let text = "op,pattern,block,depth,iops\nread,random,4k,1,1000\nread,random,16k,32,1000\n";
        let rows = csv::read("a", text, State::Filled).unwrap();
        let domain = Domain::of(&rows);
        let cell = rows[0].cell;
        assert_eq!(domain.outside(&cell), None);
        for (cell, part) in [
            (
                Cell {
                    direction: Direction::Write,
                    ..cell
                },
                "no random writes",
            ),
            (
                Cell {
                    read_percent: Some(70),
                    ..cell
                },
                "no mix",
            ),
            (
                Cell {
                    state: State::Steady,
                    ..cell
                },
                "steady device",
            ),
            (
                Cell {
                    block: nandscope_units::Bytes(1 << 20),
                    ..cell
                },
                "blocks of 1 MiB",
            ),
            (Cell { depth: 64, ..cell }, "64 outstanding"),
        ] {
            let why = domain.outside(&cell).unwrap();
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let text = "op,pattern,block,depth,iops\nread,random,4k,1,1000\n";
        let rows = csv::read("a", text, State::Filled).unwrap();
        let sound = Ensemble {
            format: 1,
            profile: "x".to_string(),
            host: "direct".to_string(),
            loss: 0.1,
            spread: (0.1, 0.1),
            keys: vec!["controller.read_us".to_string()],
            members: vec![vec![3.0]],
            domain: Domain::of(&rows),
        };
        assert_eq!(
            Ensemble::read("f", &sound.text().unwrap()).as_ref(),
            Ok(&sound)
        );
        let with = |change: fn(&mut Ensemble)| {
            let mut ensemble = sound.clone();
            change(&mut ensemble);
            Ensemble::read("f", &ensemble.text().unwrap())
                .unwrap_err()
                .to_string()
        };
        assert!(with(|e| e.format = 2).contains("format 2"));
        assert!(with(|e| e.keys[0] = "nand.part".to_string()).contains("no parameter"));
        assert!(with(|e| e.members[0].clear()).contains("members"));
        assert!(with(|e| e.members[0][0] = -1.0).contains("above 0"));
        assert!(with(|e| e.spread.0 = 99.0).contains("spread"));
        assert!(
            Ensemble::read("f", "{}")
                .unwrap_err()
                .to_string()
                .contains("not an ensemble")
        );
    }
}
