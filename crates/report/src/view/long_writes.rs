//! The main plot of a storage report: the speed of the long writes, over the data written and over time, for all modes
//! and states. It draws recorded steps and decides only which are long enough: those across the device, otherwise the
//! longest of each mode.

use super::matrix::Matrix;
use super::modes::modes;
use super::plot::{Axis, Kind, Line, Plot};
use super::regions;
use super::sustained;
use super::table::{Samples, Table};
use super::time;
use nandscope_result::{ResultDocument, Series, StepResult, procedure, throughput_profile};
use std::collections::BTreeSet;

/// Share of the capacity from which on a write counts as one across the device.
const MOST_OF_DEVICE: f64 = 0.5;
/// Number of rows per line: a short cache must not become a slope.
const ROWS: usize = 2_000;
/// Lines that a reader can distinguish.
const MOST_LINES: usize = 6;

/// The long writes of a document.
#[derive(Clone, Debug)]
pub struct LongWrites {
    /// Heading: whether the whole device was written, or a part of it.
    pub heading: &'static str,
    /// Speed over what was written.
    pub over_data: Plot,
    /// Speed over time.
    pub over_time: Plot,
    /// Regions of about equal speed, if the procedure found any.
    pub regions: Option<Matrix>,
}

/// A step and its write bandwidth.
type Run<'a> = (&'a StepResult, &'a Series);

/// The steps that wrote most of the device without pause, in the order of the document.
fn runs(document: &ResultDocument) -> Vec<Run<'_>> {
    let enough = document.target.capacity_bytes as f64 / 1e9 * MOST_OF_DEVICE;
    let written = |(step, series): &Run| {
        let samples = throughput_profile::weighted(series, step.start_s);
        samples.iter().map(|(v, dt)| v * dt).sum::<f64>() / 1e3
    };
    document
        .steps
        .iter()
        .filter_map(|s| throughput_profile::sequential_write(s).map(|series| (s, series)))
        .filter(|run| enough > 0.0 && written(run) >= enough)
        .collect()
}

/// Speed of the first long write of a document in a mode over the data written, 10^9 bytes. A quick fill writes only a
/// part of the device: its first write counts.
pub fn first(document: &ResultDocument, mode: Option<&str>) -> Option<Samples> {
    let in_mode = |step: &StepResult| step.mode.as_deref() == mode;
    let whole = runs(document).into_iter().find(|(step, _)| in_mode(step));
    let part = || {
        let is_fill = document.procedure == procedure::FILL;
        let steps = document.steps.iter().filter(|s| is_fill && in_mode(s));
        let mut runs = steps.filter_map(|s| Some((s, throughput_profile::sequential_write(s)?)));
        runs.next()
    };
    whole.or_else(part).map(over_data)
}

/// Long writes of several documents in one plot, a line for each.
pub fn overlay(id: &str, writes: &[(String, Samples)]) -> Plot {
    let (names, samples): (Vec<String>, Vec<Samples>) = writes.iter().cloned().unzip();
    let styles: Vec<(usize, bool)> = (0..names.len()).map(|i| (i % 8, i / 8 % 2 == 1)).collect();
    plot(id, ("Written", "GB"), &names, &styles, &samples)
}

/// The longest sequential write of each mode, where a document has several chapters: the plots of a single one are beside
/// the verdict already.
fn longest<'a>(document: &'a ResultDocument, modes: &[Option<String>]) -> Vec<Run<'a>> {
    let sections: BTreeSet<&str> = document.steps.iter().map(|s| s.section.as_str()).collect();
    if sections.len() < 2 {
        return Vec::new();
    }
    let of_mode = |mode: &Option<String>| {
        let steps = document.steps.iter().filter(|s| s.mode == *mode);
        let (step, _) = sustained::longest_write(mode.as_deref(), &steps.collect::<Vec<_>>())?;
        Some((step, throughput_profile::sequential_write(step)?))
    };
    modes.iter().filter_map(of_mode).collect()
}

