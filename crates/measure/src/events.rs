//! Finds the events of a step: the end of a cache, the start of a steady state, throttling. All are found in
//! the series of the step, except the end of a device's life, which the device reports.

use crate::runner::GroupOutcome;
use nandscope_result::throughput_profile;
use nandscope_result::{Event, EventKind, Series, StepResult, series};
use nandscope_units::number::significant;

/// Most stretches of throttling that are listed.
const MOST_STRETCHES: usize = 8;
/// Throttle value from which the device counts as unthrottled, percent; the rest is rounding.
const FULL: f64 = 99.9;
/// From this temperature on a slower device is called hot: the lowest threshold of throttling that
/// makers of drives and cards print, °C.
const HOT_C: f64 = 70.0;
/// Ratio of a hot device's throughput to that before, below which it counts as slowed.
const SLOWER: f64 = 0.8;
/// Number of samples on either side of a comparison.
const FEWEST: usize = 5;

/// Steady state, after the SNIA Solid State Storage Performance Test Specification (2.0.2, 2.1.24): largest
/// difference between two rounds of a window of five, as a share of the window's mean.
const EXCURSION: f64 = 0.2;
/// Steady state: largest rise or fall of the window's line of best fit, as a share of the window's mean.
const SLOPE: f64 = 0.1;
const ROUNDS: usize = 5;
/// Shortest steady state, seconds.
const SHORTEST_S: f64 = 20.0;
/// Smallest number of samples in a round.
const ROUND_SAMPLES: usize = 4;
/// Number of starts tried for a steady state: every 5 % of the step up to its half. A later, shorter window could
/// be steady by chance.
const BEGINNINGS: usize = 11;

/// Events of a step, in the order of time.
pub fn of_step(step: &StepResult) -> Vec<Event> {
    let mut events = throttling(step);
    // Steps of several jobs have pauses and changes caused by the jobs.
    if step.jobs.len() == 1 {
        if let Some(series) = main_series(step) {
            events.extend(hot(step, series));
            events.extend(steady(step, series));
        }
        events.extend(exhausted(step));
    }
    events.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
    events
}

/// The device used up its spare blocks during a run, or before it.
pub fn end_of_life(outcome: &GroupOutcome) -> Option<Event> {
    let since = outcome.last_reading.read_only_since?;
    Some(Event {
        kind: EventKind::EndOfLife,
        t_s: since.max(outcome.start).as_secs_f64(),
        until_s: None,
        text: "the device reached its end of life and is read-only: it has no spare block left"
            .to_string(),
    })
}

/// The bandwidth of the direction that moved most.
fn main_series(step: &StepResult) -> Option<&Series> {
    let directions = step.jobs.iter().flat_map(|j| &j.directions);
    let most = directions.max_by_key(|d| d.bytes)?;
    step.find_series(&series::of(&most.kind, series::BANDWIDTH))
}

/// Intervals in which the device reports throttling.
fn throttling(step: &StepResult) -> Vec<Event> {
    let Some(series) = step.find_series(series::THROTTLE) else {
        return Vec::new();
    };
    let mut events: Vec<Event> = Vec::new();
    let mut before = step.start_s;
    let mut least = FULL;
    let mut open = false;
    for (&t, &v) in series.t_s.iter().zip(&series.v) {
        if v < FULL {
            least = if open { least.min(v) } else { v };
            let text = format!("the device throttles, down to {least:.0} % of its full speed");
            match events.last_mut() {
                Some(event) if open => (event.until_s, event.text) = (Some(t), text),
                _ => events.push(Event {
                    kind: EventKind::Throttling,
                    t_s: before,
                    until_s: Some(t),
                    text,
                }),
            }
        }
        open = v < FULL;
        before = t;
    }
    events.truncate(MOST_STRETCHES);
    events
}

