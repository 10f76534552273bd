//! Plots of latency over percentile. The horizontal axis counts nines, so that the tail, in which
//! storage devices differ most, has as much room as the bulk.

use super::plot::{Axis, Kind, Line, Plot};
use super::table::{Samples, Table};
use crate::names::{Unique, slug};
use nandscope_result::{Latency, StepResult};

/// Lines that one plot holds; more could not be told apart.
const MOST_LINES: usize = 8;

/// One plot for each kind of operation (all in one where they are few) of the jobs of a step.
pub fn of_step(step: &StepResult, names: &mut Unique) -> Vec<Plot> {
    let all: Vec<(String, &str, Samples)> = step
        .jobs
        .iter()
        .flat_map(|job| job.directions.iter().map(move |d| (job, d)))
        .map(|(job, d)| {
            (
                format!("{} {}", job.name, d.kind),
                d.kind.as_str(),
                samples(&d.latency),
            )
        })
        .filter(|(_, _, s)| s.points.len() >= 3)
        .collect();
    if all.is_empty() {
        return Vec::new();
    }
    if all.len() <= MOST_LINES / 2 {
        let lines: Vec<(&str, &Samples)> = all.iter().map(|(n, _, s)| (n.as_str(), s)).collect();
        return vec![plot(step, "Latency by percentile", &lines, names)];
    }
    let mut kinds: Vec<&str> = all.iter().map(|a| a.1).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut plots = Vec::new();
    for kind in kinds {
        let lines: Vec<(&str, &Samples)> = all
            .iter()
            .filter(|a| a.1 == kind)
            .map(|(n, _, s)| (n.as_str(), s))
            .collect();
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

fn plot(step: &StepResult, title: &str, lines: &[(&str, &Samples)], names: &mut Unique) -> Plot {
    let samples: Vec<Samples> = lines.iter().map(|l| l.1.clone()).collect();
    let table = Table::align(&samples);
    Plot {
        id: names.slug(&format!("{} {title}", step.id)),
        title: title.to_string(),
        kind: Kind::Percentile,
        group: format!("{}-latency", slug(&step.id)),
        x: Axis {
            name: "Percentile".into(),
            unit: "%".into(),
        },
        y: Axis {
            name: "Latency".into(),
            unit: "µs".into(),
        },
        lines: lines
            .iter()
            .enumerate()
            .map(|(i, (name, s))| Line::over(name, i % 8, i % 2 == 1, s))
            .collect(),
        rows_measured: table.xs.len(),
        table,
        marks: Vec::new(),
    }
}

/// Percentiles as nines and microseconds. The hundredth percentile, the maximum, lies infinitely
/// many nines away and is left to the tables.
fn samples(latency: &Latency) -> Samples {
    let mut nines = Vec::new();
    let mut us = Vec::new();
    for &(percentile, ns) in &latency.percentiles {
        // A logarithmic axis has no zero.
        if (0.0..100.0).contains(&percentile) && ns > 0 {
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
    // Rounded, so that the same percentile of two jobs falls on the same place.
    libm::round(nines * 1e6) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{DirectionResult, JobResult};

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
}
