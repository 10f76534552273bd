//! Test for comparing ports: Iometer's 128 KiB sequential read and write with 32 commands outstanding, on one device at
//! every port that it fits, and the difference of each port from the first one.
//!
//! The device and its contents stay the same; only the chain before it differs.

use crate::document::{blank, value};
use crate::jobs::phase;
use crate::modes::{Between, Turn, Turns, published};
use crate::options::{ReviewObserver, ReviewOptions, chosen_modes};
use crate::spec::{Mode, SimSpec};
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError, id_in_mode};
use nandscope_device::Device;
use nandscope_measure::target::Target;
use nandscope_result::{Figure, Operation, ResultDocument, procedure};
use nandscope_units::Nanos;

const SECTION: &str = "Iometer";

/// Notice of a quick run.
pub(crate) const SHORTENED: &str = "Quick run: a file of an eighth of the size, read and written for 2 s. Nothing is compared with publications.";

/// Amount of data and duration.
#[derive(Clone, Copy, Debug)]
struct Extent {
    file_mib: u64,
    run_s: u64,
}

impl Extent {
    const FULL: Extent = Extent {
        file_mib: 8192,
        run_s: 30,
    };
    const QUICK: Extent = Extent {
        file_mib: 1024,
        run_s: 2,
    };
}

/// Measures the device at every port that it fits, in virtual time. `stop` is called often; when it returns true, the
/// measurements so far are returned, marked as incomplete.
///
/// # Errors
/// [`SuiteError::Target`] if the device cannot be made or fits no port, [`SuiteError::Step`] if the test cannot be done on it.
pub(crate) fn run(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let modes = chosen_modes(spec, options)?;
    let mut document = blank(spec, options, procedure::IOMETER, SHORTENED);
    let turns = Turns::new(options, Between::Same(rest, rest));
    let ports = Turn::of_modes(spec, &modes);
    let measured = turns.take(&ports, &mut document, observer, stop, |runner, _| {
        port(runner, options.quick, RESTED)
    })?;
    side_by_side(&mut document, &modes[..measured]);
    published(spec, options, document)
}

/// Idle time between two temperature readings.
const REST: Nanos = Nanos::from_secs(10 * 60);
/// Largest change of temperature over [`REST`] that counts as constant, K.
const RESTED_K: f64 = 0.05;
/// Largest number of rests; only a case of many kilograms would cool for longer.
const LONGEST_REST: u32 = 6 * 24;

/// Leaves the device idle until its temperature is constant, so that heat from one port does not affect the next
/// measurement.
fn rest(device: &mut Device) {
    let mut none = Vec::new();
    let temperatures = |device: &Device| {
        let telemetry = device.telemetry();
        [
            telemetry.smart_temperature_c,
            telemetry.surface_temperature_c,
        ]
    };
    for _ in 0..LONGEST_REST {
        let before = temperatures(device);
        let until = device.now() + REST;
        while device.now() < until {
            device.advance(until, &mut none);
        }
        let after = temperatures(device);
        if before
            .iter()
            .zip(after)
            .all(|(b, a)| (a - b).abs() < RESTED_K)
        {
            return;
        }
    }
}

/// Sentence of the report on the rest of a simulated device before each port.
const RESTED: &str = "The device has rested before until its temperature stays the same.";

/// Measures an existing target at the port to which it is attached.
pub(crate) fn on_target<T: Target>(
    runner: &mut StepRunner<'_, T>,
    quick: bool,
) -> Result<Flow, SuiteError> {
    port(runner, quick, "The device is measured as it was.")
}

/// Steps at each port: write the file, read, write.
const STEPS: u32 = 3;

