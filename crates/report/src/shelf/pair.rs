//! The page that compares any two drives. It contains the figures and curves of all drives; its script shows those of
//! the two selected ones.

use super::Drive;
use super::index::{SHELF_SCRIPT, SHELF_STYLE};
use super::tests_of::TestSet;
use crate::compare::Row;
use crate::compare::plots;
use crate::compare::selection::charted;
use crate::encode;
use crate::error::Result;
use crate::html::{SCRIPT, STYLE, THEME_SCRIPT};
use crate::number;
use crate::view::bars::Better;
use crate::view::{long_writes, percentile};
use askama::Template;
use nandscope_units::number::round_significant;
use serde_json::{Value, json};

/// Rows of the plot of a long write.
const FILL_ROWS: usize = 400;
/// Maximum number of bars per kind of figure; the table has all figures.
const MOST_OF_A_KIND: usize = 8;
/// Maximum number of tests per procedure with latency curves.
const MOST_LATENCIES: usize = 8;

#[derive(Template)]
#[template(path = "shelf-pair.html")]
struct Page {
    data: String,
    style: &'static str,
    shelf_style: &'static str,
    script: &'static str,
    shelf_script: &'static str,
    theme_script: &'static str,
}

/// The page.
///
/// # Errors
/// `ReportError::Encode` if the data cannot be encoded; `ReportError::Template` if the template cannot be rendered.
pub(super) fn page(
    drives: &[Drive],
    titles: &[String],
    links: &[Vec<String>],
    sets: &[TestSet],
) -> Result<String> {
    let drives: Vec<Value> = drives
        .iter()
        .zip(titles)
        .zip(links)
        .map(|((drive, title), links)| entry(drive, title, links))
        .collect();
    let data = json!({
        "drives": drives,
        "sets": sets.iter().map(set).collect::<Vec<_>>(),
    });
    let page = Page {
        data: encode::data(data, "compare")?,
        style: STYLE,
        shelf_style: SHELF_STYLE,
        script: SCRIPT,
        shelf_script: SHELF_SCRIPT,
        theme_script: THEME_SCRIPT,
    };
    Ok(encode::for_markup(page.render()?))
}

fn entry(drive: &Drive, title: &str, links: &[String]) -> Value {
    json!({
        "name": drive.name,
        "title": title,
        "link": links.first(),
        "simulated": drive.is_simulated(),
        "capacity": number::bytes(drive.capacity_bytes()),
        "perGb": drive.price_per_gb(),
        "currency": drive.about.price.as_ref().map(|p| p.currency.as_str()),
    })
}

/// A procedure: its figures, and the curves of each of its results.
fn set(set: &TestSet) -> Value {
    let charted = charted(&set.rows, MOST_OF_A_KIND);
    let rows = set
        .rows
        .iter()
        .filter(|r| r.values.iter().flatten().count() > 1);
    let rows = rows.map(|r| row(r, charted.iter().any(|c| std::ptr::eq(*c, r))));
    let fills: Vec<Option<Value>> = set
        .documents
        .iter()
        .enumerate()
        .map(|(i, d)| {
            let samples = long_writes::first(d, set.alignment.first_of(i))?;
            let plot = long_writes::overlay("fill", &[(String::new(), samples)]).reduce(FILL_ROWS);
            Some(encode::value(&plot))
        })
        .collect();
    json!({
        "procedure": set.procedure,
        "drives": set.drives,
        "modes": set.alignment.named(),
        "quick": set.documents.iter().map(|d| d.quick).collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
        "fills": fills,
        "latencies": latencies(set),
    })
}

/// A figure: whether more (1) or less (-1) is better, or neither; a yes or no has no direction.
fn row(row: &Row, charted: bool) -> Value {
    let direction = match row.better() {
        Some(Better::More) => 1,
        Some(Better::Less) => -1,
        None => 0,
    };
    let values = row
        .values
        .iter()
        .map(|v| v.map(|v| round_significant(v, 6)));
    json!({
        "title": row.title,
        "unit": row.unit,
        "better": direction,
        "charted": charted,
        "answer": row.answer,
        "values": values.collect::<Vec<_>>(),
    })
}

/// The tests that most drives share, each with the latencies of every drive that has them.
fn latencies(set: &TestSet) -> Vec<Value> {
    let of_each: Vec<_> = set
        .documents
        .iter()
        .enumerate()
        .map(|(i, d)| percentile::medians(d, set.alignment.first_of(i)))
        .collect();
    let mut tests: Vec<(&str, usize)> = Vec::new();
    for (name, _) in of_each.iter().flatten() {
        match tests.iter_mut().find(|t| t.0 == name) {
            Some(test) => test.1 += 1,
            None => tests.push((name, 1)),
        }
    }
    tests.retain(|t| t.1 > 1);
    tests.sort_by_key(|t| std::cmp::Reverse(t.1));
    tests
        .into_iter()
        .take(MOST_LATENCIES)
        .map(|(name, _)| {
            let lines: Vec<Option<Value>> = of_each
                .iter()
                .map(|tests| {
                    let (_, samples) = tests.iter().find(|t| t.0 == name)?;
                    let line = [(String::new(), samples.clone())];
                    Some(encode::value(&plots::latency("latency", name, &line)))
                })
                .collect();
            json!({ "test": name, "lines": lines })
        })
        .collect()
}
