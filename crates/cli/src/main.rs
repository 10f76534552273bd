//! The command `nandscope`. This file has only the list of commands: a command is a module with `Arguments` and `run`,
//! one line in the list below, and its `mod`.

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
#[cfg(test)]
mod consistency;
mod console;
mod ctl;
mod devices;
mod failure;
mod fault;
mod fit;
mod fs;
mod heading;
mod health;
mod help;
mod input;
mod inspect;
mod interrupt;
mod job;
mod kernel;
mod lifetime;
mod output;
mod photo;
mod picture;
mod predict;
mod probe;
mod purge;
mod qualify;
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

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use console::Console;
use failure::{Exit, Failure};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  nandscope review sim:sm2708-250gb            full review; a page as report
  nandscope devices            simulated devices, and the disks of this machine
  nandscope devices show sm2708-250gb          every number, with its reason
  nandscope run rand-read sim:sm2708-250gb                  a job of the library
  nandscope run job.fio sim:./my.toml --result r.json       on your own device
  nandscope report result.json -o report/      one page of HTML, plots, tables
  nandscope compare a.json b.json              figures side by side
  nandscope help jobs                          a page of the documentation

Exit codes:
  0 success; 1 failed or incomplete measurement; 2 wrong usage or input;
  3 file not found, unreadable or unwritable; 4 bug; 130 interrupted;
  verify: 10 fake, 11 failing, 12 suspicious, 13 not finished;
  qualify, health: 14 not fit, 15 not known.
  `nandscope help exit-codes` lists what is left in each case.";

/// An open laboratory for flash storage: measure, simulate and compare devices.
#[derive(Debug, Parser)]
#[command(name = "nandscope", version, after_long_help = EXAMPLES, arg_required_else_help = true, disable_help_subcommand = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// A heading of the list of commands, and the names below it.
type Group = (&'static str, &'static [&'static str]);

/// Makes the list of commands in groups, and the way from each to its module.
macro_rules! commands {
    ($($group:literal { $($(#[$about:meta])* $name:ident => $module:ident,)* })*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($($(#[$about])* $name($module::Arguments),)*)*
        }

        /// The groups of the commands, each named as its module.
        const GROUPS: &[Group] = &[$(($group, &[$(stringify!($module)),*])),*];

        impl Command {
            fn run(self, console: &Console) -> Result<Exit, Failure> {
                match self {
                    $($(Command::$name(arguments) => $module::run(arguments, console),)*)*
                }
            }
        }
    };
}

commands! {
    "Measure a device" {
        /// Run a full review of a device and write the report
        Review => review,
        /// Run a fio job file on a target
        Run => run,
        /// Run a job at many points of a space of parameters
        Sweep => sweep,
        /// Compare Linux file systems on simulated or real devices
        Fs => fs,
        /// Build the Linux kernel for `fs`
        Kernel => kernel,
    }
    "Examine a device" {
        /// List simulated devices, hosts and the disks of this machine
        Devices => devices,
        /// Describe a target, and list reasons to refuse writing
        Inspect => inspect,
        /// Detect fakes: check the real capacity of a device
        Verify => verify,
        /// Infer the internals of a device from latencies alone
        Probe => probe,
        /// Recommend partition, mkfs and mount options from a probe
        Advise => advise,
        /// Fit a profile to measurements of a device
        Fit => fit,
        /// Run a job on a fitted device, with 90 % intervals
        Predict => predict,
        /// Judge whether a device is fit for an application
        Qualify => qualify,
        /// Estimate how long a device lasts under a workload
        Lifetime => lifetime,
        /// Report the health of a device, and forecast its end of life
        Health => health,
    }
    "Read results" {
        /// Make a report of a stored result
        Report => report,
        /// Compare the figures of stored results
        Compare => compare,
        /// Keep results of many drives, and make a site of them
        Shelf => shelf,
        /// Compare simulated devices with published measurements
        Validate => validate,
    }
    "Tools and help" {
        /// Erase a device by a command of its own, and check the effect
        Purge => purge,
        /// Serve a simulated device to other programs at its own speed
        Serve => serve,
        /// Inject a fault into a served device
        Ctl => ctl,
        /// Check, show or convert job files
        Job => job,
        /// List, describe or convert traces
        Trace => trace,
        /// Calculate link, flash, battery and video requirements
        Calc => calc,
        /// Explain a command or a topic
        Help => help,
        /// Print shell completions
        Completions => completions,
    }
}

/// The definition of the command line, with the list of commands in groups.
fn command() -> clap::Command {
    let command = CommandLine::command();
    let template = format!(
        "{{about-with-newline}}{{usage-heading}} {{usage}}\n\n{}\n{{options}}{{after-help}}",
        list_of_commands(&command)
    );
    command.help_template(template)
}

/// One line per command, below the heading of its group.
fn list_of_commands(command: &clap::Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{title}:\n"));
        for name in *names {
            let found = command.find_subcommand(name);
            let about = found.and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<13}{about}\n"));
        }
    }
    text
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
    let line = command()
        .try_get_matches()
        .and_then(|matches| CommandLine::from_arg_matches(&matches))
        .unwrap_or_else(|error| refuse(&console, &error));
    nandscope_files::refuse_other_names();
    match line.command.run(&console) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            console.complain(&failure);
            failure.exit.into()
        }
    }
}
