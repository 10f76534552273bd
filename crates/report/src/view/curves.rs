//! Plots of measurements over a quantity other than time. Curves over the same quantity, with the same name and unit,
//! share a plot; thresholds are marked in it.

use super::plot::{Axis, Kind, Line, Mark, Plot};
use super::statements::Paragraph;
use super::strip;
use super::table::{Samples, Table};
use crate::names::{Unique, capital, valid_name};
use crate::number::{short, with_unit};
use nandscope_result::{Curve, ResultDocument, StepResult, step_id};

/// Maximum number of lines in one plot; more cannot be distinguished.
const MOST_LINES: usize = 8;

/// The plots of one step, in the order of their first curves.
pub fn of_step(step: &StepResult, names: &mut Unique) -> Vec<Plot> {
    let mut groups: Vec<Vec<&Curve>> = Vec::new();
    let drawn = |c: &&Curve| has_points(c) && !strip::has_states(c);
    for curve in step.curves.iter().filter(drawn) {
        match groups
            .iter_mut()
            .find(|g| g.len() < MOST_LINES && g.first().is_some_and(|first| alike(first, curve)))
        {
            Some(group) => group.push(curve),
            None => groups.push(vec![curve]),
        }
    }
    groups.iter().map(|g| plot(step, g, names)).collect()
}

/// Paragraphs on the curves of a fullness sweep: the change from end to end, and the thresholds.
pub fn in_words(document: &ResultDocument) -> Vec<Paragraph> {
    let steps = document.steps.iter().filter(|s| s.id == step_id::FULLNESS);
    let all: Vec<&Curve> = steps.flat_map(|s| &s.curves).collect();
    let mut told: Vec<&Curve> = Vec::new();
    let mut paragraphs = Vec::new();
    let swept = |c: &&&Curve| c.threshold.is_some() || c.y_unit == "µs";
    for first in all.iter().filter(swept) {
        if told.iter().any(|c| alike(c, first)) {
            continue;
        }
        told.push(first);
        let group: Vec<&Curve> = all.iter().copied().filter(|c| alike(c, first)).collect();
        let change = range(group.iter().filter_map(|c| change(c)));
        let places = range(group.iter().filter_map(|c| c.threshold));
        let Some((least, most)) = change else {
            continue;
        };
        let found = group.iter().filter(|c| c.threshold.is_some()).count();
        let thresholds = match places {
            None => format!("none of {} curves has a threshold", group.len()),
            Some((low, high)) => format!(
                "{found} of {} curves have a threshold, at {}",
                group.len(),
                if low == high {
                    with_unit(low, &first.x_unit)
                } else {
                    format!("{} to {}", short(low), with_unit(high, &first.x_unit))
                }
            ),
        };
        let text = format!(
            "{} on the fullest device is {} times that on the emptiest; {thresholds}.",
            capital(&first.y_name),
            span(least, most)
        );
        paragraphs.push(Paragraph::new(&capital(&first.x_name), text));
    }
    paragraphs
}

/// Last value over first.
fn change(curve: &Curve) -> Option<f64> {
    let (first, last) = (curve.y.first()?, curve.y.last()?);
    let ratio = last / first;
    ratio.is_finite().then_some(ratio)
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range: Option<(f64, f64)>, v| {
        Some(range.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
    })
}

fn span(low: f64, high: f64) -> String {
    if low == high {
        short(low)
    } else {
        format!("{} to {}", short(low), short(high))
    }
}

