//! The bandwidth of a fill over time: it shows the size of an SLC cache.

use crate::clues::Clues;
use nandscope_result::throughput_profile::{self, ThroughputProfile};
use nandscope_result::{Series, StepResult};
use thiserror::Error;

/// Most lines of a log.
const MOST_LINES: usize = 10_000_000;

/// A log cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: {what}")]
pub struct FillError {
    file: String,
    what: String,
}

/// Data until the write of a step slowed down for good, GB.
pub(crate) fn of_step(step: &StepResult) -> Option<f64> {
    cache(&throughput_profile::of_step(step)?)
}

fn cache(profile: &ThroughputProfile) -> Option<f64> {
    profile.fast_gb.filter(|_| profile.slows())
}

/// Reads a bandwidth log of fio (`write_bw_log`: time in ms, KiB/s, direction, block size) of a write of the whole device.
///
/// # Errors
/// [`FillError`] if a line has other columns than such a log, or the log is too short.
pub fn read(file: &str, text: &str) -> Result<(Clues, String), FillError> {
    let fault = |what: String| FillError {
        file: file.to_string(),
        what,
    };
    let mut series = Series {
        name: "write bandwidth".to_string(),
        unit: "MB/s".to_string(),
        ..Series::default()
    };
    for (number, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if number >= MOST_LINES {
            return Err(fault(format!(
                "more than {MOST_LINES} lines; average the log with log_avg_msec"
            )));
        }
        if line.trim().is_empty() {
            continue;
        }
        let (at, rate) = sample(&fields).ok_or_else(|| {
            fault(format!(
                "line {}: not a line of fio's write_bw_log, which has time in ms, KiB/s, direction, block size",
                number + 1
            ))
        })?;
        let Some(rate) = rate else {
            continue;
        };
        if series.t_s.last().is_some_and(|last| at < *last) {
            return Err(fault(format!(
                "line {}: the time goes backwards; use the log of one job",
                number + 1
            )));
        }
        series.t_s.push(at);
        series.v.push(rate);
    }
    let profile = throughput_profile::of_series(&series, 0.0).ok_or_else(|| {
        fault(format!(
            "too short: a fill takes at least {} s and ten samples of writes",
            throughput_profile::SHORTEST_S
        ))
    })?;
    let slc_gb = cache(&profile);
    let said = match slc_gb {
        Some(gb) => format!(
            "{file}: {:.0} MB/s for the first {gb:.1} GB, then {:.0} MB/s: the size of the SLC cache",
            profile.burst_mb_s, profile.sustained_mb_s
        ),
        None => format!(
            "{file}: no drop of the rate in {:.1} GB: no SLC cache, or a larger one; nothing is used",
            profile.written_gb
        ),
    };
    let clues = Clues {
        slc_gb,
        ..Clues::default()
    };
    Ok((clues, said))
}

/// Time in seconds and MB/s; the rate is `None` for another direction than writes.
fn sample(fields: &[&str]) -> Option<(f64, Option<f64>)> {
    let number = |text: &&str| {
        text.parse::<f64>()
            .ok()
            .filter(|n| n.is_finite() && *n >= 0.0)
    };
    let (time, rate) = (number(fields.first()?)?, number(fields.get(1)?)?);
    let is_write = match *fields.get(2)? {
        "1" => true,
        "0" | "2" => false,
        _ => return None,
    };
    Some((time / 1e3, is_write.then_some(rate * 1024.0 / 1e6)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drop_of_a_fill_is_the_size_of_the_cache() {
        // 30 s at 1024 MB/s, then 90 s at 102.4 MB/s.
        let rate = |s: u32| if s <= 30 { 1_000_000 } else { 100_000 };
        let text: String = (1..=120)
            .map(|s| format!("{}, {}, 1, 131072\n", s * 1000, rate(s)))
            .collect();
        let (clues, said) = read("f.log", &text).unwrap();
        let gb = clues.slc_gb.unwrap();
        assert!((gb / 30.72 - 1.0).abs() < 0.1, "{said}");
        let level: String = (1..=120)
            .map(|s| format!("{}, 100000, 1, 131072\n", s * 1000))
            .collect();
        assert_eq!(read("f.log", &level).unwrap().0.slc_gb, None);
    }

    #[test]
    fn other_files_are_refused() {
        for (text, part) in [
            ("", "too short"),
            ("time,rate\n", "line 1: not a line"),
            ("2000, 5, 1, 4096\n1000, 5, 1, 4096\n", "backwards"),
            ("1000, nan, 1, 4096\n", "not a line"),
        ] {
            let error = read("f.log", text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
