//! When a device will report that its rated life is used up.
//!
//! Wear is reported in steps, so a reading bounds it from both sides. A forecast assumes that the device wears at a constant
//! rate; its interval are the dates of all straight lines that pass between the bounds of every reading. If there is no
//! such line, the rate has changed, and the oldest readings are left out until there is one.

use super::HealthReading;
use serde::Serialize;

/// Used part at the end of the rated life, percent.
const END: f64 = 100.0;
/// Latest date that is forecast, s after the last reading: 100 years. Age ends the life of electronics before.
const LONGEST: f64 = 100.0 * 365.25 * 86_400.0;

/// When the rated life is used up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// Earliest and latest time, seconds since 1970 UTC. The latest is `None` if the readings allow that the device does not wear.
    pub earliest: i64,
    /// See `earliest`.
    pub latest: Option<i64>,
    /// Readings that the forecast rests on, the last of the log.
    pub readings: usize,
    /// Time of the first of them.
    pub since: i64,
}

/// Bounds of the wear at a time.
#[derive(Clone, Copy, Debug)]
struct Bound {
    time: f64,
    low: f64,
    high: f64,
}

/// A forecast from readings in the order of time; `None` if fewer than two of different times report a used part.
pub fn forecast(readings: &[HealthReading]) -> Option<Forecast> {
    let last = readings.last()?.time;
    let bounds = readings.iter().filter_map(|r| {
        let (used, step) = (r.used_percent?, r.step_percent.unwrap_or(1.0));
        // Makers round up (eMMC: 1 is up to 10 %), down or to the nearest.
        Some(Bound {
            time: (r.time - last) as f64,
            low: (used - step).max(0.0),
            high: used + step,
        })
    });
    let bounds: Vec<Bound> = bounds.collect();
    let bounds = thinned(&bounds);
    (0..bounds.len().saturating_sub(1)).find_map(|first| {
        let chosen = &bounds[first..];
        let (steep, flat) = slopes(chosen)?;
        let begin = chosen.first().map_or(0.0, |b| b.time);
        let earliest = reaches(chosen, steep).min(LONGEST);
        let latest = (flat > 0.0).then(|| reaches(chosen, flat));
        let at = |seconds: f64| last.saturating_add(seconds.max(0.0) as i64);
        let counted = readings
            .iter()
            .filter(|r| r.used_percent.is_some() && (r.time - last) as f64 >= begin);
        Some(Forecast {
            earliest: at(earliest),
            latest: latest.filter(|s| *s < LONGEST).map(at),
            readings: counted.count(),
            since: last.saturating_add(begin as i64),
        })
    })
}

/// The first and last of readings with equal bounds: those between them bound nothing more.
fn thinned(all: &[Bound]) -> Vec<Bound> {
    let same = |a: &Bound, b: &Bound| a.low == b.low && a.high == b.high;
    let mut kept: Vec<Bound> = Vec::new();
    for bound in all {
        if kept.last().is_some_and(|b| b.time >= bound.time) {
            continue;
        }
        if let [.., a, b] = kept.as_mut_slice()
            && same(a, b)
            && same(b, bound)
        {
            *b = *bound;
            continue;
        }
        kept.push(*bound);
    }
    kept
}

/// Greatest and least slope, at least 0, of a line within all bounds; `None` if no line is.
fn slopes(bounds: &[Bound]) -> Option<(f64, f64)> {
    let (mut steep, mut flat) = (f64::INFINITY, 0.0_f64);
    for (i, a) in bounds.iter().enumerate() {
        for b in &bounds[i + 1..] {
            let time = b.time - a.time;
            steep = steep.min((b.high - a.low) / time);
            flat = flat.max((b.low - a.high) / time);
        }
    }
    // With a given slope, each reading bounds the height of the line to an interval, and intervals have a common point if
    // all pairs of them have one.
    (steep.is_finite() && steep >= flat && steep > 0.0).then_some((steep, flat))
}

/// Seconds after the last reading at which a line of the greatest or least slope reaches the end. There is only one line of
/// each: it touches the bounds that limit the slope.
fn reaches(bounds: &[Bound], slope: f64) -> f64 {
    let highest = bounds
        .iter()
        .map(|b| b.high - slope * b.time)
        .fold(f64::INFINITY, f64::min);
    (END - highest) / slope
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::random::SplitMix64;

    const DAY: i64 = 86_400;

    fn reading(day: i64, used: f64, step: f64) -> HealthReading {
        HealthReading {
            time: 1_700_000_000 + day * DAY,
            used_percent: Some(used),
            step_percent: Some(step),
            ..HealthReading::default()
        }
    }

    fn days(at: i64) -> f64 {
        (at - 1_700_000_000) as f64 / DAY as f64
    }

    #[test]
    fn the_true_date_is_in_the_interval_which_becomes_narrow() {
        let mut random = SplitMix64::new(1);
        for case in 0..200 {
            let per_day = 0.01 + random.below(1000) as f64 / 2000.0;
            let begin = random.below(30) as f64;
            let step = [1.0, 10.0][case % 2];
            let end = (END - begin) / per_day;
            let mut readings = Vec::new();
            let mut width = f64::INFINITY;
            for n in 1..20 {
                let day = end * 0.04 * f64::from(n);
                let used = ((begin + per_day * day.floor()) / step).floor() * step;
                readings.push(reading(day as i64, used, step));
                let Some(f) = forecast(&readings) else {
                    continue;
                };
                assert!(days(f.earliest) <= end + 1.0, "{case} {f:?} {end}");
                if let Some(latest) = f.latest {
                    assert!(days(latest) >= end - 1.0, "{case} {n} {f:?} {end}");
                    width = days(latest) - days(f.earliest);
                }
            }
            assert!(width < end, "{case} {width} {end}");
        }
    }

    #[test]
    fn without_wear_there_is_no_latest_date() {
        assert_eq!(forecast(&[reading(0, 5.0, 1.0)]), None);
        let f = forecast(&[reading(0, 5.0, 1.0), reading(100, 5.0, 1.0)]).unwrap();
        assert_eq!(f.latest, None);
        // At most 2 percent in 100 days.
        assert!(days(f.earliest) > 4000.0);
    }

    #[test]
    fn readings_of_another_rate_are_left_out() {
        let mut readings: Vec<_> = (0..10).map(|d| reading(d * 100, 5.0, 1.0)).collect();
        readings.extend((1..10).map(|d| reading(900 + d * 10, 5.0 + 5.0 * d as f64, 1.0)));
        let f = forecast(&readings).unwrap();
        assert!(f.readings < 19 && f.since > readings[0].time);
        // 50 % at day 990, 0.5 % a day: day 1090.
        let (low, high) = (days(f.earliest), days(f.latest.unwrap()));
        assert!(
            low <= 1090.0 && high >= 1090.0 && high - low < 30.0,
            "{low} {high}"
        );
    }
}
