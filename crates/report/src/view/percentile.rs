//! Plots of latency over percentile. The horizontal axis counts nines, so that the tail, in which
//! storage devices differ most, has as much room as the bulk.

use super::plot::{Axis, Band, Kind, Line, Plot};
use super::table::{Samples, Table};
use crate::names::{Unique, valid_name};
use nandscope_result::{DirectionResult, ResultDocument, StepResult};

/// Maximum number of lines in one plot; more cannot be distinguished.
const MOST_LINES: usize = 8;

/// One test: distributions of its repetitions, or of its single run.
struct Test<'a> {
    name: &'a str,
    kind: &'a str,
    /// Latencies count from the due time, which is not the submission.
    is_due: bool,
    runs: Vec<Samples>,
}

/// One plot for each kind of operation (all in one where they are few) of the tests of a step. Repetitions of a test are
/// one line, their median, in the band of their range.
pub fn of_step(step: &StepResult, names: &mut Unique) -> Vec<Plot> {
    let all = tests(step);
    if all.is_empty() {
        return Vec::new();
    }
    if all.len() <= MOST_LINES / 2 {
        let lines: Vec<&Test> = all.iter().collect();
        return vec![plot(step, "Latency by percentile", &lines, names)];
    }
    let mut kinds: Vec<&str> = all.iter().map(|a| a.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut plots = Vec::new();
    for kind in kinds {
        let lines: Vec<&Test> = all.iter().filter(|a| a.kind == kind).collect();
        for (i, some) in lines.chunks(MOST_LINES).enumerate() {
            let title = match i {
                0 => format!("Latency by percentile, {kind}"),
                _ => format!("Latency by percentile, {kind}, part {}", i + 1),
            };
            plots.push(plot(step, &title, some, names));
        }
    }
    plots
}

/// The median latencies of every test of a document in a mode, by the title of the step and the name of the test.
pub fn medians(document: &ResultDocument, mode: Option<&str>) -> Vec<(String, Samples)> {
    let mut found: Vec<(String, Samples)> = Vec::new();
    for step in document.steps.iter().filter(|s| s.mode.as_deref() == mode) {
        for test in tests(step) {
            let name = test.title();
            let name = match step.title.as_str() {
                title if title.is_empty() || title == name => name,
                title => format!("{title}: {name}"),
            };
            if found.iter().all(|f| f.0 != name) {
                let [_, middle, _] = spread(&test.runs);
                found.push((name, middle));
            }
        }
    }
    found
}

impl Test<'_> {
    /// Name of the test with the kind of operation.
    fn title(&self) -> String {
        let due = if self.is_due { ", due latency" } else { "" };
        if self.name.split(' ').any(|w| w == self.kind) {
            format!("{}{due}", self.name)
        } else {
            format!("{} {}{due}", self.name, self.kind)
        }
    }
}

/// Tests of a step. If some were repeated, the others are preparations (a test file, a warm-up run).
fn tests(step: &StepResult) -> Vec<Test<'_>> {
    let mut tests: Vec<Test> = Vec::new();
    let directions = step
        .jobs
        .iter()
        .flat_map(|job| job.directions.iter().map(move |d| (job, d)));
    for (job, direction) in directions {
        let run = samples(direction);
        if run.points.len() < 3 {
            continue;
        }
        let (name, kind) = (repeated(&job.name), direction.kind.as_str());
        match tests.iter_mut().find(|t| t.name == name && t.kind == kind) {
            Some(test) => test.runs.push(run),
            None => tests.push(Test {
                name,
                kind,
                is_due: direction.service.is_some(),
                runs: vec![run],
            }),
        }
    }
    if tests.iter().any(|t| t.runs.len() > 1) {
        tests.retain(|t| t.runs.len() > 1);
    }
    tests
}

/// The name of a test without the number of its repetition: `SEQ1M read, run 3`, `AV write, pass 1`.
fn repeated(name: &str) -> &str {
    let Some((test, number)) = name.rsplit_once(' ') else {
        return name;
    };
    let words = [", run", ", pass"];
    let test = words.iter().find_map(|word| test.strip_suffix(word));
    match test {
        Some(test) if number.bytes().all(|b| b.is_ascii_digit()) => test,
        _ => name,
    }
}

