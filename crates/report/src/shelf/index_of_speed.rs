//! One number for a drive among others of its kind: the geometric mean of its ratios to their medians.

use crate::compare::Row;
use crate::number::short;
use crate::view::bars::{self, BarChart, Better, DriveValue};
use crate::view::page_context::SpeedIndex;
use nandscope_units::median;

/// Fewest drives that have an index, this one included.
const FEWEST: usize = 4;

/// The index of document `i` over the rates and times among these figures; `None` if too few drives have one.
pub(super) fn of_rows(rows: &[&Row], i: usize, names: &[String], kind: &str) -> Option<SpeedIndex> {
    let tests: Vec<&Row> = rows.iter().copied().filter(|r| counts(r, i)).collect();
    let mut found: Vec<(usize, f64)> = (0..names.len())
        .filter_map(|j| Some((j, index(&tests, j)?)))
        .collect();
    let (_, own) = *found.iter().find(|(j, _)| *j == i)?;
    if found.len() < FEWEST {
        return None;
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let place = found.iter().filter(|(_, v)| *v > own).count() + 1;
    Some(SpeedIndex {
        verdict: format!(
            "Index {} (1 is the median of these drives), place {place} of {}.",
            short(own),
            found.len()
        ),
        formula: formula(&tests, kind),
        chart: chart(&found, i, names),
    })
}

/// Whether a figure counts: a rate or a time, which the drive and others have.
fn counts(row: &Row, i: usize) -> bool {
    row.is_speed() && positive(row, i).is_some() && values(row).len() >= FEWEST
}

fn positive(row: &Row, i: usize) -> Option<f64> {
    row.values
        .get(i)
        .copied()
        .flatten()
        .filter(|v| *v > 0.0 && v.is_finite())
}

fn values(row: &Row) -> Vec<f64> {
    (0..row.values.len())
        .filter_map(|j| positive(row, j))
        .collect()
}

/// Geometric mean of the ratios of document `j` to the medians, over the tests that it has; `None` with fewer than half.
fn index(tests: &[&Row], j: usize) -> Option<f64> {
    let ratios: Vec<f64> = tests.iter().filter_map(|row| ratio(row, j)).collect();
    let enough = !ratios.is_empty() && 2 * ratios.len() >= tests.len();
    let sum: f64 = ratios.iter().map(|r| libm::log(*r)).sum();
    enough.then(|| libm::exp(sum / ratios.len() as f64))
}

/// Ratio to the median, inverted for times: more is better.
fn ratio(row: &Row, j: usize) -> Option<f64> {
    let ratio = positive(row, j)? / median(&values(row));
    Some(match row.better()? {
        Better::More => ratio,
        Better::Less => 1.0 / ratio,
    })
}

fn formula(tests: &[&Row], kind: &str) -> String {
    let names: Vec<&str> = tests.iter().map(|r| r.title.as_str()).collect();
    let count = match names.len() {
        1 => "1 test".to_string(),
        n => format!("{n} tests"),
    };
    format!(
        "The index is the geometric mean of the ratios to the median of the {kind}, this drive included, in {count}: {}. Of a time the inverse ratio counts; power and energy do not count. A test that a drive lacks is left out for that drive; a drive with fewer than half of the tests has no index.",
        names.join("; ")
    )
}

fn chart(found: &[(usize, f64)], own: usize, names: &[String]) -> BarChart {
    let drives: Vec<DriveValue> = found
        .iter()
        .map(|(j, value)| DriveValue {
            name: names.get(*j).cloned().unwrap_or_default(),
            value: *value,
            note: if *j == own { "this drive" } else { "" }.to_string(),
            highlighted: *j == own,
        })
        .collect();
    bars::of_drives("Index of speed (1 = median)", "×", &drives)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(title: &str, unit: &str, values: &[Option<f64>]) -> Row {
        Row {
            title: title.into(),
            unit: unit.into(),
            values: values.to_vec(),
            id: title.into(),
            answer: false,
            baseline: 0,
        }
    }

    #[test]
    fn the_index_is_the_mean_ratio_to_the_median() {
        let rows = [
            row("read", "MB/s", &[40.0, 10.0, 20.0, 20.0, 30.0].map(Some)),
            row(
                "time",
                "ms",
                &[Some(1.0), Some(8.0), Some(2.0), Some(4.0), None],
            ),
            row("power", "W", &[9.0, 1.0, 1.0, 1.0, 1.0].map(Some)),
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        let names = ["a", "b", "c", "d", "e"].map(String::from);
        let found = of_rows(&rows, 0, &names, "5 cards").unwrap();
        // Ratios 2 and 3, whose geometric mean is √6; the last has one test of two.
        let shown: Vec<(&str, &str)> = found
            .chart
            .rows
            .iter()
            .map(|r| (r.label.as_str(), r.bars[0].text.as_str()))
            .collect();
        assert_eq!(shown[0], ("a", "2.45×"));
        assert!(shown.contains(&("b", "0.43×")));
        assert!(shown.contains(&("e", "1.50×")));
        assert_eq!(
            found.verdict,
            "Index 2.45 (1 is the median of these drives), place 1 of 5."
        );
        assert!(found.formula.contains("in 2 tests: read; time."));
        assert_eq!(found.chart.rows[0].bars[0].note, "this drive");
    }

    #[test]
    fn few_drives_have_no_index() {
        let rows = [row("read", "MB/s", &[40.0, 10.0, 20.0].map(Some))];
        let rows: Vec<&Row> = rows.iter().collect();
        let names = ["a", "b", "c"].map(String::from);
        assert_eq!(of_rows(&rows, 0, &names, "3 cards"), None);
        assert_eq!(of_rows(&[], 0, &names, "3 cards"), None);
    }
}
