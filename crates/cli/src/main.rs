//! The command `nandscope`. This file knows the list of commands and nothing of what they do:
//! a command is a module with `Arguments` and `run`, one line in the list below, and its `mod`.

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "doc comments of arguments are help texts, where `[:PERCENT]` is optional"
)]

mod advise;
mod author;
mod calc;
mod claims;
mod compare;
mod completions;
mod confine;
mod console;
mod ctl;
mod devices;
mod failure;
mod fault;
mod fs;
mod help;
mod input;
mod inspect;
mod interrupt;
mod job;
mod kernel;
mod output;
mod photo;
mod picture;
mod probe;
mod report;
mod rescue;
mod review;
mod run;
mod serve;
mod shelf;
mod state_folder;
mod steps;
mod sweep;
mod target;
mod threads;
mod trace;
mod validate;
mod verify;

use clap::{Parser, Subcommand};
use console::Console;
use failure::{Exit, Failure};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  nandscope review sim:sm2708-250gb            full review; a page as report
  nandscope devices                            the simulated devices
  nandscope devices show sm2708-250gb          every number, with its reason
  nandscope run jobs/rand-read.fio sim:sm2708-250gb         a fio job file
  nandscope run job.fio sim:./my.toml -o result.json        on your own device
  nandscope report result.json -o report/      one page of HTML, plots, tables
  nandscope compare a.json b.json              figures side by side
  nandscope help jobs                          a page of the documentation

Exit codes:
  0 success; 1 failed or incomplete measurement; 2 wrong usage or input;
  3 file not found, unreadable or unwritable; 4 bug; 130 interrupted;
  verify: 10 fake, 11 failing, 12 suspicious, 13 not finished.
  `nandscope help exit-codes` lists what is left in each case.";

/// An open laboratory for flash storage: measure, simulate and compare devices.
#[derive(Debug, Parser)]
#[command(name = "nandscope", version, after_help = EXAMPLES, arg_required_else_help = true, disable_help_subcommand = true)]
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
    /// Run a full review of a device and write the report
    Review => review,
    /// List simulated devices and hosts, or explain one
    Devices => devices,
    /// Describe a target, and list reasons to refuse writing
    Inspect => inspect,
    /// Run a fio job file on a target
    Run => run,
    /// Infer the internals of a device from latencies alone
    Probe => probe,
    /// Recommend partition, mkfs and mount options from a probe
    Advise => advise,
    /// Detect fakes: check the real capacity of a device
    Verify => verify,
    /// Serve a simulated device to other programs at its own speed
    Serve => serve,
    /// Inject a fault into a served device
    Ctl => ctl,
    /// Check, show or convert job files
    Job => job,
    /// Make a report of a stored result
    Report => report,
    /// Compare the figures of stored results
    Compare => compare,
    /// Keep results of many drives, and make a site of them
    Shelf => shelf,
    /// Calculate link, flash, battery and video requirements
    Calc => calc,
    /// List or describe traces
    Trace => trace,
    /// Run a job at many points of a space of parameters
    Sweep => sweep,
    /// Compare Linux file systems on a simulated device in virtual time
    Fs => fs,
    /// Build the Linux kernel for `fs`
    Kernel => kernel,
    /// Compare simulated devices with published measurements
    Validate => validate,
    /// Print shell completions
    Completions => completions,
    /// Explain a command or a topic
    Help => help,
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
