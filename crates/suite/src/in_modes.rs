//! A procedure on one and the same simulated device in each of the modes that were asked for: in
//! the first one where none were, since what a card is inside does not depend on its link.

use crate::review::{ReviewObserver, ReviewOptions, chosen_modes};
use crate::session::{Flow, Session, SuiteError, Watcher};
use crate::spec::SimSpec;
use crate::{facts, figures, ssd};
use nandscope_device::Device;
use nandscope_measure::result::ResultDocument;
use nandscope_measure::sim::SimTarget;
use nandscope_units::Nanos;

/// Runs `measure` in each mode and gives the document. `stop` is asked often.
///
/// # Errors
/// Where the device cannot be made or attached, or `measure` fails.
pub(crate) fn run(
    spec: &SimSpec,
    options: &ReviewOptions,
    procedure: &str,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
    measure: impl Fn(&mut Session<'_, SimTarget>) -> Result<Flow, SuiteError>,
) -> Result<ResultDocument, SuiteError> {
    let mut modes = chosen_modes(spec, options)?;
    if options.modes.is_empty() {
        modes.truncate(1);
    }
    let first = modes
        .first()
        .ok_or_else(|| SuiteError::Target(format!("{} is attached to no host", spec.name)))?;
    let mut device =
        Device::new(&spec.profile, &first.host, options.seed).map_err(SuiteError::Target)?;
    let mut document = ssd::blank(spec, options, procedure);
    let count = modes.len();
    for (number, mode) in modes.into_iter().enumerate() {
        if number > 0 {
            device
                .attach(&spec.profile, &mode.host)
                .map_err(SuiteError::Target)?;
        }
        let info = SimSpec::mode_info(mode, device.path());
        document.target.modes.push(info);
        let now = device.now();
        let mut watcher = ModeWatcher {
            observer,
            mode: mode.name.clone(),
            stage: String::new(),
            outer: (number, count),
            base: 0.0,
            share: 1.0,
            steps: (0, 1),
        };
        let mut session = Session::new(
            SimTarget::at(device, now),
            options.seed,
            &mut document,
            Some(mode.name.clone()),
            stop,
            &mut watcher,
        );
        let flow = measure(&mut session);
        device = session.target.into_device();
        figures::add(&mut document, Some(&mode.name));
        if flow? == Flow::Stop {
            document.complete = false;
            break;
        }
    }
    if !options.quick {
        facts::publish(&mut document, &spec.profile.device.name)?;
    }
    Ok(document)
}

/// Turns progress in one mode into progress of the whole.
struct ModeWatcher<'a> {
    observer: &'a mut dyn ReviewObserver,
    mode: String,
    stage: String,
    /// Number of the mode, and of all modes.
    outer: (usize, usize),
    base: f64,
    share: f64,
    /// Steps of the stage that are done, and all of them.
    steps: (u32, u32),
}

impl Watcher for ModeWatcher<'_> {
    fn stage(&mut self, title: &str, base: f64, share: f64, steps: u32) {
        (self.stage, self.base, self.share) = (title.to_string(), base, share);
        self.steps = (0, steps.max(1));
    }

    fn step_done(&mut self) {
        self.steps.0 += 1;
    }

    fn phase_progress(&mut self, fraction: f64, at: Nanos) {
        let (done, steps) = self.steps;
        let stage = ((f64::from(done) + fraction.clamp(0.0, 1.0)) / f64::from(steps)).min(1.0);
        let (number, count) = self.outer;
        let whole = (number as f64 + self.base + self.share * stage) / count as f64;
        self.observer.progress(whole, &self.mode, &self.stage, at);
    }
}
