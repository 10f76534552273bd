//! The card review, in the published order: CrystalDiskMark fresh; sequential write and read across the device; format;
//! folder copies and application traces; sequential again, CrystalDiskMark again; format; CrystalDiskMark refreshed.
//! All stages in every mode in which the device is attached, on one device, with power and temperature.

use crate::crystaldiskmark as cdm;
use crate::document::blank;
use crate::modes::{Between, Turn, Turns, published};
use crate::options::{ReviewObserver, ReviewOptions, chosen_modes};
use crate::spec::SimSpec;
use crate::step_runner::{Flow, StepRunner, SuiteError};
use crate::{applications, folders, formatting, sequential};
use nandscope_device::Device;
use nandscope_measure::target::Target;
use nandscope_result::{ResultDocument, procedure};
use nandscope_units::Nanos;
use nandscope_workload::files::{ExfatLayout, das_suite};
use nandscope_workload::trace::library;

/// Notice of a quick review.
pub(crate) const SHORTENED: &str = "Quick review: a tenth of the device and of the folders, one pass, short runs. Regions beyond the cache may not be reached, and nothing is compared with publications.";

/// A stage of the procedure, with its approximate share of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    CrystalDiskMark(&'static str),
    Sequential(&'static str),
    Format(&'static str, &'static str),
    Folders,
    Traces,
}

const STAGES: [(Stage, u32); 9] = [
    (Stage::CrystalDiskMark("fresh"), 8),
    (Stage::Sequential("fresh"), 25),
    (
        Stage::Format("format-before-copying", "Format before copying"),
        1,
    ),
    (Stage::Folders, 40),
    (Stage::Traces, 2),
    (Stage::Sequential("used"), 25),
    (Stage::CrystalDiskMark("used"), 8),
    (Stage::Format("format", "Format"), 1),
    (Stage::CrystalDiskMark("refreshed"), 8),
];

impl Stage {
    fn title(self) -> String {
        match self {
            Stage::CrystalDiskMark(state) => format!("CrystalDiskMark, {state}"),
            Stage::Sequential(state) => format!("sequential across the device, {state}"),
            Stage::Format(_, title) => title.to_lowercase(),
            Stage::Folders => "folder copies".to_string(),
            Stage::Traces => "application traces".to_string(),
        }
    }

    /// Number of steps in the result document.
    fn steps(self) -> u32 {
        match self {
            Stage::CrystalDiskMark(_) | Stage::Format(..) => 1,
            Stage::Sequential(_) => 2,
            Stage::Folders => das_suite().len() as u32,
            // And the step that writes the data they read.
            Stage::Traces => library().len() as u32 + 1,
        }
    }

    fn run<T: Target>(
        self,
        runner: &mut StepRunner<'_, T>,
        quick: bool,
    ) -> Result<Flow, SuiteError> {
        match self {
            Stage::CrystalDiskMark(state) => {
                let extent = if quick {
                    cdm::Extent::QUICK
                } else {
                    cdm::Extent::FULL
                };
                let offset = formatting::first_file_offset(runner);
                cdm::run(runner, state, offset, extent)
            }
            Stage::Sequential(state) => {
                sequential::run(runner, state, if quick { 10 } else { 100 })
            }
            Stage::Format(id, title) => formatting::run(runner, id, title),
            Stage::Folders => folders::run(
                runner,
                if quick {
                    folders::Extent::QUICK
                } else {
                    folders::Extent::FULL
                },
            ),
            Stage::Traces => applications::run(runner),
        }
    }
}

/// Reviews a simulated device in virtual time. `stop` is called often; when it returns true, the measurements so far
/// are returned, marked as incomplete.
///
/// # Errors
/// [`SuiteError::Target`] if the device cannot be made or attached or an unknown mode is asked for, or a step cannot be
/// done on the device at all.
pub fn review(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let modes = chosen_modes(spec, options)?;
    let mut document = blank(spec, options, procedure::CARD_REVIEW, SHORTENED);
    let turns = Turns::new(options, Between::Same(|_| {}, cool_down));
    let modes = Turn::of_modes(spec, &modes);
    turns.take(&modes, &mut document, observer, stop, |runner, _| {
        all_stages(runner, options.quick)
    })?;
    published(spec, options, document)
}

pub(crate) fn all_stages<T: Target>(
    runner: &mut StepRunner<'_, T>,
    quick: bool,
) -> Result<Flow, SuiteError> {
    // The smallest card that can be formatted: on others nothing is begun.
    ExfatLayout::new(runner.capacity()).map_err(|e| SuiteError::Target(e.to_string()))?;
    let total: u32 = STAGES.iter().map(|(_, weight)| weight).sum();
    let mut done = 0;
    for (stage, weight) in STAGES {
        let share = |weight: u32| f64::from(weight) / f64::from(total);
        runner.note_stage(&stage.title(), share(done), share(weight), stage.steps());
        if stage.run(runner, quick)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        done += weight;
    }
    Ok(Flow::Continue)
}

/// Idle time between two readers, so that heat from one does not affect the next.
const COOLING: Nanos = Nanos::from_secs(30 * 60);

fn cool_down(device: &mut Device) {
    let until = device.now() + COOLING;
    let mut none = Vec::new();
    while device.now() < until {
        device.advance(until, &mut none);
    }
}
