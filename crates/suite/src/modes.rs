//! Runs a procedure in turns: on one simulated device in several modes, or on a fresh device for each part.

use crate::document::blank;
use crate::options::{ReviewObserver, ReviewOptions, chosen_modes};
use crate::progress::StepWatcher;
use crate::spec::{Mode, SimSpec};
use crate::step_runner::{Flow, StepRunner, SuiteError};
use crate::{facts, figures};
use nandscope_device::Device;
use nandscope_measure::sim::SimTarget;
use nandscope_result::ResultDocument;

/// Notice of a quick run.
pub(crate) const SHORTENED: &str =
    "Quick run: a tenth of the data and of the time. Nothing is compared with publications.";

/// Runs `measure` on one device in each mode of the options and returns the document. Without modes in the options it
/// runs in the first mode only, since the internals of a card do not depend on its link. `stop` is called often.
///
/// # Errors
/// [`SuiteError::Target`] if the device cannot be made or attached, or the error of `measure`.
pub(crate) fn run(
    spec: &SimSpec,
    options: &ReviewOptions,
    procedure: &str,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
    measure: impl Fn(&mut StepRunner<'_, SimTarget>) -> Result<Flow, SuiteError>,
) -> Result<ResultDocument, SuiteError> {
    let mut modes = chosen_modes(spec, options)?;
    if options.modes.is_empty() {
        modes.truncate(1);
    }
    let mut document = blank(spec, options, procedure, SHORTENED);
    let turns = Turns::new(options, Between::UNPREPARED);
    let modes = Turn::of_modes(spec, &modes);
    turns.take(&modes, &mut document, observer, stop, |runner, _| {
        measure(runner)
    })?;
    published(spec, options, document)
}

/// Adds published values to the document's figures, unless the run was shorter than they require.
///
/// # Errors
/// As [`facts::publish`].
pub(crate) fn published(
    spec: &SimSpec,
    options: &ReviewOptions,
    mut document: ResultDocument,
) -> Result<ResultDocument, SuiteError> {
    if !options.quick {
        facts::publish(&mut document, &spec.profile.device.name)?;
    }
    Ok(document)
}

/// One turn of a procedure: a simulated device in one of its modes.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    pub(crate) spec: &'a SimSpec,
    pub(crate) mode: &'a Mode,
}

impl<'a> Turn<'a> {
    /// One turn for each of `modes`.
    pub(crate) fn of_modes(spec: &'a SimSpec, modes: &[&'a Mode]) -> Vec<Self> {
        modes.iter().map(|mode| Turn { spec, mode }).collect()
    }

    /// A device fresh from the factory.
    fn device(&self, seed: u64) -> Result<Device, SuiteError> {
        Device::new(&self.spec.profile, &self.mode.host, seed)
            .map_err(|e| SuiteError::Target(e.to_string()))
    }
}

/// The device at the start of each turn.
#[derive(Clone, Copy)]
pub(crate) enum Between {
    /// All turns use the same device. The first function prepares it before the first turn; the second one, before each
    /// other turn, in which it is attached in the next mode.
    Same(fn(&mut Device), fn(&mut Device)),
    /// Each turn uses a device fresh from the factory. An interrupted procedure can be resumed at any turn.
    Fresh,
}

impl Between {
    /// The same device in all turns, without preparation.
    pub(crate) const UNPREPARED: Self = Between::Same(|_| {}, |_| {});
}

/// Runs the turns of a procedure.
pub(crate) struct Turns<'a> {
    pub(crate) options: &'a ReviewOptions,
    pub(crate) between: Between,
    /// Number of turns finished by an interrupted run; they are skipped. 0 with [`Between::Same`].
    pub(crate) earlier: usize,
    /// Whether figures over all steps of a mode follow its turn: power, heat, the gain of formatting.
    pub(crate) has_mode_figures: bool,
}

