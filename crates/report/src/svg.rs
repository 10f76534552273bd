//! Plots as SVG files, for documents that take no script: light theme, axes with units, a legend.
//! The page does not use them.

use crate::encode::for_markup;
use crate::error::{ReportError, Result};
use crate::number::{short, tick_step};
use crate::view::plot::{Kind, Plot};
use crate::view::table::Cell;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Width and height of a plot, pixels.
const SIZE: (u32, u32) = (960, 420);
/// Height of one line of the legend, pixels.
const LEGEND_LINE: i32 = 20;
/// Colours of the page's light theme.
pub(crate) const COLOURS: [RGBColor; 8] = [
    RGBColor(0x0b, 0x5f, 0xb0),
    RGBColor(0xc2, 0x41, 0x0c),
    RGBColor(0x0f, 0x76, 0x6e),
    RGBColor(0xb9, 0x1c, 0x5c),
    RGBColor(0x6d, 0x39, 0xd6),
    RGBColor(0x8a, 0x5a, 0x00),
    RGBColor(0x4a, 0x74, 0x11),
    RGBColor(0x86, 0x19, 0x8f),
];
pub(crate) const INK: RGBColor = RGBColor(0x17, 0x1b, 0x21);
pub(crate) const GRID: RGBColor = RGBColor(0xe3, 0xe8, 0xee);

/// Draws a plot. `heading` stands above it, such as the title of the step and the mode.
///
/// # Errors
/// Where the drawing library fails.
pub(crate) fn plot(plot: &Plot, heading: &str) -> Result<String> {
    let mut text = String::new();
    draw(plot, heading, &mut text).map_err(|e| ReportError::Draw {
        plot: plot.id.clone(),
        reason: e.to_string(),
    })?;
    Ok(for_markup(text))
}

type DrawResult = std::result::Result<(), Box<dyn std::error::Error>>;

fn draw(plot: &Plot, heading: &str, text: &mut String) -> DrawResult {
    let named = plot.lines.iter().filter(|l| !l.edge).count();
    let rows = named.div_ceil(3) as i32;
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    root.draw_text(heading, &font(17, HPos::Left), (16, 10))?;
    let (field, legend) = root
        .margin(34, 4, 8, 20)
        .split_vertically(SIZE.1 as i32 - 42 - rows * LEGEND_LINE);
    let Some((least, greatest)) = plot.range() else {
        root.draw_text("no values", &font(15, HPos::Left), (60, 60))?;
        root.present()?;
        return Ok(());
    };
    let (xs, ys) = (x_range(plot), y_range(plot, least, greatest));
    let log = plot.kind == Kind::Percentile;
    let mut chart = ChartBuilder::on(&field)
        .x_label_area_size(48)
        .y_label_area_size(74)
        .build_cartesian_2d(xs.0..xs.1, ys.0..ys.1)?;
    let ticks = if log { (ys.1 - ys.0) as usize + 1 } else { 6 };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .x_desc(plot.x.label())
        .y_desc(plot.y.label())
        .axis_desc_style(font(14, HPos::Center))
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .x_labels(if log { 8 } else { 10 })
        .y_labels(ticks)
        .x_label_formatter(&|x| if log { percentile(*x) } else { plain(*x) })
        .y_label_formatter(&|y| {
            if log {
                plain(libm::pow(10.0, *y))
            } else {
                plain(*y)
            }
        })
        .draw()?;
    for band in &plot.bands {
        let edge = |i: usize| {
            let column = plot.table.columns.get(i).map(Vec::as_slice);
            let run = |c| runs(&plot.table.xs, c, log).into_iter().flatten();
            column.map(run).into_iter().flatten().collect::<Vec<_>>()
        };
        let colour = plot.lines.get(band.low).map_or(0, |l| l.colour);
        let around: Vec<_> = edge(band.low)
            .into_iter()
            .chain(edge(band.high).into_iter().rev())
            .collect();
        let fill = COLOURS[colour % 8].mix(0.22).filled();
        chart.draw_series(std::iter::once(Polygon::new(around, fill)))?;
    }
    for (line, column) in plot
        .lines
        .iter()
        .zip(&plot.table.columns)
        .filter(|(l, _)| !l.edge)
    {
        let style = COLOURS[line.colour % 8].stroke_width(2);
        for run in runs(&plot.table.xs, column, log) {
            if plot.kind == Kind::Points {
                let colour = COLOURS[line.colour % 8].filled();
                let dots = run.into_iter().map(|at| Circle::new(at, 2, colour));
                chart.draw_series(dots)?;
            } else if line.dashed {
                chart.draw_series(DashedLineSeries::new(run, 7, 4, style))?;
            } else {
                chart.draw_series(LineSeries::new(run, style))?;
            }
        }
    }
    if plot.kind == Kind::Curve {
        for mark in &plot.marks {
            let line = vec![(mark.x, ys.0), (mark.x, ys.1)];
            chart.draw_series(DashedLineSeries::new(line, 2, 4, INK.stroke_width(1)))?;
            // The place alone: the rest of the name stands in the report.
            let place = mark.name.split(':').next().unwrap_or_default();
            let style = font(12, HPos::Right);
            chart.draw_series(std::iter::once(Text::new(
                place.to_string(),
                (mark.x, ys.1),
                style,
            )))?;
        }
    }
    draw_legend(plot, &legend)?;
    root.present()?;
    Ok(())
}

pub(crate) fn font(size: i32, h: HPos) -> TextStyle<'static> {
    ("sans-serif", size)
        .into_font()
        .color(&INK)
        .pos(Pos::new(h, VPos::Top))
}

