//! A summary for a terminal: the device, notices on the run, key figures with their published values, the time line of
//! the longest series. Plain text without colour or control characters, so that it can be piped; at most 80 columns
//! wide by default.

use crate::names::capital;
use crate::number::{bytes, duration, with_unit};
use crate::sparkline;
use crate::view::answer::Answer;
use crate::view::notice::{self, Notice};
use crate::view::overview;
use crate::view::page_context::Rank;
use crate::view::published::{self, Placed};
use crate::view::ranking;
use crate::view::strip;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, TableComponent, presets};
use nandscope_result::{
    Figure, Operation, ResultDocument, Series, StepResult, figure_id, procedure, series,
    throughput_profile,
};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Lines of a screen that the summary should fit, where the text allows.
const SCREEN: usize = 40;
/// Maximum number of rows of key figures.
const MOST_FIGURES: usize = 12;
/// Minimum number of rows of key figures.
const FEWEST_FIGURES: usize = 3;
/// Columns of the table of figures; then the columns if no figure has a published value.
const COLUMNS: [&str; 5] = ["Figure", "Value", "Published", "Error", ""];
const UNPUBLISHED_COLUMNS: usize = 2;
/// Courses that are drawn.
const MOST_COURSES: usize = 2;

/// Options of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns, at least 40.
    pub width: usize,
    /// Whether only ASCII characters are used, for terminals and logs without others.
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

/// The summary as text, with a line break at its end; `ranks` are those of the device among others.
pub fn summary(document: &ResultDocument, ranks: &[Rank], options: &Options) -> String {
    let width = options.width.max(40);
    let mut out = String::new();
    let target = &document.target;
    paragraph(&mut out, &document.title, "", width);
    let model = if target.model == document.title {
        String::new()
    } else {
        format!("{}, ", target.model)
    };
    let device = format!(
        "{model}{} ({}, {})",
        bytes(target.capacity_bytes),
        target.name,
        target.kind
    );
    paragraph(&mut out, &device, "", width);
    conditions(&mut out, document, width);
    let (serious, notes) = notice::apart(document);
    notices(&mut out, &serious, width);
    out.push('\n');
    for p in overview::of(document, ranks).paragraphs {
        // Each verdict begins a line, where the command colours it.
        if p.lead == overview::TESTS {
            for part in p.text.trim_end_matches('.').split("; ") {
                paragraph(&mut out, &format!("{}.", capital(part)), "  ", width);
            }
            continue;
        }
        paragraph(&mut out, &format!("{}: {}", p.lead, p.text), "  ", width);
    }
    answers(&mut out, document, width);
    notices(&mut out, &notes, width);
    let mut end = String::from("\n");
    curves(&mut end, document, options, width);
    time_lines(&mut end, document, options, width);
    let written = format!("{}, seed {}", document.generator, document.seed);
    paragraph(&mut end, &written, "", width);
    let left = SCREEN.saturating_sub(out.lines().count() + end.lines().count());
    out.push_str(&figures(document, options, width, left));
    out.push_str(&end);
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

/// Conditions that the summary lists if known; the report has all of them.
const CONDITIONS: [&str; 12] = [
    "engine",
    "direct I/O",
    "transport",
    "link",
    "file system",
    "scheduler",
    "write cache",
    "discard",
    "temperature before",
    "kernel",
    "cpu governor",
    "virtual machine",
];

fn conditions(out: &mut String, document: &ResultDocument, width: usize) {
    let known = CONDITIONS.iter().filter_map(|name| {
        let value = document.environment.get(*name)?;
        Some(format!("{name} {value}"))
    });
    let known: Vec<String> = known.collect();
    if !known.is_empty() {
        paragraph(
            out,
            &format!("Measured with: {}", known.join("; ")),
            "  ",
            width,
        );
    }
}

/// Appends the answers of all steps except passed and failed tests, which are in the verdict; the evidence is in the
/// report.
fn answers(out: &mut String, document: &ResultDocument, width: usize) {
    let several = document.target.modes.len() > 1;
    let conclusions = document.steps.iter().flat_map(|s| &s.conclusions);
    for c in conclusions.filter(|c| c.passed.is_none()) {
        let answer = Answer::of(c, several);
        paragraph(
            out,
            &format!("{}: {}", answer.question, answer.answer),
            "  ",
            width,
        );
    }
}

fn notices(out: &mut String, notices: &[Notice], width: usize) {
    for n in notices {
        let mut text = format!("{}: {}", n.word.to_uppercase(), n.text);
        if n.steps.len() > 1 {
            text.push_str(&format!(" ({} steps)", n.steps.len()));
        }
        paragraph(out, &text, "  ", width);
    }
}

/// Figures in the order of a reader's interest: first those that miss the published value, then the others by rank.
fn chosen(document: &ResultDocument) -> Vec<Placed<'_>> {
    // The figures of a run are named after its jobs, whatever these are called.
    let is_run = document.procedure == procedure::RUN;
    let mut chosen: Vec<Placed> = published::all_figures(document)
        .into_iter()
        .filter(|p| {
            let told = p.step.is_none() || p.figure.published.is_some();
            told || (!is_run && ranking::is_headline(p.figure))
        })
        .collect();
    chosen.retain(|p| !says_nothing(p.figure));
    let missed = |p: &Placed| p.figure.published.as_ref().is_none_or(|p| p.met);
    chosen.sort_by_key(|p| {
        (
            missed(p),
            ranking::rank(&p.figure.id),
            p.figure.published.is_none(),
        )
    });
    chosen
}

