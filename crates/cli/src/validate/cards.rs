//! `nandscope validate --cards`: simulated cards compared with recorded flashbench runs of real ones.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::interrupt::Interrupt;
use crate::output::Form;
use crate::review::suite_failure;
use crate::run::progress::Line;
use crate::target::{device_source, host_source};
use crate::threads::ThreadArguments;
use nandscope_device::memory_estimate;
use nandscope_device::profile::{HostProfile, Profile};
use nandscope_infer::flashbench::RecordError;
use nandscope_suite::cards::{Card, Cards, Comparison, page, unexplained};
use nandscope_suite::flashbench::recorded::Recorded;
use nandscope_suite::{SuiteError, at_once};
use std::path::{Path, PathBuf};

/// Comparison of a card: its entry, its device and the host that it was measured on.
struct Piece {
    card: Card,
    profile: Profile,
    host: HostProfile,
}

/// Compares every card of a table, or in detail those whose device is named. Prints the page or JSON, and returns the exit
/// code.
///
/// # Errors
/// `Exit::File` if a table or profile cannot be read; `Exit::Usage` if it has faults; `Exit::Interrupted`.
pub fn run(
    table: &Path,
    devices: &[String],
    threads: ThreadArguments,
    (interrupt, form): (&Interrupt, Form),
    console: &Console,
) -> Result<(String, Result<Exit, Failure>), Failure> {
    let pieces = pieces(table, devices, console)?;
    let recorded = recorded(&folder(table).join("flashbench"))?;
    let largest = pieces.iter().map(|p| memory_estimate(&p.profile)).max();
    let threads = threads.within_memory(largest.unwrap_or_default(), console);
    let compared = compare(&pieces, &recorded, threads, interrupt)?;
    let text = match form {
        Form::Json => {
            let json = super::json::cards(&compared);
            serde_json::to_string_pretty(&json).map_err(Failure::internal)?
        }
        Form::Text | Form::Silent => page(&compared, !devices.is_empty()),
    };
    Ok((text, verdict(table, &compared)))
}

fn folder(table: &Path) -> &Path {
    table.parent().unwrap_or(Path::new(""))
}

fn pieces(table: &Path, devices: &[String], console: &Console) -> Result<Vec<Piece>, Failure> {
    let text = input::text(table, "the table of cards")?;
    let name = table.display().to_string();
    let mut cards = Cards::parse(&name, &text).map_err(|e| suite_failure(&e))?;
    if let Some(absent) = devices
        .iter()
        .find(|d| cards.card.iter().all(|c| c.profile != **d))
    {
        return Err(Failure::usage(format!("{name} has no card of `{absent}`")));
    }
    cards
        .card
        .retain(|c| devices.is_empty() || devices.contains(&c.profile));
    cards
        .card
        .into_iter()
        .map(|card| {
            let profile = device_source(&beside(table, &card.profile), console)?.profile;
            let host = host_source(&beside(table, &card.host), console)?.profile;
            Ok(Piece {
                card,
                profile,
                host,
            })
        })
        .collect()
}

/// Path of a profile file named in a table, relative to the table.
fn beside(table: &Path, place: &str) -> String {
    if !place.contains('/') && !place.ends_with(".toml") {
        return place.to_string();
    }
    let path: PathBuf = folder(table).join(place);
    // A separator marks the name as a file, not a device of the library.
    match path.display().to_string() {
        path if path.contains('/') => path,
        path => format!("./{path}"),
    }
}

/// Reads the recorded tables of a folder, of which each kind is optional.
fn recorded(folder: &Path) -> Result<Recorded, Failure> {
    type Read = fn(&mut Recorded, &str, &str) -> Result<(), RecordError>;
    let kinds: [(&str, Read); 3] = [
        ("align.csv", Recorded::read_align),
        ("openau.csv", Recorded::read_open_au),
        ("findfat.csv", Recorded::read_find_fat),
    ];
    let mut all = Recorded::default();
    let mut found = false;
    for (name, read) in kinds {
        let path = folder.join(name);
        if path.exists() {
            let text = input::text(&path, "the recorded table")?;
            read(&mut all, &path.display().to_string(), &text)
                .map_err(|e| suite_failure(&e.into()))?;
            found = true;
        }
    }
    if found {
        return Ok(all);
    }
    Err(Failure::usage(format!(
        "no recorded tables in {}: align.csv, openau.csv and findfat.csv are looked for beside the table of cards",
        folder.display()
    )))
}

fn compare(
    pieces: &[Piece],
    recorded: &Recorded,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<(Card, Comparison)>, Failure> {
    let line = Line::new("validate --cards");
    let outcomes = at_once::run(
        pieces.len(),
        threads,
        &|| interrupt.asked(),
        |number| {
            let piece = &pieces[number];
            piece
                .card
                .run(&piece.profile, &piece.host, recorded, &|| interrupt.asked())
        },
        |done| {
            let text = format!("{} is done", pieces[done.number].card.profile);
            line.show(Some(done.share(pieces.len())), text);
        },
    );
    line.clear();
    if interrupt.asked() {
        let text = "interrupted; nothing was written";
        return Err(Failure::new(Exit::Interrupted, text));
    }
    let outcomes: Result<Vec<Comparison>, SuiteError> = outcomes.into_iter().flatten().collect();
    let outcomes = outcomes.map_err(|e| suite_failure(&e))?;
    let cards = pieces.iter().map(|p| p.card.clone());
    Ok(cards.zip(outcomes).collect())
}

fn verdict(table: &Path, compared: &[(Card, Comparison)]) -> Result<Exit, Failure> {
    match unexplained(compared).first() {
        None => Ok(Exit::Done),
        Some(card) => Err(Failure::new(
            Exit::Partial,
            format!(
                "{}: {} misses its record without a stated reason (`why`), or states one and misses nothing",
                table.display(),
                card.profile
            ),
        )),
    }
}
