//! Two fills of the whole device, one behind the other: sequential writes of 128 KiB with 32
//! commands outstanding, first on a device fresh from the factory, then over what the first fill
//! left. Where the cache ends and what comes behind it shows in the first; what the device does
//! when nothing is free any more, in the second. There is no idle time between them.

use crate::document::blank;
use crate::jobs::phase;
use crate::progress::SessionWatcher;
use crate::review::{ReviewObserver, ReviewOptions, chosen_modes};
use crate::sequential::write_figures;
use crate::session::{Flow, SECOND, Session, SuiteError};
use crate::spec::SimSpec;
use crate::{facts, figures};
use nandscope_device::Device;
use nandscope_measure::result::ResultDocument;
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

const SECTION: &str = "Fill";
const PASSES: u32 = 2;
/// Part of the device that a quick run fills, percent.
const QUICK_PERCENT: u32 = 10;
/// Devices of this size and above are recorded every second, smaller ones in proportion more
/// often, so that a plateau of a few percent has points enough to be found.
const SECONDLY: u64 = 500_000_000_000;
/// The shortest interval.
const SHORTEST: Nanos = Nanos::from_millis(20);
/// What a quick run leaves out.
const SHORTENED: &str = "Quick run: the first tenth of the device is filled, so that regions behind the cache may not be reached; nothing is compared with publications.";

/// Fills the device twice in every mode that is asked for, each time from a fresh one. `stop` is
/// asked often; when it answers true, what has been measured is returned, marked as incomplete.
///
/// # Errors
/// Where the device cannot be made or attached, or an unknown mode is asked for.
pub(crate) fn run(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let mut document = blank(spec, options, "fill", SHORTENED);
    let modes = chosen_modes(spec, options)?;
    let count = modes.len();
    for (number, mode) in modes.into_iter().enumerate() {
        let device =
            Device::new(&spec.profile, &mode.host, options.seed).map_err(SuiteError::Target)?;
        let info = SimSpec::mode_info(mode, device.path());
        document.target.modes.push(info);
        let mut watcher = SessionWatcher::new(&mut *observer, &mode.name, number, count);
        let mut session = Session::new(
            SimTarget::new(device),
            options.seed,
            &mut document,
            Some(mode.name.clone()),
            stop,
            &mut watcher,
        );
        let percent = if options.quick { QUICK_PERCENT } else { 100 };
        let flow = both(&mut session, percent)?;
        figures::add(&mut document, Some(&mode.name));
        if flow == Flow::Stop {
            document.complete = false;
            break;
        }
    }
    if !options.quick {
        facts::publish(&mut document, &spec.profile.device.name)?;
    }
    Ok(document)
}

/// Both passes over the first `percent` of a target.
pub(crate) fn both<T: Target>(
    session: &mut Session<'_, T>,
    percent: u32,
) -> Result<Flow, SuiteError> {
    session.note_stage("filling", 0.0, 1.0, PASSES);
    for pass in 1..=PASSES {
        let (title, before) = match pass {
            1 => ("First fill", "a fresh device"),
            _ => ("Second fill", "the device right after the first fill"),
        };
        session.begin_step(
            &format!("fill-{pass}"),
            title,
            SECTION,
            format!("A sequential write over {percent} % of {before}, in blocks of 128 KiB with 32 commands outstanding."),
            1,
        );
        let text = format!("[fill]\nrw=write\nbs=128k\niodepth=32\nsize={percent}%\n");
        let mut phase = phase(title, &text, session.capacity(), session.seed)?;
        phase.interval = interval(session.capacity());
        let flow = session.run(phase);
        write_figures(session, &format!("fill.pass-{pass}"), title);
        session.end_step();
        if flow? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn interval(capacity: Bytes) -> Nanos {
    let share = capacity.0 as f64 / SECONDLY as f64;
    Nanos::from_secs_f64(share.min(1.0)).clamp(SHORTEST, SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_devices_are_recorded_more_often() {
        assert_eq!(interval(Bytes(2_000_000_000_000)), SECOND);
        assert_eq!(interval(Bytes(50_000_000_000)), Nanos::from_millis(100));
        assert_eq!(interval(Bytes(1_000_000)), SHORTEST);
    }
}