impl<'a> Turns<'a> {
    /// All turns from the first one on, with the figures of each mode.
    pub(crate) fn new(options: &'a ReviewOptions, between: Between) -> Self {
        Turns {
            options,
            between,
            earlier: 0,
            has_mode_figures: true,
        }
    }

    /// Calls `measure` with the runner and the number of each turn, and returns the number of complete turns. A
    /// document that is stopped earlier, or by an error after something was measured, is marked as incomplete.
    ///
    /// # Errors
    /// [`SuiteError::Target`] without turns, or if a device cannot be made or attached; the error of `measure` before
    /// anything was measured.
    pub(crate) fn take(
        &self,
        turns: &[Turn<'_>],
        document: &mut ResultDocument,
        observer: &mut dyn ReviewObserver,
        stop: &dyn Fn() -> bool,
        measure: impl Fn(&mut StepRunner<'_, SimTarget>, usize) -> Result<Flow, SuiteError>,
    ) -> Result<usize, SuiteError> {
        let seed = self.options.seed;
        let mut before = None;
        for (number, turn) in turns.iter().enumerate().skip(self.earlier) {
            let device = self.device(turn, before.take())?;
            let mode = &turn.mode.name;
            let modes = &mut document.target.modes;
            if number == 0 || turns[number - 1].mode.name != *mode {
                modes.push(SimSpec::mode_info(turn.mode, device.path()));
            }
            let mut watcher = StepWatcher::new(&mut *observer, mode, number, turns.len());
            let mut runner = StepRunner::new(
                SimTarget::new(device),
                seed,
                document,
                Some(mode.clone()),
                stop,
                &mut watcher,
            );
            let flow = measure(&mut runner, number);
            let flow = runner.keep_measured(flow)?;
            before = Some(runner.target.into_device());
            if self.has_mode_figures {
                figures::add(document, Some(mode));
            }
            if flow == Flow::Stop {
                document.complete = false;
                return Ok(number);
            }
            if matches!(self.between, Between::Fresh) {
                observer.part_done(document, number as u64 + 1);
            }
        }
        Ok(turns.len())
    }

    /// The device of a turn, made from that of the previous turn if there is one.
    fn device(&self, turn: &Turn<'_>, before: Option<Device>) -> Result<Device, SuiteError> {
        let Between::Same(first, next) = self.between else {
            return turn.device(self.options.seed);
        };
        let Some(mut device) = before else {
            let mut device = turn.device(self.options.seed)?;
            first(&mut device);
            return Ok(device);
        };
        let attached = device.attach(&turn.spec.profile, &turn.mode.host);
        attached.map_err(|e| SuiteError::Target(e.to_string()))?;
        next(&mut device);
        Ok(device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::Nanos;
    use std::cell::Cell;

    /// A procedure in two modes that fails in the second one, or immediately.
    fn fails(at_once: bool) -> Result<ResultDocument, SuiteError> {
        let mut spec = SimSpec::library("kingston-8gb").unwrap();
        let again = Mode {
            name: "again".to_string(),
            ..spec.modes[0].clone()
        };
        spec.modes.push(again);
        let options = ReviewOptions {
            modes: spec.modes.iter().map(|m| m.name.clone()).collect(),
            quick: true,
            ..ReviewOptions::default()
        };
        let done = Cell::new(false);
        run(&spec, &options, "test", &mut (), &|| false, |runner| {
            if done.replace(true) || at_once {
                return Err(SuiteError::Step {
                    step: "Second".to_string(),
                    problem: "the device is worn out".to_string(),
                });
            }
            runner.begin_step("first", "First", "Test", String::new(), 1);
            let flow = runner.idle(Nanos::from_secs(1));
            runner.end_step();
            flow
        })
    }

    #[test]
    fn an_error_in_a_later_mode_does_not_cost_what_was_measured_before() {
        let document = fails(false).unwrap();
        assert!(!document.complete);
        assert_eq!(document.steps.len(), 1);
        let last = document.notices.last().unwrap();
        assert_eq!(last.text, "Second: the device is worn out");
        assert!(fails(true).is_err());
    }
}
