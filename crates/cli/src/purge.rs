//! `nandscope purge`: erases a whole device by a command of its own, and checks what it returns and how fast it writes
//! afterwards. Without `--destroy-data` it only lists what the device offers.

mod check;
mod text;

use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use crate::target::real::{Confirmation, RealArguments, open};
use crate::{heading, output};
use check::{Check, WriteSpeed};
use clap::Args;
use clap::builder::PossibleValuesParser;
use nandscope_inspect::Roots;
use nandscope_inspect::guard::Opened;
use nandscope_inspect::identity::Identity;
use nandscope_inspect::purge::{Ended, Method, Offer, Purge};
use nandscope_measure::real::Access;
use nandscope_units::number::duration;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  nandscope purge /dev/nvme0n1                         lists the methods
  nandscope purge /dev/nvme0n1 --destroy-data=nvme0n1
  nandscope purge /dev/mmcblk0 --destroy-data=mmcblk0 --method discard

Exit codes: 0 purged, 1 if the device still returns old data.";

/// Longest purge that is repeated after the second measurement of the speed.
const REPEATED: Duration = Duration::from_secs(120);

/// Arguments of `nandscope purge`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Block device
    target: PathBuf,
    /// How to purge; by default the first possible method that erases flash
    #[arg(long, value_name = "METHOD", value_parser = method_names())]
    method: Option<String>,
    /// Leave out the measurement of the write speed before and after
    #[arg(long)]
    no_speed: bool,
    /// Allow overwriting a block device; NAME is required unless it is empty
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, help_heading = heading::REAL)]
    destroy_data: Option<Option<String>>,
    #[command(flatten)]
    confirmation: Confirmation,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

fn method_names() -> PossibleValuesParser {
    Method::ALL.map(Method::name).into()
}

/// Output of the command.
#[derive(Debug, Serialize)]
struct Outcome {
    format: u32,
    device: Identity,
    methods: Vec<Offer>,
    purged: Option<Purged>,
}

/// A purge that ended.
#[derive(Debug, Serialize)]
struct Purged {
    method: Method,
    elapsed_s: f64,
    #[serde(flatten)]
    check: Check,
    /// Whether the blocks that the second measurement wrote were purged again.
    clean: bool,
}

/// Lists the methods or purges the device.
///
/// # Errors
/// `Exit::Usage` if the target is no block device, the method is not possible, or the guard or the confirmation forbids it;
/// `Exit::File` if the device cannot be opened, or refuses the command; `Exit::Interrupted`.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let name = arguments.target.display().to_string();
    if name.starts_with("sim:") {
        return Err(Failure::usage(format!(
            "{name} is simulated, and begins each run purged; purge a block device"
        )));
    }
    let mut files = FileClaims::default();
    files.target(&name)?;
    files.check()?;
    let interrupt = Interrupt::listen()?;
    let access = match arguments.destroy_data {
        Some(_) => Access::Write,
        None => Access::Read,
    };
    let opened = opened(&arguments, access, &interrupt)?;
    let (identity, purge) = examined(&opened, &name)?;
    let purged = match access {
        Access::Read => None,
        Access::Write => {
            let work = Work {
                opened: &opened,
                purge: &purge,
                method: chosen(&arguments, &purge, &name)?,
                interrupt: &interrupt,
            };
            Some(work.purged(!arguments.no_speed, console)?)
        }
    };
    let failed = purged.as_ref().is_some_and(|p| p.check.contents.kept > 0);
    let outcome = Outcome {
        format: 1,
        device: identity.clone(),
        methods: purge.offers().to_vec(),
        purged,
    };
    show(&outcome, &purge, arguments.json, console)?;
    Ok(if failed { Exit::Partial } else { Exit::Done })
}

fn show(outcome: &Outcome, purge: &Purge, json: bool, console: &Console) -> Result<(), Failure> {
    match json {
        true => output::print_json(outcome, console),
        false => console.print(&text::words(outcome, purge.preferred(), console)),
    }
}

fn opened(arguments: &Arguments, access: Access, interrupt: &Interrupt) -> Result<Opened, Failure> {
    let path: &Path = &arguments.target;
    if path.is_file() || path.is_dir() {
        return Err(no_block_device(&path.display().to_string()));
    }
    let real = RealArguments {
        destroy_data: arguments.destroy_data.clone(),
        confirmation: arguments.confirmation.clone(),
        ..RealArguments::default()
    };
    open(path, access, &real, &[], false, interrupt)
}

