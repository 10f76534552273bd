//! Several documents side by side: the figures that at least two of them share, each with its
//! ratio to the first document. It judges nothing: whether more is better depends on the figure.

use crate::error::{ReportError, Result};
use crate::number::{short, with_unit};
use crate::terminal::{self, Options};
use crate::view::published;
use askama::Template;
use comfy_table::{Cell, CellAlignment};
use nandscope_result::ResultDocument;
use std::collections::BTreeMap;

/// One figure over all documents.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Title, with the mode.
    pub title: String,
    /// Unit.
    pub unit: String,
    /// Value in each document, where it has the figure in this unit.
    pub values: Vec<Option<f64>>,
}

impl Row {
    /// Value of document `i` as a multiple of the first one's; `None` for the first itself, or
    /// where one is missing or the first is zero.
    pub fn ratio(&self, i: usize) -> Option<f64> {
        let first = self.values.first().copied().flatten()?;
        let value = self.values.get(i).copied().flatten()?;
        let ratio = value / first;
        (i > 0 && ratio.is_finite()).then_some(ratio)
    }

    fn cell(&self, i: usize) -> String {
        match self.values.get(i).copied().flatten() {
            Some(v) => with_unit(v, &self.unit),
            None => "–".to_string(),
        }
    }

    /// Title of the document, value and ratio, for each document.
    fn cells(&self, documents: &[&ResultDocument]) -> Vec<(String, String, String)> {
        documents
            .iter()
            .enumerate()
            .map(|(i, d)| (d.title.clone(), self.cell(i), self.ratio_text(i)))
            .collect()
    }

    fn ratio_text(&self, i: usize) -> String {
        self.ratio(i)
            .map(|r| format!("{}×", short(r)))
            .unwrap_or_default()
    }
}

/// The figures that at least two documents share, by identifier, mode and unit, in the order of
/// the first document that has them.
///
/// # Errors
/// Where there are fewer than two documents.
pub fn rows(documents: &[&ResultDocument]) -> Result<Vec<Row>> {
    if documents.len() < 2 {
        return Err(ReportError::TooFewDocuments(documents.len()));
    }
    let mut places: BTreeMap<(&str, Option<&str>, &str), usize> = BTreeMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for (i, document) in documents.iter().enumerate() {
        for placed in published::all_figures(document) {
            let figure = placed.figure;
            if figure.id.is_empty() || !figure.value.is_finite() {
                continue;
            }
            let key = (
                figure.id.as_str(),
                figure.mode.as_deref(),
                figure.unit.as_str(),
            );
            let place = *places.entry(key).or_insert_with(|| {
                rows.push(row(&placed, documents.len()));
                rows.len() - 1
            });
            if let Some(cell) = rows.get_mut(place).and_then(|r| r.values.get_mut(i)) {
                *cell = Some(figure.value);
            }
        }
    }
    rows.retain(|r| r.values.iter().flatten().count() >= 2);
    Ok(rows)
}

fn row(placed: &published::Placed, documents: usize) -> Row {
    Row {
        title: placed.title_with_mode(),
        unit: placed.figure.unit.clone(),
        values: vec![None; documents],
    }
}

#[derive(Template)]
#[template(path = "compare.html")]
struct Page<'a> {
    documents: &'a [&'a ResultDocument],
    rows: Vec<Row>,
    style: &'static str,
}

/// The comparison as one self-contained page without script.
///
/// # Errors
/// Where there are fewer than two documents, or the template cannot be filled in.
pub fn html(documents: &[&ResultDocument]) -> Result<String> {
    let page = Page {
        documents,
        rows: rows(documents)?,
        style: crate::html::STYLE,
    };
    Ok(crate::encode::for_markup(page.render()?))
}

/// The comparison as a table for a terminal: one column per document, the ratio to the first behind
/// each other value.
///
/// # Errors
/// Where there are fewer than two documents.
pub fn text(documents: &[&ResultDocument], options: &Options) -> Result<String> {
    let rows = rows(documents)?;
    let mut out = String::new();
    for (i, document) in documents.iter().enumerate() {
        let line = format!(
            "{}: {} ({})\n",
            letter(i),
            document.title,
            document.target.name
        );
        out.push_str(&line);
    }
    if rows.is_empty() {
        out.push_str("The documents share no figure.\n");
        return Ok(terminal::clean(&out, options));
    }
    let mut table = terminal::table(options.width.max(40), options.ascii);
    let mut header = vec!["Figure".to_string()];
    header.extend((0..documents.len()).map(letter));
    table.set_header(header);
    for row in &rows {
        let mut cells = vec![Cell::new(&row.title)];
        cells.extend((0..documents.len()).map(|i| {
            let ratio = row.ratio_text(i);
            let text = if ratio.is_empty() {
                row.cell(i)
            } else {
                format!("{} ({ratio})", row.cell(i))
            };
            Cell::new(text).set_alignment(CellAlignment::Right)
        }));
        table.add_row(cells);
    }
    out.push_str(&format!("{table}\n"));
    Ok(terminal::clean(&out, options))
}

/// A, B, C … for the documents; numbers behind Z.
fn letter(i: usize) -> String {
    match u8::try_from(i) {
        Ok(i) if i < 26 => char::from(b'A' + i).to_string(),
        _ => format!("#{}", i + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Figure;

    fn document(title: &str, figures: &[(&str, f64, &str)]) -> ResultDocument {
        let mut document = crate::blank::document();
        document.title = title.into();
        document.figures = figures
            .iter()
            .map(|(id, value, unit)| Figure {
                id: (*id).into(),
                title: format!("figure <{id}>"),
                value: *value,
                unit: (*unit).into(),
                ..Figure::default()
            })
            .collect();
        document
    }

    #[test]
    fn shared_figures_with_their_ratio() {
        let a = document(
            "a",
            &[
                ("read", 100.0, "MB/s"),
                ("only", 1.0, "W"),
                ("odd", 1.0, "W"),
            ],
        );
        let b = document("b", &[("read", 250.0, "MB/s"), ("odd", 1.0, "mW")]);
        let c = document("c", &[("read", 50.0, "MB/s")]);
        let rows = rows(&[&a, &b, &c]).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].ratio(0), None);
        assert_eq!(rows[0].ratio(1), Some(2.5));
        assert_eq!(rows[0].ratio(2), Some(0.5));
        let text = text(&[&a, &b, &c], &Options::default()).unwrap();
        assert!(text.contains("250 MB/s (2.50×)"), "{text}");
        let html = html(&[&a, &b]).unwrap();
        assert!(html.contains("2.50×") && !html.contains("<read>"), "{html}");
    }

    #[test]
    fn one_document_is_not_a_comparison() {
        let a = document("a", &[]);
        assert!(matches!(rows(&[&a]), Err(ReportError::TooFewDocuments(1))));
        assert!(
            text(&[&a, &a], &Options::default())
                .unwrap()
                .contains("share no figure")
        );
    }

    #[test]
    fn a_ratio_to_zero_is_left_out() {
        let row = Row {
            title: String::new(),
            unit: String::new(),
            values: vec![Some(0.0), Some(1.0), None],
        };
        assert_eq!(
            (row.ratio(1), row.ratio(2), row.ratio(9)),
            (None, None, None)
        );
    }
}
