//! `nandscope shelf`: results of many drives in a folder, and a static site made from them.

pub mod about;
pub mod folder;

use crate::claims::FileClaims;
use crate::confine::Confine;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::{input, output};
use clap::{Args, Subcommand, ValueEnum};
use nandscope_report::shelf::{self, Drive, RankScope};
use nandscope_result::ResultDocument;
use nandscope_units::Bytes;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  nandscope shelf add review-sm2708-250gb/result.json
  nandscope shelf add result.json --price 59.90 --currency EUR \\
    --photo card.jpg --notes 'Bought in May'
  nandscope shelf list
  nandscope shelf site -o site/   then open site/index.html; no server is needed";

/// Arguments of `nandscope shelf`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Copy results to the shelf
    Add(Box<Add>),
    /// List the drives of the shelf
    List(List),
    /// Write a site of static pages: all drives, each report, any two drives compared
    Site(Site),
}

#[derive(Debug, Args)]
struct Add {
    /// Stored results; each drive keeps one of each procedure
    #[arg(required = true, value_name = "RESULT.json")]
    results: Vec<PathBuf>,
    /// Folder of the shelf, created if missing
    #[arg(long, value_name = "DIR", default_value = "shelf")]
    shelf: PathBuf,
    /// Name of the drive [default: name of the simulated device, or model]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Replace an earlier result of the same procedure
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    about: about::Options,
}

#[derive(Debug, Args)]
struct List {
    /// Folder of the shelf
    #[arg(long, value_name = "DIR", default_value = "shelf")]
    shelf: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Drives among which a page ranks a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Ranks {
    /// Drives with the same kind of interface, such as UHS-I cards
    #[default]
    Kind,
    /// Drives of all kinds
    All,
}

impl From<Ranks> for RankScope {
    fn from(ranks: Ranks) -> Self {
        match ranks {
            Ranks::Kind => RankScope::Kind,
            Ranks::All => RankScope::All,
        }
    }
}

#[derive(Debug, Args)]
struct Site {
    /// Folder of the shelf
    #[arg(long, value_name = "DIR", default_value = "shelf")]
    shelf: PathBuf,
    /// Folder for the pages, created if missing
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Drives among which a drive is ranked
    #[arg(long, value_enum, default_value_t)]
    ranks: Ranks,
}

/// Runs one of the actions.
///
/// # Errors
/// `Exit::File` if a result, the shelf or the site cannot be read or written; `Exit::Usage` if one of them is invalid.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    Interrupt::listen()?.end_at_once();
    match arguments.action {
        Action::Add(add) => add_all(&add, console),
        Action::List(list) => show(&list, console),
        Action::Site(site) => write(&site, console),
    }
}

fn add_all(add: &Add, console: &Console) -> Result<Exit, Failure> {
    Confine::default()
        .reading(&add.results)
        .reading(add.about.sources())
        .writing_in(&add.shelf)
        .enforce();
    let documents = add.results.iter().map(|path| input::result(path));
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let names = documents.iter().map(|d| name(add, d));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    if !add.about.is_empty() && names.iter().any(|n| *n != names[0]) {
        return Err(Failure::usage(
            "the results are of several drives, to which one title, photo, price, note or author's text cannot apply; add them one by one",
        ));
    }
    // If any result is refused, nothing is written.
    let mut placed: Vec<(String, String)> = Vec::new();
    for ((document, name), path) in documents.iter().zip(&names).zip(&add.results) {
        let file = format!("{}.json", shelf::procedure_name(document));
        let place = (name.clone(), file);
        let kept = add.shelf.join(&place.0).join(&place.1);
        if placed.contains(&place) || (!add.replace && folder::keeps_another(&kept, document)?) {
            return Err(Failure::usage(format!(
                "{}: the shelf has another result of `{}` for {name}; replace it with --replace, or name another drive with --name",
                path.display(),
                document.procedure
            )));
        }
        placed.push(place);
    }
    let photo = add.about.read_photo()?;
    add.about.check_author()?;
    claim(add, &names)?;
    for (document, (name, file)) in documents.iter().zip(&placed) {
        folder::keep(&add.shelf, name, file, document)?;
        console.note(&format!(
            "{name}: {} is in {}",
            document.procedure,
            add.shelf.join(name).display()
        ));
    }
    match names.first() {
        Some(name) if !add.about.is_empty() => add.about.keep(&add.shelf, name, photo)?,
        _ => {}
    }
    Ok(Exit::Done)
}

