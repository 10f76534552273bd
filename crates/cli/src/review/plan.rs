//! `nandscope review --plan`: the steps of a suite on a file or block device, with their time and bytes, before it is begun.

use super::{Arguments, endurance, suite_failure};
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::health::source;
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use crate::target;
use nandscope_measure::real::Access;
use nandscope_suite::plan::{Plan, Speed, plan};
use nandscope_suite::{Procedure, ReviewOptions};
use nandscope_units::number::{bytes, duration, short};
use std::path::Path;

/// A plan, and what it rests on.
struct Planned {
    plan: Plan,
    speed: Speed,
    /// Capacity of the target, bytes.
    capacity: u64,
    /// Whether writes were measured.
    overwrote: bool,
    /// The share of the rated endurance that the writes are, if the device reports its wear.
    endurance: Option<String>,
}

/// Measures the speed of the target, plans the procedure, and prints the plan.
///
/// # Errors
/// `Exit::Usage` for a folder, or a target that the procedure cannot be carried out on; those of
/// [`target::real::open_real`]; `Exit::Interrupted`.
pub fn print(
    arguments: &Arguments,
    procedure: Procedure,
    console: &Console,
) -> Result<Exit, Failure> {
    let name = &arguments.target;
    let path = Path::new(name);
    if path.is_dir() {
        return Err(Failure::usage(format!(
            "--plan works with files and block devices only, and {name} is a folder; omit it"
        )));
    }
    let interrupt = Interrupt::listen()?;
    let overwrites = arguments.real.destroy_data.is_some() || path.is_file() || !path.exists();
    let planned = prepare(arguments, procedure, overwrites, &interrupt)?;
    console.print(&text(&planned, console))?;
    Ok(Exit::Done)
}

/// Before the question whether a block device may be overwritten: says what the procedure will do to it. Only reads are measured.
///
/// # Errors
/// As [`print`].
pub fn announce(
    arguments: &Arguments,
    procedure: Procedure,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<(), Failure> {
    let planned = prepare(arguments, procedure, false, interrupt)?;
    let text = format!("{} `--plan` shows the steps.", total(&planned));
    console.note(console.paragraph(&text, "").trim_end());
    Ok(())
}

fn prepare(
    arguments: &Arguments,
    procedure: Procedure,
    overwrites: bool,
    interrupt: &Interrupt,
) -> Result<Planned, Failure> {
    let access = if overwrites {
        Access::Write
    } else {
        Access::Read
    };
    let name = &arguments.target;
    let mut real = target::real::open_real(name, access, &arguments.real, &[], false, interrupt)?;
    let info = real.info();
    let capacity = info.capacity_bytes;
    let stop = || interrupt.asked();
    let mut line = Line::new("plan").in_real_time();
    line.say("measuring the speed");
    let options = ReviewOptions {
        seed: arguments.seed,
        quick: arguments.quick,
        ..ReviewOptions::default()
    };
    let planned = Speed::measure(&mut real.target, overwrites, &stop).and_then(|speed| {
        let plan = plan(procedure, info, &speed, &options, &mut line, &stop)?;
        Ok((speed, plan))
    });
    line.clear();
    if interrupt.asked() {
        return Err(Failure::new(Exit::Interrupted, "interrupted"));
    }
    let (speed, plan) = planned.map_err(|e| suite_failure(&e))?;
    let wear = source::real(name).ok().map(|(reading, _)| reading);
    Ok(Planned {
        endurance: wear.and_then(|wear| endurance::share(&wear, plan.written().0)),
        plan,
        speed,
        capacity,
        overwrote: overwrites,
    })
}

fn total(planned: &Planned) -> String {
    let plan = &planned.plan;
    let times = plan.written().0 as f64 / planned.capacity.max(1) as f64;
    format!(
        "All steps: {}{}, {} read, {} written ({} times the capacity). {}All data on the target is lost.",
        if planned.overwrote { "" } else { "at least " },
        duration(plan.time().as_secs_f64()),
        bytes(plan.read().0),
        bytes(plan.written().0),
        short(times),
        planned
            .endurance
            .iter()
            .map(|text| format!("{text} "))
            .collect::<String>(),
    )
}

/// The plan as a table and sentences.
fn text(planned: &Planned, console: &Console) -> String {
    let mut table = console.table(&["STEP", "TIME", "READ", "WRITTEN"]);
    for step in &planned.plan.steps {
        table.add_row([
            step.title.clone(),
            duration(step.time.as_secs_f64()),
            bytes(step.read.0),
            bytes(step.written.0),
        ]);
    }
    let rate = |bytes_per_s: f64| short(bytes_per_s / 1e6);
    let read = rate(planned.speed.read.bytes_per_s);
    let basis = match planned.overwrote {
        true => format!(
            "Measured: {read} MB/s read and {} MB/s written, within 20 s. A cache that writes faster than the flash behind it makes the review longer.",
            rate(planned.speed.write.bytes_per_s)
        ),
        false => format!(
            "Measured: {read} MB/s read. Writes are taken to be as fast, since measuring them destroys data; with --destroy-data they are measured."
        ),
    };
    let warnings = planned.plan.warnings.iter();
    let warnings = warnings.map(|w| console.paragraph(w, ""));
    let sentences = [
        console.paragraph(&total(planned), ""),
        console.paragraph(&basis, ""),
    ];
    let parts = std::iter::once(lines_of(&table))
        .chain(sentences)
        .chain(warnings);
    parts.collect::<Vec<_>>().join("\n")
}
