//! `nandscope verify`: checks that a device stores as much data as it claims. The infer crate writes the blocks and derives
//! the verdict; this module has the arguments, the place of the journal, and the texts.

mod full;
mod left;
mod open;
mod simulated;
mod store;
mod target;
mod undo_journal;
mod written_down;

use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::interrupt::Interrupt;
use crate::output;
use crate::run::progress::Line;
use crate::target::ParamArguments;
use crate::target::real::Confirmation;
use clap::Args;
use nandscope_infer::authenticity::{
    Finding, Medium, Options, Stage, Verdict, step, summary, verify,
};
use nandscope_infer::registers::{Sign, signs};
use nandscope_result::{ResultDocument, TargetInfo, TargetKind, WallClock, procedure};
use std::path::PathBuf;
use std::time::SystemTime;
pub use store::this_year;
use target::Target;

const EXAMPLES: &str = "\
Examples:
  nandscope verify /dev/sdb                 seconds; restores the data
  nandscope verify /dev/sdb --yes SERIAL --json
  nandscope verify /dev/sdb --full --destroy-data=sdb       every block; hours
  nandscope verify /dev/sdb --leave-tagged-blocks           then unplug it, and
  nandscope verify /dev/sdb --after-power-cycle             see what it kept

Exit codes: 0 genuine, 10 fake, 11 failing, 12 suspicious, 13 not finished: the data is not all back, and \
the journal is kept for --restore.";

/// Arguments of `nandscope verify`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Block device, file created by nandscope, or simulated device (sim:NAME)
    #[arg(value_name = "TARGET")]
    target: String,
    #[command(flatten)]
    params: ParamArguments,
    #[command(flatten)]
    confirmation: Confirmation,
    /// Undo journal [default: in the user's state folder]
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Only restore the data that an interrupted run left in the journal
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "keep", conflicts_with = "full")]
    restore: Option<Restore>,
    /// Limit of written blocks, restoring included
    #[arg(long, value_name = "N", default_value_t = Options::default().budget, help_heading = heading::LIMITS, hide_short_help = true)]
    budget: u32,
    /// Size of the largest cache to detect, in blocks
    #[arg(long, value_name = "N", default_value_t = Options::default().cache, help_heading = heading::LIMITS, hide_short_help = true)]
    cache: u64,
    /// Number of times that all tagged blocks are read again
    #[arg(long, value_name = "N", default_value_t = Options::default().repeats, help_heading = heading::LIMITS, hide_short_help = true)]
    repeats: u32,
    /// Leave the tagged blocks for a check after a power cycle; do not use the device in between
    #[arg(long, conflicts_with_all = ["full", "restore"])]
    leave_tagged_blocks: bool,
    /// Check the blocks of --leave-tagged-blocks, and restore the data
    #[arg(long, conflicts_with_all = ["full", "restore", "leave_tagged_blocks"])]
    after_power_cycle: bool,
    /// Write and read every block; destroys the data (requires --destroy-data)
    #[arg(long)]
    full: bool,
    /// Allow overwriting a block device; NAME is required unless it is empty
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, requires = "full", help_heading = heading::REAL)]
    destroy_data: Option<Option<String>>,
    /// With --full: speed on the label, MB/s (10 for C10, 30 for V30)
    #[arg(long, value_name = "MB/S", requires = "full")]
    printed_speed: Option<f64>,
    /// Inject a fault, such as 'fake 2GiB wrap' (`nandscope help faults`); repeatable
    #[arg(long, value_name = "COMMAND", conflicts_with = "full", help_heading = heading::SIMULATED)]
    fault: Vec<String>,
    /// Folder for the report and its data, created if missing
    #[arg(short, long, value_name = "DIR", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

/// How `--restore` treats blocks that hold neither a tag nor their old contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Restore {
    /// Leave blocks that changed since
    Keep,
    /// Overwrite them too
    Overwrite,
}