fn plot(step: &StepResult, title: &str, tests: &[&Test], names: &mut Unique) -> Plot {
    let (mut lines, mut bands, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    for (i, test) in tests.iter().enumerate() {
        let (colour, dashed) = (i % 8, i % 2 == 1);
        let [low, middle, high] = spread(&test.runs);
        let name = match test.runs.len() {
            1 => test.title(),
            n => format!("{}, median of {n}", test.title()),
        };
        lines.push(Line::over(&name, colour, dashed, &middle));
        samples.push(middle);
        if test.runs.len() > 1 {
            bands.push(Band {
                low: lines.len(),
                high: lines.len() + 1,
            });
            for (word, edge) in [("least", low), ("greatest", high)] {
                lines.push(Line {
                    edge: true,
                    ..Line::over(&format!("{name}, {word}"), colour, false, &edge)
                });
                samples.push(edge);
            }
        }
    }
    let table = Table::align(&samples);
    Plot {
        id: names.unique(&format!("{} {title}", step.id)),
        title: title.to_string(),
        kind: Kind::Percentile,
        group: format!("{}-latency", valid_name(&step.id)),
        x: Axis {
            name: "Percentile".into(),
            unit: "%".into(),
        },
        y: Axis {
            name: "Latency".into(),
            unit: "µs".into(),
        },
        lines,
        bands,
        rows_measured: table.xs.len(),
        table,
        marks: Vec::new(),
        limits: Vec::new(),
    }
}

/// Least, median and greatest of the runs at each percentile that all have.
fn spread(runs: &[Samples]) -> [Samples; 3] {
    let mut out: [Samples; 3] = Default::default();
    let places = runs
        .first()
        .map(|r| r.points.as_slice())
        .unwrap_or_default();
    for (x, _) in places {
        let at = |run: &Samples| run.points.iter().find(|p| p.0 == *x).map(|p| p.1);
        let mut values: Vec<f64> = runs.iter().filter_map(at).collect();
        if values.len() < runs.len() {
            continue;
        }
        values.sort_by(f64::total_cmp);
        let middle = values[values.len() / 2];
        let ends = [values[0], middle, values[values.len() - 1]];
        for (samples, value) in out.iter_mut().zip(ends) {
            samples.points.push((*x, value));
        }
    }
    out
}

/// Percentiles as nines and microseconds, up to the last one that the number of operations defines. The hundredth
/// percentile, the maximum, lies infinitely many nines away and is left to the tables.
fn samples(direction: &DirectionResult) -> Samples {
    let mut nines = Vec::new();
    let mut us = Vec::new();
    for &(percentile, ns) in &direction.latency.percentiles {
        // A logarithmic axis has no zero.
        if (0.0..100.0).contains(&percentile) && direction.defines(percentile) && ns > 0 {
            nines.push(nines_of(percentile));
            us.push(ns as f64 / 1e3);
        }
    }
    Samples::new(&nines, &us, 0.0)
}

/// `-log10(1 - p/100)`: 0 for p0, 1 for p90, 2 for p99.
pub fn nines_of(percentile: f64) -> f64 {
    let left = (100.0 - percentile) / 100.0;
    let nines = -libm::log10(left);
    // Rounded, so that the same percentile of two jobs has the same place.
    libm::round(nines * 1e6) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{JobResult, Latency};

    fn step(jobs: usize) -> StepResult {
        let latency = Latency {
            percentiles: vec![
                (0.0, 0),
                (50.0, 100_000),
                (90.0, 200_000),
                (99.0, 900_000),
                (100.0, 1),
            ],
            ..Latency::default()
        };
        let direction = |kind: &str| DirectionResult {
            kind: kind.into(),
            operations: 1000,
            latency: latency.clone(),
            ..DirectionResult::default()
        };
        StepResult {
            id: "s".into(),
            jobs: (0..jobs)
                .map(|i| JobResult {
                    name: format!("j{i}"),
                    directions: vec![direction("read"), direction("write")],
                    ..JobResult::default()
                })
                .collect(),
            ..StepResult::default()
        }
    }

    #[test]
    fn nines() {
        for (p, n) in [
            (0.0, 0.0),
            (50.0, std::f64::consts::LOG10_2),
            (90.0, 1.0),
            (99.9, 3.0),
            (99.99, 4.0),
        ] {
            assert!((nines_of(p) - n).abs() < 1e-6, "{p}");
        }
    }

    #[test]
    fn a_percentile_without_operations_beyond_it_is_not_drawn() {
        let mut step = step(1);
        step.jobs[0].directions.truncate(1);
        step.jobs[0].directions[0].operations = 99;
        let latency = &mut step.jobs[0].directions[0].latency;
        latency.percentiles.insert(1, (20.0, 50_000));
        let plot = &of_step(&step, &mut Unique::default())[0];
        // The 99th would be the longest of all.
        assert_eq!(plot.table.xs.len(), 3);
    }

    #[test]
    fn few_lines_share_a_plot_and_many_are_parted_by_kind() {
        let few = of_step(&step(2), &mut Unique::default());
        assert_eq!(few.len(), 1);
        assert_eq!(few[0].lines.len(), 4);
        assert_eq!(few[0].table.xs.len(), 3);
        let many = of_step(&step(10), &mut Unique::default());
        let sizes: Vec<usize> = many.iter().map(|p| p.lines.len()).collect();
        assert_eq!(sizes, [8, 2, 8, 2]);
        assert!(of_step(&step(0), &mut Unique::default()).is_empty());
    }

    #[test]
    fn repetitions_are_one_line_in_the_band_of_their_range() {
        let mut step = step(0);
        let runs = [
            ("SEQ read, warm-up", 5),
            ("SEQ read, run 1", 3),
            ("SEQ read, run 2", 1),
            ("SEQ read, run 3", 2),
        ];
        for (name, factor) in runs {
            let percentiles = [(50.0, 100), (90.0, 200), (99.0, 900)];
            step.jobs.push(JobResult {
                name: name.into(),
                directions: vec![DirectionResult {
                    kind: "read".into(),
                    operations: 1000,
                    latency: Latency {
                        percentiles: percentiles.map(|(p, us)| (p, us * 1000 * factor)).into(),
                        ..Latency::default()
                    },
                    ..DirectionResult::default()
                }],
                ..JobResult::default()
            });
        }
        let plots = of_step(&step, &mut Unique::default());
        assert_eq!(plots.len(), 1);
        let plot = &plots[0];
        assert_eq!(plot.lines.iter().filter(|l| !l.edge).count(), 1);
        assert_eq!(plot.lines[0].name, "SEQ read, median of 3");
        assert_eq!(plot.bands, [Band { low: 1, high: 2 }]);
        let at = |line: usize| plot.table.columns[line][1].value();
        assert_eq!(
            [at(1), at(0), at(2)],
            [Some(200.0), Some(400.0), Some(600.0)]
        );
        assert!(!plot.summary().contains("least"), "{}", plot.summary());
        assert_eq!(repeated("run 3"), "run 3");
    }
}
