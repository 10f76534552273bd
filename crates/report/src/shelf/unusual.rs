//! Unusual figures of a drive: those far from the figures of similar drives. Drives are similar if their most important
//! rates differ by less than a factor of two: a memory card is slower than an SSD in everything, which is not unusual.

use crate::compare::Row;
use crate::compare::selection::charted;
use crate::number::short;
use nandscope_units::median;

/// Largest number of figures of one kind that are compared.
const MOST_OF_A_KIND: usize = 8;
/// Largest number of sentences.
const MOST: usize = 3;
/// Fewest similar drives that have a figure.
const FEWEST: usize = 4;
/// Ratio of the rates of similar drives.
const SIMILAR: f64 = 2.0;
/// Phrase for the other drives of a shelf in sentences.
pub(super) const OF_SHELF: &str = "drives of the shelf";
/// Least ratio to the median of the other drives.
const FAR: f64 = 2.0;

/// Sentences on the figures of document `i` that lie outside the range of all similar drives and differ from their median
/// by at least [`FAR`]; the farthest first. `others` is what the other documents are called.
pub(super) fn of_rows(rows: &[Row], i: usize, others: &str) -> Vec<String> {
    let looked_at = charted(rows, MOST_OF_A_KIND);
    let Some(rate) = looked_at.iter().find(|r| r.unit == "MB/s") else {
        return Vec::new();
    };
    let Some(own) = value(rate, i) else {
        return Vec::new();
    };
    let similar = |j: &usize| {
        let other = value(rate, *j);
        *j != i && other.is_some_and(|v| v * SIMILAR >= own && v <= own * SIMILAR)
    };
    let similar: Vec<usize> = (0..rate.values.len()).filter(similar).collect();
    let mut found: Vec<(f64, String)> = looked_at
        .iter()
        .filter_map(|row| sentence(row, i, &similar))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let sentences = found.into_iter().take(MOST).map(|(_, text)| text);
    let mut sentences: Vec<String> = sentences.collect();
    if let Some(first) = sentences.first_mut() {
        *first = format!(
            "{} {others} are similar: half to twice {} in {}. {first}",
            similar.len(),
            rate.cell(i),
            rate.title
        );
    }
    sentences
}

/// A positive value.
fn value(row: &Row, i: usize) -> Option<f64> {
    row.values.get(i).copied().flatten().filter(|v| *v > 0.0)
}

/// Ratio of the value to the median of the similar drives, at least 1, and the sentence.
fn sentence(row: &Row, i: usize, similar: &[usize]) -> Option<(f64, String)> {
    // The rate by which drives are similar is never far; temperatures and shares have no ratio.
    if matches!(row.unit.as_str(), "%" | "°C") {
        return None;
    }
    let own = value(row, i)?;
    let mut others: Vec<f64> = similar.iter().filter_map(|j| value(row, *j)).collect();
    if others.len() < FEWEST {
        return None;
    }
    others.sort_by(f64::total_cmp);
    let (least, greatest) = (*others.first()?, *others.last()?);
    let ratio = own / median(&others);
    let far = ratio.max(1.0 / ratio);
    let outside = own < least || own > greatest;
    if !outside || far < FAR || !far.is_finite() {
        return None;
    }
    let text = format!(
        "{}: {}, {}× the median of {} similar drives, which have {} to {}.",
        row.title,
        row.cell(i),
        short(ratio),
        others.len(),
        short(least),
        crate::number::with_unit(greatest, &row.unit)
    );
    Some((far, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, unit: &str, values: &[f64]) -> Row {
        Row {
            title: format!("Figure {id}"),
            unit: unit.into(),
            values: values.iter().map(|v| Some(*v)).collect(),
            id: id.into(),
            answer: false,
            baseline: 0,
        }
    }

    #[test]
    fn a_figure_far_from_those_of_similar_drives_is_named() {
        let rows = [
            row(
                "cdm.read",
                "MB/s",
                &[100.0, 90.0, 110.0, 120.0, 80.0, 3000.0],
            ),
            row("cdm.write", "MB/s", &[5.0, 50.0, 40.0, 60.0, 45.0, 2000.0]),
            row("power.peak", "W", &[1.0, 1.1, 0.9, 1.2, 1.0, 8.0]),
            row(
                "temperature.device.max",
                "°C",
                &[90.0, 30.0, 31.0, 32.0, 30.0, 40.0],
            ),
        ];
        assert_eq!(
            of_rows(&rows, 0, OF_SHELF),
            [concat!(
                "4 drives of the shelf are similar: half to twice 100\u{202f}MB/s in Figure cdm.read. ",
                "Figure cdm.write: 5.00\u{202f}MB/s, 0.11× the median of 4 similar drives, which have 40.0 to 60.0\u{202f}MB/s."
            )]
        );
        // The others are within the range, and no drive is like the last.
        assert!((1..6).all(|i| of_rows(&rows, i, OF_SHELF).is_empty()));
    }

    #[test]
    fn few_similar_drives_and_missing_figures_say_nothing() {
        let rows = [
            row("cdm.read", "MB/s", &[100.0, 90.0, 110.0, 120.0]),
            row("cdm.write", "MB/s", &[5.0, 50.0, 40.0, 60.0]),
        ];
        assert!(of_rows(&rows, 0, OF_SHELF).is_empty());
        assert!(of_rows(&rows, 9, OF_SHELF).is_empty());
        assert!(of_rows(&[], 0, OF_SHELF).is_empty());
    }
}
