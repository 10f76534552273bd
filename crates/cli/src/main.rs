//! The command `nandscope`. This file knows the list of commands and nothing of what they do:
//! a command is a module with `Arguments` and `run`, one line in the list below, and its `mod`.

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "doc comments of arguments are help texts, where `[:PERCENT]` is optional"
)]

mod advise;
mod calc;
mod compare;
mod completions;
mod confine;
mod console;
mod ctl;
mod devices;
mod failure;
mod fault;
mod fs;
mod input;
mod inspect;
mod interrupt;
mod job;
mod kernel;
mod memory;
mod output;
mod picture;
mod probe;
mod report;
mod rescue;
mod review;
mod run;
mod serve;
mod state_folder;
mod steps;
mod sweep;
mod target;
mod trace;
mod validate;
mod verify;

use clap::{Parser, Subcommand};
use console::Console;
use failure::{Exit, Failure};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  nandscope review sim:sm2708-250gb                     a whole review; the report is one page
  nandscope devices                                     the simulated devices
  nandscope devices show sm2708-250gb                   every number of one, with its reason
  nandscope run jobs/rand-read.fio sim:sm2708-250gb     run a job file of fio's
  nandscope run job.fio sim:./my.toml -o result.json    on a device of your own; keep the result
  nandscope report result.json -o report/               one page of HTML, plots, tables
  nandscope compare a.json b.json                       figures side by side

Exit codes:
  0 done; 1 measured, but not to the end or with errors; 2 wrong usage or input;
  3 a file cannot be found, read or written; 4 a fault of nandscope; 130 interrupted;
  verify: 10 fake, 11 failing, 12 suspicious.
  docs/exit-codes.md says what is left behind in each case.";

/// An open laboratory for flash storage: measure a device, simulate one, compare them.
#[derive(Debug, Parser)]
#[command(name = "nandscope", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// Makes the list of commands, and the way from each to its module.
macro_rules! commands {
    ($($(#[$about:meta])* $name:ident => $module:ident,)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$about])* $name($module::Arguments),)*
        }

        impl Command {
            fn run(self, console: &Console) -> Result<Exit, Failure> {
                match self {
                    $(Command::$name(arguments) => $module::run(arguments, console),)*
                }
            }
        }
    };
}

commands! {
    /// Put a device through a whole review and write the report
    Review => review,
    /// List the simulated devices and hosts, or explain one
    Devices => devices,
    /// Say what a target is, and whether and why it may not be written
    Inspect => inspect,
    /// Run a job file on a target
    Run => run,
    /// Find out what is inside a device, from times of operations alone
    Probe => probe,
    /// Say how to partition, format and mount a device that was probed
    Advise => advise,
    /// Tell whether a device keeps what it claims to keep, or is a fake
    Verify => verify,
    /// Serve a simulated device to other programs, at its own speed
    Serve => serve,
    /// Inject a fault into a served device
    Ctl => ctl,
    /// Check or show job files, or write them for fio
    Job => job,
    /// Make a report of a stored result
    Report => report,
    /// Put the figures of stored results side by side
    Compare => compare,
    /// Compute rates of links and flash, battery life, video
    Calc => calc,
    /// Look at traces
    Trace => trace,
    /// Vary one quantity of a drive, such as its fullness, over its whole range
    Sweep => sweep,
    /// Run real Linux file systems on a simulated device, in virtual time
    Fs => fs,
    /// Build the Linux that `fs` runs
    Kernel => kernel,
    /// Hold the simulated devices against published measurements
    Validate => validate,
    /// Write the completions of a shell
    Completions => completions,
}

/// Ends the program as clap does, except that an argument that could steer the terminal is shown escaped.
fn refuse(console: &Console, error: &clap::Error) -> ! {
    let harmless = |argument: std::ffi::OsString| {
        let text = argument.to_string_lossy();
        nandscope_units::printable_line(&text) == text
    };
    if !error.use_stderr() || std::env::args_os().all(harmless) {
        error.exit();
    }
    console.note(error.render().to_string().trim_end());
    std::process::exit(error.exit_code());
}

fn main() -> ExitCode {
    let console = Console::detect();
    let line = CommandLine::try_parse().unwrap_or_else(|error| refuse(&console, &error));
    match line.command.run(&console) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            console.complain(&failure);
            failure.exit.into()
        }
    }
}
