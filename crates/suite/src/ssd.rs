//! The suite for solid-state drives as AnandTech ran it in 2017/18: bursts and sustained random access on a drive that
//! is empty except for the tested span, then application traces on an empty and on a full drive. [`drive`] runs it on
//! one drive; [`beside`] runs the parts that print ratios on a drive and the drives it was published with.
//!
//! Every part begins with a drive fresh from the factory, as the suite erased drives between tests. An existing
//! drive is discarded before each of them.

use crate::document::{begun, value};
use crate::folders::single;
use crate::jobs::phase;
use crate::modes::{Between, Turn, Turns};
use crate::options::{ReviewObserver, ReviewOptions};
use crate::span::Effort;
use crate::spec::{Mode, SimSpec};
use crate::ssd_traces::{self, State};
use crate::step_runner::{Flow, StepRunner, SuiteError, id_in_mode};
use crate::{bursts, facts, sustained};
use nandscope_device::{Fill, FillError, break_if};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target;
use nandscope_result::{Figure, ResultDocument, procedure};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use nandscope_workload::files::{Extent, ExtentSource};

/// Other drives in the SM2262EN preview.
const PEERS: [&str; 2] = ["hp-ex920-1tb", "samsung-970-pro-512gb"];

/// Notice of a quick run.
const SHORTENED: &str = "Quick run: a tenth of the data and of the time. Latencies and powers do not depend on either, and are compared with publications all the same.";

/// A part of the suite, on a fresh drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    BurstRead,
    BurstWrite,
    SustainedRead,
    SustainedWrite,
    Traces(State),
}

impl Part {
    const WHOLE: [Part; 8] = [
        Part::BurstRead,
        Part::BurstWrite,
        Part::SustainedRead,
        Part::SustainedWrite,
        Part::Traces(State::Empty),
        Part::Traces(State::Half),
        Part::Traces(State::EightyPercent),
        Part::Traces(State::Full),
    ];

    /// Share of the capacity that is filled in order before the part, 0 to 1.
    fn filled(self) -> f64 {
        match self {
            Part::Traces(state) => state.share(),
            _ => 0.0,
        }
    }

    /// Measures on a drive that is empty, or filled as [`Part::filled`] says.
    fn measure<T: Target>(
        self,
        runner: &mut StepRunner<'_, T>,
        effort: Effort,
    ) -> Result<Flow, SuiteError> {
        match self {
            Part::BurstRead => bursts::run(runner, bursts::READ, effort),
            Part::BurstWrite => bursts::run(runner, bursts::WRITE, effort),
            Part::SustainedRead => sustained::run(runner, sustained::READ, effort),
            Part::SustainedWrite => sustained::run(runner, sustained::WRITE, effort),
            Part::Traces(state) => ssd_traces::run(runner, state, effort.settle),
        }
    }

