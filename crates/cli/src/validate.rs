//! `nandscope validate`: the simulated devices against published measurements of the real ones.
//! Every device of the library for which facts exist is reviewed, and the figures are held
//! against the facts.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::review::suite_failure;
use crate::run::progress::Line;
use crate::{input, output};
use clap::Args;
use nandscope_suite::{Procedure, ReviewOptions, SimSpec, SuiteError, Unobserved, at_once, facts};
use std::path::PathBuf;

const INTRODUCTION: &str = "\
# Validation: published against simulated

Made by `nandscope validate`; a test keeps this page up to date. Each row is a published measurement of
the real device (`facts/published.toml` and `facts/drives.toml` have its source), the same quantity as a
review of the simulated device measures it, the difference, and the tolerance to which it is held
(`facts/checks.toml`). A row that is not met says why, as far as that is known. The review is run with seed 1;
the suites `ssd` and `ssd-peers` in their quick form, whose latencies, powers and ratios are those of the
long one.

";

/// Arguments of `nandscope validate`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1: a figure misses its fact without a stated reason.")]
pub struct Arguments {
    /// File for the page [default: standard output]
    #[arg(short, long, value_name = "FILE.md", conflicts_with = "check")]
    output: Option<PathBuf>,
    /// Compare with this page instead: exit code 1 if it is out of date
    #[arg(long, value_name = "FILE.md")]
    check: Option<PathBuf>,
}

/// Validates all devices for which there are facts.
///
/// # Errors
/// Where a review cannot be carried out, or the page cannot be read or written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.output {
        output::check_file(path)?;
    }
    let interrupt = Interrupt::listen()?;
    let mut page = INTRODUCTION.to_string();
    let mut unexplained = 0;
    let mut tables: Vec<(String, Vec<facts::Row>)> = Vec::new();
    for measured in measure_all(&interrupt)? {
        let (title, rows) = measured.map_err(|e| suite_failure(&e))?;
        unexplained += rows
            .iter()
            .filter(|r| !r.published.met && r.published.why.is_empty())
            .count();
        // Procedures of one device follow each other, and share a table.
        match tables.last_mut() {
            Some((known, before)) if *known == title => before.extend(rows),
            _ => tables.push((title, rows)),
        }
    }
    for (title, rows) in tables {
        page.push_str(&format!("## {title}\n\n{}\n", facts::table(&rows)));
    }
    deliver(&arguments, &page, console)?;
    if unexplained > 0 {
        return Err(Failure::new(
            Exit::Partial,
            format!("{unexplained} published figures are missed without a stated reason"),
        ));
    }
    Ok(Exit::Done)
}

/// Title of a device and the rows of one procedure, or why it could not be carried out.
type Measured = Result<(String, Vec<facts::Row>), SuiteError>;

/// Devices are measured at once at most: the largest takes some GB of memory.
const AT_ONCE: usize = 2;

/// Carries out every procedure for which there are facts; in the order of the page.
fn measure_all(interrupt: &Interrupt) -> Result<Vec<Measured>, Failure> {
    let list = facts::validations().map_err(|e| suite_failure(&e))?;
    let line = Line::new("validate");
    let measured = at_once::run(
        list.len(),
        AT_ONCE,
        &|| interrupt.asked(),
        |number| measure(&list[number].0, list[number].1, interrupt),
        |done| {
            let text = format!("{} is done", list[done.number].0);
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

fn measure(device: &str, procedure: Procedure, interrupt: &Interrupt) -> Measured {
    let spec = SimSpec::library(device)?;
    let options = ReviewOptions {
        seed: 1,
        quick: procedure.quick_suffices(),
        ..ReviewOptions::default()
    };
    let document = procedure.run(&spec, &options, &mut Unobserved, &|| interrupt.asked())?;
    Ok((spec.profile.device.title, facts::rows(&document)))
}

fn deliver(arguments: &Arguments, page: &str, console: &Console) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        return output::write(path, page.as_bytes());
    }
    if let Some(path) = &arguments.check {
        if input::text(path, "the validation page")? == page {
            return Ok(());
        }
        let text = format!(
            "{} is out of date; write it with `nandscope validate -o {}`",
            path.display(),
            path.display()
        );
        return Err(Failure::new(Exit::Partial, text));
    }
    console.print(page)
}
