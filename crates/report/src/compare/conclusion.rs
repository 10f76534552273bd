//! The comparison in words: which result is better in which tests and by how much, as far as repeats support it.

use super::hosts::Alignment;
use super::row::Row;
use super::rows::test_id;
use crate::number;
use crate::view::bars::Better;
use crate::view::published;
use nandscope_result::{Figure, ResultDocument};

/// Least ratio of values that differ. Repeats of one device on one host differ by up to a few percent.
const LEAST_LEAD: f64 = 1.05;
/// Tests that are named for a result.
const MOST_NAMED: usize = 3;

/// A result that leads in a test.
struct Lead<'a> {
    title: &'a str,
    document: usize,
    /// How many times better than the next best, at least 1.
    ratio: f64,
}

/// Sentences on the speed and then on power, in these figures of the documents.
pub(super) fn sentences(
    rows: &[&Row],
    documents: &[&ResultDocument],
    alignment: &Alignment,
    names: &[String],
) -> Vec<String> {
    let is_power = |row: &&&Row| matches!(row.unit.as_str(), "W" | "J/GB" | "MB/s/W");
    let figures: Vec<Vec<&Figure>> = documents
        .iter()
        .map(|d| published::all_figures(d).iter().map(|p| p.figure).collect())
        .collect();
    let ranges = |row: &Row| ranges(row, &figures, alignment);
    let speed: Vec<&Row> = rows.iter().filter(|r| r.is_speed()).copied().collect();
    let power: Vec<&Row> = rows.iter().filter(is_power).copied().collect();
    let mut said = of_kind(&speed, "faster", "tests", names, &ranges);
    said.extend(of_kind(
        &power,
        "better",
        "figures of power and energy",
        names,
        &ranges,
    ));
    said
}

/// Value of each document with the range of its repeats.
type Ranges = Vec<Option<(f64, f64, f64)>>;

/// The values of a row with the ranges of their repeats; a value that was measured once is its own range.
fn ranges(row: &Row, figures: &[Vec<&Figure>], alignment: &Alignment) -> Ranges {
    let of_document = |(i, figures): (usize, &Vec<&Figure>)| {
        let value = row.values.get(i).copied().flatten()?;
        let same = figures.iter().copied().find(|f| {
            test_id(f) == row.id
                && f.unit == row.unit
                && f.value == value
                && alignment.of_figure(i, f).is_some()
        });
        let low = same.and_then(|f| f.low).unwrap_or(value);
        let high = same.and_then(|f| f.high).unwrap_or(value);
        Some((value, low.min(value), high.max(value)))
    };
    figures.iter().enumerate().map(of_document).collect()
}

/// The result that leads in a figure beyond the range of all repeats; `None` if none does.
fn lead<'a>(row: &'a Row, ranges: &Ranges) -> Option<Lead<'a>> {
    let direction = row.better()?;
    let ranked = row.ranked();
    let (document, best) = *ranked.first()?;
    let (_, second) = *ranked.get(1)?;
    let of = |i: usize| ranges.get(i).copied().flatten();
    let (_, low, high) = of(document)?;
    let others = || ranked.iter().skip(1).filter_map(|(i, _)| of(*i));
    let (ratio, is_apart) = match direction {
        Better::More => (best / second, others().all(|o| o.2 < low)),
        Better::Less => (second / best, others().all(|o| o.1 > high)),
    };
    (is_apart && ratio.is_finite() && ratio >= LEAST_LEAD).then_some(Lead {
        title: &row.title,
        document,
        ratio,
    })
}

