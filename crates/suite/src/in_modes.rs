//! A procedure on one and the same simulated device in each of the modes that were asked for: in
//! the first one where none were, since what a card is inside does not depend on its link.

use crate::document::blank;
use crate::progress::SessionWatcher;
use crate::review::{ReviewObserver, ReviewOptions, chosen_modes};
use crate::session::{Flow, Session, SuiteError};
use crate::spec::SimSpec;
use crate::{facts, figures};
use nandscope_device::Device;
use nandscope_measure::result::ResultDocument;
use nandscope_measure::sim::SimTarget;

/// What a quick run leaves out.
const SHORTENED: &str =
    "Quick run: a tenth of the data and of the time. Nothing is compared with publications.";

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
    let mut document = blank(spec, options, procedure, SHORTENED);
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
        let mut watcher = SessionWatcher::new(&mut *observer, &mode.name, number, count);
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
