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
use nandscope_suite::{ReviewOptions, SimSpec, facts};
use std::path::PathBuf;

const INTRODUCTION: &str = "\
# Validation: published against simulated

Made by `nandscope validate`; a test keeps this page up to date. Each row is a published measurement of
the real device (`facts/published.toml` has its source), the same quantity as a review of the simulated
device measures it, the difference, and the tolerance to which it is held (`facts/checks.toml`). A row
that is not met says why, as far as that is known. The review is run with seed 1.

";

/// Arguments of `nandscope validate`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 means that a figure misses its fact without a stated reason.")]
pub struct Arguments {
    /// Write the page here instead of printing it
    #[arg(short, long, value_name = "FILE.md", conflicts_with = "check")]
    output: Option<PathBuf>,
    /// Compare with this page instead: exit code 1 where it is out of date
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
    for (device, procedure) in facts::validations().map_err(|e| suite_failure(&e))? {
        let spec = SimSpec::library(&device).map_err(|e| suite_failure(&e))?;
        let mut line = Line::new(&device);
        let options = ReviewOptions {
            seed: 1,
            ..ReviewOptions::default()
        };
        let document = procedure.run(&spec, &options, &mut line, &|| interrupt.asked());
        line.clear();
        let document = document.map_err(|e| suite_failure(&e))?;
        if interrupt.asked() {
            return Err(Failure::new(
                Exit::Interrupted,
                "interrupted; nothing was written",
            ));
        }
        let rows = facts::rows(&document);
        unexplained += rows
            .iter()
            .filter(|r| !r.published.met && r.published.why.is_empty())
            .count();
        page.push_str(&format!(
            "## {}\n\n{}\n",
            spec.profile.device.title,
            facts::table(&rows)
        ));
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
