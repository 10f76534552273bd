//! Steps of the suite; each needs the answers of the one before: fill, `align`, `open-au`, `find-fat`.

use super::document;
use crate::jobs::phase;
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError};
use nandscope_infer::flashbench::{
    self as inference, AlignPlan, Care, Certainty, Knee, OpenAu, OpenUnits, Order, Pinned, Rate,
    SHORTEST, align, boundaries, confirmed, fat_and_data, find_fat, open_units, search, treatments,
};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

const SECTION: &str = "Allocation units";

/// Extent of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Whether the whole device is written first, so that no read finds an unwritten place.
    fill: bool,
    /// Odd factors of the boundaries.
    factors: &'static [u64],
    /// Whether rates of every number of units and every length are measured, instead of only those needed for the
    /// answer.
    whole_table: bool,
    /// Time for measuring one rate; `None` fills the units.
    budget: Option<Nanos>,
}

impl Extent {
    /// The whole suite, in an acceptable time for a user.
    const FULL: Extent = Extent {
        fill: true,
        factors: &[3, 5, 7, 9],
        whole_table: false,
        budget: Some(Nanos::from_secs(20)),
    };
    /// A quick run: only the measurements needed for the answers.
    const QUICK: Extent = Extent {
        fill: false,
        factors: &[3],
        whole_table: false,
        budget: Some(Nanos::from_secs(5)),
    };
    /// Every cell of every table, units always filled: hours on a real card.
    pub(crate) const WHOLE: Extent = Extent {
        fill: true,
        factors: &[3, 5, 7, 9],
        whole_table: true,
        budget: None,
    };

    /// The whole suite, or a quick run.
    pub(crate) const fn of(quick: bool) -> Extent {
        if quick { Extent::QUICK } else { Extent::FULL }
    }

    /// Number of steps in the document.
    pub(crate) fn steps(&self) -> u32 {
        3 + u32::from(self.fill)
    }
}

/// Largest number of interleaved units.
const UNITS_MAX: u32 = 32;
/// Assumed unit if none was found, bytes: flashbench's default.
const UNIT_DEFAULT: u64 = 4 << 20;
/// The shortest piece, flashbench's default.
const PIECE_MIN: u64 = 16 << 10;
/// Number of first units that `find-fat` compares.
const FIRST_UNITS: u32 = 8;

/// Number of first units that may hold the file allocation table: cards are sold with it in the first or the second.
const FAT_UNITS: u64 = 2;

/// Start of the first unit that `open-au` writes, bytes.
const FIRST_UNIT: u64 = 16 << 20;

/// Whether a target of this size holds a unit of the default size where the steps write.
///
/// # Errors
/// [`SuiteError::Target`] with the size that is needed.
pub(crate) fn check_fit(capacity: Bytes) -> Result<(), SuiteError> {
    let least = Bytes(FIRST_UNIT + UNIT_DEFAULT);
    if capacity >= least {
        return Ok(());
    }
    Err(SuiteError::Target(format!(
        "a target of {capacity} is too small for the suite; it needs {least}"
    )))
}

/// Runs the steps in flashbench's order, until one is stopped.
pub(crate) fn run<T: Target>(
    runner: &mut StepRunner<'_, T>,
    extent: Extent,
) -> Result<Flow, SuiteError> {
    runner.note_stage(SECTION, 0.0, 1.0, extent.steps());
    if extent.fill && fill(runner)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    let Some(found) = align_step(runner, &extent)? else {
        return Ok(Flow::Stop);
    };
    let unit = found.unit.unwrap_or(UNIT_DEFAULT);
    let because = if found.unit.is_some() {
        "as align found it"
    } else {
        "flashbench's default, since align could not tell"
    };
    let Some(open) = open_au_step(runner, &extent, unit, because)? else {
        return Ok(Flow::Stop);
    };
    // Pieces shorter than a page leave pages partly written, which has a different cost.
    let piece = found.page.map_or(open.length, |page| open.length.max(page));
    let open = OpenUnits {
        length: if unit.is_multiple_of(piece) {
            piece
        } else {
            open.length
        },
        ..open
    };
    find_fat_step(runner, &extent, unit, open)
}