/// The thresholds of a step in words: places, and the curves that have them there.
pub fn thresholds(curves: &[&Curve]) -> Vec<(f64, String)> {
    let mut places: Vec<(f64, Vec<&str>)> = Vec::new();
    for curve in curves {
        let Some(x) = curve.threshold.filter(|x| x.is_finite()) else {
            continue;
        };
        match places.iter_mut().find(|p| p.0 == x) {
            Some((_, names)) => names.push(&curve.name),
            None => places.push((x, vec![&curve.name])),
        }
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places
        .into_iter()
        .map(|(x, names)| (x, names.join("; ")))
        .collect()
}

fn has_points(curve: &Curve) -> bool {
    let mut pairs = curve.x.iter().zip(&curve.y);
    pairs.any(|(x, y)| x.is_finite() && y.is_finite())
}

fn alike(a: &Curve, b: &Curve) -> bool {
    (&a.x_name, &a.x_unit, &a.y_name, &a.y_unit) == (&b.x_name, &b.x_unit, &b.y_name, &b.y_unit)
}

fn plot(step: &StepResult, curves: &[&Curve], names: &mut Unique) -> Plot {
    // A place that is missing was not measured, whatever its neighbours' distance: no gap is drawn.
    let samples: Vec<Samples> = curves
        .iter()
        .map(|c| Samples {
            interval: 0.0,
            ..Samples::new(&c.x, &c.y, 0.0)
        })
        .collect();
    let table = Table::align(&samples);
    let (x, y) = curves.first().map_or_else(Default::default, |c| {
        (
            (c.x_name.clone(), c.x_unit.clone()),
            (c.y_name.clone(), c.y_unit.clone()),
        )
    });
    let title = capital(&format!("{} by {}", y.0, x.0));
    let marks = thresholds(curves)
        .into_iter()
        .map(|(at, of)| Mark {
            x: at,
            name: format!("Threshold at {}: {of}", with_unit(at, &x.1)),
        })
        .collect();
    Plot {
        id: names.unique(&format!("{} {title}", step.id)),
        title,
        kind: Kind::Curve,
        // Plots of a group share their axis, so that it must be of one quantity.
        group: valid_name(&format!("{} {} {} curves", step.id, x.0, x.1)),
        x: Axis {
            name: capital(&x.0),
            unit: x.1,
        },
        y: Axis {
            name: capital(&y.0),
            unit: y.1,
        },
        lines: curves
            .iter()
            .zip(&samples)
            .enumerate()
            .map(|(i, (c, s))| Line::over(&c.name, i % 8, i % 2 == 1, s))
            .collect(),
        bands: Vec::new(),
        rows_measured: table.xs.len(),
        table,
        marks,
        limits: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, unit: &str, threshold: Option<f64>) -> Curve {
        Curve {
            name: name.into(),
            x_name: "fullness".into(),
            x_unit: "%".into(),
            y_name: if unit == "µs" {
                "mean latency"
            } else {
                "bandwidth"
            }
            .into(),
            y_unit: unit.into(),
            x: vec![0.0, 50.0, 100.0],
            y: vec![10.0, 12.0, 40.0],
            threshold,
            ..Curve::default()
        }
    }

    #[test]
    fn curves_of_one_kind_share_a_plot_with_their_thresholds_marked() {
        let step = StepResult {
            id: "s".into(),
            curves: vec![
                curve("a", "µs", Some(100.0)),
                curve("b", "µs", Some(50.0)),
                curve("c", "µs", Some(100.0)),
                curve("d", "µs", None),
                curve("a", "MB/s", None),
            ],
            ..StepResult::default()
        };
        let plots = of_step(&step, &mut Unique::default());
        let titles: Vec<&str> = plots.iter().map(|p| p.title.as_str()).collect();
        assert_eq!(
            titles,
            ["Mean latency by fullness", "Bandwidth by fullness"]
        );
        assert_eq!(plots[0].x.label(), "Fullness (%)");
        assert_eq!(plots[0].lines.len(), 4);
        assert_eq!(plots[0].table.xs, [0.0, 50.0, 100.0]);
        let marks: Vec<(f64, &str)> = plots[0]
            .marks
            .iter()
            .map(|m| (m.x, m.name.as_str()))
            .collect();
        assert_eq!(
            marks,
            [
                (50.0, "Threshold at 50.0\u{202f}%: b"),
                (100.0, "Threshold at 100\u{202f}%: a; c")
            ]
        );
        assert!(plots[1].marks.is_empty());
    }

    #[test]
    fn the_story_says_where_the_thresholds_lie() {
        let mut document = crate::blank::document();
        document.steps = vec![StepResult {
            id: step_id::FULLNESS.into(),
            curves: vec![
                curve("a", "µs", Some(50.0)),
                curve("b", "µs", None),
                curve("a", "MB/s", None),
            ],
            ..StepResult::default()
        }];
        let told = in_words(&document);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].lead, "Fullness");
        assert_eq!(
            told[0].text,
            "Mean latency on the fullest device is 4.00 times that on the emptiest; 1 of 2 curves have a threshold, at 50.0\u{202f}%."
        );
    }

    #[test]
    fn a_curve_without_points_and_one_of_uneven_length_are_taken() {
        let mut short = curve("short", "µs", None);
        short.y.truncate(1);
        let mut none = curve("none", "µs", None);
        none.x.clear();
        let step = StepResult {
            curves: vec![none, short],
            ..StepResult::default()
        };
        let plots = of_step(&step, &mut Unique::default());
        assert_eq!(plots.len(), 1);
        assert_eq!(plots[0].lines.len(), 1);
        assert_eq!(plots[0].table.xs, [0.0]);
    }
}
