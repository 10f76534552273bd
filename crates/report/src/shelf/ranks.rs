//! Rank of a drive among others in each figure.

use crate::compare::Row;
use crate::compare::selection::charted;
use crate::view::bars::Better;
use crate::view::page_context::Rank;

/// Ranks that are shown; the rest is in the charts of the site.
const MOST: usize = 14;
/// Maximum number of ranks per kind of figure.
const MOST_OF_A_KIND: usize = 8;
/// Ratio below which values share a rank: drives at the limit of the same link differ by a few parts in ten thousand.
const EQUAL: f64 = 1.01;

/// The ranks of document `i` of some rows, whose documents have these names.
pub(super) fn of_rows(rows: &[Row], i: usize, names: &[String]) -> Vec<Rank> {
    let ranks = charted(rows, MOST_OF_A_KIND).into_iter();
    ranks
        .filter_map(|row| of_row(row, i, names))
        .take(MOST)
        .collect()
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
    })
}
