//! A summary for a terminal: the device, what must be known of the run, key figures with their
//! published counterparts, the course of the longest series. Plain text without colour or control
//! characters, so that it can be piped; at most 80 columns wide unless told otherwise.

use crate::number::{bytes, duration, short, with_unit};
use crate::sparkline;
use crate::view::published::{self, Placed};
use crate::view::story;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, TableComponent, presets};
use nandscope_measure::result::{ResultDocument, Series, StepResult};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Rows of key figures that fit a screen beside the rest.
const MOST_FIGURES: usize = 12;
/// Courses that are drawn.
const MOST_COURSES: usize = 4;

/// How the summary is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns, at least 40.
    pub width: usize,
    /// Signs of ASCII only, for terminals and logs that know no others.
    pub ascii: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            width: 80,
            ascii: false,
        }
    }
}

/// The summary as text, with a line break at its end.
pub fn summary(document: &ResultDocument, options: &Options) -> String {
    let width = options.width.max(40);
    let mut out = String::new();
    paragraph(&mut out, &document.title, "", width);
    let target = &document.target;
    let device = format!(
        "{}, {} ({}, {})",
        target.model,
        bytes(target.capacity_bytes),
        target.name,
        target.kind
    );
    paragraph(&mut out, &device, "", width);
    notices(&mut out, document, width);
    out.push('\n');
    for p in story::of(document).paragraphs {
        paragraph(&mut out, &format!("{}: {}", p.lead, p.text), "  ", width);
    }
    figures(&mut out, document, options, width);
    courses(&mut out, document, options, width);
    let end = format!("{}, seed {}", document.generator, document.seed);
    paragraph(&mut out, &end, "", width);
    clean(&out, options)
}

/// Text fit for a terminal; shared with the comparison.
pub(crate) fn clean(text: &str, options: &Options) -> String {
    let printable = printable(text);
    if options.ascii {
        ascii(&printable)
    } else {
        printable
    }
}

fn notices(out: &mut String, document: &ResultDocument, width: usize) {
    if !document.complete {
        paragraph(out, "ERROR: the run did not come to its end.", "  ", width);
    }
    for level in ["error", "warning", "info"] {
        for notice in document.notices.iter().filter(|n| n.level == level) {
            let text = format!("{}: {}", level.to_uppercase(), notice.text);
            paragraph(out, &text, "  ", width);
        }
    }
}

/// Figures with a published value first, as those are what a reader compares; then the document's own.
fn figures(out: &mut String, document: &ResultDocument, options: &Options, width: usize) {
    let mut chosen: Vec<Placed> = published::all_figures(document)
        .into_iter()
        .filter(|p| p.step.is_none() || p.figure.published.is_some())
        .collect();
    chosen.sort_by_key(|p| p.figure.published.is_none());
    if chosen.is_empty() {
        return;
    }
    let left = chosen.len().saturating_sub(MOST_FIGURES);
    let mut table = table(width, options.ascii);
    table.set_header(["Figure", "Value", "Published", "Error", ""]);
    for placed in chosen.iter().take(MOST_FIGURES) {
        table.add_row(row(placed, options.ascii));
    }
    let _ = writeln!(out, "\n{table}");
    if left > 0 {
        let _ = writeln!(out, "{left} more figures are in the report.");
    }
}

fn row(placed: &Placed, ascii: bool) -> Vec<Cell> {
    let (figure, title) = (placed.figure, placed.title_with_mode());
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let (published, error, mark) = match &figure.published {
        Some(p) => {
            let mark = match (p.met, ascii) {
                (true, false) => "✓ met",
                (false, false) => "✗ not met",
                (true, true) => "met",
                (false, true) => "NOT MET",
            };
            (
                short(p.value),
                published::error(figure.value, p.value),
                mark,
            )
        }
        None => (String::new(), String::new(), ""),
    };
    vec![
        Cell::new(printable(&title)),
        right(printable(&with_unit(figure.value, &figure.unit))),
        right(published),
        right(error),
        Cell::new(mark),
    ]
}

/// A table of the width; shared with the comparison.
pub(crate) fn table(width: usize, ascii: bool) -> Table {
    let mut table = Table::new();
    table.load_preset(if ascii {
        presets::ASCII_MARKDOWN
    } else {
        presets::UTF8_HORIZONTAL_ONLY
    });
    // Lines between rows would cost half the screen.
    table.remove_style(TableComponent::HorizontalLines);
    table.remove_style(TableComponent::MiddleIntersections);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width.min(usize::from(u16::MAX)) as u16);
    table
}

/// The longest series of bandwidth, one line each.
fn courses(out: &mut String, document: &ResultDocument, options: &Options, width: usize) {
    let mut all: Vec<(&StepResult, &Series)> = document
        .steps
        .iter()
        .flat_map(|step| step.series.iter().map(move |s| (step, s)))
        .filter(|(_, s)| s.name.ends_with("bandwidth") && s.v.len() >= 8)
        .collect();
    all.sort_by(|a, b| (b.0.end_s - b.0.start_s).total_cmp(&(a.0.end_s - a.0.start_s)));
    // One of each kind in each mode says more than the same thing again.
    let mut seen = BTreeSet::new();
    all.retain(|(step, series)| seen.insert((step.mode.clone(), series.name.clone())));
    all.truncate(MOST_COURSES);
    if all.is_empty() {
        return;
    }
    out.push('\n');
    for (step, series) in all {
        let mode = step
            .mode
            .as_ref()
            .map(|m| format!(", {m}"))
            .unwrap_or_default();
        let greatest = series
            .v
            .iter()
            .copied()
            .filter(|v| v.is_finite())
            .fold(0.0, f64::max);
        let text = format!(
            "{}{mode}: {} over {}, up to {}",
            step.title,
            series.name,
            duration(step.end_s - step.start_s),
            with_unit(greatest, &series.unit)
        );
        paragraph(out, &text, "  ", width);
        let line = sparkline::draw(&series.t_s, &series.v, width - 2, options.ascii);
        let _ = writeln!(out, "  {}", line.trim_end());
    }
    out.push('\n');
}

/// Wraps at spaces; every line but the first is indented.
fn paragraph(out: &mut String, text: &str, indent: &str, width: usize) {
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            out.push_str(indent);
            column = indent.len();
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

/// Without control characters: a name in a document must not steer the terminal. Narrow no-break
/// spaces, which many terminal fonts lack, become plain ones.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => '\n',
            '\u{202f}' | '\u{a0}' => ' ',
            c if c.is_control() => '?',
            c => c,
        })
        .collect()
}

/// The nearest ASCII of the signs that this crate writes; others become a question mark.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '–' | '−' => out.push('-'),
            '×' => out.push('x'),
            'µ' => out.push('u'),
            '°' => out.push_str("deg "),
            c if c.is_ascii() => out.push(c),
            _ => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_measure::result::Figure;

    #[test]
    fn wraps_between_words() {
        let mut out = String::new();
        paragraph(&mut out, "one two three four", "  ", 9);
        assert_eq!(out, "one two\n  three\n  four\n");
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let mut document = crate::blank::document();
        document.title = "\u{1b}[31mred\u{7}".into();
        document.figures.push(Figure {
            id: "f".into(),
            title: "\u{1b}]0;x".into(),
            value: 1.0,
            unit: "W".into(),
            ..Figure::default()
        });
        let text = summary(&document, &Options::default());
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
        assert!(text.contains("?[31mred?"));
    }

    #[test]
    fn an_unfinished_run_says_so() {
        let mut document = crate::blank::document();
        document.complete = false;
        assert!(summary(&document, &Options::default()).contains("did not come to its end"));
    }
}
