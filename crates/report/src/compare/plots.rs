//! Plots of a comparison: the long writes, the scaling with queue depth and the latencies of all documents, a line for
//! each.

use super::hosts::Alignment;
use super::row::Row;
use crate::names::Unique;
use crate::view::plot::{Axis, Kind, Line, Plot};
use crate::view::table::{Samples, Table};
use crate::view::{long_writes, percentile};
use nandscope_result::ResultDocument;

/// Maximum number of latency plots, one per test.
const MOST_LATENCIES: usize = 8;

/// Plot of the first long write of each document on the compared host over the data written; `None` if fewer than two
/// were filled.
pub fn fills(
    documents: &[&ResultDocument],
    alignment: &Alignment,
    names: &[String],
) -> Option<Plot> {
    let found: Vec<(String, Samples)> = documents
        .iter()
        .zip(names)
        .enumerate()
        .filter_map(|(i, (d, name))| {
            let write = long_writes::first(d, alignment.first_of(i))?;
            Some((name.clone(), write))
        })
        .collect();
    (found.len() > 1).then(|| long_writes::overlay("fill", &found))
}

/// Figures at several queue depths: their identifiers end in `qd` and a number.
pub fn queue_depths(rows: &[Row], names: &[String], ids: &mut Unique) -> Vec<Plot> {
    let mut groups: Vec<(&str, Vec<(f64, &Row)>)> = Vec::new();
    for row in rows {
        let Some((test, last)) = row.id.rsplit_once('.') else {
            continue;
        };
        let Some(depth) = last.strip_prefix("qd").and_then(|d| d.parse().ok()) else {
            continue;
        };
        match groups.iter_mut().find(|g| g.0 == test) {
            // The same figure on another host.
            Some((_, points)) if points.iter().any(|p| p.0 == depth) => {}
            Some(group) => group.1.push((depth, row)),
            None => groups.push((test, vec![(depth, row)])),
        }
    }
    groups
        .into_iter()
        .filter(|(_, points)| points.len() > 2)
        .map(|(test, points)| queue_depth(test, &points, names, ids))
        .collect()
}

fn queue_depth(test: &str, points: &[(f64, &Row)], names: &[String], ids: &mut Unique) -> Plot {
    let unit = points.first().map_or(String::new(), |p| p.1.unit.clone());
    let lines: Vec<(String, Samples)> = names
        .iter()
        .enumerate()
        .filter_map(|(i, name)| {
            let at =
                |(depth, row): &(f64, &Row)| Some((*depth, row.values.get(i).copied().flatten()?));
            let mut points: Vec<(f64, f64)> = points.iter().filter_map(at).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let samples = Samples {
                points,
                interval: 0.0,
            };
            (!samples.points.is_empty()).then(|| (name.clone(), samples))
        })
        .collect();
    let title = format!("{} by queue depth", test.replace('.', " "));
    let name = if unit == "IOPS" {
        "Operations"
    } else {
        "Speed"
    };
    over_lines(
        &ids.unique(&title),
        &crate::names::capital(&title),
        Kind::Curve,
        Axis {
            name: "Queue depth".into(),
            unit: "commands".into(),
        },
        Axis {
            name: name.into(),
            unit,
        },
        &lines,
    )
}

/// Latencies of the tests that at least two documents share.
pub fn latencies(
    documents: &[&ResultDocument],
    alignment: &Alignment,
    names: &[String],
    ids: &mut Unique,
) -> Vec<Plot> {
    let of_each: Vec<Vec<(String, Samples)>> = documents
        .iter()
        .enumerate()
        .map(|(i, d)| percentile::medians(d, alignment.first_of(i)))
        .collect();
    let mut plots = Vec::new();
    for (test, _) in of_each.first().into_iter().flatten() {
        let lines: Vec<(String, Samples)> = of_each
            .iter()
            .zip(names)
            .filter_map(|(tests, name)| {
                let found = tests.iter().find(|t| t.0 == *test)?;
                Some((name.clone(), found.1.clone()))
            })
            .collect();
        if lines.len() > 1 && plots.len() < MOST_LATENCIES {
            let id = ids.unique(&format!("latency {test}"));
            plots.push(latency(&id, test, &lines));
        }
    }
    plots
}

/// Latencies by percentile, a line for each document.
pub fn latency(id: &str, test: &str, lines: &[(String, Samples)]) -> Plot {
    let axis = |name: &str, unit: &str| Axis {
        name: name.into(),
        unit: unit.into(),
    };
    let (x, y) = (axis("Percentile", "%"), axis("Latency", "µs"));
    over_lines(id, test, Kind::Percentile, x, y, lines)
}

fn over_lines(
    id: &str,
    title: &str,
    kind: Kind,
    x: Axis,
    y: Axis,
    lines: &[(String, Samples)],
) -> Plot {
    let samples: Vec<Samples> = lines.iter().map(|l| l.1.clone()).collect();
    let table = Table::align(&samples);
    Plot {
        id: id.to_string(),
        title: title.to_string(),
        kind,
        group: id.to_string(),
        x,
        y,
        lines: lines
            .iter()
            .enumerate()
            .map(|(i, (name, s))| Line::over(name, i % 8, i / 8 % 2 == 1, s))
            .collect(),
        bands: Vec::new(),
        rows_measured: table.xs.len(),
        table,
        marks: Vec::new(),
        limits: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{JobResult, Series, StepResult, procedure};

    fn fill(mb_s: f64, capacity_gb: u64) -> ResultDocument {
        let mut document = crate::blank::document();
        document.procedure = procedure::FILL.into();
        document.target.capacity_bytes = capacity_gb * 1_000_000_000;
        document.steps = vec![StepResult {
            title: "First fill".into(),
            end_s: 100.0,
            jobs: vec![JobResult {
                options: [("rw".to_string(), "write".to_string())].into(),
                ..JobResult::default()
            }],
            series: vec![Series {
                name: "write bandwidth".into(),
                unit: "MB/s".into(),
                interval_s: 1.0,
                t_s: (1..=100).map(f64::from).collect(),
                v: vec![mb_s; 100],
            }],
            ..StepResult::default()
        }];
        document
    }

    #[test]
    fn quick_fills_are_overlaid_and_short_writes_are_not() {
        // A tenth of the device was written.
        let mut documents = [fill(10.0, 10), fill(100.0, 100), fill(20.0, 20)];
        let names: Vec<String> = ["A", "B", "C"].map(String::from).to_vec();
        let of = |documents: &[ResultDocument]| {
            let documents: Vec<&ResultDocument> = documents.iter().collect();
            fills(&documents, &Alignment::or_across(&documents), &names)
        };
        let plot = of(&documents).unwrap();
        let lines: Vec<&str> = plot.lines.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(lines, ["A", "B", "C"]);
        assert!((plot.table.xs.last().unwrap() - 10.0).abs() < 1e-9);
        // In another procedure, the write may be the preparation of a test.
        for document in &mut documents {
            document.procedure = "cdm".into();
        }
        assert_eq!(of(&documents), None);
    }
}
