//! Draws plots for files, for documents that take no script: light theme, axes with units, a legend.
//! The page does not use them.

use crate::picture::{DrawResult, Drawable};
use crate::view::axes::{Axes, Scale};
use crate::view::plot::{Kind, Plot};
use crate::view::table::Cell;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Width and height of a plot, pixels.
const SIZE: (u32, u32) = (960, 420);
/// Height of one line of the legend, then width of the legend, pixels.
const LEGEND_LINE: i32 = 20;
const LEGEND_WIDTH: i32 = 870;
/// Colours of the page's light theme.
pub(crate) const COLOURS: [RGBColor; 8] = [
    colour("--c0: #"),
    colour("--c1: #"),
    colour("--c2: #"),
    colour("--c3: #"),
    colour("--c4: #"),
    colour("--c5: #"),
    colour("--c6: #"),
    colour("--c7: #"),
];
pub(crate) const INK: RGBColor = colour("--ink: #");
pub(crate) const GRID: RGBColor = colour("--grid: #");

/// A colour of the page's style, of which the light theme is the first; evaluated by the compiler, which refuses a
/// style without it.
pub(crate) const fn colour(name: &str) -> RGBColor {
    let style = include_str!("../assets/report.css").as_bytes();
    let name = name.as_bytes();
    let mut at = 0;
    loop {
        let mut same = 0;
        while same < name.len() && style[at + same] == name[same] {
            same += 1;
        }
        if same == name.len() {
            let digits = at + same;
            return RGBColor(
                hexadecimal(style, digits),
                hexadecimal(style, digits + 2),
                hexadecimal(style, digits + 4),
            );
        }
        at += 1;
    }
}

const fn hexadecimal(text: &[u8], at: usize) -> u8 {
    let mut value = 0;
    let mut i = at;
    while i < at + 2 {
        let digit = match text[i] {
            c @ b'0'..=b'9' => c - b'0',
            c @ b'a'..=b'f' => c - b'a' + 10,
            _ => panic!("a colour of the style has six hexadecimal digits"),
        };
        value = value * 16 + digit;
        i += 1;
    }
    value
}

impl Drawable for Plot {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw<DB: DrawingBackend>(&self, heading: &str, root: &DrawingArea<DB, Shift>) -> DrawResult
    where
        DB::ErrorType: 'static,
    {
        draw(self, heading, root)
    }
}

fn draw<DB: DrawingBackend>(plot: &Plot, heading: &str, root: &DrawingArea<DB, Shift>) -> DrawResult
where
    DB::ErrorType: 'static,
{
    let columns = legend_columns(plot);
    let named = plot.lines.iter().filter(|l| !l.edge).count();
    let rows = named.div_ceil(columns) as i32;
    root.fill(&WHITE)?;
    root.draw_text(heading, &font(17, HPos::Left), (16, 10))?;
    let (field, legend) = root
        .margin(34, 4, 8, 20)
        .split_vertically(SIZE.1 as i32 - 42 - rows * LEGEND_LINE);
    if plot.range().is_none() {
        root.draw_text("no values", &font(15, HPos::Left), (60, 60))?;
        root.present()?;
        return Ok(());
    }
    let axes = Axes::of(plot);
    let log = axes.y.is_logarithmic;
    let up = |v: f64| if log { libm::log10(v.max(1e-9)) } else { v };
    let ys = (up(axes.y.from), up(axes.y.to));
    let mut chart = ChartBuilder::on(&field)
        .x_label_area_size(48)
        .y_label_area_size(74)
        .build_cartesian_2d(Drawn::of(&axes.x, |at| at), Drawn::of(&axes.y, up))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(INK)
        .x_desc(plot.x.label())
        .y_desc(plot.y.label())
        .axis_desc_style(font(14, HPos::Center))
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .x_labels(axes.x.ticks.len())
        .y_labels(axes.y.ticks.len())
        .x_label_formatter(&|x| text_of(&axes.x, |at| at, *x))
        .y_label_formatter(&|y| text_of(&axes.y, up, *y))
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
    let xs = (axes.x.from, axes.x.to);
    for (limit, is_left) in plot.limits.iter().zip(&axes.limits_at_left) {
        let y = up(limit.y);
        let line = vec![(xs.0, y), (xs.1, y)];
        chart.draw_series(DashedLineSeries::new(line, 8, 4, INK.stroke_width(1)))?;
        let (x, side) = match is_left {
            true => (xs.0, HPos::Left),
            false => (xs.1, HPos::Right),
        };
        let style = font(12, side).pos(Pos::new(side, VPos::Bottom));
        let text = Text::new(limit.name.clone(), (x, y), style);
        chart.draw_series(std::iter::once(text))?;
    }
    for (mark, name) in plot.marks.iter().zip(&axes.marks) {
        let line = vec![(mark.x, ys.0), (mark.x, ys.1)];
        chart.draw_series(DashedLineSeries::new(line, 2, 4, INK.stroke_width(1)))?;
        let side = match name.is_before {
            true => HPos::Right,
            false => HPos::Left,
        };
        let text = Text::new(name.wide.clone(), (mark.x, ys.1), font(12, side));
        chart.draw_series(std::iter::once(text))?;
    }
    draw_legend(plot, columns, &legend)?;
    root.present()?;
    Ok(())
}