    /// Fills a simulated drive without spending virtual time, then measures.
    fn run(
        self,
        runner: &mut StepRunner<'_, SimTarget>,
        quick: bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Flow, SuiteError> {
        if self.filled() > 0.0 {
            let step = &mut |_| break_if(stop());
            let device = runner.target.device_mut();
            match device.fill(self.filled(), Fill::Sequential, step) {
                Err(FillError::Stopped) => return Ok(Flow::Stop),
                filled => filled.map_err(|e| SuiteError::Target(e.to_string()))?,
            };
        }
        self.measure(runner, Effort::simulated(quick))
    }
}

/// Runs the whole suite on one drive, attached in the first mode of its profile.
///
/// # Errors
/// [`SuiteError::Target`] if the drive cannot be made or attached, [`SuiteError::Step`] if a step cannot be done on it.
pub fn drive(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let begun = begun(spec, options, procedure::DRIVE, SHORTENED);
    let mode = first_mode(spec)?;
    let drives = [(spec, mode)];
    let mut document = run(&drives, &Part::WHOLE, options, begun, observer, stop)?;
    fullness(&mut document, Some(&mode.name));
    finish(document, spec)
}

/// Runs bursts and sustained access on a drive and the drives it was published with, for comparison.
///
/// # Errors
/// As [`drive`].
pub fn beside(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let begun = begun(spec, options, procedure::DRIVES, SHORTENED);
    let mut drives = vec![spec.clone()];
    for name in PEERS.into_iter().filter(|n| *n != spec.profile.device.name) {
        drives.push(SimSpec::library(name)?);
    }
    let modes = drives.iter().map(|drive| {
        let name = drive.profile.device.name.clone();
        first_mode(drive).map(|mode| Mode {
            name,
            ..mode.clone()
        })
    });
    let modes = modes.collect::<Result<Vec<_>, _>>()?;
    let attached: Vec<_> = drives.iter().zip(&modes).collect();
    let mut document = run(&attached, &Part::WHOLE[..4], options, begun, observer, stop)?;
    ratios(&mut document, &drives);
    finish(document, spec)
}

/// Notice of a quick run on an existing drive.
pub(crate) const SHORTENED_ON_TARGET: &str = "Quick run: a tenth of the data and of the time, a quarter of the tested spans, and application traces on the empty drive only.";

/// Runs all parts on an existing drive, a quick run those on an empty drive. Before each part the whole drive is discarded, and
/// filled as far as the part needs.
pub(crate) fn on_target<T: Target>(
    runner: &mut StepRunner<'_, T>,
    quick: bool,
) -> Result<Flow, SuiteError> {
    ssd_traces::check_fit(runner.capacity())?;
    let parts = Part::WHOLE.iter().filter(|p| !quick || p.filled() == 0.0);
    let parts: Vec<Part> = parts.copied().collect();
    let effort = Effort::in_real_time(quick);
    for (number, part) in parts.iter().enumerate() {
        runner.note_part(number, parts.len());
        runner.note_stage("Preparation", 0.0, 0.0, 1);
        if prepare(runner, number, part.filled(), effort.idle)? == Flow::Stop
            || part.measure(runner, effort)? == Flow::Stop
        {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Discards the whole drive, then writes the first `share` of it in order, before the part of this number.
fn prepare<T: Target>(
    runner: &mut StepRunner<'_, T>,
    number: usize,
    share: f64,
    idle: Nanos,
) -> Result<Flow, SuiteError> {
    let id = format!("ssd-state-{}", number + 1);
    if runner.skips(&id) {
        return Ok(Flow::Continue);
    }
    let percent = (share * 100.0).round();
    let (title, then, phases) = if share > 0.0 {
        let then = format!(", then {percent} % of it is written in order, 128 KiB at QD32");
        (format!("Drive filled to {percent} %"), then, 3)
    } else {
        ("Empty drive".to_string(), String::new(), 2)
    };
    runner.begin_step(
        &id,
        &title,
        "Preparation",
        format!(
            "The whole drive is discarded, where the path to it passes discards on{then}; {} s of idle time.",
            idle.as_secs_f64()
        ),
        phases,
    );
    runner.mark_preparation();
    let flow = match discard_and_fill(runner, &title, share) {
        Ok(Flow::Continue) => runner.idle(idle),
        other => other,
    };
    runner.end_step();
    flow
}

/// Largest discard, bytes: a Linux driver splits larger ones.
const DISCARD_BYTES: u32 = 1 << 30;

fn discard_and_fill<T: Target>(
    runner: &mut StepRunner<'_, T>,
    title: &str,
    share: f64,
) -> Result<Flow, SuiteError> {
    let capacity = runner.capacity();
    let whole = Extent {
        kind: OpKind::Trim,
        offset: Bytes::ZERO,
        length: capacity.0,
        chunk: DISCARD_BYTES,
    };
    let discard = single(Box::new(ExtentSource::new(vec![whole])), "discard");
    let flow = runner.run(discard)?;
    if flow == Flow::Stop || share == 0.0 {
        return Ok(flow);
    }
    let filled = (capacity.0 as f64 * share) as u64 / (128 << 10) * (128 << 10);
    let job = format!("[fill]\nrw=write\nbs=128k\niodepth=32\nsize={filled}\n");
    runner.run(phase(title, &job, capacity, runner.seed)?)
}

fn first_mode(spec: &SimSpec) -> Result<&Mode, SuiteError> {
    spec.modes
        .first()
        .ok_or_else(|| SuiteError::Target(format!("{} is attached to no host", spec.name)))
}

fn finish(mut document: ResultDocument, spec: &SimSpec) -> Result<ResultDocument, SuiteError> {
    facts::publish(&mut document, &spec.profile.device.name)?;
    Ok(document)
}

/// Adds differences that show whether a drive that is 80 % full behaves like a full one, and a half full one like the
/// mean of an empty and a full one.
pub(crate) fn fullness(document: &mut ResultDocument, mode: Option<&str>) {
    for trace in ["light", "heavy"] {
        let at = |state: State| {
            let id = format!("atsb.{trace}.{}.latency", state.name());
            value(document, &id_in_mode(mode, &id))
        };
        let states = [
            at(State::Empty),
            at(State::Half),
            at(State::EightyPercent),
            at(State::Full),
        ];
        let [Some(empty), Some(half), Some(eighty), Some(full)] = states else {
            continue;
        };
        for (id, what, measured, expected) in [
            (
                "80-percent.over-full",
                "80 % full, more than on a full drive",
                eighty,
                full,
            ),
            (
                "half.over-line",
                "half full, more than a straight line from empty to full says",
                half,
                (empty + full) / 2.0,
            ),
        ] {
            if expected > 0.0 {
                document.figures.push(Figure {
                    id: id_in_mode(mode, &format!("atsb.{trace}.{id}")),
                    title: format!("Application traces, {trace}, latency {what}"),
                    mode: mode.map(str::to_string),
                    value: (measured / expected - 1.0) * 100.0,
                    unit: "%".to_string(),
                    ..Figure::default()
                });
            }
        }
    }
}

/// Runs every part in `parts` on each drive, attached in its mode, with a fresh device for each part.
fn run(
    drives: &[(&SimSpec, &Mode)],
    parts: &[Part],
    options: &ReviewOptions,
    (mut document, earlier): (ResultDocument, usize),
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let turns = Turns {
        earlier,
        has_mode_figures: false,
        ..Turns::new(options, Between::Fresh)
    };
    let each: Vec<Turn> = drives
        .iter()
        .flat_map(|(spec, mode)| parts.iter().map(|_| Turn { spec, mode }))
        .collect();
    turns.take(&each, &mut document, observer, stop, |runner, number| {
        parts[number % parts.len()].run(runner, options.quick, stop)
    })?;
    Ok(document)
}

/// Adds the lead of the first drive over the others, in percent.
fn ratios(document: &mut ResultDocument, drives: &[SimSpec]) {
    let Some((first, others)) = drives.split_first() else {
        return;
    };
    for (id, title) in [
        ("burst.read", "Burst random read"),
        ("burst.write", "Burst random write"),
        ("sustained.read.score", "Sustained random read"),
        ("sustained.write.score", "Sustained random write"),
        (
            "sustained.write.qd2",
            "Sustained random write, queue depth 2",
        ),
        (
            "sustained.write.qd4",
            "Sustained random write, queue depth 4",
        ),
        (
            "sustained.read.efficiency",
            "Efficiency in sustained random read",
        ),
        ("sustained.read.power", "Power in sustained random read"),
        ("sustained.write.power", "Power in sustained random write"),
    ] {
        for other in others {
            let (a, b) = (&first.profile.device.name, &other.profile.device.name);
            let of = |drive: &str| value(document, &id_in_mode(Some(drive), id));
            let (Some(x), Some(y)) = (of(a), of(b)) else {
                continue;
            };
            if y > 0.0 {
                document.figures.push(Figure {
                    id: format!("{id}.over-{b}"),
                    title: format!("{title}, more than {}", other.profile.device.title),
                    value: (x / y - 1.0) * 100.0,
                    unit: "%".to_string(),
                    ..Figure::default()
                });
            }
        }
    }
}
