//! Consistency of rates: the rate of every interval of the same test as a point for each document. The points of a
//! consistent drive lie on a line; scattered points show stalls.

use super::hosts::Alignment;
use crate::names::{Unique, capital};
use crate::view::plot::{Axis, Kind, Line, Plot};
use crate::view::table::{Samples, Table};
use nandscope_result::{Operation, ResultDocument, Series, StepResult, series};

/// Tests that are drawn; a reader looks for random and sequential writing first.
const MOST_PLOTS: usize = 3;
/// Fewest intervals: fewer do not scatter.
const FEWEST: usize = 20;
/// Points of a document; of more, the least and the greatest of each stretch of time are drawn.
const MOST_POINTS: usize = 600;
/// Rates drawn as points, by operation and quantity, and the name of their axis; the first one that a step has is used.
static RATES: [(Operation, &str, &str); 4] = [
    (Operation::Write, series::IOPS, "Operations"),
    (Operation::Write, series::BANDWIDTH, "Speed"),
    (Operation::Read, series::IOPS, "Operations"),
    (Operation::Read, series::BANDWIDTH, "Speed"),
];

/// A test of a document with the rate of its intervals.
struct Run<'a> {
    step: &'a StepResult,
    series: &'a Series,
    axis: &'static str,
    random: bool,
}

/// Plots of the tests that at least two documents share: random ones first, then the longest.
pub fn plots(
    documents: &[&ResultDocument],
    alignment: &Alignment,
    names: &[String],
    ids: &mut Unique,
) -> Vec<Plot> {
    let of_each: Vec<Vec<Run>> = documents
        .iter()
        .enumerate()
        .map(|(i, document)| runs(document, alignment.first_of(i)))
        .collect();
    let mut tests: Vec<&Run> = Vec::new();
    for run in of_each.iter().flatten() {
        if tests.iter().all(|t| !is_same(t, run)) {
            tests.push(run);
        }
    }
    tests.sort_by_key(|run| (!run.random, std::cmp::Reverse(run.series.v.len())));
    tests
        .into_iter()
        .filter_map(|test| plot(test, &of_each, names, ids))
        .take(MOST_PLOTS)
        .collect()
}

fn is_same(a: &Run, b: &Run) -> bool {
    a.step.title == b.step.title && a.series.name == b.series.name && a.series.unit == b.series.unit
}

/// The tests of a mode that are one job and have enough intervals.
fn runs<'a>(document: &'a ResultDocument, mode: Option<&str>) -> Vec<Run<'a>> {
    let steps = document.steps.iter();
    let of_mode = steps.filter(|s| s.mode.as_deref() == mode && s.jobs.len() == 1);
    of_mode.filter_map(run).collect()
}

fn run(step: &StepResult) -> Option<Run<'_>> {
    let options = &step.jobs.first()?.options;
    let rw = options.get("rw").or(options.get("readwrite"))?;
    let random = rw.starts_with("rand");
    // Sequential tests show the rate, random tests the operations.
    let wanted = |axis: &str| (axis == "Operations") == random;
    let found = RATES.iter().filter(|(_, _, axis)| wanted(axis));
    let (series, axis) = found
        .filter_map(|(operation, quantity, axis)| {
            let name = series::of(operation, quantity);
            Some((step.find_series(&name)?, *axis))
        })
        .next()?;
    (series.v.len() >= FEWEST).then_some(Run {
        step,
        series,
        axis,
        random,
    })
}

/// Plot of a test; `None` if fewer than two documents have the test.
fn plot(test: &Run, of_each: &[Vec<Run>], names: &[String], ids: &mut Unique) -> Option<Plot> {
    let found: Vec<(usize, Samples)> = of_each
        .iter()
        .enumerate()
        .filter_map(|(i, runs)| Some((i, over_time(runs.iter().find(|r| is_same(r, test))?))))
        .collect();
    if found.len() < 2 {
        return None;
    }
    let lines = found
        .iter()
        .map(|(i, samples)| {
            let name = names.get(*i).map_or("", String::as_str);
            Line::over(name, i % 8, false, samples)
        })
        .collect();
    let whole: Vec<Samples> = found.iter().map(|(_, s)| s.clone()).collect();
    let shown: Vec<Samples> = whole.iter().map(thinned).collect();
    let title = match test.step.title.as_str() {
        "" => "Rate of each interval".to_string(),
        title => format!("{title}: rate of each interval"),
    };
    let id = ids.unique(&format!("consistency {title}"));
    Some(Plot {
        title: capital(&title),
        kind: Kind::Points,
        group: id.clone(),
        id,
        x: Axis {
            name: "Time since start".into(),
            unit: "s".into(),
        },
        y: Axis {
            name: test.axis.into(),
            unit: test.series.unit.clone(),
        },
        lines,
        bands: Vec::new(),
        table: Table::scatter(&shown),
        rows_measured: Table::scatter(&whole).xs.len(),
        marks: Vec::new(),
        limits: Vec::new(),
    })
}