/// The writes across the device, or else the longest of each mode; `None` where there is neither.
pub fn of(document: &ResultDocument) -> Option<LongWrites> {
    let modes = modes(document);
    let mut heading = "Writing the whole device";
    let mut runs = runs(document);
    if runs.is_empty() {
        heading = "Sustained write";
        runs = longest(document, &modes);
    }
    let order = |s: &StepResult| {
        modes
            .iter()
            .position(|m| *m == s.mode)
            .unwrap_or(usize::MAX)
    };
    runs.sort_by_key(|(s, _)| order(s));
    runs.truncate(MOST_LINES);
    if runs.is_empty() {
        return None;
    }
    let names = names(&runs);
    let by_data: Vec<Samples> = runs.iter().map(|run| over_data(*run)).collect();
    let by_time: Vec<Samples> = runs.iter().map(|(step, s)| over_time(step, s)).collect();
    let styles: Vec<(usize, bool)> = runs
        .iter()
        .enumerate()
        .map(|(i, (s, _))| {
            let mode = order(s);
            let earlier = runs[..i].iter().filter(|(o, _)| order(o) == mode).count();
            (mode.min(7), earlier % 2 == 1)
        })
        .collect();
    let length = runs
        .iter()
        .map(|(s, _)| s.end_s - s.start_s)
        .fold(0.0, f64::max);
    let (divisor, unit) = time::time_unit(length);
    let scaled: Vec<Samples> = by_time.iter().map(|s| time::scaled(s, divisor)).collect();
    let stretches: Vec<_> = names
        .iter()
        .cloned()
        .zip(
            runs.iter()
                .map(|(s, _)| match regions::of_step(s).is_empty() {
                    true => Vec::new(),
                    false => sustained::stretches(s),
                }),
        )
        .collect();
    Some(LongWrites {
        heading,
        over_data: plot("fill-data", ("Written", "GB"), &names, &styles, &by_data),
        over_time: plot(
            "fill-time",
            ("Time since start of each write", unit),
            &names,
            &styles,
            &scaled,
        ),
        regions: regions::table(&stretches),
    })
}

/// Names of the lines: mode and title, less what all titles begin with.
fn names(runs: &[Run]) -> Vec<String> {
    let words: Vec<Vec<&str>> = runs
        .iter()
        .map(|(s, _)| s.title.split(' ').collect())
        .collect();
    let alike = |n: usize| words.iter().all(|w| w.len() > n + 1 && w[n] == words[0][n]);
    let skip = if words.len() > 1 {
        (0..).take_while(|n| alike(*n)).count()
    } else {
        0
    };
    let same = words.iter().all(|w| *w == words[0]);
    runs.iter()
        .zip(&words)
        .map(|((s, _), w)| match (&s.mode, same) {
            (Some(mode), true) if runs.len() > 1 => mode.clone(),
            (Some(mode), _) => format!("{mode}, {}", w[skip..].join(" ")),
            (None, _) => w[skip..].join(" "),
        })
        .collect()
}

/// Samples over what had been written at the end of each interval, 10^9 bytes.
fn over_data((step, series): Run) -> Samples {
    let mut written = 0.0;
    let mut points = Vec::new();
    for (v, dt) in throughput_profile::weighted(series, step.start_s) {
        written += v * dt / 1e3;
        points.push((written, v));
    }
    Samples {
        points,
        interval: 0.0,
    }
}

fn over_time(step: &StepResult, series: &Series) -> Samples {
    let places: Vec<f64> = series.t_s.iter().map(|t| t - step.start_s).collect();
    Samples::new(&places, &series.v, series.interval_s)
}