pub(crate) fn font(size: i32, h: HPos) -> TextStyle<'static> {
    ("sans-serif", size)
        .into_font()
        .color(&INK)
        .pos(Pos::new(h, VPos::Top))
}

/// An axis as the drawing library takes it.
struct Drawn {
    range: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Drawn {
    fn of(scale: &Scale, place: impl Fn(f64) -> f64) -> Drawn {
        Drawn {
            range: (place(scale.from)..place(scale.to)).into(),
            ticks: scale.ticks.iter().map(|t| place(t.at)).collect(),
        }
    }
}

impl Ranged for Drawn {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.range.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight().allow_light_points() {
            true => Vec::new(),
            false => self.ticks.clone(),
        }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.range.range()
    }
}

/// The text of the tick at a place.
fn text_of(scale: &Scale, place: impl Fn(f64) -> f64, at: f64) -> String {
    let mut ticks = scale.ticks.iter();
    let tick = ticks.find(|t| place(t.at) == at);
    tick.map_or_else(String::new, |t| t.text.clone())
}

/// Number of names per row beneath a plot, by the length of the longest one.
fn legend_columns(plot: &Plot) -> usize {
    let named = plot.lines.iter().filter(|l| !l.edge);
    let lengths = named.map(|l| l.name.chars().count());
    match lengths.max().unwrap_or(0) {
        0..=36 => 3,
        37..=58 => 2,
        _ => 1,
    }
}

/// Draws the names beneath the plot, each after a sample of its line.
fn draw_legend<DB: DrawingBackend>(
    plot: &Plot,
    columns: usize,
    area: &DrawingArea<DB, Shift>,
) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let width = LEGEND_WIDTH / columns as i32;
    for (i, line) in plot.lines.iter().filter(|l| !l.edge).enumerate() {
        let (row, column) = ((i / columns) as i32, (i % columns) as i32);
        let (x, y) = (78 + column * width, row * LEGEND_LINE);
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
        area.draw_text(&line.name, &font(14, HPos::Left), (x + 32, y + 2))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Unique;
    use crate::picture::svg;
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
                    operations: 1000,
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
    fn colours_are_those_of_the_light_theme() {
        assert_eq!(COLOURS[0], RGBColor(0x0b, 0x5f, 0xb0));
        assert_eq!(COLOURS[7], RGBColor(0x86, 0x19, 0x8f));
        assert_eq!(INK, RGBColor(0x17, 0x1b, 0x21));
    }

    #[test]
    fn page_and_file_have_the_same_ticks() {
        let mut names = Unique::default();
        let mut plots = time::of_step(&step(), &mut names);
        plots.extend(latencies::of_step(&step(), &mut names));
        assert_eq!(plots.len(), 2);
        for of_both in plots {
            let page = crate::encode::value(&of_both);
            let file = svg(&of_both, "A").unwrap();
            let lines: Vec<&str> = file.lines().map(str::trim).collect();
            for axis in ["xa", "ya"] {
                let ticks = page[axis]["ticks"].as_array().unwrap();
                assert!(ticks.len() > 2, "{ticks:?}");
                for tick in ticks {
                    let text = tick[1].as_str().unwrap();
                    assert!(lines.contains(&text), "no tick {text} in {file}");
                }
            }
        }
    }

    #[test]
    fn draws_axes_with_units_and_escapes_names() {
        let plots = time::of_step(&step(), &mut Unique::default());
        let text = svg(&plots[0], "A <step>").unwrap();
        assert!(text.contains("Time since start of step (s)"));
        assert!(text.contains("(MB/s)"));
        assert!(!text.contains("<b>") && !text.contains("A <step>"));
        // A single sample after the gap draws no line; the first two do.
        assert!(text.contains("<polyline"));
    }

    #[test]
    fn latencies_stand_over_percentiles() {
        let plots = latencies::of_step(&step(), &mut Unique::default());
        let text = svg(&plots[0], "A").unwrap();
        assert!(
            text.contains("Latency (µs)") && text.contains("99.9"),
            "{text}"
        );
    }
}
