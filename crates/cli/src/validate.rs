//! `nandscope validate`: simulated devices compared with published measurements of real ones. Every procedure with
//! checks is run, and its figures are compared with the facts.

mod cards;
mod json;
mod sensitivity;

use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::input;
use crate::interrupt::Interrupt;
use crate::output::{self, Form};
use crate::review::suite_failure;
use crate::run::progress::Line;
use crate::threads::ThreadArguments;
use clap::Args;
use nandscope_device::memory_estimate;
use nandscope_suite::closed_forms::closed_forms;
use nandscope_suite::facts::{self, Comparison, Row, Validation, page, rows, score};
use nandscope_suite::{SuiteError, at_once};
use nandscope_units::Bytes;
use std::path::{Path, PathBuf};

const INTRODUCTION: &str = "\
# Validation: published against simulated

Written by `nandscope validate --page docs/validation.md`; a test keeps it up to date. [validation.csv](validation.csv) has a row for each
published measurement of a real device and the same quantity of the simulated one; `nandscope validate DEVICE` prints the rows of a
device. `facts/` has the sources. Seed 1; `--suite ssd`, with and without `--peers`, in its quick form.

- A row is *calibrated* if a parameter was chosen knowing the published number, or another point of its series. It shows that
  the model can be fitted.
- A row is *predicted* if no parameter was chosen by it. Only these rows show how far the model holds. `facts/series.toml` lists
  recorded series and says which points, hosts and kinds were held out before anything was fitted; a point that was
  held out counts as predicted, all other points of a fitted series as calibrated.
- A bound is met as printed, a range within its ends, a value within its tolerance, usually 10 %; counts, AUs and pages must be equal.

";

/// Arguments of `nandscope validate`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1: a figure misses its fact without a stated reason, or no procedure gives it."
)]
pub struct Arguments {
    /// Devices to compare [default: all that have facts, or all of the table]
    #[arg(value_name = "DEVICE", conflicts_with_all = ["page", "check"])]
    devices: Vec<String>,
    /// Write the page with all tables; more rows in a .csv file beside it
    #[arg(long, value_name = "FILE.md", conflicts_with = "check", hide_short_help = true, help_heading = heading::OUTPUT)]
    page: Option<PathBuf>,
    /// Compare with this page and its rows instead: exit code 1 if they are out of date
    #[arg(long, value_name = "FILE.md", hide_short_help = true, help_heading = heading::OUTPUT)]
    check: Option<PathBuf>,
    /// Compare simulated cards with recorded flashbench runs, by a table such as facts/cards.toml
    #[arg(long, value_name = "FILE.toml", conflicts_with = "sensitivity")]
    cards: Option<PathBuf>,
    /// Move assumed parameters, or only KEY, through their ranges; print which figures change
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true, conflicts_with_all = ["page", "check"])]
    sensitivity: Option<Option<String>>,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Print JSON instead of text
    #[arg(long, conflicts_with_all = ["page", "check"], help_heading = heading::OUTPUT)]
    json: bool,
}

/// Validates the devices for which there are facts.
///
/// # Errors
/// `Exit::Usage` if a device has no facts; `Exit::Partial` if a fact is missed or the page is out of date;
/// `Exit::File` if the page cannot be read or written; `Exit::Interrupted`.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let mut files = FileClaims::default();
    files.inputs("--cards", &arguments.cards)?;
    if let Some(path) = &arguments.page {
        files.output("--page", path)?;
        if arguments.cards.is_none() {
            files.beside("the rows of the page,", &output::rows_beside(path)?)?;
        }
    }
    files.check()?;
    let form = Form::of(arguments.json);
    if let Some(table) = &arguments.cards {
        let interrupt = Interrupt::listen()?;
        let (text, verdict) = cards::run(
            table,
            &arguments.devices,
            arguments.threads,
            (&interrupt, form),
            console,
        )?;
        deliver(&arguments, &text, None, console)?;
        return verdict;
    }
    let list = chosen(&arguments.devices)?;
    let threads = threads(&arguments, &list, console)?;
    let interrupt = Interrupt::listen()?;
    if let Some(only) = &arguments.sensitivity {
        let only: Vec<String> = only.iter().cloned().collect();
        return sensitivity::run(&list, &only, threads, (&interrupt, form), console);
    }
    let devices = by_device(measure_all(&list, threads, &interrupt)?)?;
    let text = match (form, arguments.devices.is_empty()) {
        (Form::Json, _) => {
            serde_json::to_string_pretty(&json::devices(&devices)).map_err(Failure::internal)?
        }
        (_, true) => whole_page(&devices, &interrupt)?,
        (_, false) => tables(&devices),
    };
    deliver(
        &arguments,
        &text,
        Some(&rows::csv(named(&devices))),
        console,
    )?;
    let scores = page::Scores::of(all_rows(&devices));
    console.note(&scores.in_words());
    verdict(&devices)
}

