//! The drawings of a sweep: where lines, dots and ticks are. Lengths are in units of the view box.

use super::SweepReport;
use crate::number::{short, tick_step};
use nandscope_units::number::round_significant;
use std::fmt::Write as _;

/// Height of the axes of the parallel coordinates, and the room above and below them.
const HEIGHT: f64 = 260.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 24.0;
/// Distance of two axes.
const STEP: f64 = 150.0;
/// Margin beside the first and the last axis.
const SIDE: f64 = 75.0;
/// Width and height of the panel of an effect, and the room around it.
const PANEL: (f64, f64) = (300.0, 190.0);
const MARGIN: (f64, f64) = (44.0, 26.0);
/// Width of a character of a tick.
const CHARACTER: f64 = 6.6;
/// Largest number of values for which a parameter has a line of means.
const MOST_MEANS: usize = 12;
/// Ticks of an axis of numbers.
const TICKS: usize = 3;
/// Maximum length of a number as a tick; longer ones come from a sampled range.
const LONGEST_NUMBER: usize = 7;
/// Minimum vertical distance of two ticks.
const LINE: f64 = 13.0;

/// An axis of the parallel coordinates.
pub struct AxisDrawing {
    pub x: f64,
    pub label: String,
    /// Direction that is better; empty if neither.
    pub better: String,
    /// Place and text.
    pub ticks: Vec<(f64, String)>,
}

/// A configuration in the parallel coordinates.
pub struct LineDrawing {
    /// Points of the polyline.
    pub points: String,
    pub is_pareto: bool,
    /// All values of the line, in words.
    pub title: String,
}

/// The parallel coordinates.
pub struct Coordinates {
    pub width: f64,
    pub height: f64,
    pub top: f64,
    pub bottom: f64,
    pub axes: Vec<AxisDrawing>,
    /// Lines of all configurations, those of the Pareto front last, so that they are on top.
    pub lines: Vec<LineDrawing>,
}

/// The effect of a parameter on a metric.
pub struct Effect {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub left: f64,
    pub bottom: f64,
    pub parameter: String,
    pub metric: String,
    pub x_ticks: Vec<(f64, String)>,
    pub y_ticks: Vec<(f64, String)>,
    /// Position of each configuration, and whether it is on the Pareto front.
    pub dots: Vec<(f64, f64, bool)>,
    /// Points of the polyline of means; empty if there are too many values.
    pub means: String,
}

/// Scale of values to 0 to 1.
struct Scale {
    /// Least and greatest number; `None` for a list of texts.
    range: Option<(f64, f64)>,
    texts: Vec<String>,
}

impl Scale {
    fn of_texts(values: impl Iterator<Item = String>) -> Scale {
        let mut texts: Vec<String> = Vec::new();
        for value in values {
            if !texts.contains(&value) {
                texts.push(value);
            }
        }
        let numbers: Option<Vec<f64>> = texts.iter().map(|t| number(t)).collect();
        Scale {
            range: numbers.and_then(|n| range(n.into_iter())),
            texts,
        }
    }

    fn of_numbers(values: impl Iterator<Item = f64>) -> Scale {
        Scale {
            range: Some(range(values).unwrap_or((0.0, 1.0))),
            texts: Vec::new(),
        }
    }

    fn at_number(&self, value: f64) -> f64 {
        match self.range {
            Some((low, high)) if high > low => (value - low) / (high - low),
            _ => 0.5,
        }
    }

    fn at(&self, text: &str) -> f64 {
        if let (Some(_), Some(value)) = (self.range, number(text)) {
            return self.at_number(value);
        }
        let place = self.texts.iter().position(|t| t == text).unwrap_or(0);
        match self.texts.len() {
            0 | 1 => 0.5,
            n => place as f64 / (n - 1) as f64,
        }
    }

    /// Places from 0 to 1, and texts.
    fn ticks(&self) -> Vec<(f64, String)> {
        let is_short = |text: &String| text.len() <= LONGEST_NUMBER;
        let few = (1..=MOST_MEANS).contains(&self.texts.len()) && self.texts.iter().all(is_short);
        match self.range {
            Some((low, high)) if !few => {
                let count = if high > low { TICKS } else { 1 };
                let tick = |n: usize| low + (high - low) * n as f64 / (TICKS - 1) as f64;
                (0..count)
                    .map(|n| (self.at_number(tick(n)), short(tick(n))))
                    .collect()
            }
            _ => self.texts.iter().map(|t| (self.at(t), t.clone())).collect(),
        }
    }
}