/// Measures at one port. `before` describes what the device did before, as a sentence.
fn port<T: Target>(
    runner: &mut StepRunner<'_, T>,
    quick: bool,
    before: &str,
) -> Result<Flow, SuiteError> {
    let extent = if quick { Extent::QUICK } else { Extent::FULL };
    // A small device is measured over its whole capacity.
    let file_mib = extent.file_mib.min(runner.capacity().0 >> 20);
    runner.note_stage(SECTION, 0.0, 1.0, STEPS);
    if test_file(runner, file_mib, before)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    for direction in [Operation::Read, Operation::Write] {
        if one(runner, &direction, file_mib, extent.run_s)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn test_file<T: Target>(
    runner: &mut StepRunner<'_, T>,
    file_mib: u64,
    before: &str,
) -> Result<Flow, SuiteError> {
    let id = "iometer-file";
    if runner.skips(id) {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        id,
        "Test file",
        SECTION,
        format!(
            "A sequential write of the first {file_mib} MiB, so that reads find data. {before}"
        ),
        1,
    );
    let text = format!("[make test file]\nrw=write\nbs=128k\niodepth=32\nsize={file_mib}m\n");
    let flow = phase("test file", &text, runner.capacity(), runner.seed)
        .and_then(|phase| runner.run(phase));
    runner.end_step();
    flow
}

fn one<T: Target>(
    runner: &mut StepRunner<'_, T>,
    direction: &Operation,
    file_mib: u64,
    run_s: u64,
) -> Result<Flow, SuiteError> {
    let title = format!("128 KiB sequential {direction}, QD32");
    let id = format!("iometer-{direction}");
    if runner.skips(&id) {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        &id,
        &title,
        SECTION,
        format!("{run_s} s in blocks of 128 KiB, 32 commands outstanding, round and round over {file_mib} MiB."),
        1,
    );
    let text = format!(
        "[{direction}]\nrw={direction}\nbs=128k\niodepth=32\nsize={file_mib}m\nruntime={run_s}\ntime_based=1\n"
    );
    let flow =
        phase(&title, &text, runner.capacity(), runner.seed).and_then(|phase| runner.run(phase));
    let result = runner
        .current()
        .and_then(|s| s.jobs.last())
        .and_then(|j| j.directions.iter().find(|d| d.kind == *direction));
    if let Some((bandwidth, latency)) =
        result.map(|d| (d.bandwidth_bytes_per_s / 1e6, d.latency.mean_ns / 1e3))
    {
        let id = format!("iometer.{direction}");
        runner.figure(&id, &title, "MB/s", &[bandwidth], Pick::Mean);
        let title = format!("{title}, mean latency");
        runner.figure(
            &format!("{id}.latency"),
            &title,
            "µs",
            &[latency],
            Pick::Mean,
        );
    }
    runner.end_step();
    flow
}

/// Adds the difference of each port from the first one.
fn side_by_side(document: &mut ResultDocument, ports: &[&Mode]) {
    let Some((first, others)) = ports.split_first() else {
        return;
    };
    let mut added = Vec::new();
    for port in others {
        for direction in [Operation::Read, Operation::Write] {
            let id = |mode: &Mode| id_in_mode(Some(&mode.name), &format!("iometer.{direction}"));
            let (Some(reference), Some(here)) =
                (value(document, &id(first)), value(document, &id(port)))
            else {
                continue;
            };
            let figure = |what: &str, title: String, unit: &str, value: f64| Figure {
                id: format!("{}.{what}", id(port)),
                title,
                mode: Some(port.name.clone()),
                value,
                unit: unit.to_string(),
                ..Figure::default()
            };
            let title = format!(
                "128 KiB sequential {direction}, QD32: difference from {}",
                first.name
            );
            added.push(figure(
                "difference",
                title,
                "MB/s",
                (here - reference).abs(),
            ));
            if reference > 0.0 {
                let title = format!(
                    "128 KiB sequential {direction}, QD32: lower than with {} by",
                    first.name
                );
                let loss = (1.0 - here / reference) * 100.0;
                added.push(figure("loss", title, "%", loss));
            }
        }
    }
    document.figures.extend(added);
}
