//! Draws the address range of a verification for files, in the patterns of the page.

use crate::draw_plot::{COLOURS, INK, colour, font};
use crate::picture::{DrawResult, Drawable};
use crate::view::strip::{State, Strip};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// Width and height, pixels.
const SIZE: (u32, u32) = (960, 214);
/// Left and right end of the strip, its upper and lower edge.
const LEFT: i32 = 48;
const RIGHT: i32 = 912;
const TOP: i32 = 58;
const BOTTOM: i32 = 106;
/// Upper edge of the ticks, of the key and of the sentence below it.
const TICKS: i32 = 118;
const KEY: i32 = 150;
const MEANING: i32 = 184;
/// Size of a sample in the key, and width of a character of its texts.
const SAMPLE: (i32, i32) = (22, 12);
const CHARACTER: i32 = 7;

const GOOD: RGBColor = colour("--good: #");
const BAD: RGBColor = colour("--bad: #");
const TRACK: RGBColor = colour("--track: #");

type Area<DB> = DrawingArea<DB, Shift>;

impl Drawable for Strip {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw<DB: DrawingBackend>(&self, heading: &str, root: &Area<DB>) -> DrawResult
    where
        DB::ErrorType: 'static,
    {
        root.fill(&WHITE)?;
        root.draw_text(heading, &font(17, HPos::Left), (16, 10))?;
        let count = self.fields.len().max(1) as i32;
        let edge = |i: i32| LEFT + i * (RIGHT - LEFT) / count;
        for (field, i) in self.fields.iter().zip(0..) {
            fill(root, field.state, (edge(i), TOP), (edge(i + 1), BOTTOM))?;
        }
        let outline = Rectangle::new([(LEFT, TOP), (RIGHT, BOTTOM)], INK.stroke_width(1));
        root.draw(&outline)?;
        for (i, (percent, text)) in self.ticks.iter().enumerate() {
            let unit = if i + 1 == self.ticks.len() { " GB" } else { "" };
            let text = format!("{text}{unit}");
            root.draw_text(&text, &font(13, HPos::Center), (place(percent), TICKS))?;
        }
        if let Some((percent, _)) = &self.end {
            end_mark(root, place(percent), (TOP - 8, BOTTOM + 8))?;
        }
        let mut x = LEFT;
        for (state, text) in &self.key {
            let sample = (x + SAMPLE.0, KEY + SAMPLE.1);
            fill(root, *state, (x, KEY), sample)?;
            root.draw(&Rectangle::new([(x, KEY), sample], INK.stroke_width(1)))?;
            x = named(root, sample.0, text)?;
        }
        if let Some((_, text)) = &self.end {
            end_mark(root, x + 2, (KEY - 1, KEY + SAMPLE.1 + 1))?;
            named(root, x + 4, text)?;
        }
        root.draw_text(&self.meaning, &font(13, HPos::Left), (LEFT, MEANING))?;
        root.present()?;
        Ok(())
    }
}

/// Horizontal place of a percentage of the address range.
fn place(percent: &str) -> i32 {
    let share = percent.parse().unwrap_or(0.0_f64) / 100.0;
    LEFT + libm::round(share * f64::from(RIGHT - LEFT)) as i32
}

/// Writes a text of the key behind its sample; returns the place of the next sample.
fn named<DB: DrawingBackend>(
    root: &Area<DB>,
    x: i32,
    text: &str,
) -> Result<i32, DrawingAreaErrorKind<DB::ErrorType>> {
    root.draw_text(text, &font(13, HPos::Left), (x + 6, KEY - 1))?;
    Ok(x + 6 + CHARACTER * text.chars().count() as i32 + 16)
}

/// The mark of the real end: a bar with a light edge.
fn end_mark<DB: DrawingBackend>(
    root: &Area<DB>,
    x: i32,
    (top, bottom): (i32, i32),
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let bar = |side: i32| [(x - side, top), (x + side, bottom)];
    root.draw(&Rectangle::new(bar(3), WHITE.filled()))?;
    root.draw(&Rectangle::new(bar(1), INK.filled()))
}

/// Fills a field. States differ in their pattern, too: black and white prints show it.
fn fill<DB: DrawingBackend>(
    root: &Area<DB>,
    state: State,
    from: (i32, i32),
    to: (i32, i32),
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let ground = match state {
        State::Genuine => GOOD,
        State::Aliased => COLOURS[1],
        State::Lost => BAD,
        State::Unreadable => COLOURS[4],
        State::NotTested => TRACK,
    };
    root.draw(&Rectangle::new([from, to], ground.filled()))?;
    let (width, height) = (to.0 - from.0, to.1 - from.1);
    match state {
        State::Aliased => {
            // Stripes that fall to the left, cut off at the edges of the field.
            for start in (4..width + height).step_by(7) {
                let upper = start.min(width);
                let lower = (start - height).max(0);
                let ends = vec![
                    (from.0 + upper, from.1 + start - upper),
                    (from.0 + lower, from.1 + start - lower),
                ];
                root.draw(&PathElement::new(ends, WHITE.mix(0.45).stroke_width(2)))?;
            }
        }
        State::Unreadable => {
            for x in (from.0 + 3..to.0).step_by(5) {
                let stripe = [(x, from.1), ((x + 2).min(to.0), to.1)];
                root.draw(&Rectangle::new(stripe, INK.filled()))?;
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{png, svg};
    use crate::view::strip::Field;

    #[test]
    fn every_state_has_its_colour_and_the_end_is_marked() {
        let states = [
            State::Genuine,
            State::Aliased,
            State::Lost,
            State::Unreadable,
            State::NotTested,
        ];
        let strip = Strip {
            title: String::new(),
            fields: states
                .map(|state| Field {
                    state,
                    text: String::new(),
                })
                .into(),
            key: states
                .map(|state| (state, format!("{}: 1 block", state.name())))
                .into(),
            end: Some(("20.00".into(), "real end at <2> GB".into())),
            ticks: vec![("0.00".into(), "0".into()), ("100.00".into(), "8".into())],
            meaning: "Each field is a fifth.".into(),
        };
        let text = svg(&strip, "Is it genuine?").unwrap();
        for colour in ["#146C3A", "#A5281B", "#E6EBF1"] {
            // A field, and a sample in the key.
            assert_eq!(text.matches(colour).count(), 2, "{colour} in {text}");
        }
        for shown in [
            "Is it genuine?",
            "8 GB",
            "real end at &lt;2&gt; GB",
            "not tested: 1 block",
        ] {
            assert!(text.contains(shown), "{shown}");
        }
        assert!(png(&strip, "Is it genuine?").unwrap().len() > 1000);
    }
}