fn fill<T: Target>(runner: &mut StepRunner<'_, T>) -> Result<Flow, SuiteError> {
    let id = "flashbench-fill";
    if runner.skips(id) {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        id,
        "Fill",
        SECTION,
        "The whole device is written once in order: reads of places that were never written take another time, and show no boundaries.".to_string(),
        1,
    );
    let bytes = runner.capacity().0 / (1 << 20) * (1 << 20);
    let text = format!("[fill]\nrw=write\nbs=1m\nsize={bytes}\n");
    let flow = phase("fill", &text, runner.capacity(), runner.seed).and_then(|p| runner.run(p));
    runner.end_step();
    flow
}

/// Boundaries that were seen with some certainty, bytes.
struct Seen {
    page: Option<u64>,
    unit: Option<u64>,
}

/// Identifiers of the figures and conclusions on page and allocation unit.
const PAGE: &str = "align.page";
const UNIT: &str = "align.allocation-unit";

/// Finds page and allocation unit; `None` if it was stopped.
fn align_step<T: Target>(
    runner: &mut StepRunner<'_, T>,
    extent: &Extent,
) -> Result<Option<Seen>, SuiteError> {
    let plan = AlignPlan::default();
    let id = "align";
    if runner.skips(id) {
        let [page, unit] = [PAGE, UNIT].map(|id| {
            let kib = runner.earlier_value(id);
            kib.map(|kib| (kib * 1024.0).round() as u64)
        });
        return Ok(Some(Seen { page, unit }));
    }
    runner.begin_step(
        id,
        "Reads at boundaries (flashbench -a)",
        SECTION,
        format!(
            "Reads of {} that end at a boundary (pre), lie across it (on) and begin at it (post), at 7 places each, the quickest of {} tries, mean of the places; diff = on − (pre + post) / 2. The same at odd multiples of powers of two, for units that are none.",
            document::size(plan.block.0),
            plan.tries
        ),
        2 + extent.factors.len() as u32,
    );
    let mut families = Vec::new();
    for factor in std::iter::once(&1).chain(extent.factors) {
        let plan = AlignPlan {
            factor: *factor,
            ..plan
        };
        match runner.probe(|probe| align(probe, &plan))? {
            Some(rows) => {
                runner.table(document::align_table(&rows, &plan));
                families.push(rows);
            }
            None => {
                runner.end_step();
                return Ok(None);
            }
        }
    }
    // Rows that wrapped off their boundary are no evidence: they are measured again without wrapping.
    let wrapped = families.first().is_some_and(|rows| {
        let below_the_top = rows.iter().skip(1);
        below_the_top.into_iter().any(|r| r.off_boundary > 0)
    });
    if wrapped {
        let plan = AlignPlan {
            wrap: false,
            ..plan
        };
        let Some(rows) = runner.probe(|probe| align(probe, &plan))? else {
            runner.end_step();
            return Ok(None);
        };
        runner.table(document::align_table(&rows, &plan));
        if let Some(first) = families.first_mut() {
            *first = rows;
        }
    }
    for row in families.first().into_iter().flatten() {
        let (id, title) = document::diff_figure(row.align);
        runner.figure(&id, &title, "µs", &[row.diff_us], Pick::Mean);
    }
    let found = boundaries(&families);
    let answers = [
        (PAGE, "Page", found.page),
        (UNIT, "Allocation unit", found.unit),
    ];
    for (id, title, step) in answers {
        runner.conclude(document::boundary(id, title, step));
    }
    let [page, unit] = answers.map(|(id, title, step)| {
        let step = step.filter(|s| s.certainty() != Certainty::None)?;
        runner.figure(id, title, "KiB", &[step.at as f64 / 1024.0], Pick::Mean);
        Some(step.at)
    });
    runner.end_step();
    Ok(Some(Seen { page, unit }))
}

fn plan<T: Target>(runner: &StepRunner<'_, T>, extent: &Extent, unit: u64, order: Order) -> OpenAu {
    OpenAu {
        unit,
        order,
        seed: runner.seed,
        budget: extent.budget,
        care: Care::default(),
    }
}

