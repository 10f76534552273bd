//! The steps of the suite and their verdicts.

use super::application::{self, Application, CLASSES, SEQUENTIAL_MB_PER_S};
use super::class::Class;
use super::recording::{Areas, Fragmented, TimeLine, fragmented, unfragmented, update_times};
use crate::flashbench::{columns, size};
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_result::{
    Conclusion, DataRow, DataTable, Operation, Requirement, Series, series, slug,
};
use nandscope_units::number::round_significant;

const SECTION: &str = "Speed classes";
/// Number of areas used for recording.
const AREAS: u32 = 8;
const AREAS_QUICK: u32 = 2;
/// Duration of random reads, and of writes, s: ten minutes together.
const RANDOM_S: u64 = 300;
const RANDOM_QUICK_S: u64 = 2;
/// Longest time that a card may be busy with one write (§4.6.2.2 for SDHC, §4.13.3 for UHS), ms.
const BUSY_MS: f64 = 250.0;
/// Significant digits of a rate over time.
const DIGITS: usize = 6;
/// Limits of file-system updates, ms: mean of eight; then the longest (§4.13.2.4).
const UPDATE_MEAN_MS: f64 = 100.0;
const UPDATE_LONGEST_MS: f64 = 750.0;

/// Runs all tests.
pub(crate) fn run<T: Target>(
    runner: &mut StepRunner<'_, T>,
    quick: bool,
) -> Result<Flow, SuiteError> {
    runner.note_stage(SECTION, 0.0, 1.0, 3 + CLASSES.len() as u32);
    let count = if quick { AREAS_QUICK } else { AREAS };
    let areas = Areas::of_capacity(runner.capacity(), count);
    let Some(updates) = updates_step(runner, &areas)? else {
        return Ok(Flow::Stop);
    };
    if unfragmented_step(runner, &areas, &updates)? == Flow::Stop
        || fragmented_step(runner, &areas, &updates)? == Flow::Stop
    {
        return Ok(Flow::Stop);
    }
    for (number, class) in CLASSES.iter().enumerate() {
        if application_step(runner, class, number == 0 && !quick, quick)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Conditions in addition to the rate, and their description.
struct Condition {
    requirements: Vec<Requirement>,
    text: String,
}

/// The least that is required of a value.
fn at_least(what: &str, value: f64, limit: f64, unit: &str) -> Requirement {
    Requirement {
        what: what.to_string(),
        value,
        limit,
        unit: unit.to_string(),
        at_most: false,
    }
}

/// The longest time that is allowed, in ms.
fn at_most_ms(what: &str, value: f64, limit: f64) -> Requirement {
    Requirement {
        at_most: true,
        ..at_least(what, value, limit, "ms")
    }
}

/// Identifiers and titles of the figures of updates.
const UPDATE_FIGURES: [(&str, &str); 2] = [
    (
        "speed-class.update.mean",
        "Update of the file system, largest mean of 8",
    ),
    (
        "speed-class.update.longest",
        "Update of the file system, longest",
    ),
];

/// The condition from the largest mean of eight updates and the longest update, ms.
fn condition(mean: f64, longest: f64) -> Condition {
    Condition {
        requirements: vec![
            at_most_ms("largest mean of 8 updates", mean, UPDATE_MEAN_MS),
            at_most_ms("longest update", longest, UPDATE_LONGEST_MS),
        ],
        text: format!(
            "updates of the file system {mean:.1} ms (at most {UPDATE_MEAN_MS} ms, mean of 8) and {longest:.1} ms (at most {UPDATE_LONGEST_MS} ms)"
        ),
    }
}

fn updates_step<T: Target>(
    runner: &mut StepRunner<'_, T>,
    areas: &Areas,
) -> Result<Option<Condition>, SuiteError> {
    let unit = 64 << 10;
    let id = "speed-class-updates";
    if runner.skips(id) {
        let [mean, longest] = UPDATE_FIGURES.map(|(id, _)| runner.earlier_value(id));
        // Both are missing only where the document of the earlier run was changed: then no class is met.
        let unknown = f64::INFINITY;
        return Ok(Some(condition(
            mean.unwrap_or(unknown),
            longest.unwrap_or(unknown),
        )));
    }
    runner.begin_step(
        id,
        "Updates of the file system",
        SECTION,
        "Both copies of the file allocation table and the directory entry, 4 KiB each, after every second recording unit of 64 KiB; 64 updates.".to_string(),
        1,
    );
    let times = runner.probe(|p| update_times(p, areas, unit))?;
    let condition = times.map(|t| {
        let (mean, longest) = (t.mean_s * 1e3, t.longest_s * 1e3);
        for ((id, title), ms) in UPDATE_FIGURES.iter().zip([mean, longest]) {
            runner.figure(id, title, "ms", &[ms], Pick::Mean);
        }
        condition(mean, longest)
    });
    runner.end_step();
    Ok(condition)
}

fn verdict(class: &Class, rate: f64, how: &str, busy_s: f64, updates: &Condition) -> Conclusion {
    let (mb_per_s, busy) = (rate / 1e6, busy_s * 1e3);
    let evidence = format!(
        "{mb_per_s:.2} MB/s of {} MB/s, {how}; longest write {busy:.1} ms (at most {BUSY_MS} ms); {}",
        class.mb_per_s, updates.text
    );
    let mut requirements = vec![
        at_least("", mb_per_s, f64::from(class.mb_per_s), "MB/s"),
        at_most_ms("longest write", busy, BUSY_MS),
    ];
    requirements.extend(updates.requirements.iter().cloned());
    let id = format!("speed-class.{}", slug(class.name));
    test(&id, class.name, evidence, requirements)
}

/// The conclusion of a class: passed if all of its requirements are met.
fn test(id: &str, name: &str, evidence: String, requirements: Vec<Requirement>) -> Conclusion {
    let passed = requirements.iter().all(Requirement::is_met);
    let answer = if passed { "pass" } else { "fail" };
    Conclusion {
        passed: Some(passed),
        requirements,
        ..Conclusion::new(id, name, answer, evidence)
    }
}

/// Rate of recording over time. Longer distances than the interval, which is that of the slowest sample, are pauses.
fn rate_over_time(time_line: &TimeLine) -> Series {
    let samples = &time_line.0;
    Series {
        name: series::of(&Operation::Write, series::BANDWIDTH),
        unit: "MB/s".to_string(),
        interval_s: samples.iter().map(|s| s.1).fold(0.0, f64::max),
        t_s: samples.iter().map(|s| s.0).collect(),
        v: samples
            .iter()
            .map(|(_, spent_s, bytes)| *bytes as f64 / spent_s.max(1e-9) / 1e6)
            .map(|mb_per_s| round_significant(mb_per_s, DIGITS))
            .collect(),
    }
}

fn unfragmented_step<T: Target>(
    runner: &mut StepRunner<'_, T>,
    areas: &Areas,
    updates: &Condition,
) -> Result<Flow, SuiteError> {
    let id = "speed-class-unfragmented";
    if runner.skips(id) {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        id,
        "Recording into empty areas",
        SECTION,
        format!(
            "{} areas of {} one after the other, in recording units of 512 KiB in order, one file, twice: what earlier steps left to tidy up is not counted, as a card may take a second for the start of a recording. The slowest area of the second time counts. The V classes allow a card eight files at once: one is measured here.",
            areas.count,
            size(areas.unit)
        ),
        1,
    );
    let Some(found) = runner.probe(|p| unfragmented(p, areas, 512 << 10))? else {
        runner.end_step();
        return Ok(Flow::Stop);
    };
    runner.series(rate_over_time(&found.time_line));
    runner.table(DataTable {
        title: "Rate of each area".to_string(),
        corner: "area".to_string(),
        columns: columns(&[("recording", "MB/s")]),
        rows: found
            .areas
            .iter()
            .enumerate()
            .map(|(i, rate)| DataRow {
                label: (i + 1).to_string(),
                cells: vec![Some(rate / 1e6)],
            })
            .collect(),
    });
    runner.figure(
        "speed-class.unfragmented",
        "Recording into empty areas, slowest",
        "MB/s",
        &[found.least() / 1e6],
        Pick::Mean,
    );
    for class in Class::ALL.iter().filter(|c| !c.fragmented) {
        let how = format!("slowest of {} empty areas", areas.count);
        let verdict = verdict(class, found.least(), &how, found.busy_s, updates);
        runner.conclude(verdict);
    }
    runner.end_step();
    Ok(Flow::Continue)
}

fn fragmented_step<T: Target>(
    runner: &mut StepRunner<'_, T>,
    areas: &Areas,
    updates: &Condition,
) -> Result<Flow, SuiteError> {
    let id = "speed-class-fragmented";
    if runner.skips(id) {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        id,
        "Recording into areas in use",
        SECTION,
        format!(
            "{} areas of {}, written whole; then, of every four recording units, those that are free, in order. For half in use that is every second one; the rate over time is that of these recordings, 16 KiB first. P(Nu) is the formula of the specification, with the rate of moving that follows from half in use.",
            areas.count,
            size(areas.unit)
        ),
        2,
    );
    let mut time_line = TimeLine::default();
    for unit in [16 << 10, 64 << 10] {
        let Some(found) = runner.probe(|p| fragmented(p, areas, unit))? else {
            runner.end_step();
            return Ok(Flow::Stop);
        };
        runner.table(fragmented_table(unit, &found));
        time_line.0.extend_from_slice(&found.time_line.0);
        let kib = unit >> 10;
        runner.figure(
            &format!("speed-class.fragmented.{kib}k"),
            &format!("Recording into areas half in use, {kib} KiB, slowest"),
            "MB/s",
            &[found.half() / 1e6],
            Pick::Mean,
        );
        let classes = Class::ALL.iter().filter(|c| c.fragmented);
        for class in classes.filter(|c| c.recording_unit == unit) {
            let how = format!(
                "slowest of {} areas half in use, recording units of {}, Pw {:.2} MB/s{}",
                areas.count,
                size(unit),
                found.write / 1e6,
                found
                    .moving
                    .map_or_else(String::new, |pm| format!(", Pm {:.2} MB/s", pm / 1e6))
            );
            let verdict = verdict(class, found.half(), &how, found.busy_s, updates);
            runner.conclude(verdict);
        }
    }
    runner.series(rate_over_time(&time_line));
    runner.end_step();
    Ok(Flow::Continue)
}

fn fragmented_table(unit: u64, found: &Fragmented) -> DataTable {
    let empty = DataRow {
        label: "empty".to_string(),
        cells: vec![None, Some(found.write / 1e6), Some(found.write / 1e6)],
    };
    let rows = found.rates.iter().map(|r| DataRow {
        label: format!("{} %", r.quarters * 25),
        cells: vec![
            Some(r.least / 1e6),
            Some(r.mean / 1e6),
            r.formula.map(|f| f / 1e6),
        ],
    });
    DataTable {
        title: format!("Recording units of {}", size(unit)),
        corner: "in use".to_string(),
        columns: columns(&[("slowest", "MB/s"), ("mean", "MB/s"), ("P(Nu)", "MB/s")]),
        rows: std::iter::once(empty).chain(rows).collect(),
    }
}

fn application_step<T: Target>(
    runner: &mut StepRunner<'_, T>,
    class: &Application,
    fill: bool,
    quick: bool,
) -> Result<Flow, SuiteError> {
    let step = format!("speed-class-{}", class.id);
    if runner.skips(&step) {
        return Ok(Flow::Continue);
    }
    let seconds = if quick { RANDOM_QUICK_S } else { RANDOM_S };
    let filled = if quick {
        "as it is"
    } else {
        "three quarters full"
    };
    let conditions = format!(
        "card {filled}, 256 MiB overwritten in order, then 4 KiB at random inside them, {seconds} s each, queue depth {}",
        class.depth
    );
    runner.begin_step(
        &step,
        &format!("Random performance, {}", class.name),
        SECTION,
        format!("The {conditions}. The conditions of the class are not public."),
        3 + u32::from(fill),
    );
    let found = application::measure(runner, class, fill, seconds)?;
    let Some(found) = found else {
        runner.end_step();
        return Ok(Flow::Stop);
    };
    for (kind, iops) in [("read", found.read_iops), ("write", found.write_iops)] {
        runner.figure(
            &format!("speed-class.{}.{kind}", class.id),
            &format!("4 KiB random {kind}, QD{}", class.depth),
            "IOPS",
            &[iops],
            Pick::Mean,
        );
    }
    let (sequential, limit) = (found.sequential_mb_per_s, SEQUENTIAL_MB_PER_S);
    let evidence = format!(
        "{:.0} of {} IOPS read, {:.0} of {} IOPS write, {sequential:.1} of {limit} MB/s sequential write; {conditions}",
        found.read_iops, class.read_iops, found.write_iops, class.write_iops
    );
    let requirements = vec![
        at_least("read", found.read_iops, class.read_iops, "IOPS"),
        at_least("write", found.write_iops, class.write_iops, "IOPS"),
        at_least("sequential write", sequential, limit, "MB/s"),
    ];
    let id = format!("speed-class.{}", class.id);
    runner.conclude(test(&id, class.name, evidence, requirements));
    runner.end_step();
    Ok(Flow::Continue)
}
