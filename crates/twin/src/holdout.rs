//! How well a fit predicts what it did not see: whole kinds of measurements are left out, never random rows.

use crate::ensemble::{Interval, interval};
use crate::observation::{Cell, Direction, Figure, Observation, Pattern, State};
use crate::screen::FEWEST_CELLS;
use crate::search::{
    Caller, SearchError, SearchOptions, SearchProgress, Task, fit, member_profiles,
};
use crate::simulate;
use nandscope_suite::at_once;

/// Greatest share of the measurements that is left out at a time.
const MOST_LEFT_OUT: f64 = 0.6;

/// A kind of measurements that is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// What they have in common.
    pub name: String,
    /// Their numbers.
    pub left_out: Vec<usize>,
}

/// A figure that was predicted without the measurements of its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// The kind that was left out.
    pub kind: String,
    /// The cell.
    pub cell: Cell,
    /// Which figure.
    pub figure: Figure,
    /// Measured value.
    pub measured: f64,
    /// Predicted value; `None` if no member could run the cell.
    pub predicted: Option<Interval>,
}

impl Predicted {
    /// Relative error of the prediction; `None` without one.
    pub fn error(&self) -> Option<f64> {
        Some(self.predicted?.value / self.measured - 1.0)
    }
}

/// Kinds that can be left out: enough measurements of others are there.
pub fn kinds(observations: &[Observation]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let depths = observations.iter().map(|o| o.cell.outstanding());
    let deepest = depths.clone().max().unwrap_or(1);
    let least = depths.min().unwrap_or(1);
    let blocks = observations.iter().map(|o| o.cell.block);
    let (smallest, largest) = (blocks.clone().min(), blocks.max());
    let has_blocks = smallest != largest;
    let mut add = |name: String, is_left_out: &dyn Fn(&Cell) -> bool| {
        let left_out: Vec<usize> = (0..observations.len())
            .filter(|n| is_left_out(&observations[*n].cell))
            .collect();
        let rest = observations.len() - left_out.len();
        let share = left_out.len() as f64 / observations.len().max(1) as f64;
        if !left_out.is_empty() && rest >= FEWEST_CELLS && share <= MOST_LEFT_OUT {
            kinds.push(Kind { name, left_out });
        }
    };
    add("mixed".to_string(), &|cell| cell.read_percent.is_some());
    if deepest > 2 * least {
        add("the largest depths".to_string(), &|cell| {
            cell.outstanding() * 2 >= deepest
        });
        add("the middle depths".to_string(), &|cell| {
            cell.outstanding() > least && cell.outstanding() * 2 < deepest
        });
    }
    if has_blocks {
        add("the largest block".to_string(), &|cell| {
            Some(cell.block) == largest
        });
        add("the middle blocks".to_string(), &|cell| {
            Some(cell.block) != largest && Some(cell.block) != smallest
        });
    }
    let most_units = observations
        .iter()
        .filter_map(|o| o.cell.interleaved)
        .map(|i| i.units)
        .max();
    if let Some(most) = most_units.filter(|most| *most > 1) {
        add("the most AUs in turn".to_string(), &|cell| {
            cell.interleaved.is_some_and(|i| i.units == most)
        });
    }
    let several = |state| observations.iter().any(|o| o.cell.state != state);
    for state in [State::Fresh, State::Steady] {
        if several(state) {
            add(format!("state {state}"), &|cell| cell.state == state);
        }
    }
    for direction in [Direction::Read, Direction::Write] {
        let is_of = |o: &Observation| o.cell.direction == direction;
        let patterns = |pattern| {
            observations
                .iter()
                .filter(|o| is_of(o))
                .any(|o| o.cell.pattern == pattern)
        };
        if patterns(Pattern::Random) && patterns(Pattern::Sequential) {
            add(format!("sequential {direction}s"), &|cell| {
                cell.direction == direction && cell.pattern == Pattern::Sequential
            });
        }
    }
    kinds
}