/// Slowdown of a device that does not report throttling, from the time at which it is hot.
fn hot(step: &StepResult, series: &Series) -> Option<Event> {
    if step.find_series(series::THROTTLE).is_some() {
        return None;
    }
    let temperature = step.find_series(series::DEVICE_TEMPERATURE)?;
    let at = temperature.v.iter().position(|c| *c >= HOT_C)?;
    let since = *temperature.t_s.get(at)?;
    let mean = |hot: bool| {
        let points = series.t_s.iter().zip(&series.v);
        let part = points.filter(|(t, v)| (**t >= since) == hot && v.is_finite());
        let values: Vec<f64> = part.map(|(_, v)| *v).collect();
        (values.len() >= FEWEST).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let (cool, hot) = (mean(false)?, mean(true)?);
    (hot < SLOWER * cool).then(|| Event {
        kind: EventKind::SlowerWhileHot,
        t_s: since,
        until_s: None,
        text: format!(
            "from {HOT_C:.0} °C on {hot:.1} instead of {cool:.1} MB/s: consistent with thermal throttling, which the device does not report"
        ),
    })
}

/// The point at which a long write slows down for good.
fn exhausted(step: &StepResult) -> Option<Event> {
    if throughput_profile::without_cache(step) {
        return None;
    }
    let profile =
        throughput_profile::of_step(step).filter(throughput_profile::ThroughputProfile::slows)?;
    let (gb, seconds) = (profile.fast_gb?, profile.fast_s?);
    Some(Event {
        kind: EventKind::CacheExhausted,
        t_s: step.start_s + seconds,
        until_s: None,
        text: format!(
            "after {gb:.2} GB the speed of writing falls from {} to {} MB/s: consistent with an exhausted write cache",
            rate(profile.fast_mb_s()?),
            rate(profile.sustained_mb_s)
        ),
    })
}

/// MB/s with one decimal, a low rate with three significant digits: random writes of a card are below 0.05 MB/s.
fn rate(mb_s: f64) -> String {
    if mb_s < 10.0 {
        significant(mb_s, 3, 6)
    } else {
        format!("{mb_s:.1}")
    }
}

/// Time from which the rest of the step is steady.
fn steady(step: &StepResult, series: &Series) -> Option<Event> {
    let samples = throughput_profile::weighted(series, step.start_s);
    let total: f64 = samples.iter().map(|s| s.1).sum();
    let begin = |i: usize| total * i as f64 / 20.0;
    let found = (0..BEGINNINGS).map(begin).find_map(|skipped| {
        let mean = steady_mean(&samples, skipped, total)?;
        Some((skipped, mean))
    });
    let (skipped, mean) = found?;
    Some(Event {
        kind: EventKind::SteadyState,
        t_s: step.start_s + skipped,
        until_s: Some(step.start_s + total),
        text: format!(
            "steady at {} MB/s: five rounds of {:.0} s each within 20 % of each other, with a slope of less than 10 %",
            rate(mean),
            (total - skipped) / ROUNDS as f64
        ),
    })
}

/// Mean rate from `skipped` seconds on, if it is steady.
fn steady_mean(samples: &[(f64, f64)], skipped: f64, total: f64) -> Option<f64> {
    let length = total - skipped;
    if length < SHORTEST_S {
        return None;
    }
    let mut rounds = [(0.0, 0.0, 0usize); ROUNDS];
    let mut end = 0.0;
    for (value, time) in samples {
        // A sample belongs to the round in which its middle lies.
        let middle = end + time / 2.0 - skipped;
        end += time;
        if middle < 0.0 {
            continue;
        }
        let round = ((middle / length * ROUNDS as f64) as usize).min(ROUNDS - 1);
        let (sum, weight, count) = rounds[round];
        rounds[round] = (sum + value * time, weight + time, count + 1);
    }
    if rounds.iter().any(|r| r.2 < ROUND_SAMPLES || r.1 <= 0.0) {
        return None;
    }
    let means = rounds.map(|(sum, weight, _)| sum / weight);
    let mean = means.iter().sum::<f64>() / ROUNDS as f64;
    let (least, most) = means
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(l, m), v| (l.min(*v), m.max(*v)));
    // Least-squares slope over positions -2 to 2, whose squares sum to 10; the ends are 4 positions apart.
    let slope: f64 = means
        .iter()
        .zip([-2.0, -1.0, 0.0, 1.0, 2.0])
        .map(|(v, x)| v * x)
        .sum::<f64>()
        / 10.0;
    let steady =
        mean > 0.0 && most - least <= EXCURSION * mean && (slope * 4.0).abs() <= SLOPE * mean;
    steady.then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{DirectionResult, JobResult, Operation};

    /// A step with one writing job, with one value per second from 100 s on.
    fn step(bandwidth: &[f64], others: &[(&str, Vec<f64>)]) -> StepResult {
        let series = |name: &str, v: &[f64]| Series {
            name: name.to_string(),
            unit: "MB/s".to_string(),
            interval_s: 1.0,
            t_s: (0..v.len()).map(|i| 101.0 + i as f64).collect(),
            v: v.to_vec(),
        };
        let all = std::iter::once(series("write bandwidth", bandwidth));
        StepResult {
            start_s: 100.0,
            end_s: 100.0 + bandwidth.len() as f64,
            jobs: vec![JobResult {
                options: [("rw".to_string(), "write".to_string())].into(),
                directions: vec![DirectionResult {
                    kind: Operation::Write,
                    bytes: 1,
                    ..DirectionResult::default()
                }],
                ..JobResult::default()
            }],
            series: all
                .chain(others.iter().map(|(n, v)| series(n, v)))
                .collect(),
            ..StepResult::default()
        }
    }

    fn kinds(step: &StepResult) -> Vec<(EventKind, f64)> {
        let events = of_step(step).into_iter();
        events.map(|m| (m.kind, m.t_s)).collect()
    }

    #[test]
    fn a_cache_that_ends_and_the_steady_state_behind_it() {
        let rates: Vec<f64> = (0..100)
            .map(|i| if i < 30 { 400.0 } else { 80.0 })
            .collect();
        let found = kinds(&step(&rates, &[]));
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].0, EventKind::SteadyState);
        assert_eq!(found[0].1, 130.0);
        assert_eq!(found[1].0, EventKind::CacheExhausted);
        assert!((128.0..=133.0).contains(&found[1].1), "{found:?}");
    }

    #[test]
    fn what_is_even_is_steady_from_its_start_and_what_falls_or_swings_never_is() {
        assert_eq!(
            kinds(&step(&[50.0; 40], &[])),
            [(EventKind::SteadyState, 100.0)]
        );
        let falls: Vec<f64> = (0..100).map(|i| 200.0 - 1.5 * f64::from(i)).collect();
        let swings: Vec<f64> = (0..100)
            .map(|i| if i / 25 % 2 == 0 { 50.0 } else { 90.0 })
            .collect();
        // Too short to be a state.
        for rates in [falls, swings, vec![50.0; 15]] {
            assert!(
                kinds(&step(&rates, &[]))
                    .iter()
                    .all(|k| k.0 != EventKind::SteadyState)
            );
        }
    }

    #[test]
    fn each_stretch_of_throttling_is_marked_with_its_depth() {
        let throttle = vec![100.0, 60.0, 50.0, 100.0, 100.0, 80.0, 100.0];
        let events = throttling(&step(&[1.0; 7], &[("throttle", throttle)]));
        let places: Vec<_> = events.iter().map(|m| (m.t_s, m.until_s)).collect();
        assert_eq!(places, [(101.0, Some(103.0)), (105.0, Some(106.0))]);
        assert!(events[0].text.contains("50 %") && events[1].text.contains("80 %"));
    }

    #[test]
    fn a_hot_device_that_is_slower_is_said_to_be_consistent_with_throttling() {
        let rates: Vec<f64> = (0..40).map(|i| if i < 20 { 100.0 } else { 60.0 }).collect();
        let heat = |top: f64| (0..40).map(|i| if i < 20 { 45.0 } else { top }).collect();
        let warm: Vec<f64> = heat(65.0);
        let hot: Vec<f64> = heat(75.0);
        let is_marked = |t: Vec<f64>| {
            let found = kinds(&step(&rates, &[("device temperature", t)]));
            found.contains(&(EventKind::SlowerWhileHot, 121.0))
        };
        assert!(is_marked(hot));
        assert!(!is_marked(warm));
    }
}
