//! A bar of a figure, and the axis of a chart: its unit, end and ticks, and where bars end on it.

use super::{Bar, BarChart, BarRow};
use crate::number::{short, tick_step, with_unit};
use nandscope_result::Figure;

pub(super) fn bar(figure: &Figure, mode: Option<&str>, modes: &[String]) -> Bar {
    let repeats = match (figure.low, figure.high) {
        // Repeats that are printed like the value are left out.
        (Some(low), Some(high))
            if low.is_finite() && high.is_finite() && low <= high && short(low) != short(high) =>
        {
            Some((low, high))
        }
        _ => None,
    };
    Bar {
        mode: mode.map(str::to_string),
        mode_index: modes
            .iter()
            .position(|m| Some(m.as_str()) == mode)
            .unwrap_or(0),
        value: figure.value,
        text: with_unit(figure.value, &figure.unit),
        repeats,
        published: figure
            .published
            .as_ref()
            .map(|p| p.value)
            .filter(|v| v.is_finite()),
        limit: None,
        length: String::new(),
        whisker: None,
        published_at: None,
        limit_at: None,
        note: String::new(),
    }
}

/// The bar of a value without repeats or publication.
pub(super) fn bar_of(value: f64, unit: &str) -> Bar {
    let figure = Figure {
        value,
        unit: unit.to_string(),
        ..Figure::default()
    };
    bar(&figure, None, &[])
}

/// From here on microseconds are shown as milliseconds.
const LONG_US: f64 = 10_000.0;

/// Shows long latencies in milliseconds; other units are unchanged.
fn readable_unit<'a>(unit: &'a str, rows: &mut [BarRow]) -> &'a str {
    let bars = || rows.iter().flat_map(|r| &r.bars);
    if unit != "µs" || bars().all(|b| b.value < LONG_US) {
        return unit;
    }
    for bar in rows.iter_mut().flat_map(|r| &mut r.bars) {
        bar.value /= 1e3;
        bar.repeats = bar.repeats.map(|(low, high)| (low / 1e3, high / 1e3));
        bar.published = bar.published.map(|p| p / 1e3);
        bar.text = with_unit(bar.value, "ms");
    }
    "ms"
}

/// Lays out the bars over an axis that includes the longest of them.
pub(super) fn chart(title: &str, unit: &str, mut rows: Vec<BarRow>) -> BarChart {
    let unit = readable_unit(unit, &mut rows);
    let longest = rows
        .iter()
        .flat_map(|r| &r.bars)
        .flat_map(|b| {
            [
                b.value,
                b.repeats.map_or(0.0, |r| r.1),
                b.published.unwrap_or(0.0),
                b.limit.unwrap_or(0.0),
            ]
        })
        .fold(0.0, f64::max);
    // Many long numbers would overlap.
    let step = tick_step(longest, if longest >= 10_000.0 { 2 } else { 4 });
    let end = if longest > 0.0 {
        libm::ceil(longest / step - 1e-9) * step
    } else {
        1.0
    };
    let percent = |v: f64| (v / end * 100.0).clamp(0.0, 100.0);
    for bar in rows.iter_mut().flat_map(|r| &mut r.bars) {
        bar.length = format!("{:.2}", percent(bar.value));
        bar.whisker = bar.repeats.map(|(low, high)| {
            (
                format!("{:.2}", percent(low)),
                format!("{:.2}", percent(high) - percent(low)),
            )
        });
        bar.published_at = bar.published.map(|p| format!("{:.2}", percent(p)));
        bar.limit_at = bar.limit.map(|l| format!("{:.2}", percent(l)));
    }
    let count = libm::round(end / step) as usize;
    let ticks = (0..=count.min(8))
        .map(|i| {
            (
                format!("{:.2}", percent(i as f64 * step)),
                axis_number(i as f64 * step),
            )
        })
        .collect();
    BarChart {
        title: title.to_string(),
        unit: unit.to_string(),
        rows,
        end,
        ticks,
    }
}

/// A round number without the digits that [`short`] would add.
fn axis_number(value: f64) -> String {
    let text = short(value);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}
