//! Judges plain measurements (costs of commands, depths, stalls): the truth is what the same probe measures on the same
//! device without any disturbance. A rate is compared with direct measurements, and with what the link carries.

use super::score::{Judged, Outcome};
use nandscope_infer::probe::{Report, Value};

/// Questions whose answers are measurements, and by which factor they may be off.
/// What the probe says is the rate of reads, and by which factor it may be off.
const RATE: (&str, f64) = ("rate", 1.25);
/// Rounding of a rate beside what the link carries.
const CARRIED: f64 = 1.01;
const MEASURED: [(&str, f64); 8] = [
    ("overhead", 1.25),
    ("plateaus", 1.25),
    ("slc-idle", 1.25),
    ("parallelism", 1.25),
    // Depths are doubled.
    ("depth", 2.0),
    // What is slowest at all depends on single operations.
    ("worst", 2.0),
    ("stalls", 1.0),
    ("discard-speed", 1.0),
];
/// Times are not compared more finely, seconds: clocks have steps of up to 30 µs.
const CLOCK_S: f64 = 35e-6;

/// What is known of a device beside the undisturbed probe.
pub(super) struct Direct {
    /// Rates of reads that were measured without the probe, bytes per second.
    pub(super) rates: Vec<f64>,
    /// What the slowest stage between program and device carries, bytes per second.
    pub(super) carried: Option<f64>,
    /// It may throttle, so that a rate in the course of a probe is lower.
    pub(super) throttles: bool,
    /// There were pauses which the device did not make.
    pub(super) disturbed: bool,
}

/// Judges every measurement that both reports state.
pub(super) fn judge(report: &Report, undisturbed: &Report, direct: &Direct) -> Vec<Judged> {
    let compared = MEASURED.iter().filter_map(|(id, factor)| {
        let truth = undisturbed.finding(id)?.value?;
        let right = |value| is_right(value, truth, *factor, direct.disturbed);
        judged(report, id, direct.carried, right)
    });
    let again = undisturbed.finding(RATE.0).and_then(|f| f.value);
    let of_rate = |value| {
        let near = |rate: &f64| is_right(value, Value::BytesPerS(*rate), RATE.1, false);
        // A warm device is slower than one that was just switched on.
        let warm = direct.throttles
            && again.is_some_and(|again| is_right(value, again, RATE.1, false))
            && matches!(value, Value::BytesPerS(rate) if direct.rates.iter().any(|r| rate <= *r));
        direct.rates.iter().any(near) || warm
    };
    let rate = again.and_then(|_| judged(report, RATE.0, direct.carried, of_rate));
    compared.chain(rate).collect()
}

fn judged(
    report: &Report,
    id: &str,
    carried: Option<f64>,
    right: impl Fn(Value) -> bool,
) -> Option<Judged> {
    let found = report.finding(id)?;
    let possible = |value: Value| match (value, carried) {
        (Value::BytesPerS(rate), Some(carried)) => rate <= CARRIED * carried,
        _ => true,
    };
    let outcome = match found.value {
        None => Outcome::NotTold,
        Some(value) if possible(value) && right(value) => Outcome::Right,
        Some(_) => Outcome::Wrong,
    };
    Some(Judged {
        id: found.id,
        outcome,
        confidence: found.confidence,
        strength: found.strength,
        // The undisturbed probe stated it.
        visible: true,
    })
}

fn is_right(value: Value, truth: Value, factor: f64, disturbed: bool) -> bool {
    let near = |a: f64, b: f64| a <= factor * b && b <= factor * a;
    match (value, truth) {
        (Value::Seconds(a), Value::Seconds(b)) => near(a, b) || (a - b).abs() <= CLOCK_S,
        (Value::BytesPerS(a), Value::BytesPerS(b)) | (Value::Factor(a), Value::Factor(b)) => {
            near(a, b)
        }
        // Stalls: whether there are any. Those of the host are as true.
        (Value::Count(a), Value::Count(b)) if factor == 1.0 => {
            (a > 0) == (b > 0) || (a > 0 && disturbed)
        }
        (Value::Count(a), Value::Count(b)) => near(f64::from(a), f64::from(b)),
        (Value::Flag(a), Value::Flag(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_right_if_it_is_near() {
        let rate = Value::BytesPerS;
        assert!(is_right(rate(11e6), rate(10e6), 1.25, false));
        assert!(!is_right(rate(13e6), rate(10e6), 1.25, false));
        let time = Value::Seconds;
        assert!(is_right(time(0.0), time(30e-6), 1.25, false));
        let count = Value::Count;
        assert!(is_right(count(3), count(9), 1.0, false));
        assert!(!is_right(count(3), count(0), 1.0, false));
        assert!(is_right(count(3), count(0), 1.0, true));
        assert!(!is_right(count(0), count(3), 1.0, true));
        assert!(is_right(count(8), count(4), 2.0, false));
        assert!(!is_right(count(16), count(4), 2.0, false));
        assert!(!is_right(count(1), rate(1.0), 2.0, false));
    }
}