/// Validations of the named devices; all if none is named.
///
/// # Errors
/// `Exit::Usage` if one of them has no facts.
fn chosen(names: &[String]) -> Result<Vec<Validation>, Failure> {
    let mut list = facts::validations().map_err(|e| suite_failure(&e))?;
    for name in names {
        if list.iter().all(|v| v.device != *name) {
            let text = format!(
                "no published facts about `{name}`; docs/validation.md has the devices that have some"
            );
            return Err(Failure::new(Exit::Usage, text));
        }
    }
    list.retain(|v| names.is_empty() || names.contains(&v.device));
    Ok(list)
}

/// A device with its comparison with published figures.
struct Validated {
    /// Name of the profile.
    device: String,
    title: String,
    comparison: Comparison,
}

/// A device measured by one procedure, or the error of the procedure.
type Measured = Result<Validated, SuiteError>;

/// All rows of all devices.
fn all_rows(devices: &[Validated]) -> impl Iterator<Item = &Row> {
    devices.iter().flat_map(|d| &d.comparison.rows)
}

/// Each device's name and comparison.
fn named(devices: &[Validated]) -> impl Iterator<Item = (&str, &Comparison)> + Clone {
    devices.iter().map(|d| (d.device.as_str(), &d.comparison))
}

/// Number of threads, each of which may need memory for the largest device of the list.
fn threads(
    arguments: &Arguments,
    list: &[Validation],
    console: &Console,
) -> Result<usize, Failure> {
    let mut largest = Bytes(0);
    for validation in list {
        let spec = validation.spec().map_err(|e| suite_failure(&e))?;
        largest = largest.max(memory_estimate(&spec.profile));
    }
    Ok(arguments.threads.within_memory(largest, console))
}

