//! Comparison of a recorded card with the same measurement on a target.

use crate::SuiteError;
use crate::flashbench::recorded::{Recorded, RecordedRate, RecordedUnit, RunId};
use crate::flashbench::{
    AlignPlan, AlignRow, Boundaries, Care, OpenAu, OpenUnits, Order, align, boundaries, find_fat,
    open_units,
};
use crate::probe::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::median;
use nandscope_units::{Bytes, Nanos};
use std::collections::BTreeMap;

/// Share below which the median errors of a card's rates must stay.
pub const WITHIN: f64 = 0.25;

/// A recorded number and its simulated counterpart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Recorded value: the median over runs and trials.
    pub recorded: f64,
    /// Simulated value, in the unit of the recorded one.
    pub simulated: f64,
}

impl Cell {
    /// Absolute difference as a share of the recorded value.
    pub fn error(&self) -> f64 {
        (self.simulated / self.recorded - 1.0).abs()
    }
}

/// A card beside its simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Recorded rows of `flashbench -a`, largest boundary first; empty without a recording.
    pub align_recorded: Vec<AlignRow>,
    /// The same rows simulated.
    pub align_simulated: Vec<AlignRow>,
    /// Rates of `--open-au` by order, number of units and length, bytes per second.
    pub open_au: BTreeMap<(Order, u32, u64), Cell>,
    /// Rates of `--find-fat` by length and unit, bytes per second.
    pub find_fat: BTreeMap<(u64, u32), Cell>,
}

impl Comparison {
    /// Median error of the rates of `--open-au`, and of those of `--find-fat`; `None` where nothing was
    /// recorded.
    pub fn median_errors(&self) -> (Option<f64>, Option<f64>) {
        let errors = |cells: Vec<f64>| (!cells.is_empty()).then(|| median(&cells));
        (
            errors(self.open_au.values().map(Cell::error).collect()),
            errors(self.find_fat.values().map(Cell::error).collect()),
        )
    }

    /// Open units in one order, recorded and simulated; `None` where nothing was recorded.
    pub fn open_units(&self, order: Order) -> Option<(OpenUnits, OpenUnits)> {
        let rates = |pick: fn(&Cell) -> f64| {
            let cells = self.open_au.iter().filter(|((o, _, _), _)| *o == order);
            let rates: Vec<_> = cells.map(|((_, n, l), c)| (*n, *l, pick(c))).collect();
            open_units(&rates)
        };
        rates(|c| c.recorded).zip(rates(|c| c.simulated))
    }

    /// Whether both tables give the same number of open AUs in both orders, where they give one, and both median
    /// errors are below [`WITHIN`].
    pub fn met(&self) -> bool {
        let same = [Order::Linear, Order::Random].into_iter().all(|order| {
            let both = self.open_units(order);
            both.is_none_or(|(recorded, simulated)| recorded.knee.told() == simulated.knee.told())
        });
        let (open_au, find_fat) = self.median_errors();
        same && [open_au, find_fat]
            .into_iter()
            .flatten()
            .all(|error| error < WITHIN)
    }

    /// Page and allocation unit, recorded and simulated. It is unknown which recorded rows wrapped off their boundary,
    /// so all rows of both tables count.
    pub fn boundaries(&self) -> (Boundaries, Boundaries) {
        let of = |rows: &[AlignRow]| {
            let all = rows.iter().map(|r| AlignRow {
                off_boundary: 0,
                ..*r
            });
            boundaries(&[all.collect()])
        };
        (of(&self.align_recorded), of(&self.align_simulated))
    }
}

/// Repeats on a target the recorded measurements of a card, in the order of flashbench: align, find-fat, open-au
/// linear, then random.
///
/// # Errors
/// [`SuiteError`] if nothing was recorded under that name, the target fails, or `stop` answers true.
pub fn compare<T: Target>(
    target: &mut T,
    recorded: &Recorded,
    card: &str,
    runs: &[u32],
    request: Bytes,
    stop: &dyn Fn() -> bool,
) -> Result<Comparison, SuiteError> {
    let runs: Vec<RunId> = runs
        .iter()
        .map(|run| RunId {
            card: card.to_string(),
            run: *run,
        })
        .collect();
    let mut tell = |_: f64, _: Nanos| {};
    let mut probe = Probe::new(target, stop, &mut tell).with_request(request);
    let fault = |e| match e {
        ProbeError::Stopped => SuiteError::Target("interrupted".to_string()),
        ProbeError::Failed(why) => SuiteError::Step {
            step: card.to_string(),
            problem: why,
        },
    };
    let mut comparison = Comparison::default();
    align_part(&mut probe, recorded, &runs, &mut comparison).map_err(fault)?;
    find_fat_part(&mut probe, recorded, &runs, &mut comparison).map_err(fault)?;
    open_au_part(&mut probe, recorded, &runs, &mut comparison).map_err(fault)?;
    if comparison == Comparison::default() {
        return Err(SuiteError::Recorded(format!(
            "nothing was recorded of runs {:?} of card `{card}`",
            runs.iter().map(|r| r.run).collect::<Vec<_>>()
        )));
    }
    Ok(comparison)
}

