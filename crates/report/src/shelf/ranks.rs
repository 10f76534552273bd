//! Rank of a drive among others in each figure.

use crate::compare::Row;
use crate::compare::selection::charted;
use crate::view::bars::Better;
use crate::view::page_context::{Rank, RankBar};

/// Ranks that are shown; the rest is in the charts of the site.
const MOST: usize = 14;
/// Maximum number of ranks per kind of figure.
const MOST_OF_A_KIND: usize = 8;
/// Ratio below which values share a rank: drives at the limit of the same link differ by a few parts in ten thousand.
const EQUAL: f64 = 1.01;

/// The figures of which ranks are shown.
pub(super) fn shown(rows: &[Row]) -> Vec<&Row> {
    let charted = charted(rows, MOST_OF_A_KIND).into_iter();
    charted.take(MOST).collect()
}

/// The ranks of document `i` in these figures, whose documents have these names.
pub(super) fn of_rows(rows: &[&Row], i: usize, names: &[String]) -> Vec<Rank> {
    let ranks = rows.iter().filter_map(|row| of_row(row, i, names));
    ranks.collect()
}

/// Rank in one figure; `None` if the document does not have the figure, no other has it, or no value is better than
/// another.
fn of_row(row: &Row, i: usize, names: &[String]) -> Option<Rank> {
    let direction = row.better()?;
    let value = row.values.get(i).copied().flatten()?;
    let ranked = row.ranked();
    let beats = |other: f64| match direction {
        Better::More => other > value * EQUAL,
        Better::Less => other * EQUAL < value,
    };
    let (best, _) = ranked.iter().find(|(j, _)| *j != i)?;
    Some(Rank {
        title: row.title.clone(),
        value: row.cell(i),
        place: ranked.iter().filter(|(_, v)| beats(*v)).count() + 1,
        of: ranked.len(),
        best: (names.get(*best)?.clone(), row.cell(*best)),
        bars: bars(row, &ranked, i, names),
    })
}

/// A bar of each drive, as long as its value beside the greatest.
fn bars(row: &Row, ranked: &[(usize, f64)], own: usize, names: &[String]) -> Vec<RankBar> {
    let greatest = ranked.iter().map(|(_, v)| *v).fold(0.0, f64::max);
    let height = |v: f64| {
        if greatest > 0.0 {
            (v / greatest * 100.0).clamp(0.0, 100.0)
        } else {
            0.0
        }
    };
    let bars = ranked.iter().map(|(j, value)| RankBar {
        name: format!(
            "{}: {}",
            names.get(*j).map_or("", String::as_str),
            row.cell(*j)
        ),
        height: format!("{:.1}", height(*value)),
        own: *j == own,
    });
    bars.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_the_values_with_the_best_first() {
        let row = |unit: &str| Row {
            title: "figure".into(),
            unit: unit.into(),
            values: vec![Some(2.0), Some(8.0), None, Some(4.0)],
            id: "figure".into(),
            answer: false,
            baseline: 0,
        };
        let names = ["a", "b", "c", "d"].map(String::from);
        let bars = |unit: &str| {
            let row = row(unit);
            let rank = of_rows(&[&row], 0, &names).remove(0);
            let bars = rank.bars.into_iter();
            bars.map(|b| (b.height, b.own)).collect::<Vec<_>>()
        };
        let bar = |height: &str, own: bool| (height.to_string(), own);
        assert_eq!(
            bars("MB/s"),
            [bar("100.0", false), bar("50.0", false), bar("25.0", true)]
        );
        assert_eq!(
            bars("ms"),
            [bar("25.0", true), bar("50.0", false), bar("100.0", false)]
        );
    }
}