/// Three names to a line beneath the plot, each behind a piece of its line.
fn draw_legend<DB: DrawingBackend>(
    plot: &Plot,
    area: &DrawingArea<DB, plotters::coord::Shift>,
) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    for (i, line) in plot.lines.iter().filter(|l| !l.edge).enumerate() {
        let (x, y) = (78 + (i as i32 % 3) * 290, (i as i32 / 3) * LEGEND_LINE);
        let style = COLOURS[line.colour % 8].stroke_width(3);
        let pieces: &[(i32, i32)] = if line.dashed {
            &[(0, 9), (15, 24)]
        } else {
            &[(0, 24)]
        };
        for (from, to) in pieces {
            area.draw(&PathElement::new(
                vec![(x + from, y + 9), (x + to, y + 9)],
                style,
            ))?;
        }
        let name: String = line.name.chars().take(38).collect();
        area.draw_text(&name, &font(14, HPos::Left), (x + 32, y + 2))?;
    }
    Ok(())
}

/// The stretches of a line without a break in them; on a logarithmic axis the logarithm.
fn runs(xs: &[f64], column: &[Cell], log: bool) -> Vec<Vec<(f64, f64)>> {
    let mut runs = vec![Vec::new()];
    for (x, cell) in xs.iter().zip(column) {
        match cell {
            Cell::Gap => runs.push(Vec::new()),
            Cell::Absent => {}
            Cell::Value(v) => {
                if let Some(run) = runs.last_mut() {
                    run.push((*x, if log { libm::log10(v.max(1e-9)) } else { *v }));
                }
            }
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn x_range(plot: &Plot) -> (f64, f64) {
    let first = plot.table.xs.first().copied().unwrap_or(0.0);
    let last = plot.table.xs.last().copied().unwrap_or(1.0);
    let start = if plot.kind == Kind::Percentile {
        0.0
    } else {
        first
    };
    if last > start {
        (start, last)
    } else {
        (start, start + 1.0)
    }
}

/// From zero for quantities that are a rate, with room around temperatures, whole decades on a
/// logarithmic axis.
fn y_range(plot: &Plot, least: f64, greatest: f64) -> (f64, f64) {
    if plot.kind == Kind::Percentile {
        let low = libm::floor(libm::log10(least.max(1e-9)));
        let high = libm::ceil(libm::log10(greatest.max(1e-9)));
        return (low, if high > low { high } else { low + 1.0 });
    }
    let step = tick_step(greatest - least.min(0.0), 5);
    if plot.y.unit == "°C" {
        return (libm::floor(least - 1.0), libm::ceil(greatest + 1.0));
    }
    let high = libm::ceil(greatest * 1.02 / step) * step;
    let low = if least < 0.0 {
        libm::floor(least / step) * step
    } else {
        0.0
    };
    if high > low {
        (low, high)
    } else {
        (low, low + 1.0)
    }
}

fn percentile(nines: f64) -> String {
    let p = 100.0 * (1.0 - libm::pow(10.0, -nines));
    let digits = (libm::ceil(nines) as usize).saturating_sub(1).min(6);
    let text = format!("{p:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// A tick without needless zeros.
fn plain(v: f64) -> String {
    let text = short(v);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Unique;
    use crate::view::{percentile as latencies, time};
    use nandscope_result::{DirectionResult, JobResult, Latency, Series, StepResult};

    fn step() -> StepResult {
        StepResult {
            id: "s".into(),
            end_s: 30.0,
            series: vec![Series {
                name: "<b>\"write\" & bandwidth".into(),
                unit: "MB/s".into(),
                interval_s: 1.0,
                t_s: vec![1.0, 2.0, 30.0],
                v: vec![100.0, 50.0, 70.0],
            }],
            jobs: vec![JobResult {
                name: "j".into(),
                directions: vec![DirectionResult {
                    kind: "read".into(),
                    latency: Latency {
                        percentiles: vec![(50.0, 90_000), (99.0, 500_000), (99.9, 4_000_000)],
                        ..Latency::default()
                    },
                    ..DirectionResult::default()
                }],
                ..JobResult::default()
            }],
            ..StepResult::default()
        }
    }

    #[test]
    fn colours_are_those_of_the_page() {
        let style = include_str!("../assets/report.css");
        for (i, RGBColor(r, g, b)) in COLOURS.iter().enumerate() {
            let colour = format!("--c{i}: #{r:02x}{g:02x}{b:02x};");
            let first = style.find(&format!("--c{i}:")).unwrap();
            assert!(style[first..].starts_with(&colour), "{colour}");
        }
    }

    #[test]
    fn draws_axes_with_units_and_escapes_names() {
        let plots = time::of_step(&step(), &mut Unique::default());
        let text = plot(&plots[0], "A <step>").unwrap();
        assert!(text.contains("Time since start of step (s)"));
        assert!(text.contains("(MB/s)"));
        assert!(!text.contains("<b>") && !text.contains("A <step>"));
        // A single sample behind the gap draws no line; the first two do.
        assert!(text.contains("<polyline"));
    }

    #[test]
    fn latencies_stand_over_percentiles() {
        let plots = latencies::of_step(&step(), &mut Unique::default());
        let text = plot(&plots[0], "A").unwrap();
        assert!(
            text.contains("Latency (µs)") && text.contains("99.9"),
            "{text}"
        );
    }

    #[test]
    fn ticks() {
        for (nines, shown) in [
            (0.0, "0"),
            (1.0, "90"),
            (2.0, "99"),
            (3.0, "99.9"),
            (4.0, "99.99"),
        ] {
            assert_eq!(percentile(nines), shown);
        }
        assert_eq!(plain(0.5), "0.5");
        assert_eq!(plain(1000.0), "1000");
    }
}
