//! Metrics beside parameters: a row per point for programs, and one per configuration, over its seeds,
//! for people, with the Pareto front.

use crate::metric::{Direction, Metric};
use crate::plan::Plan;
use crate::point::Point;
use nandscope_result::{Level, ResultDocument};
use nandscope_units::csv_field;
use nandscope_units::number::as_short;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of `points.json`.
const FORMAT: &str = "nandscope sweep 1";

/// Measurement of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Values of the metrics, in their order; `None` if the result has none.
    pub metrics: Vec<Option<f64>>,
    /// All figures of the result by identifier.
    pub figures: BTreeMap<String, f64>,
    /// Reason for which the run was not completed.
    pub failure: Option<String>,
}

impl Outcome {
    /// Extracts the metrics of a result.
    pub fn of(document: &ResultDocument, metrics: &[Metric]) -> Outcome {
        let figures = document.steps.iter().flat_map(|s| &s.figures);
        let figures = figures.map(|f| (f.id.clone(), f.value));
        let error = document.notices.iter().rev();
        let error = error
            .filter(|n| n.level == Level::Error)
            .map(|n| n.text.clone());
        Outcome {
            metrics: metrics.iter().map(|m| m.of(document)).collect(),
            figures: figures.collect(),
            failure: (!document.complete).then(|| {
                error
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| "the run is incomplete".to_string())
            }),
        }
    }
}

/// A metric over the seeds of a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Arithmetic mean over the seeds.
    pub mean: f64,
    /// Least value over the seeds.
    pub low: f64,
    /// Greatest value over the seeds.
    pub high: f64,
}

/// A configuration: the points that differ in the seed alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Values of the parameters.
    pub values: Vec<String>,
    /// The metrics; `None` if no point has one.
    pub metrics: Vec<Option<Summary>>,
    /// Number of finished points, and number of all points of the configuration.
    pub points: (usize, usize),
    /// The first failure of a point.
    pub failure: Option<String>,
    /// No other configuration is better in one metric and at least as good in all others.
    pub is_pareto: bool,
}

/// All configurations with their metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepTable {
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Metrics, a column each.
    pub metrics: Vec<Metric>,
    /// The configurations in the order of the plan.
    pub rows: Vec<Row>,
}

impl SweepTable {
    /// The table of the finished points of a plan.
    pub fn new(plan: &Plan, outcomes: &[Option<Outcome>]) -> SweepTable {
        let mut rows: Vec<Row> = Vec::with_capacity(plan.configurations);
        let mut all = plan.points.iter().zip(outcomes).peekable();
        while let Some((first, _)) = all.peek() {
            let (number, values) = (first.configuration, first.values.clone());
            let mut group = Vec::new();
            while let Some((_, outcome)) = all.next_if(|(p, _)| p.configuration == number) {
                group.push(outcome.as_ref());
            }
            rows.push(row(values, &group, plan.metrics.len()));
        }
        mark_pareto(&mut rows, &plan.metrics);
        SweepTable {
            parameters: plan.parameters.clone(),
            metrics: plan.metrics.clone(),
            rows,
        }
    }
}

fn row(values: Vec<String>, group: &[Option<&Outcome>], metrics: usize) -> Row {
    let done: Vec<&Outcome> = group.iter().copied().flatten().collect();
    let summary = |metric: usize| {
        let values = done.iter().filter(|o| o.failure.is_none());
        let values: Vec<f64> = values.filter_map(|o| o.metrics[metric]).collect();
        (!values.is_empty()).then(|| Summary {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    };
    Row {
        values,
        metrics: (0..metrics).map(summary).collect(),
        points: (done.len(), group.len()),
        failure: done.iter().find_map(|o| o.failure.clone()),
        is_pareto: false,
    }
}

/// Marks the rows that no other row dominates, by the means of those metrics for which higher or lower is better.
fn mark_pareto(rows: &mut [Row], metrics: &[Metric]) {
    let signs: Vec<f64> = metrics
        .iter()
        .map(|m| match m.direction() {
            Direction::Down => 1.0,
            Direction::Up => -1.0,
            Direction::Neither => 0.0,
        })
        .collect();
    if signs.iter().all(|s| *s == 0.0) {
        return;
    }
    // As the tables show them: rows that look the same must not differ in their rank.
    // Lower is better in all of them; rows that lack one are not compared.
    let costs = |row: &Row| -> Option<Vec<f64>> {
        let judged = row.metrics.iter().zip(&signs).filter(|(_, s)| **s != 0.0);
        let cost = |(m, sign): (&Option<Summary>, &f64)| m.map(|m| as_short(m.mean) * sign);
        judged.map(cost).collect()
    };
    let all: Vec<Option<Vec<f64>>> = rows.iter().map(costs).collect();
    let dominates = |a: &Vec<f64>, b: &Vec<f64>| {
        a.iter().zip(b).all(|(a, b)| a <= b) && a.iter().zip(b).any(|(a, b)| a < b)
    };
    for (row, own) in rows.iter_mut().zip(&all) {
        row.is_pareto = own
            .as_ref()
            .is_some_and(|own| !all.iter().flatten().any(|other| dominates(other, own)));
    }
}

/// `points.csv`: a line per point with number, key, seed, parameters, metrics and why it failed. Points
/// that are not finished have no metrics.
pub fn csv(plan: &Plan, outcomes: &[Option<Outcome>]) -> String {
    let mut text = String::from("point,key,seed");
    let names = plan.parameters.iter().cloned();
    let metrics = plan.metrics.iter().map(|m| match m.unit() {
        "" => m.name.clone(),
        unit => format!("{} ({unit})", m.name),
    });
    for name in names.chain(metrics).chain(["failure".to_string()]) {
        text.push(',');
        text.push_str(&csv_field(&name));
    }
    text.push('\n');
    for (number, (point, outcome)) in plan.points.iter().zip(outcomes).enumerate() {
        text.push_str(&format!("{},{},{}", number + 1, point.key, point.seed()));
        for value in &point.values {
            text.push(',');
            text.push_str(&csv_field(value));
        }
        for metric in 0..plan.metrics.len() {
            let value = outcome.as_ref().and_then(|o| o.metrics[metric]);
            text.push(',');
            text.push_str(&value.map(|v| v.to_string()).unwrap_or_default());
        }
        let failure = outcome.as_ref().and_then(|o| o.failure.as_deref());
        text.push(',');
        text.push_str(&csv_field(failure.unwrap_or_default()));
        text.push('\n');
    }
    text
}

#[derive(Serialize)]
struct JsonSweep<'a> {
    format: &'a str,
    version: &'a str,
    parameters: &'a [String],
    metrics: Vec<JsonMetric<'a>>,
    points: Vec<JsonPoint<'a>>,
}

#[derive(Serialize)]
struct JsonMetric<'a> {
    name: &'a str,
    unit: &'a str,
    better: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonPoint<'a> {
    key: &'a str,
    seed: u64,
    parameters: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<BTreeMap<&'a str, Option<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    figures: Option<&'a BTreeMap<String, f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
}