fn align_part<T: Target>(
    probe: &mut Probe<'_, T>,
    recorded: &Recorded,
    runs: &[RunId],
    comparison: &mut Comparison,
) -> Result<(), ProbeError> {
    let Some(rows) = recorded.median_align(runs) else {
        return Ok(());
    };
    let first = runs.iter().find_map(|r| recorded.align.get(r)?.first());
    let plan = first.map_or(AlignPlan::default(), |t| AlignPlan {
        block: Bytes(t.block),
        tries: t.tries,
        ..AlignPlan::default()
    });
    let simulated = align(probe, &plan)?;
    for row in rows {
        if let Some(same) = simulated.iter().find(|s| s.align == row.align) {
            comparison.align_recorded.push(row);
            comparison.align_simulated.push(*same);
        }
    }
    Ok(())
}

fn find_fat_part<T: Target>(
    probe: &mut Probe<'_, T>,
    recorded: &Recorded,
    runs: &[RunId],
    comparison: &mut Comparison,
) -> Result<(), ProbeError> {
    let cells = runs.iter().filter_map(|r| recorded.find_fat.get(r));
    let cells: Vec<&RecordedUnit> = cells.flatten().collect();
    let mut lengths: Vec<u64> = cells.iter().map(|c| c.length).collect();
    lengths.sort_unstable_by_key(|l| std::cmp::Reverse(*l));
    lengths.dedup();
    let units = cells.iter().map(|c| c.unit.saturating_add(1)).max();
    // The longest piece has the size of the allocation unit.
    let (Some(unit), Some(units)) = (lengths.first().copied(), units) else {
        return Ok(());
    };
    let rates = find_fat(probe, unit, &lengths, units, Order::Linear, 1)?;
    for (length, row) in lengths.iter().zip(rates) {
        for (number, simulated) in (0..units).zip(row) {
            let same = cells
                .iter()
                .filter(|c| (c.length, c.unit) == (*length, number));
            let same: Vec<f64> = same.map(|c| c.bytes_per_s).collect();
            if !same.is_empty() {
                let cell = Cell {
                    recorded: median(&same),
                    simulated,
                };
                comparison.find_fat.insert((*length, number), cell);
            }
        }
    }
    Ok(())
}

fn open_au_part<T: Target>(
    probe: &mut Probe<'_, T>,
    recorded: &Recorded,
    runs: &[RunId],
    comparison: &mut Comparison,
) -> Result<(), ProbeError> {
    let cells = runs.iter().filter_map(|r| recorded.open_au.get(r));
    let cells: Vec<&RecordedRate> = cells.flatten().collect();
    for order in [Order::Linear, Order::Random] {
        // Ascending numbers of units, descending lengths, as in the recorded runs.
        let mut places: BTreeMap<(u32, std::cmp::Reverse<u64>), (u64, Vec<f64>)> = BTreeMap::new();
        for c in cells.iter().filter(|c| c.mode.starts_with(order.name())) {
            let place = (c.units, std::cmp::Reverse(c.length));
            let (unit, values) = places.entry(place).or_default();
            *unit = c.unit;
            values.push(c.bytes_per_s);
        }
        for ((units, std::cmp::Reverse(length)), (unit, values)) in places {
            let plan = OpenAu {
                unit,
                order,
                seed: 1,
                budget: None,
                care: Care::default(),
            };
            let cell = Cell {
                recorded: median(&values),
                simulated: plan.rate(probe, units, length)?.bytes_per_s,
            };
            comparison.open_au.insert((order, units, length), cell);
        }
    }
    Ok(())
}
