//! The page of a sweep: its configurations as parallel coordinates, the effect of each parameter on each metric, and
//! the table, with the Pareto front marked. The caller provides measurements and front.

mod drawing;

use crate::encode;
use crate::error::Result;
use crate::html::{SCRIPT, STYLE, THEME_SCRIPT};
use crate::number::{short, with_unit};
use askama::Template;
use drawing::{Coordinates, Effect};

/// Styles of this page, after those of all pages.
const SWEEP_STYLE: &str = include_str!("../../assets/sweep.css");
/// Configurations in the table of the page; the files have all.
const MOST_ROWS: usize = 500;

/// A metric that is drawn over the parameters of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepMetric {
    /// Title of the metric.
    pub name: String,
    /// Its unit; empty for a ratio.
    pub unit: String,
    /// `lower` or `higher`; `None` if neither is better.
    pub better: Option<&'static str>,
}

impl SweepMetric {
    /// Name and unit.
    fn label(&self) -> String {
        match self.unit.as_str() {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }
}

/// A configuration with its metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepRow {
    /// Values of the parameters.
    pub values: Vec<String>,
    /// Mean, least and greatest value of each metric over the seeds; `None` if no seed has a value.
    pub metrics: Vec<Option<[f64; 3]>>,
    /// No other configuration is better in one metric and as good in all others.
    pub is_pareto: bool,
    /// Remark, such as why the point failed; may be empty.
    pub note: String,
}

/// A sweep for people.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepReport {
    /// Heading.
    pub title: String,
    /// Description of the sweep, in a sentence.
    pub description: String,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Metrics, a column each.
    pub metrics: Vec<SweepMetric>,
    /// Configurations, a row each.
    pub rows: Vec<SweepRow>,
    /// Circumstances for the end of the page: name and value.
    pub facts: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "sweep.html")]
struct Page<'a> {
    report: &'a SweepReport,
    coordinates: Coordinates,
    effects: Vec<Effect>,
    rows: &'a [SweepRow],
    style: &'static str,
    sweep_style: &'static str,
    script: &'static str,
    theme_script: &'static str,
}

impl Page<'_> {
    fn cell(&self, value: &Option<[f64; 3]>) -> String {
        match value {
            None => "–".to_string(),
            Some([mean, low, high]) if low == high => short(*mean),
            Some([mean, low, high]) => {
                format!("{} ({} to {})", short(*mean), short(*low), short(*high))
            }
        }
    }

    /// The best configuration of each metric, in words.
    fn best(&self) -> Vec<String> {
        (0..self.report.metrics.len())
            .filter_map(|m| best(self.report, m))
            .collect()
    }

    fn omitted(&self) -> usize {
        self.report.rows.len() - self.rows.len()
    }
}

/// Relative difference from the best value below which a value counts as equally good.
const AS_GOOD: f64 = 0.01;

/// Text such as `iops 555 033 IOPS with controller.cores = 2, job.iodepth = 64`; `None` if neither direction is better
/// or all values are within 1 % of the best.
fn best(report: &SweepReport, m: usize) -> Option<String> {
    let metric = &report.metrics[m];
    let higher = metric.better? == "higher";
    let values = report.rows.iter().filter_map(|row| {
        let [mean, ..] = row.metrics.get(m).copied().flatten()?;
        Some((row, mean))
    });
    let values: Vec<(&SweepRow, f64)> = values.collect();
    let (row, best) = values.iter().copied().reduce(|a, b| {
        let is_better = if higher { b.1 > a.1 } else { b.1 < a.1 };
        if is_better { b } else { a }
    })?;
    let as_good = |value: f64| (value - best).abs() <= AS_GOOD * best.abs();
    let others = values.iter().filter(|(_, v)| as_good(*v)).count() - 1;
    if others + 1 == values.len() {
        return None;
    }
    let names = report.parameters.iter().zip(&row.values);
    let place: Vec<String> = names.map(|(name, v)| format!("{name} = {v}")).collect();
    let place = match others {
        0 => place.join(", "),
        1 => format!("{} (1 other within 1\u{202f}%)", place.join(", ")),
        n => format!("{} ({n} others within 1\u{202f}%)", place.join(", ")),
    };
    let word = if higher { "Highest" } else { "Lowest" };
    let value = with_unit(best, &metric.unit);
    Some(format!(
        "{word} {}: {} with {place}.",
        metric.name,
        value.trim_end()
    ))
}

/// The sweep as one self-contained page.
///
/// # Errors
/// `ReportError` if the template cannot be filled in.
pub fn html(report: &SweepReport) -> Result<String> {
    let page = Page {
        report,
        coordinates: drawing::coordinates(report),
        effects: drawing::effects(report),
        rows: &report.rows[..report.rows.len().min(MOST_ROWS)],
        style: STYLE,
        sweep_style: SWEEP_STYLE,
        script: SCRIPT,
        theme_script: THEME_SCRIPT,
    };
    Ok(encode::for_markup(page.render()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_escaped_and_the_front_is_marked() {
        let row = |value: &str, p99: Option<f64>, is_pareto| SweepRow {
            values: vec![value.to_string(), "<b>".to_string()],
            metrics: vec![p99.map(|v| [v, v, v + 1.0]), Some([1.0; 3])],
            is_pareto,
            note: String::new(),
        };
        let metric = |name: &str, unit: &str| SweepMetric {
            name: name.to_string(),
            unit: unit.to_string(),
            better: Some("lower"),
        };
        let report = SweepReport {
            title: "Sweep of <device>".to_string(),
            description: "2 configurations".to_string(),
            parameters: vec!["controller.cores".to_string(), "job.rw".to_string()],
            metrics: vec![metric("p99", "µs"), metric("waf", "")],
            rows: vec![
                row("1", Some(50.0), true),
                row("2", Some(90.0), false),
                row("4", None, false),
            ],
            facts: vec![("Seed".to_string(), "1".to_string())],
        };
        let page = html(&report).unwrap();
        assert!(!page.contains("<device>") && !page.contains("<b>"));
        assert_eq!(page.matches("class=\"line front\"").count(), 1);
        assert!(page.contains("Lowest p99: 50.0\u{202f}µs with controller.cores = 1, job.rw ="));
        // All configurations have equal values.
        assert!(!page.contains("Lowest waf"));
        // The third row lacks a metric: no line.
        assert_eq!(page.matches("class=\"line").count(), 2);
        assert!(page.contains("p99 (µs)") && page.contains("50.0 (50.0 to 51.0)"));
        // A panel for each metric and each parameter that varies.
        assert_eq!(page.matches("class=\"sweep-plot effect\"").count(), 2);
        let (_, drawn) = page.split_once("<main>").unwrap();
        let (drawn, _) = drawn.split_once("<script>").unwrap();
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    }
}