/// Text of `points.json`: the table with all figures of each point.
///
/// # Errors
/// `serde_json::Error` if a number is not finite.
pub fn json(plan: &Plan, outcomes: &[Option<Outcome>]) -> Result<String, serde_json::Error> {
    let points = plan.points.iter().zip(outcomes);
    let sweep = JsonSweep {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        parameters: &plan.parameters,
        metrics: plan.metrics.iter().map(json_metric).collect(),
        points: points
            .map(|(p, o)| json_point(plan, p, o.as_ref()))
            .collect(),
    };
    Ok(serde_json::to_string_pretty(&sweep)? + "\n")
}

fn json_metric(metric: &Metric) -> JsonMetric<'_> {
    JsonMetric {
        name: &metric.name,
        unit: metric.unit(),
        better: match metric.direction() {
            Direction::Down => Some("lower"),
            Direction::Up => Some("higher"),
            Direction::Neither => None,
        },
    }
}

fn json_point<'a>(plan: &'a Plan, point: &'a Point, outcome: Option<&'a Outcome>) -> JsonPoint<'a> {
    let names = plan.parameters.iter().map(String::as_str);
    let metrics = |o: &Outcome| {
        let named = plan.metrics.iter().zip(&o.metrics);
        named.map(|(m, value)| (m.name.as_str(), *value)).collect()
    };
    JsonPoint {
        key: &point.key,
        seed: point.seed(),
        parameters: names.zip(point.values.iter().map(String::as_str)).collect(),
        metrics: outcome.map(metrics),
        figures: outcome.map(|o| &o.figures),
        failure: outcome.and_then(|o| o.failure.as_deref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_workload::job::JobFile;

    #[test]
    fn the_front_has_what_nothing_else_beats() {
        let jobs = JobFile::parse("t", "[a]\nsize=1m\n").unwrap();
        let metrics = ["p99", "iops"].map(|name| Metric::read(name, &jobs).unwrap());
        let values = |values: [Option<f64>; 2]| Outcome {
            metrics: values.to_vec(),
            figures: BTreeMap::new(),
            failure: None,
        };
        let mut rows: Vec<Row> = [
            [Some(10.0), Some(100.0)],
            [Some(20.0), Some(200.0)],
            // Worse than the second row in both metrics.
            [Some(25.0), Some(150.0)],
            // Equal to the first row in both metrics.
            [Some(10.0), Some(100.0)],
            // Shown as the second row is: 200.
            [Some(20.001), Some(199.9)],
            [None, Some(900.0)],
        ]
        .iter()
        .map(|v| row(Vec::new(), &[Some(&values(*v))], 2))
        .collect();
        mark_pareto(&mut rows, &metrics);
        let marked: Vec<bool> = rows.iter().map(|r| r.is_pareto).collect();
        assert_eq!(marked, [true, true, false, true, true, false]);
    }

    #[test]
    fn seeds_are_summed_up() {
        let values = |value: f64| Outcome {
            metrics: vec![Some(value)],
            figures: BTreeMap::new(),
            failure: None,
        };
        let (a, b) = (values(1.0), values(4.0));
        let row = row(Vec::new(), &[Some(&a), None, Some(&b)], 1);
        let summary = Summary {
            mean: 2.5,
            low: 1.0,
            high: 4.0,
        };
        assert_eq!((row.metrics[0], row.points), (Some(summary), (2, 3)));
    }
}
