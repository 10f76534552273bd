//! Drives among which a single result is ranked: those of a shelf, or without one the simulated devices of the library.

use super::library::{Field, Scope};
use super::{Drive, index_of_speed, library, ranks, titles, unusual};
use crate::compare::rows::all_rows;
use crate::compare::{Alignment, Row};
use crate::names::test;
use crate::view::page_context::{PageContext, Rank, Rivals, Wider};
use nandscope_result::ResultDocument;

/// How ranks are meant.
const RANKS: &str = "Rank 1 is the highest rate, or the lowest time, power or energy; values within 1\u{202f}% share a rank.";

/// Among which drives a result is ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankScope {
    /// Drives with the same kind of interface; of more kinds if there are too few.
    #[default]
    Kind,
    /// Drives of all kinds.
    All,
}

/// Ranks of a result among the drives of a shelf that went through the same procedure, and unusual figures among them.
/// If the shelf has none, the simulated devices of the library are used, in the tests that the library has. A result of
/// the same target does not count: a drive is not compared with itself.
pub fn among(document: &ResultDocument, shelf: &[Drive], scope: RankScope) -> PageContext {
    let on_shelf = among_shelf(document, shelf, scope);
    on_shelf.unwrap_or_else(|| among_library(document, scope))
}

/// Ranks on the shelf; `None` if the shelf has no other drive with the same test.
fn among_shelf(
    document: &ResultDocument,
    shelf: &[Drive],
    scope: RankScope,
) -> Option<PageContext> {
    let quick = document.quick;
    let is_rival = |r: &&ResultDocument| {
        r.procedure == document.procedure
            && r.quick == quick
            && r.target.name != document.target.name
    };
    let (mut documents, mut names) = (vec![document], vec![document.title.clone()]);
    for (drive, title) in shelf.iter().zip(titles(shelf)) {
        for rival in drive.results.iter().filter(is_rival) {
            documents.push(rival);
            names.push(match rival.target.is_simulated() {
                true => format!("{title} (simulated)"),
                false => title.clone(),
            });
        }
    }
    if documents.len() == 1 {
        return None;
    }
    let members = library::members(&documents, 0, scope);
    let kind = library::phrase(&documents, &members);
    let drives = kinds(&documents, &members, scope);
    let documents: Vec<&ResultDocument> = members.iter().map(|i| documents[*i]).collect();
    let mut names: Vec<String> = members.iter().map(|i| names[*i].clone()).collect();
    let rivals = documents.len() - 1;
    let alignment = Alignment::or_across(&documents);
    for (name, host) in names.iter_mut().zip(alignment.named()).skip(1) {
        if let Some(host) = host {
            *name = format!("{name}, {host}");
        }
    }
    let rows = all_rows(&documents, &alignment);
    let hosts = match (alignment.is_across(), alignment.names().as_slice()) {
        (true, _) => ", each on the first host of its result".to_string(),
        (false, [one]) => format!(", on {one}"),
        _ => String::new(),
    };
    let test = test(document);
    let shown = ranks::shown(&rows);
    Some(PageContext {
        ranks: ranks::of_rows(&shown, 0, &names),
        index_of_speed: index_of_speed::of_rows(&shown, 0, &names, &kind),
        unusual: unusual::of_rows(&rows, 0, unusual::OF_SHELF),
        rivals: Some(Rivals {
            intro: format!(
                "Places among the {} {drives} of the shelf with the same test ({test}){hosts}, this one included. {RANKS}",
                rivals + 1
            ),
            limited: None,
            names: names.split_off(1),
        }),
        ..PageContext::default()
    })
}

/// Phrase for the drives of a shelf among which one is ranked, a plural.
pub(super) fn kinds(documents: &[&ResultDocument], members: &[usize], scope: RankScope) -> String {
    match (scope, library::plural(documents, members)) {
        (RankScope::All, _) => "drives of all kinds".to_string(),
        (RankScope::Kind, plural) => plural.to_string(),
    }
}

/// The introduction to ranks on a site, whose index lists the drives.
pub(super) fn intro_on_site(drives: &str, count: usize) -> String {
    format!(
        "Places among the {count} {drives} of the shelf with the same test, this one included. {RANKS}"
    )
}

/// Ranks among the devices of the library; `None` for a procedure that the library does not have.
fn among_library(document: &ResultDocument, scope: RankScope) -> PageContext {
    let (narrow, broad) = match scope {
        RankScope::Kind => (Scope::Kind, Scope::Family),
        RankScope::All => (Scope::All, Scope::All),
    };
    let (own, wide) = match (
        library::field(document, narrow),
        library::field(document, broad),
    ) {
        (Some(Ok(own)), Some(Ok(wide))) => (own, wide),
        (Some(Err(reason)), _) => return unranked(reason.to_string()),
        _ => return PageContext::default(),
    };
    // Without enough drives of its kind a drive is ranked among all.
    let too_few = own.names.len() < library::FEWEST;
    let few = too_few.then(|| few(&own));
    let (field, wider) = match too_few {
        true => (&wide, None),
        false => (&own, (own.kind != wide.kind).then_some(&wide)),
    };
    let shown = ranks::shown(&field.rows);
    let ranks = ranked(&shown, field);
    if ranks.is_empty() && field.limited.is_none() {
        return PageContext::default();
    }
    let measured = match document.target.is_simulated() {
        true => "",
        false => " This drive was measured.",
    };
    let mode = match (&field.mode, document.target.modes.len()) {
        (Some(mode), 2..) => format!(", this drive in {mode}"),
        _ => String::new(),
    };
    let kind = format!("{} {}", field.titles.len(), field.kind);
    PageContext {
        ranks,
        index_of_speed: index_of_speed::of_rows(&shown, 0, &field.titles, &kind),
        wider: wider.map(|wide| Wider {
            title: format!("Ranks among all {} {}", wide.names.len(), wide.kind),
            ranks: ranked(&ranks::shown(&wide.rows), wide),
        }),
        unusual: unusual::of_rows(&wide.rows, 0, "simulated devices of the library"),
        rivals: Some(Rivals {
            intro: format!(
                "{}Places among this drive and {} {} of the library, all simulated, in the same test ({}), each on the fastest host of its profile{mode}.{measured} {RANKS}",
                few.unwrap_or_default(),
                field.names.len(),
                field.kind,
                test(document),
            ),
            limited: field.limited.clone(),
            names: field.names.clone(),
        }),
        ..PageContext::default()
    }
}

/// Why a drive is not ranked among its kind.
fn few(own: &Field) -> String {
    format!(
        "The library has too few other {} ({}). ",
        own.kind,
        own.names.len()
    )
}

/// The ranks in figures that enough rivals have.
fn ranked(shown: &[&Row], field: &Field) -> Vec<Rank> {
    let ranks = ranks::of_rows(shown, 0, &field.titles).into_iter();
    ranks.filter(|r| r.of > library::FEWEST).collect()
}

/// A page that gives a reason for the lack of ranks.
fn unranked(reason: String) -> PageContext {
    PageContext {
        rivals: Some(Rivals {
            intro: reason,
            ..Rivals::default()
        }),
        ..PageContext::default()
    }
}
