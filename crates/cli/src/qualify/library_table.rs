//! Which simulated devices of the library are fit, the smallest first.

use super::simulated::{heated, verdict};
use super::{Arguments, exit};
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output;
use crate::run::progress::Line;
use nandscope_device::memory_estimate;
use nandscope_device::profile::Profile;
use nandscope_device::profile::library::DEVICES;
use nandscope_fitness::qualify::{STATES, State, measure};
use nandscope_fitness::requirement::Requirement;
use nandscope_fitness::verdict::{Answer, Verdict};
use nandscope_suite::at_once;
use nandscope_units::{Bytes, number};
use serde::Serialize;
use serde_json::json;

/// Verdict on a device of the library.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    capacity_bytes: u64,
    answer: Answer,
    /// The requirement that decides, or why the device was not examined.
    decides: String,
}

/// A device to examine, by its name.
struct Candidate {
    name: &'static str,
    profile: Profile,
}

/// Examines the devices, and prints a table.
///
/// # Errors
/// `Exit::Interrupted`; `Exit::Usage` if a device cannot be opened with the options.
pub fn run(
    arguments: &Arguments,
    requirement: &Requirement,
    console: &Console,
) -> Result<Exit, Failure> {
    let candidates = candidates(console)?;
    let interrupt = Interrupt::listen()?;
    let mut line = Line::new("qualify");
    let memory = candidates.iter().map(|c| memory_estimate(&c.profile));
    let largest = memory.max().unwrap_or(Bytes::ZERO);
    let threads = arguments.threads.within_memory(largest, console);
    let stop = || interrupt.asked();
    let rows = at_once::run(
        candidates.len(),
        threads,
        &stop,
        |number| row(arguments, requirement, &candidates[number], &stop, console),
        |finished| {
            let text = format!("{} of {} devices", finished.count, candidates.len());
            line.tell(Some(finished.share(candidates.len())), text, console);
        },
    );
    line.clear();
    if interrupt.asked() {
        return Err(Failure::new(
            Exit::Interrupted,
            "interrupted; nothing was concluded",
        ));
    }
    let rows: Vec<Row> = rows.into_iter().flatten().collect::<Result<_, _>>()?;
    let best = rows.iter().map(|r| r.answer).min();
    match arguments.json {
        true => {
            let document = json!({ "format": 1, "requirement": requirement, "devices": rows });
            output::print_json(&document, console)?;
        }
        false => console.print(&words(requirement, &rows, console))?,
    }
    Ok(exit(best.unwrap_or(Answer::NotKnown)))
}

/// The devices of the library, the smallest first.
fn candidates(console: &Console) -> Result<Vec<Candidate>, Failure> {
    let mut all = Vec::new();
    for entry in DEVICES {
        let source = crate::target::device_source(entry.name, console)?;
        all.push(Candidate {
            name: entry.name,
            profile: source.profile,
        });
    }
    all.sort_by_key(|c| (c.profile.device.capacity_bytes, c.name));
    Ok(all)
}

/// Examines a device until a state in which it is not fit: another state cannot change that.
fn row(
    arguments: &Arguments,
    requirement: &Requirement,
    candidate: &Candidate,
    stop: &dyn Fn() -> bool,
    console: &Console,
) -> Result<Row, Failure> {
    let target = format!("sim:{}", candidate.name);
    let row = |answer, decides| Row {
        name: candidate.name,
        capacity_bytes: candidate.profile.device.capacity_bytes,
        answer,
        decides,
    };
    let options = heated(arguments, &target, requirement, console)?;
    let (about, mut device) = match nandscope_experiment::open(&target, &options) {
        Ok(opened) => opened,
        // A card does not attach to the host of a drive.
        Err(error) => return Ok(row(Answer::No, error.to_string())),
    };
    device.share();
    let mut measured = Vec::new();
    let mut latest: Option<Verdict> = None;
    for state in states(arguments) {
        let mut progress = |_: f64| !stop();
        let recording = measure(
            &device,
            requirement,
            state,
            &arguments.options(),
            &mut progress,
        );
        match recording {
            Ok(recording) => measured.push(recording),
            Err(error) if error.is_interruption() => {
                return Ok(row(Answer::NotKnown, error.to_string()));
            }
            Err(error) => return Ok(row(Answer::No, error.to_string())),
        }
        let verdict = verdict(requirement, &about, &measured);
        let is_decided = verdict.answer == Answer::No;
        latest = Some(verdict);
        if is_decided {
            break;
        }
    }
    let answer = latest.as_ref().map_or(Answer::NotKnown, |v| v.answer);
    Ok(row(
        answer,
        latest.as_ref().map_or_else(String::new, decides),
    ))
}

/// The states, first the one in which most devices are slowest.
fn states(arguments: &Arguments) -> Vec<State> {
    match &arguments.state[..] {
        [] => STATES.iter().rev().copied().collect(),
        some => some.iter().map(|s| s.state()).collect(),
    }
}

fn decides(verdict: &Verdict) -> String {
    let finding = verdict.decides.and_then(|i| verdict.findings.get(i));
    finding.map_or_else(String::new, |f| {
        format!("{}: {} of {}", f.requirement, f.found, f.limit)
    })
}

fn words(requirement: &Requirement, rows: &[Row], console: &Console) -> String {
    let fit = || rows.iter().filter(|r| r.answer == Answer::Yes);
    let title = &requirement.title;
    let first = match fit().next() {
        Some(smallest) => format!(
            "{} of {} devices are fit for {title}; the smallest is {}, {}",
            fit().count(),
            rows.len(),
            smallest.name,
            number::bytes(smallest.capacity_bytes)
        ),
        None => format!(
            "None of {} devices is known to be fit for {title}",
            rows.len()
        ),
    };
    let mut table = console.table(&["DEVICE", "CAPACITY", "FIT", "DECIDES"]);
    for row in rows {
        table.add_row([
            row.name.to_string(),
            number::bytes(row.capacity_bytes),
            row.answer.word().to_string(),
            row.decides.clone(),
        ]);
    }
    let closing = "By capacity: profiles have no prices, and of one family the smallest is usually the cheapest. DECIDES: the requirement that fails, or has the least margin; an unfit device was examined until the first state in which it failed.";
    format!(
        "{}\n{}\n{}",
        console.paragraph(&first, ""),
        lines_of(&table),
        console.paragraph(closing, "")
    )
}
