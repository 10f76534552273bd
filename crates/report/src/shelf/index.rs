//! The page of all drives: a table that can be searched, filtered and sorted, and a chart of each test.

use super::charts::{self, Group, Names};
use super::tests_of::TestSet;
use super::{Drive, drive_page};
use crate::compare::Row;
use crate::encode;
use crate::error::Result;
use crate::html::{SCRIPT, STYLE, THEME_SCRIPT};
use crate::number;
use askama::Template;

/// Styles of the pages of a shelf, after those of a report.
pub(super) const SHELF_STYLE: &str = include_str!("../../assets/shelf.css");
/// Script of the pages of a shelf, after that of a report.
pub(super) const SHELF_SCRIPT: &str = include_str!("../../assets/shelf.js");

/// Figures that are columns of the table.
const COLUMNS: usize = 4;
/// Ends of the identifiers of the most important figures: sequential and random access in both directions. A shelf
/// without any of them has its first figures as columns.
const FIRST_ASKED: [&str; COLUMNS] = [
    "cdm.fresh.seq1m-q8t1.read",
    "cdm.fresh.seq1m-q8t1.write",
    "cdm.fresh.rnd4k-q1t1.read",
    "cdm.fresh.rnd4k-q1t1.write",
];
/// Capacities that are filtered together: upper bound in GB, and name.
const CAPACITIES: [(f64, &str); 5] = [
    (20.0, "up to 20 GB"),
    (70.0, "20 to 70 GB"),
    (300.0, "70 to 300 GB"),
    (1200.0, "300 GB to 1.2 TB"),
    (f64::INFINITY, "over 1.2 TB"),
];

#[derive(Template)]
#[template(path = "shelf.html")]
struct Page {
    drives: Vec<Line>,
    columns: Vec<String>,
    capacities: Vec<(usize, &'static str)>,
    groups: Vec<Group>,
    counted: String,
    priced: bool,
    style: &'static str,
    shelf_style: &'static str,
    script: &'static str,
    shelf_script: &'static str,
    theme_script: &'static str,
}

/// A drive in the table.
struct Line {
    name: String,
    title: String,
    link: String,
    kind: &'static str,
    capacity: String,
    capacity_gb: f64,
    bucket: usize,
    price: String,
    per_gb: Option<f64>,
    photo: Option<String>,
    notes: String,
    mode: String,
    cells: Vec<(String, String)>,
}

/// The index of a site.
///
/// # Errors
/// `ReportError::Template` if the template cannot be rendered.
pub(super) fn page(
    drives: &[Drive],
    titles: &[String],
    links: &[Vec<String>],
    sets: &[TestSet],
) -> Result<String> {
    let columns = columns(sets);
    let lines: Vec<Line> = drives
        .iter()
        .enumerate()
        .map(|(i, drive)| line(drive, i, titles, links, &columns))
        .collect();
    let names = Names {
        drives,
        titles,
        links,
    };
    let used = |bucket: &usize| lines.iter().any(|l| l.bucket == *bucket);
    let page = Page {
        capacities: CAPACITIES
            .iter()
            .map(|c| c.1)
            .enumerate()
            .filter(|(i, _)| used(i))
            .collect(),
        columns: columns.iter().map(|(_, row)| heading(row)).collect(),
        groups: charts::groups(&names, sets),
        counted: counted(drives),
        priced: lines.iter().any(|l| !l.price.is_empty()),
        drives: lines,
        style: STYLE,
        shelf_style: SHELF_STYLE,
        script: SCRIPT,
        shelf_script: SHELF_SCRIPT,
        theme_script: THEME_SCRIPT,
    };
    Ok(encode::for_markup(page.render()?))
}

/// The columns of the table: a figure with the set that it is of.
fn columns<'a>(sets: &'a [TestSet]) -> Vec<(&'a TestSet<'a>, &'a Row)> {
    let all = || sets.iter().flat_map(|s| s.rows.iter().map(move |r| (s, r)));
    let asked: Vec<_> = FIRST_ASKED
        .iter()
        .filter_map(|id| all().find(|(_, row)| row.id == *id))
        .collect();
    if !asked.is_empty() {
        return asked;
    }
    let comparable = |row: &Row| row.better().is_some();
    all()
        .filter(|(_, row)| comparable(row))
        .take(COLUMNS)
        .collect()
}

fn heading(row: &Row) -> String {
    format!("{} ({})", row.title, row.unit)
}

fn line(
    drive: &Drive,
    i: usize,
    titles: &[String],
    links: &[Vec<String>],
    columns: &[(&TestSet, &Row)],
) -> Line {
    let gb = drive.capacity_bytes() as f64 / 1e9;
    let price = drive.about.price.as_ref();
    let mode = columns.iter().find_map(|(set, _)| {
        let place = set.place_of(i)?;
        set.alignment.named().get(place).cloned().flatten()
    });
    Line {
        name: drive.name.clone(),
        title: titles.get(i).cloned().unwrap_or_default(),
        link: links
            .get(i)
            .and_then(|l| l.first())
            .cloned()
            .unwrap_or_default(),
        kind: if drive.is_simulated() {
            "simulated"
        } else {
            "measured"
        },
        capacity: number::bytes(drive.capacity_bytes()),
        capacity_gb: gb,
        bucket: CAPACITIES
            .iter()
            .position(|c| gb <= c.0)
            .unwrap_or_default(),
        price: price.map_or(String::new(), |p| drive_page::price(drive, p)),
        per_gb: drive.price_per_gb(),
        photo: drive.about.photo.clone(),
        notes: drive.about.notes.clone().unwrap_or_default(),
        mode: mode.unwrap_or_default(),
        cells: columns
            .iter()
            .map(|(set, row)| cell(set.place_of(i).and_then(|p| row.values.get(p).copied()?)))
            .collect(),
    }
}

/// The value to sort by, and its text.
fn cell(value: Option<f64>) -> (String, String) {
    value.map_or((String::new(), "–".to_string()), |v| {
        (v.to_string(), number::short(v))
    })
}

/// Number of drives of each kind, in a sentence.
fn counted(drives: &[Drive]) -> String {
    let simulated = drives.iter().filter(|d| d.is_simulated()).count();
    let measured = drives.len() - simulated;
    match (simulated, measured) {
        (0, _) => "All drives were measured.".to_string(),
        (_, 0) => "All drives are simulated: their figures are those of a model, not of a sample of the product.".to_string(),
        (s, m) => format!("{m} measured, {s} simulated. Figures of simulated drives are those of a model, not of a sample of the product."),
    }
}
