//! The writes of a plan as a share of the rated endurance, which few devices state: it follows from what the device reports to
//! have worn off with the writes so far.

use nandscope_fitness::health::HealthReading;
use nandscope_units::number::{bytes, short};

/// Used percent from which the step of the report hardly matters: the share is stated as one number.
const COARSE: f64 = 10.0;

/// A sentence on the share that these writes are, bytes; `None` if the device does not report its wear and its writes.
pub fn share(reading: &HealthReading, written: u64) -> Option<String> {
    let (used, step) = (reading.used_percent?, reading.step_percent?);
    let before = reading.host_written.filter(|b| *b > 0)?;
    let wears = written as f64 / before as f64;
    let reported = match used < step {
        true => format!("less than {step} % used"),
        false => format!("{used} % used"),
    };
    // Devices round in either direction.
    let (low, high) = ((used - step).max(0.0) * wears, (used + step) * wears);
    let part = match used {
        _ if low == 0.0 => format!("at most {} %", short(high)),
        used if used < COARSE => format!("{} to {} %", short(low), short(high)),
        used => format!("about {} %", short(used * wears)),
    };
    Some(format!(
        "The writes are {part} of the rated endurance: the device reports {reported} after {}.",
        bytes(before)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(used: f64, step: f64, tb: u64) -> Option<String> {
        let reading = HealthReading {
            used_percent: Some(used),
            step_percent: Some(step),
            host_written: Some(tb * 1_000_000_000_000),
            ..HealthReading::default()
        };
        let text = share(&reading, 1_000_000_000_000)?;
        Some(text.replace('\u{202f}', " "))
    }

    #[test]
    fn the_share_is_as_exact_as_the_report() {
        assert_eq!(
            told(0.0, 1.0, 20).unwrap(),
            "The writes are at most 0.0500 % of the rated endurance: the device reports less than 1 % used after 20.0 TB."
        );
        assert_eq!(
            told(4.0, 1.0, 20).unwrap(),
            "The writes are 0.15 to 0.25 % of the rated endurance: the device reports 4 % used after 20.0 TB."
        );
        assert_eq!(
            told(50.0, 1.0, 100).unwrap(),
            "The writes are about 0.50 % of the rated endurance: the device reports 50 % used after 100 TB."
        );
    }

    #[test]
    fn without_wear_or_writes_nothing_is_said() {
        assert_eq!(told(4.0, 1.0, 0), None);
        let reading = HealthReading {
            host_written: Some(1),
            ..HealthReading::default()
        };
        assert_eq!(share(&reading, 1), None);
    }
}
