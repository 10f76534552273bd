//! The log of readings: a line of JSON for each.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Latest time of a reading, s: the year 9999.
const LATEST: i64 = 253_402_300_799;

/// Values that a device reported at one time; `None` for those that it does not report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthReading {
    /// Time, seconds since 1970 UTC.
    pub time: i64,
    /// Model and serial number, by which the device is recognised.
    pub device: String,
    /// Used part of the rated life, percent, as reported; may exceed 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<f64>,
    /// Steps in which it is reported, percent: 1 for NVMe and ATA, 10 for eMMC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_percent: Option<f64>,
    /// Spare blocks that are left, percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_percent: Option<f64>,
    /// Bytes that the host has written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_written: Option<u64>,
    /// Errors of the medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// Degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// Hours of operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_on_hours: Option<u64>,
    /// Why the device itself reports that it fails, or is close to it; empty if it does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<String>,
}

/// A log that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LogError {
    /// A line is no reading.
    #[error(
        "{file}:{line}: not a reading of `nandscope health`: {why}; remove the line, or name another log"
    )]
    Line {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Reason.
        why: String,
    },
    /// Readings of two devices.
    #[error("{file}:{line}: a reading of `{other}`, not of `{device}`; keep a log for each device")]
    OtherDevice {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Device of the line.
        other: String,
        /// Device of the lines before it.
        device: String,
    },
}

/// A reading as a line of a log, with its end.
pub fn line(reading: &HealthReading) -> String {
    // A reading has text keys and finite numbers only, so it always becomes JSON.
    let json = serde_json::to_string(reading).unwrap_or_default();
    format!("{json}\n")
}

/// The readings of a log in the order of time. An unfinished last line, which an interrupted program left, is ignored.
///
/// # Errors
/// [`LogError`] if a line is no reading, or is of another device than the lines before it.
pub fn read(file: &str, text: &str) -> Result<Vec<HealthReading>, LogError> {
    let mut readings: Vec<HealthReading> = Vec::new();
    let lines = text.split_inclusive('\n').zip(1_usize..);
    for (text, line) in lines.filter(|(text, _)| text.ends_with('\n')) {
        if text.trim().is_empty() {
            continue;
        }
        let wrong = |why: String| LogError::Line {
            file: file.to_string(),
            line,
            why,
        };
        let reading: HealthReading =
            serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
        check(&reading).map_err(|why| wrong(why.to_string()))?;
        if let Some(first) = readings.first().filter(|f| f.device != reading.device) {
            return Err(LogError::OtherDevice {
                file: file.to_string(),
                line,
                other: reading.device,
                device: first.device.clone(),
            });
        }
        readings.push(reading);
    }
    readings.sort_by_key(|r| r.time);
    Ok(readings)
}

fn check(reading: &HealthReading) -> Result<(), &'static str> {
    let is_share = |value: Option<f64>| value.is_none_or(|v| (0.0..=1e6).contains(&v));
    match () {
        () if !(0..=LATEST).contains(&reading.time) => Err("`time` is out of range"),
        () if !is_share(reading.used_percent) => Err("`used_percent` is out of range"),
        () if !reading
            .step_percent
            .is_none_or(|s| (0.01..=100.0).contains(&s)) =>
        {
            Err("`step_percent` is out of range")
        }
        () if !is_share(reading.spare_percent) => Err("`spare_percent` is out of range"),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(time: i64, used: f64) -> HealthReading {
        HealthReading {
            time,
            device: "X 1".to_string(),
            used_percent: Some(used),
            step_percent: Some(1.0),
            ..HealthReading::default()
        }
    }

    #[test]
    fn a_log_is_read_as_it_was_written_in_order_of_time() {
        let text = line(&reading(20, 3.0)) + &line(&reading(10, 2.0));
        let readings = read("l", &text).unwrap();
        assert_eq!(readings, [reading(10, 2.0), reading(20, 3.0)]);
    }

    #[test]
    fn a_torn_last_line_is_ignored_and_a_damaged_one_is_named() {
        let whole = line(&reading(10, 2.0));
        let torn = format!("{whole}{}", &whole[..whole.len() / 2]);
        assert_eq!(read("l", &torn).unwrap().len(), 1);
        let damaged = format!("{whole}{{}}\n{whole}");
        assert!(
            read("l", &damaged)
                .unwrap_err()
                .to_string()
                .starts_with("l:2:")
        );
        let far = line(&reading(i64::MAX, 2.0));
        assert!(read("l", &far).is_err());
        let mut other = reading(30, 2.0);
        other.device = "Y".to_string();
        let text = whole + &line(&other);
        assert!(matches!(
            read("l", &text),
            Err(LogError::OtherDevice { line: 2, .. })
        ));
    }
}