/// A throttle that never acted.
fn says_nothing(figure: &Figure) -> bool {
    figure.has_id(figure_id::THROTTLE_MIN) && figure.published.is_none() && figure.value >= 100.0
}

/// The figures that fit into `lines` lines, but at least the smallest number.
fn figures(document: &ResultDocument, options: &Options, width: usize, lines: usize) -> String {
    let chosen = chosen(document);
    let mut count = chosen.len().min(MOST_FIGURES);
    loop {
        let text = figure_table(&chosen, count, options, width);
        if text.lines().count() <= lines || count <= FEWEST_FIGURES {
            return text;
        }
        count -= 1;
    }
}

fn figure_table(chosen: &[Placed], count: usize, options: &Options, width: usize) -> String {
    let mut out = String::new();
    if chosen.is_empty() {
        return out;
    }
    let mut table = table(width, options.ascii);
    let shown = &chosen[..count.min(chosen.len())];
    let columns = match shown.iter().any(|p| p.figure.published.is_some()) {
        true => COLUMNS.len(),
        false => UNPUBLISHED_COLUMNS,
    };
    table.set_header(COLUMNS.iter().take(columns));
    let modes: BTreeSet<_> = chosen.iter().map(|p| p.figure.mode.as_deref()).collect();
    for placed in shown {
        let cells = row(placed, modes.len() > 1, options.ascii).into_iter();
        table.add_row(cells.take(columns));
    }
    let _ = writeln!(out, "\n{table}");
    let left = chosen.len().saturating_sub(count);
    let (met, all) = chosen
        .iter()
        .filter_map(|p| p.figure.published.as_ref())
        .fold((0, 0), |(met, all), p| (met + usize::from(p.met), all + 1));
    let mut end = Vec::new();
    if all > 0 {
        end.push(match all {
            1 => format!("{met} of 1 published figure is met."),
            _ => format!("{met} of {all} published figures are met."),
        });
        let predicted = chosen
            .iter()
            .filter_map(|p| p.figure.published.as_ref())
            .filter(|p| p.predicted);
        let (met, all) =
            predicted.fold((0, 0), |(met, all), p| (met + usize::from(p.met), all + 1));
        end.push(published::predictions(met, all));
    }
    if left > 0 {
        end.push(format!("{left} more figures are in the report."));
    }
    if !end.is_empty() {
        paragraph(&mut out, &end.join(" "), "", width);
    }
    out
}

