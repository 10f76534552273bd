//! The suite for solid-state drives as AnandTech ran it in 2017/18: bursts and sustained random
//! access on a drive that is empty but for the span under test, then application traces on an
//! empty and on a full drive. [`drive`] puts one drive through it; [`beside`] puts a drive and
//! those it was published with through the parts that print ratios.
//!
//! Every part begins with a drive fresh from the factory, as the suite erased drives between tests.

use crate::document::{begun, value};
use crate::options::{ReviewObserver, ReviewOptions};
use crate::progress::StepWatcher;
use crate::spec::{Mode, SimSpec};
use crate::ssd_traces::{self, State};
use crate::step_runner::{Flow, StepRunner, SuiteError, id_in_mode};
use crate::{bursts, facts, sustained};
use nandscope_device::{Device, Fill, FillError, break_if};
use nandscope_measure::sim::SimTarget;
use nandscope_result::{Figure, ResultDocument};

/// Drives that the SM2262EN preview is about, besides itself.
const PEERS: [&str; 2] = ["hp-ex920-1tb", "samsung-970-pro-512gb"];

/// Notice of a quick run.
const SHORTENED: &str = "Quick run: a tenth of the data and of the time. Latencies and powers do not depend on either, and are compared with publications all the same.";

/// A part of the suite, on a drive of its own.
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

    fn run(
        self,
        runner: &mut StepRunner<'_, SimTarget>,
        quick: bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Flow, SuiteError> {
        match self {
            Part::BurstRead => bursts::run(runner, bursts::READ, quick),
            Part::BurstWrite => bursts::run(runner, bursts::WRITE, quick),
            Part::SustainedRead => sustained::run(runner, sustained::READ, quick),
            Part::SustainedWrite => sustained::run(runner, sustained::WRITE, quick),
            Part::Traces(state) => {
                let device = runner.target.device_mut();
                if state != State::Empty {
                    let step = &mut |_| break_if(stop());
                    match device.fill(state.share(), Fill::Sequential, step) {
                        Err(FillError::Stopped) => return Ok(Flow::Stop),
                        filled => filled.map_err(|e| SuiteError::Target(e.to_string()))?,
                    };
                }
                ssd_traces::run(runner, state)
            }
        }
    }
}

/// Puts one drive through the whole suite, attached as its profile names first.
///
/// # Errors
/// [`SuiteError::Target`] if the drive cannot be made or attached, [`SuiteError::Step`] if a step cannot be done on it.
pub fn drive(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let (mut document, earlier) = begun(spec, options, "solid-state drive", SHORTENED);
    let mode = first_mode(spec)?;
    let mut run = Run {
        options,
        observer,
        stop,
        parts: &Part::WHOLE,
        earlier,
        done: 0,
        total: Part::WHOLE.len(),
    };
    run.all(spec, &mode, &mut document)?;
    fullness(&mut document, &mode.name);
    finish(document, spec)
}

/// Puts a drive and its published rivals through bursts and sustained access, side by side.
///
/// # Errors
/// As [`drive`].
pub fn beside(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let (mut document, earlier) =
        begun(spec, options, "solid-state drives side by side", SHORTENED);
    let mut drives = vec![spec.clone()];
    for name in PEERS.into_iter().filter(|n| *n != spec.profile.device.name) {
        drives.push(SimSpec::library(name)?);
    }
    let parts = &Part::WHOLE[..4];
    let total = parts.len() * drives.len();
    let mut run = Run {
        options,
        observer,
        stop,
        parts,
        earlier,
        done: 0,
        total,
    };
    for drive in &drives {
        let mut mode = first_mode(drive)?;
        mode.name = drive.profile.device.name.clone();
        run.all(drive, &mode, &mut document)?;
    }
    ratios(&mut document, &drives);
    finish(document, spec)
}

fn first_mode(spec: &SimSpec) -> Result<Mode, SuiteError> {
    spec.modes
        .first()
        .cloned()
        .ok_or_else(|| SuiteError::Target(format!("{} is attached to no host", spec.name)))
}

fn finish(mut document: ResultDocument, spec: &SimSpec) -> Result<ResultDocument, SuiteError> {
    facts::publish(&mut document, &spec.profile.device.name)?;
    Ok(document)
}

/// Adds the differences that show if a drive that is 80 % full behaves like a full one, and a half full one like
/// the mean of an empty and a full one.
fn fullness(document: &mut ResultDocument, mode: &str) {
    for trace in ["light", "heavy"] {
        let at = |state: State| {
            let id = format!("atsb.{trace}.{}.latency", state.name());
            value(document, &id_in_mode(Some(mode), &id))
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
                    id: id_in_mode(Some(mode), &format!("atsb.{trace}.{id}")),
                    title: format!("Application traces, {trace}, latency {what}"),
                    mode: Some(mode.to_string()),
                    value: (measured / expected - 1.0) * 100.0,
                    unit: "%".to_string(),
                    ..Figure::default()
                });
            }
        }
    }
}

/// Settings that all drives of a run share.
struct Run<'a> {
    options: &'a ReviewOptions,
    observer: &'a mut dyn ReviewObserver,
    stop: &'a dyn Fn() -> bool,
    parts: &'a [Part],
    /// Parts that an earlier run has done.
    earlier: usize,
    done: usize,
    total: usize,
}

impl Run<'_> {
    fn all(
        &mut self,
        spec: &SimSpec,
        mode: &Mode,
        document: &mut ResultDocument,
    ) -> Result<(), SuiteError> {
        for (number, part) in self.parts.iter().enumerate() {
            if !document.complete {
                return Ok(());
            }
            if self.done < self.earlier {
                self.done += 1;
                continue;
            }
            let device = Device::new(&spec.profile, &mode.host, self.options.seed)
                .map_err(|e| SuiteError::Target(e.to_string()))?;
            if number == 0 {
                document
                    .target
                    .modes
                    .push(SimSpec::mode_info(mode, device.path()));
            }
            let mut watcher =
                StepWatcher::new(&mut *self.observer, &mode.name, self.done, self.total);
            let mut runner = StepRunner::new(
                SimTarget::new(device),
                self.options.seed,
                document,
                Some(mode.name.clone()),
                self.stop,
                &mut watcher,
            );
            let flow = part.run(&mut runner, self.options.quick, self.stop);
            if runner.keep_measured(flow)? == Flow::Stop {
                document.complete = false;
                return Ok(());
            }
            self.done += 1;
            self.observer.part_done(document, self.done as u64);
        }
        Ok(())
    }
}

/// Lead of the first drive over the others, in percent.
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
