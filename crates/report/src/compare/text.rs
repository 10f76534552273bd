//! The comparison for a terminal: a table if the documents fit in its width, otherwise a bar chart for each figure, the
//! best first.

use super::document_names;
use super::hosts::Alignment;
use super::row::{PRICE, Row};
use super::rows::rows;
use super::selection::charted;
use super::{Basis, letter, remarks};
use crate::error::Result;
use crate::number::short;
use crate::terminal::{self, Options};
use comfy_table::{Cell, CellAlignment};
use nandscope_result::ResultDocument;
use std::fmt::Write as _;

/// Minimum width for the titles of figures, columns.
const TITLE: usize = 28;
/// Figures that are charted on a terminal; the page has all.
const MOST_CHARTS: usize = 12;
/// Maximum number of charted figures of one kind: CrystalDiskMark has eight rates.
const MOST_OF_A_KIND: usize = 8;
/// Maximum length of a bar, characters.
const MOST_SIGNS: usize = 40;

/// The comparison as text for a terminal.
///
/// # Errors
/// Returns an error as [`rows`] does.
pub fn text(documents: &[&ResultDocument], basis: &Basis, options: &Options) -> Result<String> {
    let rows = rows(documents, basis)?;
    let width = options.width.max(40);
    let alignment = Alignment::of(documents, basis.across_hosts)?;
    let names = document_names::names(documents, &alignment.named());
    let mut out = String::new();
    for (i, (document, name)) in documents.iter().zip(&names).enumerate() {
        let target = if name.contains(&document.target.name) {
            String::new()
        } else {
            format!(" ({})", document.target.name)
        };
        let mark = if i == basis.baseline {
            ", baseline"
        } else {
            ""
        };
        terminal::paragraph(
            &mut out,
            &format!("{}: {name}{target}{mark}", letter(i)),
            "   ",
            width,
        );
    }
    for sentence in remarks(documents, &alignment, &rows) {
        terminal::paragraph(&mut out, &sentence, "   ", width);
    }
    let count = documents.len();
    let fits = column_width(&rows, count) * count + TITLE <= width;
    // Without a common figure the remarks above are the whole answer.
    if !rows.is_empty() {
        if fits {
            out.push_str(&table(&rows, count, &alignment.heading(), options));
        } else {
            charts(&mut out, &rows, options, width);
        }
    }
    Ok(terminal::clean(&out, options))
}

/// Width of the widest column of values, with its margin.
fn column_width(rows: &[Row], documents: usize) -> usize {
    let cells = rows
        .iter()
        .flat_map(|r| (0..documents).map(|i| cell(r, i).chars().count()));
    cells.max().unwrap_or(0) + 2
}

fn cell(row: &Row, i: usize) -> String {
    match row.change(i).as_str() {
        "" => row.cell(i),
        change => format!("{} ({change})", row.cell(i)),
    }
}

fn table(rows: &[Row], documents: usize, host: &str, options: &Options) -> String {
    let mut table = terminal::table(options.width.max(40), options.ascii);
    let mut header = vec![format!("Figure{host}")];
    header.extend((0..documents).map(letter));
    table.set_header(header);
    for row in rows {
        let mut cells = vec![Cell::new(&row.title)];
        let values =
            (0..documents).map(|i| Cell::new(cell(row, i)).set_alignment(CellAlignment::Right));
        cells.extend(values);
        table.add_row(cells);
    }
    format!("{table}\n")
}

/// A chart for each of the figures that the page charts first, and for prices.
fn charts(out: &mut String, rows: &[Row], options: &Options, width: usize) {
    let (prices, others): (Vec<&Row>, Vec<&Row>) = charted(rows, MOST_OF_A_KIND)
        .into_iter()
        .partition(|r| r.id == PRICE);
    let charted = others.into_iter().take(MOST_CHARTS).chain(prices);
    let charted: Vec<&Row> = charted.collect();
    for row in &charted {
        out.push('\n');
        let unit = match row.unit.as_str() {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        terminal::paragraph(out, &format!("{}{unit}", row.title), "  ", width);
        bars(out, row, options, width);
    }
    let left = rows.len() - charted.len();
    if left > 0 {
        let _ = write!(
            out,
            "\n{left} more figures: `--html FILE` writes a page with all of them.\n"
        );
    }
}

fn bars(out: &mut String, row: &Row, options: &Options, width: usize) {
    let order = row.ranked();
    let longest = order.iter().map(|(_, v)| *v).fold(0.0, f64::max);
    let letters = order.iter().map(|(i, _)| letter(*i).chars().count()).max();
    let letters = letters.unwrap_or(1);
    // Two for the margin, and room for a value and its ratio after the bar.
    let signs = width.saturating_sub(letters + 4 + 22).clamp(8, MOST_SIGNS);
    let sign = if options.ascii { "#" } else { "█" };
    for (i, value) in order {
        let length = if longest > 0.0 {
            ((value / longest).max(0.0) * signs as f64 + 0.5) as usize
        } else {
            0
        };
        let change = match row.change(i) {
            _ if i == row.baseline => "  baseline".to_string(),
            change if change.is_empty() => String::new(),
            change => format!("  {change}"),
        };
        let bar = sign.repeat(length);
        let _ = writeln!(
            out,
            "  {:letters$} {bar:signs$} {}{change}",
            letter(i),
            short(value)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Figure;

    fn document(title: &str, read: f64) -> ResultDocument {
        let mut document = crate::blank::document();
        document.title = title.into();
        document.figures = vec![Figure {
            id: "cdm.read".into(),
            title: "SEQ1M read".into(),
            value: read,
            unit: "MB/s".into(),
            ..Figure::default()
        }];
        document
    }

    #[test]
    fn two_documents_stand_side_by_side() {
        let (a, b) = (document("a", 100.0), document("b", 250.0));
        let text = text(&[&a, &b], &Basis::default(), &Options::default()).unwrap();
        assert!(text.contains("250 MB/s (2.50×)"), "{text}");
        let mut none = document("c", 1.0);
        none.figures.clear();
        let text = super::text(&[&none, &none], &Basis::default(), &Options::default()).unwrap();
        assert!(text.contains("no figure in common"), "{text}");
    }

    #[test]
    fn twelve_documents_are_charted_within_80_columns() {
        let all: Vec<ResultDocument> = (0..12)
            .map(|i| document(&format!("drive {i}"), f64::from(i * 7 % 12 + 1) * 100.0))
            .collect();
        let all: Vec<&ResultDocument> = all.iter().collect();
        for ascii in [false, true] {
            let options = Options { width: 80, ascii };
            let basis = Basis {
                baseline: 3,
                ..Basis::default()
            };
            let text = text(&all, &basis, &options).unwrap();
            assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
            let bars: Vec<&str> = text.lines().filter(|l| l.contains(['█', '#'])).collect();
            assert_eq!(bars.len(), 12, "{text}");
            // The best first; each names its document.
            let lengths: Vec<usize> = bars.iter().map(|l| l.matches(['█', '#']).count()).collect();
            assert!(lengths.is_sorted_by(|a, b| a >= b), "{text}");
            assert!(
                bars[0].contains("1200") && !bars[0].contains("baseline"),
                "{text}"
            );
            let baseline = bars.iter().find(|l| l.contains("baseline")).unwrap();
            assert!(baseline.trim_start().starts_with("D "), "{text}");
        }
    }
}
