//! The comparison as a page: bar charts sorted with the best first, plots of all documents together, and the table.

use super::document_names;
use super::hosts::Alignment;
use super::plots;
use super::row::{PRICE, Row};
use super::rows::rows;
use super::selection::charted;
use super::{Basis, conclusion, consistency, efficiency, letter, merged, remarks};
use crate::encode;
use crate::error::Result;
use crate::html::{SCRIPT, STYLE, THEME_SCRIPT};
use crate::names::Unique;
use crate::view::bars::BarChart;
use crate::view::plot::Plot;
use askama::Template;
use nandscope_result::ResultDocument;
use std::collections::BTreeMap;

/// Maximum number of charts per kind of figure; the table has all figures.
const MOST_OF_A_KIND: usize = 8;

#[derive(Template)]
#[template(path = "compare.html")]
struct Page<'a> {
    documents: Vec<Document<'a>>,
    conclusion: Vec<String>,
    rows: Vec<Row>,
    charts: Vec<BarSection>,
    sections: Vec<(&'static str, &'static str, Vec<Plot>)>,
    baseline: String,
    /// Sentences on what is compared.
    remarks: String,
    /// The shared host, for headings; empty if there are several or none.
    host: String,
    c: Data,
    style: &'static str,
    script: &'static str,
    theme_script: &'static str,
}

/// Bar charts under a heading: element id, heading, charts.
type BarSection = (&'static str, &'static str, Vec<BarChart>);

/// A document with its letter and its name.
struct Document<'a> {
    letter: String,
    name: String,
    is_baseline: bool,
    document: &'a ResultDocument,
}

/// The encoded data of the plots.
struct Data(BTreeMap<String, String>);

impl Data {
    /// Data of the plot with this identifier.
    fn data(&self, id: &str) -> &str {
        self.0.get(id).map_or("{}", String::as_str)
    }
}

impl Page<'_> {
    /// Letter of the document, value and change, for each document of a row.
    fn cells(&self, row: &Row) -> Vec<(String, String, String)> {
        (0..self.documents.len())
            .map(|i| (letter(i), row.cell(i), row.change(i)))
            .collect()
    }
}

/// The comparison as one self-contained page.
///
/// # Errors
/// Returns an error as [`rows`] does, or if the template cannot be filled in.
pub fn html(documents: &[&ResultDocument], basis: &Basis) -> Result<String> {
    let rows = rows(documents, basis)?;
    let alignment = Alignment::of(documents, basis.across_hosts)?;
    let names = document_names::names(documents, &alignment.named());
    let lettered: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(i, name)| format!("{}: {name}", letter(i)))
        .collect();
    let mut ids = Unique::default();
    let mut sections: Vec<_> = [
        (
            "fills",
            "Long sequential writes",
            plots::fills(documents, &alignment, &lettered)
                .into_iter()
                .collect(),
        ),
        (
            "queue-depths",
            "Scaling with queue depth",
            plots::queue_depths(&rows, &lettered, &mut ids),
        ),
        (
            "latencies",
            "Latencies",
            plots::latencies(documents, &alignment, &lettered, &mut ids),
        ),
        (
            "consistency",
            "Consistency",
            consistency::plots(documents, &alignment, &lettered, &mut ids),
        ),
    ]
    .into_iter()
    .filter(|(_, _, plots): &(_, _, Vec<Plot>)| !plots.is_empty())
    .collect();
    // A plot shows the first of several hosts.
    if let Some(host) = alignment.names().first() {
        for plot in sections.iter_mut().flat_map(|s| &mut s.2) {
            plot.title = format!("{} on {host}", plot.title);
        }
    }
    let mut data = BTreeMap::new();
    for plot in sections.iter().flat_map(|s| &s.2) {
        data.insert(plot.id.clone(), encode::plot(plot)?);
    }
    let all = documents.iter().zip(&names).enumerate();
    let remarks = remarks(documents, &alignment, &rows).join(" ");
    let page = Page {
        documents: all
            .map(|(i, (document, name))| Document {
                letter: letter(i),
                name: name.clone(),
                is_baseline: i == basis.baseline,
                document,
            })
            .collect(),
        conclusion: conclusion::sentences(
            &charted(&rows, usize::MAX),
            documents,
            &alignment,
            &lettered,
        ),
        charts: charts(&rows, &lettered, &alignment.heading()),
        rows,
        sections,
        baseline: letter(basis.baseline),
        remarks,
        host: alignment.heading(),
        c: Data(data),
        style: STYLE,
        script: SCRIPT,
        theme_script: THEME_SCRIPT,
    };
    Ok(encode::for_markup(page.render()?))
}

/// Charts of the first figures of each kind; all figures of power efficiency and price have one.
fn charts(rows: &[Row], names: &[String], host: &str) -> Vec<BarSection> {
    let per_watt = |row: &&Row| row.unit == efficiency::UNIT || row.unit == "J/GB";
    let priced = |row: &&Row| row.id == PRICE;
    let all = |chosen: &dyn Fn(&&Row) -> bool| {
        charted(rows, usize::MAX)
            .into_iter()
            .filter(chosen)
            .collect()
    };
    let first = charted(rows, MOST_OF_A_KIND).into_iter();
    let first = first.filter(|r| !per_watt(r) && !priced(r)).collect();
    let sections: [(_, _, Vec<&Row>); 3] = [
        ("charts", "Charts", first),
        ("efficiency", "Power efficiency", all(&per_watt)),
        ("price", "Price", all(&priced)),
    ];
    let drawn = sections
        .into_iter()
        .map(|(id, title, rows)| (id, title, merged::charts(&rows, names, host)));
    drawn.filter(|(_, _, charts)| !charts.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Figure;

    #[test]
    fn the_best_bar_comes_first_and_the_baseline_is_marked() {
        let document = |title: &str, read: f64| {
            let mut document = crate::blank::document();
            document.title = title.into();
            document.figures = vec![Figure {
                id: "cdm.read".into(),
                title: "figure <read>".into(),
                value: read,
                unit: "MB/s".into(),
                ..Figure::default()
            }];
            document
        };
        let (a, b) = (document("slow", 100.0), document("fast", 250.0));
        let basis = Basis::default();
        let page = html(&[&a, &b], &basis).unwrap();
        assert!(page.contains("2.50×") && !page.contains("<read>"));
        let bars = &page[page.find("class=\"bars").unwrap()..];
        assert!(bars.find("B: fast").unwrap() < bars.find("A: slow").unwrap());
        assert!(page.contains("A: slow <span class=\"tag\">baseline"));
        let baseline = Basis {
            baseline: 1,
            ..basis
        };
        let page = html(&[&a, &b], &baseline).unwrap();
        assert!(page.contains("B: fast <span class=\"tag\">baseline"));
        let bars = &page[page.find("class=\"bars").unwrap()..];
        assert!(bars.contains("0.40×") && !bars.contains("2.50×"));
    }
}