/// Numbers of open units in linear and random order; `None` if it was stopped.
fn open_au_step<T: Target>(
    runner: &mut StepRunner<'_, T>,
    extent: &Extent,
    unit: u64,
    because: &str,
) -> Result<Option<OpenUnits>, SuiteError> {
    let how = if extent.whole_table {
        "every number of units with every length"
    } else {
        "1, 2, 4, … units until the rate falls below half, then the numbers between; all lengths at the numbers beside the fall"
    };
    let id = "open-au";
    if runner.skips(id) {
        let plan = plan(runner, extent, unit, Order::Linear);
        let title = document::rate_title(Order::Linear);
        let table = runner.earlier_table(id, &title);
        let rates = table.map(|table| document::rates(table, &plan.lengths(PIECE_MIN)));
        let found = open_units(&rates.unwrap_or_default());
        return Ok(Some(found.unwrap_or(NOT_FOUND)));
    }
    runner.begin_step(
        id,
        "Units written in turn (flashbench --open-au)",
        SECTION,
        format!(
            "Units of {} ({because}), 12 units apart from 16 MiB on, are written in turn, a piece of each: {how}.",
            document::size(unit)
        ),
        2,
    );
    let mut linear = None;
    let mut in_line: Vec<Rate> = Vec::new();
    for order in [Order::Linear, Order::Random] {
        let plan = plan(runner, extent, unit, order);
        let rates = runner.probe(|probe| {
            if extent.whole_table {
                every_cell(probe, &plan)
            } else {
                beside_the_fall(probe, &plan)
            }
        })?;
        let Some(rates) = rates else {
            runner.end_step();
            return Ok(None);
        };
        runner.table(document::rate_table(order, &rates));
        let found = open_units(&as_numbers(&rates));
        let alone = found.is_some_and(|f| slow_alone(&in_line, &rates, f.length));
        runner.conclude(document::open_units(order, found, alone));
        if let Some(OpenUnits { knee, .. }) = found
            && let Knee::At { units, .. } = knee
            && knee.certainty() != Certainty::None
        {
            let id = format!("open-au.{}", order.name());
            let title = format!("Open allocation units, {}", order.name());
            runner.figure(&id, &title, "", &[f64::from(units)], Pick::Mean);
        }
        if order == Order::Linear {
            linear = found;
            in_line = rates;
        }
    }
    runner.end_step();
    Ok(Some(linear.unwrap_or(NOT_FOUND)))
}

const NOT_FOUND: OpenUnits = OpenUnits {
    knee: Knee::Unknown,
    length: SHORTEST,
};

/// AUs, length in bytes, and bytes per second of each rate.
fn as_numbers(rates: &[Rate]) -> Vec<(u32, u64, f64)> {
    rates
        .iter()
        .map(|r| (r.units, r.length, r.bytes_per_s))
        .collect()
}

/// Whether a single unit is written in random order at less than half the rate of linear order.
fn slow_alone(linear: &[Rate], random: &[Rate], length: u64) -> bool {
    let alone = |rates: &[Rate]| {
        let one = rates.iter().find(|r| r.units == 1 && r.length == length);
        one.map(|r| r.bytes_per_s)
    };
    matches!((alone(linear), alone(random)), (Some(l), Some(r)) if 2.0 * r < l)
}

/// Length of the pieces with which the number of open units is searched, bytes.
fn telling(plan: &OpenAu) -> u64 {
    let lengths = plan.lengths(SHORTEST);
    lengths.last().copied().unwrap_or(plan.unit)
}

fn every_cell<T: Target>(
    probe: &mut crate::probe::Probe<'_, T>,
    plan: &OpenAu,
) -> Result<Vec<Rate>, crate::probe::ProbeError> {
    let mut rates = Vec::new();
    let most = plan.fitting(probe.capacity(), UNITS_MAX);
    for units in 1..=most {
        probe.progress(f64::from(units - 1) / f64::from(most));
        for length in plan.lengths(PIECE_MIN) {
            rates.push(plan.rate(probe, units, length)?);
        }
    }
    Ok(rates)
}