fn row(placed: &Placed, several: bool, ascii: bool) -> Vec<Cell> {
    let figure = placed.figure;
    let title = match several {
        true => placed.title_with_mode(),
        false => placed.title(),
    };
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
                published::with_symbol(p, ascii),
                published::error(figure.value, p),
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

/// Maximum number of curves: the number of cases of a sweep.
const MOST_CURVES: usize = 4;

/// The first curves of the document over something else than time: where they begin and end, where
/// the threshold lies, and their shape.
fn curves(out: &mut String, document: &ResultDocument, options: &Options, width: usize) {
    let all = document.steps.iter().flat_map(|s| &s.curves);
    for curve in all.take(MOST_CURVES) {
        if let Some((legend, line)) =
            strip::in_terminal(curve, document.target.capacity_bytes, width - 2)
        {
            paragraph(out, &legend, "  ", width);
            let _ = writeln!(out, "  {line}");
            continue;
        }
        let at = |i: usize| curve.y.get(i).copied().filter(|v| v.is_finite());
        let last = curve.x.len().min(curve.y.len()).saturating_sub(1);
        let (Some(from), Some(to)) = (at(0), at(last)) else {
            continue;
        };
        let threshold = match curve.threshold {
            Some(x) => format!("threshold at {}", with_unit(x, &curve.x_unit)),
            None => "no threshold".to_string(),
        };
        let text = format!(
            "{} by {}, {}: {} to {}, {threshold}",
            capital(&curve.y_name),
            curve.x_name,
            curve.name,
            with_unit(from, ""),
            with_unit(to, &curve.y_unit)
        );
        paragraph(out, &text, "  ", width);
        // Two signs for each place, so that a curve of few places is not a stub.
        let signs = curve.x.len().min((width - 2) / 2);
        let line: String = sparkline::draw(&curve.x, &curve.y, signs, options.ascii)
            .chars()
            .flat_map(|sign| [sign, sign])
            .collect();
        let _ = writeln!(out, "  {}", line.trim_end());
    }
}

/// The longest write of each mode whose speed changes most, one line each; without a long write, the longest series of
/// bandwidth.
fn time_lines(out: &mut String, document: &ResultDocument, options: &Options, width: usize) {
    let length = |step: &StepResult| step.end_s - step.start_s;
    let fall = |step: &StepResult| {
        throughput_profile::of_step(step).map_or((0.0, 0.0), |c| {
            let half = c.written_gb * 2e9 >= document.target.capacity_bytes as f64;
            (
                f64::from(u8::from(half)),
                c.burst_mb_s / c.sustained_mb_s.max(1e-3),
            )
        })
    };
    let mut all: Vec<(&StepResult, &Series)> = document
        .steps
        .iter()
        .flat_map(|step| step.series.iter().map(move |s| (step, s)))
        .filter(|(_, s)| s.name.ends_with(series::BANDWIDTH) && s.v.len() >= 8)
        .collect();
    let key = |(step, series): &(&StepResult, &Series)| {
        let (half, fall) = fall(step);
        let write = f64::from(u8::from(
            series.name == series::of(&Operation::Write, series::BANDWIDTH),
        ));
        [write * half, write * fall, length(step)]
    };
    all.sort_by(|a, b| {
        let pairs = key(b).into_iter().zip(key(a));
        pairs.fold(Ordering::Equal, |order, (x, y)| order.then(x.total_cmp(&y)))
    });
    let mut seen = BTreeSet::new();
    all.retain(|(step, _)| seen.insert(step.mode.clone()));
    all.truncate(MOST_COURSES);
    for (step, series) in all {
        let mode = step
            .mode
            .as_ref()
            .map(|m| format!("{m}, "))
            .unwrap_or_default();
        let values = series.v.iter().copied().filter(|v| v.is_finite());
        let text = format!(
            "{mode}{}, {}: up to {}",
            step.title,
            duration(length(step)),
            with_unit(values.fold(0.0, f64::max), &series.unit)
        );
        paragraph(out, &text, "  ", width);
        let line = sparkline::draw(&series.t_s, &series.v, width - 2, options.ascii);
        let _ = writeln!(out, "  {}", line.trim_end());
    }
}

/// Wraps at spaces; every line but the first is indented. Shared with the comparison.
pub(crate) fn paragraph(out: &mut String, text: &str, indent: &str, width: usize) {
    let text = nandscope_units::printable(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    out.push_str(&wrapped(&words.join(" "), indent, width));
}

/// The text in lines of this width, broken between words; every line but the first is indented.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let options = textwrap::Options::new(width)
        .subsequent_indent(indent)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(text, options) + "\n"
}

/// With control characters escaped: a name in a document must not steer the terminal. Narrow no-break
/// spaces, which many terminal fonts lack, become plain ones.
fn printable(text: &str) -> String {
    nandscope_units::printable(text).replace(['\u{202f}', '\u{a0}'], " ")
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

    #[test]
    fn wraps_between_words() {
        let mut out = String::new();
        paragraph(&mut out, "one two three four", "  ", 9);
        assert_eq!(out, "one two\n  three\n  four\n");
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let mut document = crate::blank::document();
        document.title = "\u{1b}[31mred\u{7} gpj.\u{202e}exe".into();
        document.figures.push(Figure {
            id: "f".into(),
            title: "\u{1b}]0;x".into(),
            value: 1.0,
            unit: "W".into(),
            ..Figure::default()
        });
        let text = summary(&document, &[], &Options::default());
        assert!(
            !text.contains(|c: char| c == '\u{202e}' || (c.is_control() && c != '\n')),
            "{text:?}"
        );
        assert!(text.contains("\\u{1b}[31mred\\u{7}"), "{text}");
    }

    #[test]
    fn conditions_stand_in_the_summary_where_there_are_any() {
        let mut document = crate::blank::document();
        let text = |d: &ResultDocument| summary(d, &[], &Options::default());
        assert!(!text(&document).contains("Measured with"));
        for (name, value) in [("scheduler", "none"), ("kernel", "6.1"), ("processor", "x")] {
            document.environment.insert(name.into(), value.into());
        }
        assert!(text(&document).contains("Measured with: scheduler none; kernel 6.1\n"));
    }

    #[test]
    fn answers_stand_in_the_summary() {
        let mut document = crate::blank::document();
        document.steps.push(StepResult {
            conclusions: vec![nandscope_result::Conclusion {
                question: "Allocation unit".into(),
                answer: "4 MiB".into(),
                ..Default::default()
            }],
            ..StepResult::default()
        });
        assert!(summary(&document, &[], &Options::default()).contains("Allocation unit: 4 MiB"));
    }

    #[test]
    fn an_unfinished_run_says_so() {
        let mut document = crate::blank::document();
        document.complete = false;
        assert!(summary(&document, &[], &Options::default()).contains("The run is incomplete"));
    }
}