/// Carries out every procedure of the list; returns the outcomes in the order of the list.
fn measure_all(
    list: &[Validation],
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<Measured>, Failure> {
    let line = Line::new("validate");
    let measured = at_once::run(
        list.len(),
        threads,
        &|| interrupt.asked(),
        |number| measure(&list[number], interrupt),
        |done| {
            let text = format!("{} is done", list[done.number].device);
            line.show(Some(done.share(list.len())), text);
        },
    );
    line.clear();
    if interrupt.asked() {
        let text = "interrupted; nothing was written";
        return Err(Failure::new(Exit::Interrupted, text));
    }
    Ok(measured.into_iter().flatten().collect())
}

fn measure(validation: &Validation, interrupt: &Interrupt) -> Measured {
    let spec = validation.spec()?;
    let comparison = validation.measure(&spec, &|| interrupt.asked())?;
    Ok(Validated {
        device: validation.device.clone(),
        title: spec.profile.device.title,
        comparison,
    })
}

/// Merges the procedures of each device, which are adjacent in the list, into one table.
fn by_device(all: Vec<Measured>) -> Result<Vec<Validated>, Failure> {
    let mut devices: Vec<Validated> = Vec::new();
    for measured in all {
        let measured = measured.map_err(|e| suite_failure(&e))?;
        match devices.last_mut() {
            Some(known) if known.device == measured.device => {
                known.comparison.rows.extend(measured.comparison.rows);
                known.comparison.missing.extend(measured.comparison.missing);
            }
            _ => devices.push(measured),
        }
    }
    Ok(devices)
}

/// Text above the scores of recorded series.
const RECORDED_SERIES: &str = "\
Queue depths with percentiles of SATA drives behind three controllers, block sizes of four memory cards with and without command queue,
and percentiles of a data-centre drive. `facts/series.toml` has each row. Held out, in a commit before any parameter was chosen:

- Every second point: queue depths 2, 8 and 32 of the Crucial drives, blocks of 8 KiB, 512 KiB and 16 MiB of the cards.
- Whole hosts: the 860 PRO behind AHCI at 3 Gbit/s, behind the P420i, and behind the HBA of the DL380.
- Whole kinds: its drive cache switched off, and several jobs behind the M1015.

Nine rows left that list later, before the value that they choose was changed: the random reads at depth 1 that open a recording of the
860 PRO behind AHCI, the P420i and the HBA show how much of the drive was written, because unwritten blocks answer in 35 to 50 µs. They
count as calibrated; all later runs of these recordings stay held out.

A whole device was held out too, the Micron 7300 PRO, but the read times of its page types were chosen after its recording had been
seen. All of its rows count as calibrated, so no row shows how well a profile from a data sheet alone does.

Other choices were made with held-out rows in view, and those rows are not blind to them: the cards, recorded at an unknown queue depth,
are simulated at depth 1; the hosts hp-microserver-gen8 and hp-p420i have a greatest rate of 4 KiB commands, its value fitted to rows
not held out; which rows are counted as set by link or host; that the [adapter](hosts.md#adapters-that-share-interrupts) P420i holds
completions by their rate; that the HBA of the DL380, which the recording does not name, is the P420i of that server; that firmware of two
cards handles the first 16 units of a command one by one; and that collection of the Crucial drive comes in
[bursts](drives.md#collection-in-bursts). A drive takes at most 40 GB of the random writes that the recorded
one had taken before a run: more would take minutes of simulation.

";

/// Text above the list of parameters without a known mechanism.
const UNEXPLAINED_CAPS: &str = "\
When the SLC cache is full, these drives write more slowly than their flash programs, and what limits them is not published. A
parameter caps the data under way instead. Rows that it was chosen by are calibrated; bursts, flushes and mixed loads of these drives
follow from the cap, not from a mechanism.

";

/// Text above the table of closed forms.
const CLOSED_FORMS: &str = "\
Geometries whose result is known without a measurement. Every time, error and policy but the one in question is zero, so there
is nothing to fit. H: harmonic numbers of real arguments; b: pages per block; α: physical pages per mapped page.

";

fn whole_page(devices: &[Validated], interrupt: &Interrupt) -> Result<String, Failure> {
    let coverage = facts::coverage().map_err(|e| suite_failure(&e))?;
    let theory = closed_forms(&|| interrupt.asked()).map_err(|e| suite_failure(&e))?;
    let recorded = score::recorded(named(devices)).map_err(|e| suite_failure(&e))?;
    Ok(format!(
        "{INTRODUCTION}## Scores\n\n{}\n## Recorded series\n\n{RECORDED_SERIES}{recorded}\n## What is not met\n\n{}\n## Unexplained caps\n\n{UNEXPLAINED_CAPS}{}\n## Closed forms\n\n{CLOSED_FORMS}{}\n## Measurements without a check\n\n{} of {} published facts, and {} of {} measurements, are compared with a figure. The others, by reason:\n\n{}",
        page::all_scores(named(devices)),
        page::misses(all_rows(devices)),
        page::unexplained_caps(),
        page::closed_forms(&theory),
        coverage.checked,
        coverage.facts,
        coverage.measured_checked,
        coverage.measured,
        page::unchecked(&coverage).trim_end().to_string() + "\n",
    ))
}

fn tables(devices: &[Validated]) -> String {
    let table = |d: &Validated| {
        let rows = page::table(&d.comparison.rows);
        format!("## {}\n\n{rows}\n", d.title)
    };
    devices.iter().map(table).collect()
}

/// Fails if a figure does not exist, or misses its fact without a reason.
fn verdict(devices: &[Validated]) -> Result<Exit, Failure> {
    let missing = devices.iter().flat_map(|d| &d.comparison.missing);
    let missing: Vec<String> = missing
        .map(|(fact, figure)| format!("{figure} ({fact})"))
        .collect();
    if !missing.is_empty() {
        let text = format!("figures that no procedure gives: {}", missing.join(", "));
        return Err(Failure::new(Exit::Partial, text));
    }
    let unexplained: Vec<&str> = all_rows(devices)
        .filter(|r| !r.published.met && r.published.why.is_empty())
        .map(|r| r.figure.id.as_str())
        .collect();
    if !unexplained.is_empty() {
        let text = format!(
            "published figures missed without a stated reason: {}",
            unexplained.join(", ")
        );
        return Err(Failure::new(Exit::Partial, text));
    }
    Ok(Exit::Done)
}

/// Writes page and rows, compares them with those that exist, or prints the page.
fn deliver(
    arguments: &Arguments,
    page: &str,
    rows: Option<&str>,
    console: &Console,
) -> Result<(), Failure> {
    if let Some(path) = &arguments.page {
        output::write(path, page.as_bytes())?;
        return match rows {
            Some(rows) => output::write_beside(&output::rows_beside(path)?, rows.as_bytes()),
            None => Ok(()),
        };
    }
    if let Some(path) = &arguments.check {
        is_current(arguments, path, path, page)?;
        return match rows {
            Some(rows) => is_current(arguments, path, &output::rows_beside(path)?, rows),
            None => Ok(()),
        };
    }
    match arguments.json {
        true => console.print_json(page),
        false => console.print(page),
    }
}

/// Fails if `file`, the page or the rows next to it, differs from `text`.
fn is_current(arguments: &Arguments, page: &Path, file: &Path, text: &str) -> Result<(), Failure> {
    if input::text(file, "the validation page")? == text {
        return Ok(());
    }
    let cards = arguments.cards.as_ref();
    let cards = cards.map_or(String::new(), |table| {
        format!(" --cards {}", table.display())
    });
    let text = format!(
        "{} is out of date; write it with `nandscope validate{cards} --page {}`",
        file.display(),
        page.display()
    );
    Err(Failure::new(Exit::Partial, text))
}