fn plot(
    id: &str,
    x: (&str, &str),
    names: &[String],
    styles: &[(usize, bool)],
    samples: &[Samples],
) -> Plot {
    // Lines are reduced separately: in a joint table, places with a single value would take most rows.
    let small: Vec<Samples> = samples.iter().map(|s| reduced(s, ROWS)).collect();
    let table = Table::align(&small);
    let lines = names
        .iter()
        .zip(styles)
        .zip(samples)
        .map(|((name, (colour, dashed)), s)| Line::over(name, *colour, *dashed, s))
        .collect();
    Plot {
        id: id.into(),
        title: "Speed of writing".into(),
        kind: Kind::Time,
        group: id.into(),
        x: Axis {
            name: x.0.into(),
            unit: x.1.into(),
        },
        y: Axis {
            name: "Speed of writing".into(),
            unit: "MB/s".into(),
        },
        lines,
        bands: Vec::new(),
        rows_measured: samples
            .iter()
            .map(|s| s.points.len())
            .sum::<usize>()
            .max(table.xs.len()),
        table,
        marks: Vec::new(),
        limits: Vec::new(),
    }
}

fn reduced(samples: &Samples, rows: usize) -> Samples {
    let small = Table::align(std::slice::from_ref(samples)).reduce(rows);
    let values = small.columns.first().map(Vec::as_slice).unwrap_or_default();
    Samples {
        points: small
            .xs
            .iter()
            .zip(values)
            .map(|(x, c)| (*x, c.value().unwrap_or(f64::NAN)))
            .collect(),
        // Breaks are in the points by now.
        interval: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::JobResult;

    fn step(title: &str, mode: &str, mb_s: f64) -> StepResult {
        StepResult {
            title: title.into(),
            mode: Some(mode.into()),
            start_s: 100.0,
            end_s: 200.0,
            jobs: vec![JobResult {
                options: [("rw".to_string(), "write".to_string())].into(),
                ..JobResult::default()
            }],
            series: vec![Series {
                name: "write bandwidth".into(),
                unit: "MB/s".into(),
                interval_s: 1.0,
                t_s: (1..=100).map(|i| 100.0 + f64::from(i)).collect(),
                v: vec![mb_s; 100],
            }],
            ..StepResult::default()
        }
    }

    #[test]
    fn long_writes_of_all_modes_share_the_plots() {
        let mut document = crate::blank::document();
        document.target.capacity_bytes = 10_000_000_000;
        document.steps = vec![
            step("seq write, fresh", "E", 100.0),
            step("seq write, used", "E", 80.0),
            step("seq write, fresh", "U", 60.0),
            step("short", "U", 10.0),
        ];
        let fill = of(&document).unwrap();
        let names: Vec<&str> = fill
            .over_data
            .lines
            .iter()
            .map(|l| l.name.as_str())
            .collect();
        assert_eq!(names, ["E, fresh", "E, used", "U, fresh"]);
        assert!(fill.over_data.lines[1].dashed);
        assert_eq!(fill.over_data.lines[2].colour, 1);
        let end = fill.over_data.table.xs.last().unwrap();
        assert!((end - 10.0).abs() < 1e-9, "{end}");
        assert_eq!(*fill.over_time.table.xs.last().unwrap(), 100.0);
        assert!(fill.regions.is_none());
    }

    #[test]
    fn without_a_write_across_the_device_the_longest_of_each_mode_is_drawn() {
        let mut document = crate::blank::document();
        assert!(of(&document).is_none());
        document.target.capacity_bytes = 1_000_000_000_000;
        document.steps = vec![
            step("seq write", "E", 100.0),
            step("short", "E", 10.0),
            step("seq write", "U", 60.0),
        ];
        // The plots of a single chapter are not repeated.
        assert!(of(&document).is_none());
        document.steps[1].section = "Another".into();
        let fill = of(&document).unwrap();
        let names: Vec<&str> = fill.over_data.lines.iter().map(|l| &*l.name).collect();
        assert_eq!(names, ["E", "U"]);
        assert_eq!(fill.heading, "Sustained write");
    }
}