fn examined<'a>(opened: &'a Opened, name: &str) -> Result<(&'a Identity, Purge), Failure> {
    let identity = opened
        .identity
        .as_ref()
        .ok_or_else(|| no_block_device(name))?;
    let purge = Purge::of(&Roots::default(), &opened.file, identity);
    Ok((identity, purge))
}

fn no_block_device(name: &str) -> Failure {
    Failure::usage(format!(
        "{name} is no block device; only block devices can be purged"
    ))
}

/// The method that was asked for, or the preferred one.
fn chosen(arguments: &Arguments, purge: &Purge, name: &str) -> Result<Method, Failure> {
    let Some(asked) = &arguments.method else {
        return purge.preferred().ok_or_else(|| {
            Failure::usage(format!(
                "{name} offers no way to purge it: `nandscope purge {name}` lists the reasons"
            ))
        });
    };
    let offer = purge.offers().iter().find(|o| o.method.name() == asked);
    match offer {
        Some(Offer {
            method,
            why_not: None,
            ..
        }) => Ok(*method),
        Some(Offer {
            why_not: Some(why), ..
        }) => Err(Failure::usage(format!(
            "--method {asked} is not possible on {name}: {why}"
        ))),
        None => Err(Failure::usage(format!(
            "--method {asked} does not exist for the kind of device that {name} is; `nandscope purge {name}` lists the methods"
        ))),
    }
}

/// A purge to be carried out.
struct Work<'a> {
    opened: &'a Opened,
    purge: &'a Purge,
    method: Method,
    interrupt: &'a Interrupt,
}

impl Work<'_> {
    /// Purges the device, between two measurements of its speed.
    fn purged(&self, speed: bool, console: &Console) -> Result<Purged, Failure> {
        let before = self.speed(speed)?;
        let samples = check::samples(self.opened);
        samples.write(&self.opened.file).map_err(|e| {
            Failure::file(format!(
                "cannot write to {}: {e}",
                self.opened.path.display()
            ))
        })?;
        self.go_on("nothing was purged")?;
        if !self.method.can_stop() {
            console.note(&format!(
                "{} began; it cannot be stopped, keep the device connected to power",
                self.method.effect()
            ));
        }
        let begun = Instant::now();
        self.carry_out()?;
        let elapsed = begun.elapsed();
        let contents = samples.read(&self.opened.file).map_err(|e| {
            Failure::file(format!(
                "the device was purged, but its contents cannot be checked: {}: {e}",
                self.opened.path.display()
            ))
        })?;
        let after = self.speed(speed)?;
        let clean = after.is_none() || elapsed <= REPEATED;
        if after.is_some() && clean {
            self.carry_out()?;
        }
        Ok(Purged {
            method: self.method,
            elapsed_s: elapsed.as_secs_f64(),
            check: Check {
                contents,
                before,
                after,
            },
            clean,
        })
    }

    fn speed(&self, wanted: bool) -> Result<Option<WriteSpeed>, Failure> {
        match wanted {
            true => check::speed(self.opened, self.interrupt).map(Some),
            false => Ok(None),
        }
    }

    fn go_on(&self, state: &str) -> Result<(), Failure> {
        match self.interrupt.asked() {
            true => Err(Failure::new(
                Exit::Interrupted,
                format!("interrupted; {state}"),
            )),
            false => Ok(()),
        }
    }

    fn carry_out(&self) -> Result<(), Failure> {
        let line = Line::new("purge").in_real_time();
        let what = self.method.effect();
        let begun = Instant::now();
        let ended = self
            .purge
            .carry_out(&self.opened.file, self.method, &mut |share| {
                let passed = duration(begun.elapsed().as_secs_f64());
                line.show(share, format!("{what}, {passed}"));
                !(self.method.can_stop() && self.interrupt.asked())
            });
        line.clear();
        match ended {
            Ok(Ended::Whole) => Ok(()),
            Ok(Ended::Stopped(bytes)) => self.go_on(&format!(
                "the first {bytes} bytes of the device were discarded, the rest holds old data"
            )),
            Err(e) => Err(Failure::file(format!(
                "{} was not purged: {e}",
                self.opened.path.display()
            ))),
        }
    }
}