/// Ticks of an axis of metrics at round numbers; as [`Scale::ticks`] if there are fewer than two.
fn round_ticks(scale: &Scale) -> Vec<(f64, String)> {
    let Some((low, high)) = scale.range.filter(|(low, high)| high > low) else {
        return scale.ticks();
    };
    let step = tick_step(high - low, TICKS);
    let first = libm::ceil(low / step - 1e-9);
    let places = (0..=2 * TICKS).map(|n| round_significant((first + n as f64) * step, 12));
    let ticks: Vec<(f64, String)> = places
        .take_while(|at| *at <= high + 1e-9 * step)
        .map(|at| (scale.at_number(at), short(at)))
        .collect();
    match ticks.len() {
        0 | 1 => scale.ticks(),
        _ => ticks,
    }
}

/// The ticks that do not overlap on an axis of this length; `room` is the length that a text needs.
fn clear(
    mut ticks: Vec<(f64, String)>,
    length: f64,
    room: impl Fn(&str) -> f64,
) -> Vec<(f64, String)> {
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_clear = |a: &(f64, String), b: &(f64, String)| {
        (b.0 - a.0) * length >= (room(&a.1) + room(&b.1)) / 2.0
    };
    let last = ticks.last().cloned();
    let mut kept: Vec<(f64, String)> = Vec::new();
    for tick in ticks {
        // Labels at the ends of the axis take precedence over those in between.
        let ends = last
            .iter()
            .all(|last| *last == tick || is_clear(&tick, last));
        let follows = kept.last().is_none_or(|before| is_clear(before, &tick));
        if follows && ends || kept.is_empty() {
            kept.push(tick);
        }
    }
    kept
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|v| v.is_finite())
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .map(|v| (v, v))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

fn parameter_scales(report: &SweepReport) -> Vec<Scale> {
    let values = |n: usize| {
        report
            .rows
            .iter()
            .filter_map(move |r| r.values.get(n).cloned())
    };
    let scales = 0..report.parameters.len();
    scales.map(|n| Scale::of_texts(values(n))).collect()
}

fn metric_scales(report: &SweepReport) -> Vec<Scale> {
    let means = |n: usize| {
        let rows = report.rows.iter();
        rows.filter_map(move |r| r.metrics.get(n).copied().flatten().map(|m| m[0]))
    };
    let scales = 0..report.metrics.len();
    scales.map(|n| Scale::of_numbers(means(n))).collect()
}

/// Axes for parameters and metrics, a line for each configuration that has all metrics.
pub fn coordinates(report: &SweepReport) -> Coordinates {
    let (parameters, metrics) = (parameter_scales(report), metric_scales(report));
    let labels = report.parameters.iter().map(|p| (p.clone(), String::new()));
    let measured = report.metrics.iter().map(|m| {
        let better = m.better.map(|b| format!("{b} is better"));
        (m.label(), better.unwrap_or_default())
    });
    let scales = parameters.iter().chain(&metrics);
    let axes = labels.chain(measured).zip(scales).enumerate();
    let axes: Vec<AxisDrawing> = axes
        .map(|(n, ((label, better), scale))| AxisDrawing {
            x: SIDE + n as f64 * STEP,
            label,
            better,
            ticks: clear(scale.ticks(), HEIGHT, |_| LINE)
                .into_iter()
                .map(|(at, text)| (height(at), text))
                .collect(),
        })
        .collect();
    let mut lines: Vec<LineDrawing> = report
        .rows
        .iter()
        .filter_map(|row| {
            let means: Option<Vec<f64>> = row.metrics.iter().map(|m| m.map(|m| m[0])).collect();
            let means = means?;
            let values = row.values.iter().zip(&parameters).map(|(v, s)| s.at(v));
            let measured = means.iter().zip(&metrics).map(|(v, s)| s.at_number(*v));
            let mut points = String::new();
            for (at, axis) in values.chain(measured).zip(&axes) {
                let _ = write!(points, "{:.1},{:.1} ", axis.x, height(at));
            }
            let names = axes.iter().map(|a| a.label.as_str());
            let texts = row
                .values
                .iter()
                .cloned()
                .chain(means.iter().map(|m| short(*m)));
            let title: Vec<String> = names.zip(texts).map(|(n, t)| format!("{n}: {t}")).collect();
            Some(LineDrawing {
                points: points.trim_end().to_string(),
                is_pareto: row.is_pareto,
                title: title.join(", "),
            })
        })
        .collect();
    lines.sort_by_key(|line| line.is_pareto);
    Coordinates {
        width: 2.0 * SIDE + axes.len().saturating_sub(1) as f64 * STEP,
        height: TOP + HEIGHT + BOTTOM,
        top: TOP,
        bottom: TOP + HEIGHT,
        axes,
        lines,
    }
}