fn beside_the_fall<T: Target>(
    probe: &mut crate::probe::Probe<'_, T>,
    plan: &OpenAu,
) -> Result<Vec<Rate>, crate::probe::ProbeError> {
    let length = telling(plan);
    let mut rates = search(probe, plan, length, UNITS_MAX)?;
    let by_units: Vec<_> = rates.iter().map(|r| (r.units, r.bytes_per_s)).collect();
    if let Knee::At { units, .. } = inference::knee(&by_units) {
        for n in [1, units, units + 1] {
            for other in plan.lengths(PIECE_MIN).into_iter().filter(|l| *l != length) {
                if rates.iter().all(|r| (r.units, r.length) != (n, other)) {
                    rates.push(plan.rate(probe, n, other)?);
                }
            }
        }
    }
    Ok(rates)
}

fn find_fat_step<T: Target>(
    runner: &mut StepRunner<'_, T>,
    extent: &Extent,
    unit: u64,
    open: OpenUnits,
) -> Result<Flow, SuiteError> {
    let units = FIRST_UNITS.min(u32::try_from(runner.capacity().0 / unit).unwrap_or(0));
    let id = "find-fat";
    if runner.skips(id) {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        id,
        "The first units (flashbench --find-fat)",
        SECTION,
        format!(
            "The first {units} units of {} are written one after the other, in pieces of every length; then data and small writes to the first or second unit together.",
            document::size(unit)
        ),
        2 + FAT_UNITS as u32,
    );
    let lengths = inference::lengths(unit, PIECE_MIN);
    for order in [Order::Linear, Order::Random] {
        let seed = runner.seed;
        let rates = runner.probe(|p| find_fat(p, unit, &lengths, units, order, seed))?;
        let Some(rates) = rates else {
            runner.end_step();
            return Ok(Flow::Stop);
        };
        runner.table(document::fat_table(order, &lengths, &rates));
        let mut found = treatments(&rates);
        if found.as_ref().is_some_and(|f| !f.is_empty()) {
            // Background work of the card may make any unit slow once.
            let again = runner.probe(|p| find_fat(p, unit, &lengths, units, order, seed))?;
            let Some(again) = again else {
                runner.end_step();
                return Ok(Flow::Stop);
            };
            found = confirmed(found, treatments(&again));
        }
        runner.conclude(document::treated(order, found.as_deref()));
        if let Some(found) = found {
            let id = format!("find-fat.{}.treated", order.name());
            let title = format!("FAT area, {}", order.name());
            runner.figure(&id, &title, "", &[found.len() as f64], Pick::Mean);
        }
    }
    let flow = pinned_part(runner, extent, unit, open);
    runner.end_step();
    flow
}

fn pinned_part<T: Target>(
    runner: &mut StepRunner<'_, T>,
    extent: &Extent,
    unit: u64,
    open: OpenUnits,
) -> Result<Flow, SuiteError> {
    let plan = plan(runner, extent, unit, Order::Linear);
    let Knee::At { units, .. } = open.knee else {
        runner.conclude(document::pinned_unknown(
            "the number of open units was not found",
        ));
        return Ok(Flow::Continue);
    };
    if open.knee.certainty() == Certainty::None {
        runner.conclude(document::pinned_unknown(
            "the number of open units is not certain",
        ));
        return Ok(Flow::Continue);
    }
    if plan.fitting(runner.capacity(), units + 2) < units + 2 {
        runner.conclude(document::pinned_unknown(
            "the device has no room for as many units",
        ));
        return Ok(Flow::Continue);
    }
    let mut all = Vec::new();
    for first in 0..FAT_UNITS {
        if (first + 1) * unit > plan.place(0) {
            break;
        }
        let rounds = runner.probe(|p| fat_and_data(p, &plan, units, open.length, first))?;
        let Some(rounds) = rounds else {
            return Ok(Flow::Stop);
        };
        all.push((first, rounds));
    }
    runner.conclude(document::pinned(units, open.length, &all));
    let kept = all.iter().filter(|(_, r)| r.pinned() == Pinned::Yes);
    let kept = kept.count() as f64;
    runner.figure(
        "find-fat.kept-open",
        "First units kept open beside the others",
        "",
        &[kept],
        Pick::Mean,
    );
    runner.figure(
        "open-au.all",
        "Open allocation units, those of the first units included",
        "",
        &[f64::from(units) + kept],
        Pick::Mean,
    );
    Ok(Flow::Continue)
}
