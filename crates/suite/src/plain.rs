//! Measurements with standard Linux tools: sequential writes and reads through the page cache, as with dd and hdparm,
//! and random reads and writes of 4 KiB one at a time, as with iozone and AS SSD.
//!
//! The page cache decides the size of requests, not dd's block size: a card read by dd in blocks of 4 MiB and of 64 KiB
//! was equally fast. It reads ahead 128 KiB at a time and requests the next 128 KiB before the last are consumed, and
//! it writes in the largest requests that the host accepts.

use crate::document::blank;
use crate::jobs::phase;
use crate::modes::{Between, Turn, Turns, published};
use crate::options::{ReviewObserver, ReviewOptions, chosen_modes};
use crate::spec::SimSpec;
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_result::{ResultDocument, procedure};

const SECTION: &str = "Plain reads and writes";

/// A measurement.
struct Part {
    id: &'static str,
    title: &'static str,
    /// Options of its job, without its place.
    options: &'static str,
    /// Start and size of the file, MiB. The file ends at the end of a smaller device.
    start_mib: u64,
    size_mib: u64,
    /// Description for a file of so many MiB.
    how: fn(u64) -> String,
}

/// Start of the second write and later parts, MiB: beyond a file allocation table, as with `dd seek=10 bs=4M`.
const AFTER_FAT: u64 = 40;

const PARTS: [Part; 5] = [
    Part {
        id: "write-start",
        title: "Sequential write from the start",
        options: "rw=write\nbs=512k\niodepth=2\n",
        start_mib: 0,
        size_mib: 256,
        how: |mib| {
            format!(
                "The first {mib} MiB, with the units that may hold a file allocation table, in requests of 512 KiB or what the host allows, the next one waiting (dd through the page cache)."
            )
        },
    },
    Part {
        id: "write",
        title: "Sequential write",
        options: "rw=write\nbs=512k\niodepth=2\n",
        start_mib: AFTER_FAT,
        size_mib: 256,
        how: |mib| format!("The same with {mib} MiB, {AFTER_FAT} MiB after the start."),
    },
    Part {
        id: "read",
        title: "Sequential read",
        options: "rw=read\nbs=128k\niodepth=2\n",
        start_mib: AFTER_FAT,
        size_mib: 256,
        how: |_| {
            "The same place in requests of 128 KiB, the next one waiting (dd and hdparm through the page cache).".to_string()
        },
    },
    Part {
        id: "random-read",
        title: "4 KiB random read",
        options: "rw=randread\nbs=4k\nruntime=10\ntime_based=1\nnorandommap=1\n",
        start_mib: AFTER_FAT,
        size_mib: 100,
        how: |mib| {
            format!("One at a time over a file of {mib} MiB, 10 s (iozone -I -s {mib}M -r 4k).")
        },
    },
    Part {
        id: "random-write",
        title: "4 KiB random write",
        options: "rw=randwrite\nbs=4k\nruntime=10\ntime_based=1\nnorandommap=1\n",
        start_mib: AFTER_FAT,
        size_mib: 100,
        how: |_| "The same with writes.".to_string(),
    },
];

/// Measures the device in every selected mode, in virtual time.
///
/// # Errors
/// [`SuiteError`] if the device cannot be made or attached, or is smaller than the files.
pub(crate) fn run(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let modes = chosen_modes(spec, options)?;
    let mut document = blank(spec, options, procedure::PLAIN, "");
    let turns = Turns::new(options, Between::UNPREPARED);
    let modes = Turn::of_modes(spec, &modes);
    turns.take(&modes, &mut document, observer, stop, |runner, _| {
        all(runner)
    })?;
    published(spec, options, document)
}

/// Runs all parts.
pub(crate) fn all<T: Target>(runner: &mut StepRunner<'_, T>) -> Result<Flow, SuiteError> {
    runner.note_stage(SECTION, 0.0, 1.0, PARTS.len() as u32);
    for part in &PARTS {
        if one(runner, part)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn one<T: Target>(runner: &mut StepRunner<'_, T>, part: &Part) -> Result<Flow, SuiteError> {
    let id = format!("plain-{}", part.id);
    if runner.skips(&id) {
        return Ok(Flow::Continue);
    }
    let room_mib = (runner.capacity().0 >> 20).saturating_sub(part.start_mib);
    let mib = part.size_mib.min(room_mib);
    if mib == 0 {
        runner.leave_out(&format!(
            "{}: left out, since it begins {AFTER_FAT} MiB after the start of the device, which holds {}",
            part.title,
            runner.capacity()
        ));
        return Ok(Flow::Continue);
    }
    runner.begin_step(&id, part.title, SECTION, (part.how)(mib), 1);
    let text = format!(
        "[{}]\n{}offset={}m\nsize={mib}m\n",
        part.id, part.options, part.start_mib
    );
    let flow = phase(part.title, &text, runner.capacity(), runner.seed)
        .and_then(|phase| runner.run(phase));
    let job = runner.current().and_then(|s| s.jobs.last());
    let rate = job
        .and_then(|j| j.directions.first())
        .map(|d| d.bandwidth_bytes_per_s / 1e6);
    if let Some(rate) = rate {
        let id = format!("plain.{}", part.id);
        runner.figure(&id, part.title, "MB/s", &[rate], Pick::Mean);
    }
    runner.end_step();
    flow
}
