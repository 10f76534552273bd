//! Draws bar charts for files: the bars of a chapter with the range of their repeats and the
//! published values, as the page shows them.

use crate::draw_plot::{COLOURS, GRID, INK, font};
use crate::picture::{DrawResult, Drawable};
use crate::view::bars::{Bar, BarChart, BarRow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

const WIDTH: i32 = 960;
/// Left end of the bars, then their maximum length, pixels.
const LEFT: i32 = 30;
const LENGTH: i32 = 560;
const TOP: i32 = 52;
const LABEL: i32 = 24;
const BAR: i32 = 24;
const AXIS: i32 = 56;
/// Colours of the modes, as the page has them.
const FILLS: [usize; 5] = [0, 1, 2, 4, 7];

impl Drawable for BarChart {
    fn size(&self) -> (u32, u32) {
        (WIDTH as u32, (bottom(self) + AXIS) as u32)
    }

    fn draw<DB: DrawingBackend>(&self, heading: &str, root: &DrawingArea<DB, Shift>) -> DrawResult
    where
        DB::ErrorType: 'static,
    {
        draw(self, heading, root)
    }
}

/// Bottom of the bars.
fn bottom(chart: &BarChart) -> i32 {
    let bars = |r: &BarRow| LABEL + BAR * r.bars.len() as i32;
    TOP + chart.rows.iter().map(bars).sum::<i32>()
}

fn draw<DB: DrawingBackend>(
    chart: &BarChart,
    heading: &str,
    root: &DrawingArea<DB, Shift>,
) -> DrawResult
where
    DB::ErrorType: 'static,
{
    let bottom = bottom(chart);
    root.fill(&WHITE)?;
    root.draw_text(heading, &font(17, HPos::Left), (16, 14))?;
    for (at, tick) in &chart.ticks {
        let x = LEFT + share(at);
        root.draw(&PathElement::new([(x, TOP), (x, bottom)], GRID))?;
        root.draw_text(tick, &font(13, HPos::Center), (x, bottom + 6))?;
    }
    root.draw_text(
        &chart.unit,
        &font(14, HPos::Center),
        (LEFT + LENGTH / 2, bottom + 28),
    )?;
    let mut y = TOP;
    for row in &chart.rows {
        root.draw_text(&row.label, &font(14, HPos::Left), (LEFT, y + 6))?;
        y += LABEL;
        for bar in &row.bars {
            draw_bar(root, bar, y)?;
            y += BAR;
        }
    }
    root.present()?;
    Ok(())
}

fn draw_bar<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    bar: &Bar,
    y: i32,
) -> std::result::Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let (top, bottom, middle) = (y + 4, y + BAR - 6, y + BAR / 2 - 1);
    let end = LEFT + share(&bar.length);
    let colour = COLOURS[FILLS[bar.mode_index % FILLS.len()]];
    root.draw(&Rectangle::new(
        [(LEFT, top), (end, bottom)],
        colour.filled(),
    ))?;
    let mut right = end;
    if let Some((start, length)) = &bar.whisker {
        let from = LEFT + share(start);
        let to = from + share(length);
        root.draw(&PathElement::new(
            [(from, middle), (to, middle)],
            INK.stroke_width(2),
        ))?;
        right = right.max(to);
    }
    if let Some(at) = bar.published_at.as_ref().or(bar.limit_at.as_ref()) {
        let x = LEFT + share(at);
        root.draw(&PathElement::new(
            [(x, top - 3), (x, bottom + 3)],
            INK.stroke_width(3),
        ))?;
        right = right.max(x);
    }
    let mut words = bar.text.clone();
    for part in [
        bar.mode.clone(),
        Some(bar.remark()).filter(|r| !r.is_empty()),
    ]
    .into_iter()
    .flatten()
    {
        words.push_str(", ");
        words.push_str(&part);
    }
    root.draw_text(&words, &font(13, HPos::Left), (right + 8, top))
}

/// Pixels of a place in percent, as the page's style has it (`12.5%` or `12.5`).
fn share(percent: &str) -> i32 {
    let number: f64 = percent.trim_end_matches('%').parse().unwrap_or(0.0);
    (number.clamp(0.0, 100.0) / 100.0 * f64::from(LENGTH)) as i32
}

#[cfg(test)]
mod tests {
    use crate::picture::svg;
    use crate::view::bars;
    use nandscope_result::{Figure, Published, StepResult};

    #[test]
    fn draws_value_range_and_publication_with_the_unit() {
        let figure = |title: &str, value: f64| Figure {
            title: title.into(),
            value,
            unit: "MB/s".into(),
            low: Some(value * 0.9),
            high: Some(value),
            published: Some(Published {
                value: 890.0,
                ..Published::default()
            }),
            ..Figure::default()
        };
        let step = StepResult {
            title: "A <test>".into(),
            figures: vec![figure("read", 880.0), figure("write", 410.0)],
            ..StepResult::default()
        };
        let charts = bars::of_steps(&[&step], &[]);
        let text = svg(&charts[0], "A <test>").unwrap();
        assert!(
            text.contains("MB/s") && text.contains("published 890"),
            "{text}"
        );
        assert_eq!(text.matches("<rect").count(), 1 + 2, "{text}");
        assert!(!text.contains("<test>"));
    }
}