fn over_time(run: &Run) -> Samples {
    let places: Vec<f64> = run
        .series
        .t_s
        .iter()
        .map(|t| t - run.step.start_s)
        .collect();
    Samples::new(&places, &run.series.v, run.series.interval_s)
}

/// All points, or the least and the greatest of each stretch where there are more than [`MOST_POINTS`].
fn thinned(samples: &Samples) -> Samples {
    let points = &samples.points;
    if points.len() <= MOST_POINTS {
        return samples.clone();
    }
    let stretch = (2 * points.len()).div_ceil(MOST_POINTS);
    let ends = points.chunks(stretch).flat_map(|some| {
        let least = some.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let greatest = some.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let mut ends: Vec<(f64, f64)> = least.into_iter().chain(greatest).copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        ends
    });
    Samples {
        points: ends.collect(),
        interval: samples.interval,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::JobResult;

    fn document(title: &str, rw: &str, v: Vec<f64>) -> ResultDocument {
        let mut document = crate::blank::document();
        document.title = title.into();
        let name = match rw.starts_with("rand") {
            true => ("write IOPS", "IOPS"),
            false => ("write bandwidth", "MB/s"),
        };
        document.steps = vec![StepResult {
            title: "Test".into(),
            start_s: 100.0,
            jobs: vec![JobResult {
                options: [("rw".to_string(), rw.to_string())].into(),
                ..JobResult::default()
            }],
            series: vec![Series {
                name: name.0.into(),
                unit: name.1.into(),
                interval_s: 1.0,
                t_s: (1..=v.len()).map(|i| 100.0 + i as f64).collect(),
                v,
            }],
            ..StepResult::default()
        }];
        document
    }

    fn of(documents: &[&ResultDocument]) -> Vec<Plot> {
        let names: Vec<String> = documents.iter().map(|d| d.title.clone()).collect();
        let mut ids = Unique::default();
        plots(
            documents,
            &Alignment::or_across(documents),
            &names,
            &mut ids,
        )
    }

    #[test]
    fn every_interval_of_a_shared_test_is_a_point_since_its_start() {
        let a = document("a", "randwrite", vec![100.0; 30]);
        let mut b = document("b", "randwrite", (0..40).map(f64::from).collect());
        let plot = &of(&[&a, &b])[0];
        assert_eq!((plot.kind, plot.y.unit.as_str()), (Kind::Points, "IOPS"));
        assert_eq!((plot.table.xs[0], plot.table.xs.len()), (1.0, 40));
        let points = |i: usize| {
            plot.table.columns[i]
                .iter()
                .filter_map(|c| c.value())
                .count()
        };
        assert_eq!((points(0), points(1), plot.reduced()), (30, 40, false));
        // Another test, and one of a few intervals, are not compared with it.
        assert!(of(&[&a, &document("c", "write", vec![1.0; 30])]).is_empty());
        b.steps[0].series[0].v.truncate(10);
        assert!(of(&[&a, &b]).is_empty());
    }

    #[test]
    fn a_stall_stays_where_points_are_left_out() {
        let mut v = vec![100.0; 10_000];
        v[7_777] = 0.5;
        let (a, b) = (
            document("a", "write", v),
            document("b", "write", vec![50.0; 30]),
        );
        let plot = &of(&[&a, &b])[0];
        assert!(plot.reduced() && plot.table.xs.len() < MOST_POINTS + 40);
        assert_eq!(plot.range(), Some((0.5, 100.0)));
    }
}
