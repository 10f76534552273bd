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

/// A measurement: identifier, title, the options of its job, and a description.
struct Part {
    id: &'static str,
    title: &'static str,
    options: &'static str,
    how: &'static str,
}

/// Option of the second write and later parts: starts beyond a file allocation table, as `dd seek=10 bs=4M` does.
const AFTER_FAT: &str = "offset=40m\n";

const PARTS: [Part; 5] = [
    Part {
        id: "write-start",
        title: "Sequential write from the start",
        options: "rw=write\nbs=512k\niodepth=2\nsize=256m\n",
        how: "The first 256 MiB, with the units that may hold a file allocation table, in requests of 512 KiB or what the host allows, the next one waiting (dd through the page cache).",
    },
    Part {
        id: "write",
        title: "Sequential write",
        options: "rw=write\nbs=512k\niodepth=2\nsize=256m\n",
        how: "The same 40 MiB after the start.",
    },
    Part {
        id: "read",
        title: "Sequential read",
        options: "rw=read\nbs=128k\niodepth=2\nsize=256m\n",
        how: "The same place in requests of 128 KiB, the next one waiting (dd and hdparm through the page cache).",
    },
    Part {
        id: "random-read",
        title: "4 KiB random read",
        options: "rw=randread\nbs=4k\nsize=100m\nruntime=10\ntime_based=1\nnorandommap=1\n",
        how: "One at a time over a file of 100 MiB, 10 s (iozone -I -s 100M -r 4k).",
    },
    Part {
        id: "random-write",
        title: "4 KiB random write",
        options: "rw=randwrite\nbs=4k\nsize=100m\nruntime=10\ntime_based=1\nnorandommap=1\n",
        how: "The same with writes.",
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
    runner.begin_step(&id, part.title, SECTION, part.how.to_string(), 1);
    let place = if part.id == "write-start" {
        ""
    } else {
        AFTER_FAT
    };
    let text = format!("[{}]\n{}{place}", part.id, part.options);
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
