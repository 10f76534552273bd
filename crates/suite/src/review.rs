//! The card review, in the order in which it was published: CrystalDiskMark fresh; sequential
//! write and read across the device; format; folder copies and application traces; sequential
//! again, CrystalDiskMark again; format; CrystalDiskMark refreshed. All of it in every mode in
//! which the device is attached, on one and the same device, with power and temperature beside it.

use crate::crystaldiskmark as cdm;
use crate::document::blank;
use crate::modes::{Turns, published};
use crate::session::{Flow, Session, SuiteError};
use crate::spec::{Mode, SimSpec};
use crate::{applications, folders, formatting, sequential};
use nandscope_device::Device;
use nandscope_measure::target::Target;
use nandscope_result::ResultDocument;
use nandscope_units::Nanos;
use nandscope_workload::files::das_suite;
use nandscope_workload::trace::library;

/// What the user may choose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewOptions {
    /// Only these modes, by name (without regard to case); all where empty.
    pub modes: Vec<String>,
    /// Seed of the random number generator.
    pub seed: u64,
    /// A tenth of the data and one pass instead of three.
    pub quick: bool,
    /// What an interrupted review with the same options has done; this one goes on from there.
    pub earlier: Option<Earlier>,
}

/// Where an interrupted review stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    /// Its document at that place; every step in it is finished.
    pub document: ResultDocument,
    /// Of a simulated device: the parts that are done, as in [`ReviewObserver::part_done`].
    pub parts: u64,
}

/// Learns how a review is going.
pub trait ReviewObserver {
    /// Share of the whole review that is done (0 to 1), the mode and step under way, and the time
    /// on the target's clock.
    fn progress(&mut self, fraction: f64, mode: &str, step: &str, at: Nanos);

    /// A step is finished: the last one of the document.
    fn step_done(&mut self, document: &ResultDocument) {
        let _ = document;
    }

    /// A part of a procedure is over after which a simulated device begins anew; with it so many
    /// parts are done. What follows can be simulated without it.
    fn part_done(&mut self, document: &ResultDocument, parts: u64) {
        let _ = (document, parts);
    }
}

/// An observer that does not look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl ReviewObserver for Unobserved {
    fn progress(&mut self, _: f64, _: &str, _: &str, _: Nanos) {}
}

/// What a quick review leaves out.
pub(crate) const SHORTENED: &str = "Quick review: a tenth of the device and of the folders, one pass, short runs. Regions behind the cache may not be reached, and nothing is compared with publications.";

/// A stage of the procedure; its weight is its share of the work, roughly.
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

    /// Steps in the result document.
    fn steps(self) -> u32 {
        match self {
            Stage::CrystalDiskMark(_) | Stage::Format(..) => 1,
            Stage::Sequential(_) => 2,
            Stage::Folders => das_suite().len() as u32,
            // And the step that writes what they read.
            Stage::Traces => library().len() as u32 + 1,
        }
    }

    fn run<T: Target>(self, session: &mut Session<'_, T>, quick: bool) -> Result<Flow, SuiteError> {
        match self {
            Stage::CrystalDiskMark(state) => {
                let extent = if quick {
                    cdm::Extent::QUICK
                } else {
                    cdm::Extent::FULL
                };
                let offset = formatting::first_file_offset(session);
                cdm::run(session, state, offset, extent)
            }
            Stage::Sequential(state) => {
                sequential::run(session, state, if quick { 10 } else { 100 })
            }
            Stage::Format(id, title) => formatting::run(session, id, title),
            Stage::Folders => folders::run(
                session,
                if quick {
                    folders::Extent::QUICK
                } else {
                    folders::Extent::FULL
                },
            ),
            Stage::Traces => applications::run(session),
        }
    }
}

/// Reviews a simulated device in virtual time. `stop` is asked often; when it answers true, what
/// has been measured is returned, marked as incomplete.
///
/// # Errors
/// Where the device cannot be made or attached, an unknown mode is asked for, or a step cannot be
/// done on the device at all.
pub fn review(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let modes = chosen_modes(spec, options)?;
    let mut document = blank(spec, options, "card review", SHORTENED);
    let turns = Turns {
        spec,
        options,
        settle: cool_down,
        begin: |_| {},
    };
    turns.take(&modes, &mut document, observer, stop, |session| {
        all_stages(session, options.quick)
    })?;
    published(spec, options, document)
}

pub(crate) fn all_stages<T: Target>(
    session: &mut Session<'_, T>,
    quick: bool,
) -> Result<Flow, SuiteError> {
    let total: u32 = STAGES.iter().map(|(_, weight)| weight).sum();
    let mut done = 0;
    for (stage, weight) in STAGES {
        let share = |weight: u32| f64::from(weight) / f64::from(total);
        session.note_stage(&stage.title(), share(done), share(weight), stage.steps());
        if stage.run(session, quick)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        done += weight;
    }
    Ok(Flow::Continue)
}

/// Time between two readers, so that the heat of one is not measured in the other.
const COOLING: Nanos = Nanos::from_secs(30 * 60);

fn cool_down(device: &mut Device) {
    let until = device.now() + COOLING;
    let mut none = Vec::new();
    while device.now() < until {
        device.advance(until, &mut none);
    }
}

/// The modes that were asked for; all where none were.
pub(crate) fn chosen_modes<'a>(
    spec: &'a SimSpec,
    options: &ReviewOptions,
) -> Result<Vec<&'a Mode>, SuiteError> {
    let mut chosen: Vec<&Mode> = Vec::new();
    for name in &options.modes {
        let found = spec
            .modes
            .iter()
            .find(|m| m.name.eq_ignore_ascii_case(name));
        let known = || {
            spec.modes
                .iter()
                .map(|m| format!("`{}`", m.name))
                .collect::<Vec<_>>()
                .join(", ")
        };
        chosen.push(found.ok_or_else(|| {
            SuiteError::Target(format!(
                "`{name}` is no mode of {}; it has {}",
                spec.name,
                known()
            ))
        })?);
    }
    Ok(if chosen.is_empty() {
        spec.modes.iter().collect()
    } else {
        chosen
    })
}