fn of_kind(
    rows: &[&Row],
    word: &str,
    of: &str,
    names: &[String],
    ranges: &dyn Fn(&Row) -> Ranges,
) -> Vec<String> {
    let rows: Vec<&Row> = rows
        .iter()
        .copied()
        .filter(|r| r.values.iter().flatten().count() > 1)
        .collect();
    let leads: Vec<Lead> = rows
        .iter()
        .filter_map(|row| lead(row, &ranges(row)))
        .collect();
    let mut counts: Vec<(usize, Vec<&Lead>)> = (0..names.len())
        .map(|i| (i, leads.iter().filter(|l| l.document == i).collect()))
        .collect();
    counts.retain(|(_, own)| !own.is_empty());
    counts.sort_by_key(|(_, own)| std::cmp::Reverse(own.len()));
    let mut said: Vec<String> = counts
        .iter_mut()
        .filter_map(|(i, own)| {
            own.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
            let named = own
                .iter()
                .take(MOST_NAMED)
                .map(|l| format!("{} ({})", l.title, number::ratio(l.ratio)));
            let named: Vec<String> = named.collect();
            let more = own.len().saturating_sub(MOST_NAMED);
            let rest = if more > 0 {
                format!("; and {more} more")
            } else {
                String::new()
            };
            Some(format!(
                "{} is {word} in {} of {} {of}: {}{rest}.",
                names.get(*i)?,
                own.len(),
                rows.len(),
                named.join("; ")
            ))
        })
        .collect();
    let alike = rows.len() - leads.len();
    if alike > 0 {
        said.push(format!(
            "In {alike} of {} {of} no result leads beyond scatter.",
            rows.len()
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(title: &str, figures: &[(&str, f64, f64, f64, &str)]) -> ResultDocument {
        let mut document = crate::blank::document();
        document.title = title.into();
        let figures = figures.iter().map(|(id, value, low, high, unit)| Figure {
            id: (*id).into(),
            title: format!("Test {id}"),
            value: *value,
            low: Some(*low),
            high: Some(*high),
            unit: (*unit).into(),
            ..Figure::default()
        });
        document.figures = figures.collect();
        document
    }

    #[test]
    fn only_leads_beyond_the_repeats_are_named() {
        let a = document(
            "a",
            &[
                ("cdm.read", 100.0, 90.0, 110.0, "MB/s"),
                ("cdm.write", 50.0, 49.0, 51.0, "MB/s"),
                ("traces.x", 30.0, 29.0, 31.0, "ms"),
                ("power.peak", 2.0, 2.0, 2.0, "W"),
            ],
        );
        let b = document(
            "b",
            &[
                // The ranges of the repeats overlap.
                ("cdm.read", 115.0, 105.0, 120.0, "MB/s"),
                ("cdm.write", 25.0, 24.0, 26.0, "MB/s"),
                ("traces.x", 10.0, 9.0, 11.0, "ms"),
                ("power.peak", 1.0, 1.0, 1.0, "W"),
            ],
        );
        let documents = [&a, &b];
        let basis = super::super::Basis::default();
        let rows = super::super::rows::rows(&documents, &basis).unwrap();
        let alignment = Alignment::of(&documents, false).unwrap();
        let rows: Vec<&Row> = rows.iter().collect();
        let names = ["A: a", "B: b"].map(String::from);
        assert_eq!(
            sentences(&rows, &documents, &alignment, &names),
            [
                "A: a is faster in 1 of 3 tests: Test cdm.write (2.00×).",
                "B: b is faster in 1 of 3 tests: Test traces.x (3.00×).",
                "In 1 of 3 tests no result leads beyond scatter.",
                "B: b is better in 1 of 1 figures of power and energy: Test power.peak (2.00×).",
            ]
        );
    }

    #[test]
    fn a_small_difference_is_none() {
        let a = document("a", &[("cdm.read", 100.0, 100.0, 100.0, "MB/s")]);
        let b = document("b", &[("cdm.read", 104.0, 104.0, 104.0, "MB/s")]);
        let documents = [&a, &b];
        let rows = super::super::rows::rows(&documents, &super::super::Basis::default()).unwrap();
        let alignment = Alignment::of(&documents, false).unwrap();
        let rows: Vec<&Row> = rows.iter().collect();
        let names = ["A: a", "B: b"].map(String::from);
        assert_eq!(
            sentences(&rows, &documents, &alignment, &names),
            ["In 1 of 1 tests no result leads beyond scatter."]
        );
    }
}