/// Verifies the target.
///
/// # Errors
/// `Exit::File` or `Exit::Usage` if the target cannot be opened; `Exit::File` if the journal cannot be written or the
/// device goes away; `Exit::Unrestored` if not all of the data is back.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let folder = arguments.output.as_deref();
    claim(&arguments)?;
    let _made = folder.map(output::check_folder).transpose()?;
    if arguments.full {
        return full::run(&arguments, console);
    }
    let interrupt = Interrupt::listen()?;
    let mut target = open::open(&arguments, console)?;
    let place = undo_journal::find(&arguments, &mut target)?;
    if arguments.after_power_cycle {
        return left::check(&arguments, &mut target, &place, &interrupt, console);
    }
    if arguments.leave_tagged_blocks && target.kind == TargetKind::Simulated {
        return Err(Failure::usage(
            "the contents of a simulated device are gone when the program ends; serve it (nandscope serve) and name the block device",
        ));
    }
    undo_journal::put_back(&arguments, &mut target, &place, console)?;
    if arguments.restore.is_some() {
        return Ok(Exit::Done);
    }
    if arguments.leave_tagged_blocks {
        written_down::check_free(&place)?;
    }
    let started = SystemTime::now();
    let mut journal = undo_journal::begin(&target, &place)?;
    let options = Options {
        budget: arguments.budget,
        cache: arguments.cache,
        repeats: arguments.repeats,
        leave: arguments.leave_tagged_blocks,
    };
    let line = Line::new("verify");
    let verified = verify(
        &mut target.medium,
        &mut journal,
        &options,
        &|| interrupt.asked(),
        &mut |stage, share, _| line.show(Some(share), words(stage).to_string()),
    );
    line.clear();
    let finding = match verified {
        Ok(finding) => finding,
        Err(error) => return Err(undo_journal::ended(&arguments, error, journal)),
    };
    let closed = if finding.left.is_empty() {
        undo_journal::close(&arguments, journal, &finding.restored)
    } else {
        written_down::write_down(&journal, &finding.left, console).map(|()| None)
    };
    let signs = target.registers.as_ref();
    let signs = signs.map(|r| signs_of(r, &target)).unwrap_or_default();
    let told = tell(&arguments, &target, &finding, &signs, started, console);
    undo_journal::first(closed, told)
}

/// Claims all files of the command.
fn claim(arguments: &Arguments) -> Result<(), Failure> {
    let mut files = FileClaims::default();
    files.target(&arguments.target)?;
    if let Some(journal) = &arguments.journal {
        files.file("--journal", journal)?;
        files.file("the list of tagged blocks", &store::left_place(journal))?;
    }
    match &arguments.output {
        Some(folder) => files.result(folder),
        None => Ok(()),
    }
}

fn signs_of(registers: &nandscope_inspect::registers::Registers, target: &Target) -> Vec<Sign> {
    let bytes = target.medium.blocks() * target.medium.block_bytes() as u64;
    signs(
        registers,
        Some(nandscope_units::Bytes(bytes)),
        store::this_year(),
    )
}

/// Name of a stage, in a word or two.
fn words(stage: Stage) -> &'static str {
    match stage {
        Stage::Tagging => "writing tagged blocks",
        Stage::Reading => "reading tagged blocks",
        Stage::Searching => "searching the start",
        Stage::Narrowing => "searching the end",
        Stage::Restoring => "restoring the data",
    }
}

fn tell(
    arguments: &Arguments,
    target: &Target,
    finding: &Finding,
    signs: &[Sign],
    started: SystemTime,
    console: &Console,
) -> Result<Exit, Failure> {
    let summary = summary(finding, signs);
    let mut document = document(arguments, target, started);
    document.steps.push(step(finding, &summary));
    let json = serde_json::to_string_pretty(&summary).map_err(Failure::internal)?;
    write(arguments, &document, &json, console)?;
    Ok(exit(summary.verdict))
}

fn exit(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Genuine => Exit::Done,
        Verdict::Fake => Exit::Fake,
        Verdict::Failing => Exit::Failing,
        Verdict::Suspicious => Exit::Suspicious,
    }
}

fn document(arguments: &Arguments, target: &Target, started: SystemTime) -> ResultDocument {
    let info = TargetInfo {
        name: arguments.target.clone(),
        kind: target.kind.clone(),
        model: target.model.clone(),
        capacity_bytes: target.medium.blocks() * target.medium.block_bytes() as u64,
        ..TargetInfo::default()
    };
    ResultDocument {
        wall: WallClock {
            started: Some(humantime::format_rfc3339_seconds(started).to_string()),
            elapsed_s: started.elapsed().ok().map(|e| e.as_secs_f64()),
        },
        ..ResultDocument::begin(procedure::VERIFY, target.model.clone(), 0, info)
    }
}

/// Writes the report if `--output` is given, and prints the summary.
fn write(
    arguments: &Arguments,
    document: &ResultDocument,
    json: &str,
    console: &Console,
) -> Result<(), Failure> {
    // The verdict is printed even if the report cannot be written.
    let written = match &arguments.output {
        Some(folder) => output::note_report(document, folder, console),
        None => Ok(()),
    };
    if arguments.json {
        return output::all([written, console.print_json(json)]);
    }
    let mut text = output::summary(document, &[], console);
    let conclusions = document.steps.iter().flat_map(|s| &s.conclusions);
    // Evidence of verdicts is in the summary already.
    for conclusion in conclusions.filter(|c| c.passed.is_none()) {
        text.push_str(&console.paragraph(&conclusion.evidence, "  "));
    }
    output::all([written, console.print_verdicts(&text)])
}
