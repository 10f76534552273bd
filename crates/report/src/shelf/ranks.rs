//! Which place a drive takes among others in each figure.

use super::{Drive, titles, unusual};
use crate::compare::rows::{Row, all_rows};
use crate::compare::selection::charted;
use crate::view::around::{Around, Rank};
use crate::view::bars::Better;
use nandscope_result::ResultDocument;

/// Ranks that are shown; the rest is in the charts of the site.
const MOST: usize = 14;
/// Ranks of one kind of figure.
const MOST_OF_A_KIND: usize = 8;

/// The ranks of a result among the drives of a shelf that went through the same procedure, and what is unusual among
/// them. A result of the same target on the shelf is left out: a drive is not its own rival.
pub fn among(document: &ResultDocument, shelf: &[Drive]) -> Around {
    let titles = titles(shelf);
    let (mut documents, mut names) = (vec![document], vec![document.title.clone()]);
    for (drive, title) in shelf.iter().zip(&titles) {
        let rivals = drive
            .results
            .iter()
            .filter(|r| r.procedure == document.procedure && r.target.name != document.target.name);
        for rival in rivals {
            documents.push(rival);
            names.push(title.clone());
        }
    }
    let rows = all_rows(&documents);
    Around {
        ranks: of_rows(&rows, 0, &names),
        unusual: unusual::of_rows(&rows, 0),
        ..Around::default()
    }
}

/// The ranks of document `i` of some rows, whose documents have these names.
pub(super) fn of_rows(rows: &[Row], i: usize, names: &[String]) -> Vec<Rank> {
    let ranks = charted(rows, MOST_OF_A_KIND).into_iter();
    ranks
        .filter_map(|row| of_row(row, i, names))
        .take(MOST)
        .collect()
}

/// `None` where the document does not have the figure, or no other has, or none is better than another.
fn of_row(row: &Row, i: usize, names: &[String]) -> Option<Rank> {
    let direction = row.better()?;
    let value = row.values.get(i).copied().flatten()?;
    let ranked = row.ranked();
    let beats = |other: f64| match direction {
        Better::More => other > value,
        Better::Less => other < value,
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