fn height(at: f64) -> f64 {
    TOP + HEIGHT * (1.0 - at)
}

/// A panel for each parameter that varies and each metric.
pub fn effects(report: &SweepReport) -> Vec<Effect> {
    let (parameters, metrics) = (parameter_scales(report), metric_scales(report));
    let mut effects = Vec::new();
    for (m, y) in metrics.iter().enumerate() {
        for (p, x) in parameters
            .iter()
            .enumerate()
            .filter(|(_, x)| x.texts.len() > 1)
        {
            effects.push(effect(report, (p, x), (m, y)));
        }
    }
    effects
}

fn effect(report: &SweepReport, (p, x): (usize, &Scale), (m, y): (usize, &Scale)) -> Effect {
    let y_ticks = round_ticks(y);
    let longest = y_ticks.iter().map(|(_, t)| t.chars().count()).max();
    let left = MARGIN.0.max(longest.unwrap_or(0) as f64 * CHARACTER + 10.0);
    let bottom = PANEL.1 - MARGIN.1;
    let (width, tall) = (PANEL.0 - left - 24.0, bottom - 12.0);
    let across = |at: f64| left + 12.0 + at * (width - 12.0);
    let up = |at: f64| bottom - 6.0 - at * (tall - 6.0);
    let mut dots = Vec::new();
    for row in &report.rows {
        if let (Some(value), Some(Some(metric))) = (row.values.get(p), row.metrics.get(m)) {
            let place = (across(x.at(value)), up(y.at_number(metric[0])));
            dots.push((place.0, place.1, row.is_pareto));
        }
    }
    let mut means = String::new();
    if x.texts.len() <= MOST_MEANS {
        let mut texts: Vec<&String> = x.texts.iter().collect();
        texts.sort_by(|a, b| x.at(a).total_cmp(&x.at(b)));
        for text in texts {
            let of_value = report.rows.iter().filter(|r| r.values.get(p) == Some(text));
            let values: Vec<f64> = of_value
                .filter_map(|r| r.metrics.get(m).copied().flatten().map(|v| v[0]))
                .collect();
            if !values.is_empty() {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let _ = write!(
                    means,
                    "{:.1},{:.1} ",
                    across(x.at(text)),
                    up(y.at_number(mean))
                );
            }
        }
    }
    let (parameter, metric) = (report.parameters[p].clone(), report.metrics[m].label());
    Effect {
        title: format!("{metric} by {parameter}"),
        width: PANEL.0,
        height: PANEL.1,
        left,
        bottom,
        x_ticks: clear(x.ticks(), width - 12.0, |text| {
            (text.chars().count() + 1) as f64 * CHARACTER
        })
        .into_iter()
        .map(|(at, t)| (across(at), t))
        .collect(),
        y_ticks: y_ticks.into_iter().map(|(at, t)| (up(at), t)).collect(),
        parameter,
        metric,
        dots,
        means: means.trim_end().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(values: &[&str], length: f64) -> Vec<String> {
        let scale = Scale::of_texts(values.iter().map(|v| v.to_string()));
        let clear = clear(scale.ticks(), length, |text| text.len() as f64);
        clear.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn metrics_have_ticks_at_round_numbers() {
        let texts = |low: f64, high: f64| -> Vec<String> {
            let scale = Scale::of_numbers([low, high].into_iter());
            let ticks = round_ticks(&scale).into_iter();
            ticks.map(|(_, t)| t.replace('\u{202f}', " ")).collect()
        };
        assert_eq!(texts(14_379.0, 555_033.0), ["200 000", "400 000"]);
        assert_eq!(texts(79.3, 343.0), ["100", "200", "300"]);
        assert_eq!(texts(5.0, 5.0), ["5.00"]);
        assert!(texts(1.0, 1.0 + 1e-9).len() >= 2);
    }

    #[test]
    fn ticks_do_not_overlap_and_have_the_ends() {
        assert_eq!(ticks(&["1", "2", "4"], 100.0), ["1", "2", "4"]);
        assert_eq!(ticks(&["1", "2", "3", "64"], 50.0), ["1", "3", "64"]);
        assert_eq!(ticks(&["64", "1", "63"], 50.0), ["1", "64"]);
        assert_eq!(ticks(&["b", "a"], 0.5), ["b"]);
        // Drawn from a range: three round numbers.
        let drawn = ["0.07551215464163819", "0.38449260691755244", "0.2"];
        assert_eq!(ticks(&drawn, 100.0).len(), 3);
        assert!(ticks(&drawn, 100.0).iter().all(|text| text.len() <= 6));
    }
}