/// Claims all files of `shelf add`. A result or photo of the shelf itself may be added again, since it is read before it is
/// written.
fn claim(add: &Add, names: &[String]) -> Result<(), Failure> {
    let mut files = FileClaims::default();
    files.inputs("the result", &add.results)?;
    match names.first() {
        Some(name) if !add.about.is_empty() => {
            let notes = add.shelf.join(name).join(about::FILE);
            files.file("the notes of the drive,", &notes)
        }
        _ => Ok(()),
    }
}

/// The name of the drive of a result.
fn name(add: &Add, document: &ResultDocument) -> Result<String, Failure> {
    let Some(name) = &add.name else {
        return Ok(shelf::drive_name(document));
    };
    match shelf::name_of(name) {
        usable if usable == *name => Ok(usable),
        usable => Err(Failure::usage(format!(
            "`{name}` cannot name a drive; use lower-case letters, digits and hyphens, such as `{usable}`"
        ))),
    }
}

/// A drive, for programs.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    name: &'a str,
    title: &'a str,
    simulated: bool,
    capacity_bytes: u64,
    procedures: Vec<&'a str>,
    price: Option<f64>,
    currency: Option<&'a str>,
}

impl Entry<'_> {
    fn of(drive: &Drive) -> Entry<'_> {
        let price = drive.about.price.as_ref();
        Entry {
            name: &drive.name,
            title: drive.title(),
            simulated: drive.is_simulated(),
            capacity_bytes: drive.capacity_bytes(),
            procedures: drive.results.iter().map(|r| r.procedure.as_str()).collect(),
            price: price.map(|p| p.amount),
            currency: price.map(|p| p.currency.as_str()),
        }
    }
}

fn show(list: &List, console: &Console) -> Result<Exit, Failure> {
    Confine::default().reading([&list.shelf]).enforce();
    let drives = folder::read(&list.shelf)?;
    let entries: Vec<Entry> = drives.iter().map(Entry::of).collect();
    if list.json {
        let json = serde_json::to_string_pretty(&entries).map_err(Failure::internal)?;
        console.print_json(&json)?;
        return Ok(Exit::Done);
    }
    let mut table = console.table(&["NAME", "TITLE", "KIND", "CAPACITY", "RESULTS", "PRICE"]);
    for entry in &entries {
        let kind = if entry.simulated {
            "simulated"
        } else {
            "measured"
        };
        let price = entry.price.zip(entry.currency);
        table.add_row([
            entry.name.to_string(),
            entry.title.to_string(),
            kind.to_string(),
            format!("{:.0} GB", Bytes(entry.capacity_bytes).as_gb()),
            entry.procedures.join(", "),
            price.map_or(String::new(), |(amount, currency)| {
                format!("{amount:.2} {currency}")
            }),
        ]);
    }
    console.print(&format!("{}\n", lines_of(&table)))?;
    Ok(Exit::Done)
}

fn write(site: &Site, console: &Console) -> Result<Exit, Failure> {
    Confine::default()
        .reading([&site.shelf])
        .writing_in(&site.output)
        .enforce();
    let drives = folder::read(&site.shelf)?;
    if drives.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no drive; add results with `nandscope shelf add RESULT.json`",
            site.shelf.display()
        )));
    }
    let _made = output::check_folder(&site.output)?;
    copy_photos(&drives, site)?;
    let written = shelf::write_site(&drives, &site.output, site.ranks.into())
        .map_err(|e| output::report_failure(&e))?;
    if let Some(index) = written.first() {
        console.note(&format!(
            "{} and {} more pages of {} drives",
            index.display(),
            written.len() - 1,
            drives.len()
        ));
    }
    Ok(Exit::Done)
}

fn copy_photos(drives: &[Drive], site: &Site) -> Result<(), Failure> {
    for drive in drives {
        let Some(link) = &drive.about.photo else {
            continue;
        };
        let photo = folder::photo(&site.shelf.join(&drive.name), link)?;
        nandscope_files::create_folder_in(&site.output, Path::new(folder::PHOTOS))?;
        output::write_in(&site.output, link, &photo)?;
    }
    Ok(())
}

/// The drives of a shelf that was named, for comparisons.
///
/// # Errors
/// As [`folder::read`].
pub fn rivals(shelf: Option<&Path>) -> Result<Vec<Drive>, Failure> {
    shelf.map_or(Ok(Vec::new()), folder::read)
}
