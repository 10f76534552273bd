//! Two fills of the whole device, one after the other: sequential writes of 128 KiB with 32 commands outstanding, first
//! on a device fresh from the factory, then over the data of the first fill. The first shows the end of the cache and
//! the rate after it; the second, the rate without free space. There is no idle time between them.

use crate::document::begun;
use crate::jobs::phase;
use crate::modes::{Between, Turn, Turns, published};
use crate::options::{ReviewObserver, ReviewOptions, chosen_modes};
use crate::sequential::write_figures;
use crate::spec::SimSpec;
use crate::step_runner::{Flow, Pick, SECOND, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_result::{ResultDocument, procedure, throughput_profile};
use nandscope_units::{Bytes, Nanos};

const SECTION: &str = "Fill";
const PASSES: u32 = 2;
/// Share of the device that a quick run fills, percent.
const QUICK_PERCENT: u32 = 10;
/// Size from which a device is recorded every second, bytes; smaller devices are recorded more often in proportion, so
/// that a plateau of a few percent has enough points to be found.
const SECONDLY: u64 = 500_000_000_000;
/// Shortest recording interval.
const SHORTEST: Nanos = Nanos::from_millis(20);
/// Notice of a quick run.
pub(crate) const SHORTENED: &str = "Quick run: the first tenth of the device is filled, so that regions beyond the cache may not be reached; nothing is compared with publications.";

/// Fills the device twice in every selected mode, each time from a fresh device. `stop` is called often; when it
/// returns true, the measurements so far are returned, marked as incomplete.
///
/// # Errors
/// [`SuiteError::Target`] if the device cannot be made or attached, or a mode is unknown.
pub(crate) fn run(
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let (mut document, earlier) = begun(spec, options, procedure::FILL, SHORTENED);
    let modes = chosen_modes(spec, options)?;
    let turns = Turns {
        earlier,
        ..Turns::new(options, Between::Fresh)
    };
    let percent = if options.quick { QUICK_PERCENT } else { 100 };
    let modes = Turn::of_modes(spec, &modes);
    turns.take(&modes, &mut document, observer, stop, |runner, _| {
        both(runner, percent, "a fresh device")
    })?;
    published(spec, options, document)
}

/// Fills an existing target twice.
pub(crate) fn on_target<T: Target>(
    runner: &mut StepRunner<'_, T>,
    quick: bool,
) -> Result<Flow, SuiteError> {
    let percent = if quick { QUICK_PERCENT } else { 100 };
    both(runner, percent, "the device as it was")
}

/// Both passes over the first `percent` of a target, whose state is `before` at first.
fn both<T: Target>(
    runner: &mut StepRunner<'_, T>,
    percent: u32,
    before: &str,
) -> Result<Flow, SuiteError> {
    runner.note_stage("filling", 0.0, 1.0, PASSES);
    for pass in 1..=PASSES {
        let (title, before) = match pass {
            1 => ("First fill", before),
            _ => ("Second fill", "the device right after the first fill"),
        };
        let id = format!("fill-{pass}");
        if runner.skips(&id) {
            continue;
        }
        runner.begin_step(
            &id,
            title,
            SECTION,
            format!("A sequential write over {percent} % of {before}, in blocks of 128 KiB with 32 commands outstanding."),
            1,
        );
        let text = format!("[fill]\nrw=write\nbs=128k\niodepth=32\nsize={percent}%\n");
        let mut phase = phase(title, &text, runner.capacity(), runner.seed)?;
        phase.interval = interval(runner.capacity());
        let flow = runner.run(phase);
        write_figures(runner, &format!("fill.pass-{pass}"), title);
        last_third(runner, &format!("fill.pass-{pass}"), title);
        runner.end_step();
        if flow? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Adds the mean rate of the last third of a fill, which shows regions too similar to be separate plateaus.
fn last_third<T: Target>(runner: &mut StepRunner<'_, T>, id: &str, title: &str) {
    let Some(step) = runner.current() else {
        return;
    };
    let Some(series) = throughput_profile::write_series(step) else {
        return;
    };
    if let Some(mb) = mean_of_last(step.start_s, &series.t_s, &series.v, 3.0) {
        runner.figure(
            &format!("{id}.last-third"),
            &format!("{title}, mean of its last third"),
            "MB/s",
            &[mb],
            Pick::Mean,
        );
    }
}

/// Mean rate while the last `1 / part` of all data moved: `v[i]` MB/s is the mean over the
/// interval that ends at `t_s[i]`.
fn mean_of_last(start_s: f64, t_s: &[f64], v: &[f64], part: f64) -> Option<f64> {
    let starts = std::iter::once(start_s).chain(t_s.iter().copied());
    let moved: Vec<(f64, f64)> = starts
        .zip(t_s.iter().zip(v))
        .map(|(from, (to, mb))| ((to - from).max(0.0), mb * (to - from).max(0.0)))
        .collect();
    let wanted = moved.iter().map(|m| m.1).sum::<f64>() / part;
    let (mut seconds, mut mb) = (0.0, 0.0);
    for (length, amount) in moved.into_iter().rev() {
        let share = if amount > 0.0 {
            ((wanted - mb) / amount).min(1.0)
        } else {
            1.0
        };
        seconds += length * share;
        mb += amount * share;
        if mb >= wanted {
            break;
        }
    }
    (seconds > 0.0).then(|| mb / seconds)
}

fn interval(capacity: Bytes) -> Nanos {
    let share = capacity.0 as f64 / SECONDLY as f64;
    Nanos::from_secs_f64(share.min(1.0)).clamp(SHORTEST, SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_third_is_a_third_of_the_data_and_not_of_the_time() {
        // 600 MB in two seconds, then 300 MB in three: the last third is those 300 MB.
        let mean = mean_of_last(10.0, &[11.0, 12.0, 15.0], &[300.0, 300.0, 100.0], 3.0);
        assert_eq!(mean, Some(100.0));
        // The boundary lies within an interval: 150 of 450 MB.
        let mean = mean_of_last(0.0, &[1.0, 2.0], &[350.0, 100.0], 3.0).unwrap();
        assert!((mean - 150.0 / (1.0 + 50.0 / 350.0)).abs() < 1e-9, "{mean}");
        assert_eq!(mean_of_last(0.0, &[], &[], 3.0), None);
    }

    #[test]
    fn small_devices_are_recorded_more_often() {
        assert_eq!(interval(Bytes(2_000_000_000_000)), SECOND);
        assert_eq!(interval(Bytes(50_000_000_000)), Nanos::from_millis(100));
        assert_eq!(interval(Bytes(1_000_000)), SHORTEST);
    }
}