/// Fits without each kind, and predicts it.
///
/// # Errors
/// As [`fit`].
pub fn check(
    task: &Task<'_>,
    options: SearchOptions,
    caller: &mut Caller<'_>,
) -> Result<Vec<Predicted>, SearchError> {
    let kinds = kinds(task.observations);
    let mut predicted = Vec::new();
    for (number, kind) in kinds.iter().enumerate() {
        let is_seen = |n: &usize| !kind.left_out.contains(n);
        let seen = (0..task.observations.len()).filter(is_seen);
        let seen: Vec<Observation> = seen.map(|n| task.observations[n].clone()).collect();
        let unseen: Vec<&Observation> = kind
            .left_out
            .iter()
            .map(|n| &task.observations[*n])
            .collect();
        let of_rest = Task {
            observations: &seen,
            ..*task
        };
        let (whole, tell) = (kinds.len() as f64, &mut *caller.tell);
        let mut tell = |now: SearchProgress| {
            let share = (number as f64 + now.share) / whole;
            tell(SearchProgress { share, ..now });
        };
        let mut inner = Caller {
            stop: caller.stop,
            enough: caller.enough,
            tell: &mut tell,
        };
        let fitted = fit(&of_rest, options, &mut inner)?;
        let keys: Vec<&str> = fitted.values.iter().map(|v| v.key).collect();
        let profiles = member_profiles(&fitted.base.profile, &keys, &fitted.members);
        let cells: Vec<Cell> = unseen.iter().map(|o| o.cell).collect();
        let run = |n: usize| simulate::figures(&profiles[n], task.host, &cells, options.seed);
        let members = at_once::run(profiles.len(), options.threads, caller.stop, run, |_| {});
        let members: Option<Vec<_>> = members.into_iter().collect();
        let members = members.ok_or(SearchError::Interrupted)?;
        for (at, observation) in unseen.iter().enumerate() {
            let of_cell: Vec<_> = members.iter().map(|m| m[at]).collect();
            for figure in Figure::ALL {
                let Some(measured) = observation.figures.get(figure) else {
                    continue;
                };
                predicted.push(Predicted {
                    kind: kind.name.clone(),
                    cell: observation.cell,
                    figure,
                    measured,
                    predicted: interval(figure, &of_cell, fitted.spread),
                });
            }
        }
    }
    Ok(predicted)
}

/// Errors of predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Number of figures.
    pub count: usize,
    /// Median of the absolute relative errors.
    pub median: f64,
    /// 90th percentile of the absolute relative errors.
    pub p90: f64,
    /// Share of the measured values inside the 90 % intervals.
    pub coverage: f64,
}

/// Score of some predictions; a figure without a prediction counts as an error of 100 %. `None` if there are none.
pub fn score<'a>(predicted: impl Iterator<Item = &'a Predicted>) -> Option<Score> {
    let (mut errors, mut inside) = (Vec::new(), 0);
    for one in predicted {
        errors.push(one.error().map_or(1.0, f64::abs));
        inside += usize::from(
            one.predicted
                .is_some_and(|interval| interval.holds(one.measured)),
        );
    }
    errors.sort_by(f64::total_cmp);
    let count = errors.len();
    let at = |share: f64| {
        errors
            .get(((share * count as f64).ceil() as usize).saturating_sub(1))
            .copied()
    };
    Some(Score {
        count,
        median: at(0.5)?,
        p90: at(0.9)?,
        coverage: inside as f64 / count as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv;

    #[test]
    fn whole_kinds_are_left_out() {
        let mut text = "op,pattern,block,depth,iops,read_percent\n".to_string();
        for depth in [1, 4, 32] {
            text += &format!("read,random,4k,{depth},100,\nread,random,4k,{depth},70,70\n");
        }
        let rows = csv::read("a", &text, State::Filled).unwrap();
        let found = kinds(&rows);
        let names: Vec<&str> = found.iter().map(|k| k.name.as_str()).collect();
        assert_eq!(names, ["the largest depths", "the middle depths"]);
        assert_eq!(found[0].left_out, [4, 5]);
    }

    #[test]
    fn a_score_counts_what_is_missing() {
        let one = |value: Option<f64>| Predicted {
            kind: String::new(),
            cell: csv::read(
                "a",
                "op,pattern,block,iops\nread,random,4k,1\n",
                State::Filled,
            )
            .unwrap()[0]
                .cell,
            figure: Figure::Iops,
            measured: 100.0,
            predicted: value.map(|value| Interval {
                value,
                low: 95.0,
                high: 130.0,
            }),
        };
        let all = [
            one(Some(110.0)),
            one(Some(90.0)),
            one(None),
            one(Some(101.0)),
        ];
        let score = score(all.iter()).unwrap();
        assert!((score.median - 0.1).abs() < 1e-9 && score.p90 == 1.0 && score.coverage == 0.75);
    }
}
