//! The frame of a report on the site: the link back, photo, price, notes, further results, ranks.

use super::tests_of::TestSet;
use super::{Drive, Price, RankScope, among, index_of_speed, library, ranks, unusual};
use crate::compare::Row;
use crate::number::short;
use crate::view::author::Author;
use crate::view::page_context::{PageContext, Rivals};

/// The frame of the report of result `result` of drive `number`.
pub(super) fn context(
    drive: &Drive,
    (number, result): (usize, usize),
    links: &[Vec<String>],
    titles: &[String],
    sets: &[TestSet],
    scope: RankScope,
) -> PageContext {
    let procedure = drive.results.get(result).map(|r| r.procedure.as_str());
    let set = sets.iter().find(|s| Some(s.procedure) == procedure);
    let ranking = set.and_then(|set| {
        let names = set.drives.iter();
        let names = names.map(|d| titles.get(*d).cloned().unwrap_or_default());
        let names: Vec<String> = names.collect();
        let place = set.place_of(number)?;
        let members = library::members(&set.documents, place, scope);
        let drives = among::kinds(&set.documents, &members, scope);
        let rows: Vec<Row> = set.rows.iter().map(|r| r.only(&members)).collect();
        let shown = ranks::shown(&rows);
        let phrase = library::phrase(&set.documents, &members);
        Some((
            ranks::of_rows(&shown, place, &names),
            index_of_speed::of_rows(&shown, place, &names, &phrase),
            among::intro_on_site(&drives, members.len()),
        ))
    });
    let (ranks, index_of_speed, intro) = ranking.unwrap_or_default();
    let rivals = (!ranks.is_empty()).then(|| Rivals {
        intro,
        ..Rivals::default()
    });
    let unusual = set.and_then(|set| {
        let place = set.place_of(number)?;
        Some(unusual::of_rows(&set.rows, place, unusual::OF_SHELF))
    });
    let pages = links.get(number).into_iter().flatten();
    let others = drive.results.iter().zip(pages).enumerate();
    PageContext {
        index: Some("../index.html".to_string()),
        author: match result {
            0 => drive.about.author.clone(),
            _ => Author::default(),
        },
        photo: drive.about.photo.as_ref().map(|p| format!("../{p}")),
        price: drive.about.price.as_ref().map(|p| price(drive, p)),
        notes: notes(drive),
        others: others
            .filter(|(j, _)| *j != result)
            .map(|(_, (r, link))| (r.procedure.clone(), format!("../{link}")))
            .collect(),
        rivals,
        ranks,
        index_of_speed,
        wider: None,
        unusual: unusual.unwrap_or_default(),
    }
}

/// `59.90 EUR, 0.234 EUR/GB`.
pub(super) fn price(drive: &Drive, price: &Price) -> String {
    let whole = format!("{:.2}\u{202f}{}", price.amount, price.currency);
    match drive.price_per_gb() {
        Some(per_gb) => format!("{whole}, {}\u{202f}{}/GB", short(per_gb), price.currency),
        None => whole,
    }
}

/// Paragraphs of the notes.
fn notes(drive: &Drive) -> Vec<String> {
    let text = drive.about.notes.as_deref().unwrap_or_default();
    let paragraphs = text.split("\n\n").map(str::trim);
    paragraphs
        .filter(|p| !p.is_empty())
        .map(str::to_string)
        .collect()
}
