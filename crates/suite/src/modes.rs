//! A procedure on one and the same simulated device in each of the modes that were asked for: in
//! the first one where none were, since what a card is inside does not depend on its link.

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
const SHORTENED: &str =
    "Quick run: a tenth of the data and of the time. Nothing is compared with publications.";

/// Runs `measure` in each mode and gives the document. `stop` is asked often.
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
    let turns = Turns::plain(spec, options);
    turns.take(&modes, &mut document, observer, stop, measure)?;
    published(spec, options, document)
}

/// The document with published values beside its figures, unless less was done than they ask for.
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

/// One and the same device, attached in one mode after the other.
pub(crate) struct Turns<'a> {
    pub(crate) spec: &'a SimSpec,
    pub(crate) options: &'a ReviewOptions,
    /// Prepares the device before each mode after the first.
    pub(crate) settle: fn(&mut Device),
    /// The same before the first mode.
    pub(crate) begin: fn(&mut Device),
}

impl<'a> Turns<'a> {
    /// Turns between which nothing is done with the device.
    pub(crate) fn plain(spec: &'a SimSpec, options: &'a ReviewOptions) -> Self {
        Turns {
            spec,
            options,
            settle: |_| {},
            begin: |_| {},
        }
    }

    /// Measures in each of `modes` and gives the number of those that were measured to the end;
    /// a document that is stopped before, or by an error after something was measured, is marked as incomplete.
    ///
    /// # Errors
    /// [`SuiteError::Target`] without modes, or if the device cannot be made or attached; the error of `measure` before anything was measured.
    pub(crate) fn take(
        &self,
        modes: &[&Mode],
        document: &mut ResultDocument,
        observer: &mut dyn ReviewObserver,
        stop: &dyn Fn() -> bool,
        measure: impl Fn(&mut StepRunner<'_, SimTarget>) -> Result<Flow, SuiteError>,
    ) -> Result<usize, SuiteError> {
        let (profile, seed) = (&self.spec.profile, self.options.seed);
        let first = modes.first().ok_or_else(|| {
            SuiteError::Target(format!("{} is attached to no host", self.spec.name))
        })?;
        let mut device = Device::new(profile, &first.host, seed)
            .map_err(|e| SuiteError::Target(e.to_string()))?;
        for (number, mode) in modes.iter().enumerate() {
            if number > 0 {
                let attached = device.attach(profile, &mode.host);
                attached.map_err(|e| SuiteError::Target(e.to_string()))?;
                (self.settle)(&mut device);
            } else {
                (self.begin)(&mut device);
            }
            let info = SimSpec::mode_info(mode, device.path());
            document.target.modes.push(info);
            let now = device.now();
            let mut watcher = StepWatcher::new(&mut *observer, &mode.name, number, modes.len());
            let mut runner = StepRunner::new(
                SimTarget::at(device, now),
                seed,
                document,
                Some(mode.name.clone()),
                stop,
                &mut watcher,
            );
            let flow = measure(&mut runner);
            let flow = runner.keep_measured(flow)?;
            device = runner.target.into_device();
            figures::add(document, Some(&mode.name));
            if flow == Flow::Stop {
                document.complete = false;
                return Ok(number);
            }
        }
        Ok(modes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::Nanos;
    use std::cell::Cell;

    /// A procedure in two modes that fails in the second one, or at once.
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
