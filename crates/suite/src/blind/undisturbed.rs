//! Judges plain measurements (rates, costs of commands, depths): the truth is the result of the same probe on the same
//! device without disturbances. A rate above that of the link is never right.

use super::score::{Judged, Outcome};
use nandscope_infer::probe::{Question, Report, Value};

/// Questions whose answers are measurements, each with the factor by which they may be off.
const MEASURED: [(Question, f64); 9] = [
    (Question::Overhead, 1.25),
    (Question::Rate, 1.25),
    (Question::Plateaus, 1.25),
    (Question::SlcIdle, 1.25),
    (Question::Parallelism, 1.25),
    // Depths are tried in powers of two.
    (Question::Depth, 2.0),
    // The largest latency depends on single operations.
    (Question::Worst, 2.0),
    (Question::Stalls, 1.0),
    (Question::DiscardSpeed, 1.0),
];
/// Smallest difference of times that counts, seconds: clocks have steps of up to 30 µs.
const CLOCK_S: f64 = 35e-6;

/// Largest factor by which measured rates may exceed that of the link: times of drawn devices have up to 5 % of noise.
const NOISE: f64 = 1.05;

/// Properties of a drawn device that no probe measures.
pub(super) struct Known {
    /// Rate of the slowest stage between program and device, bytes per second.
    pub(super) link_bytes_per_s: Option<f64>,
    /// Whether the host paused during the probe.
    pub(super) disturbed: bool,
}

impl Known {
    /// Whether a value is possible on this link.
    fn allows(&self, value: Value) -> bool {
        match (value, self.link_bytes_per_s) {
            (Value::BytesPerS(rate), Some(link)) => rate <= NOISE * link,
            _ => true,
        }
    }
}

/// Judges every measurement stated by both reports.
pub(super) fn judge(report: &Report, undisturbed: &Report, known: &Known) -> Vec<Judged> {
    let judged = MEASURED.iter().filter_map(|(question, factor)| {
        let truth = undisturbed.finding(*question)?.value?;
        let found = report.finding(*question)?;
        let right = |value| is_right(value, truth, *factor, known.disturbed);
        let outcome = match found.value {
            None => Outcome::NotTold,
            Some(value) if known.allows(value) && right(value) => Outcome::Right,
            Some(_) => Outcome::Wrong,
        };
        Some(Judged {
            question: found.question,
            outcome,
            confidence: found.confidence,
            strength: found.strength,
            // Visible, because the undisturbed probe stated it.
            visible: true,
        })
    });
    judged.collect()
}

fn is_right(value: Value, truth: Value, factor: f64, disturbed: bool) -> bool {
    let near = |a: f64, b: f64| a <= factor * b && b <= factor * a;
    match (value, truth) {
        (Value::Seconds(a), Value::Seconds(b)) => near(a, b) || (a - b).abs() <= CLOCK_S,
        (Value::BytesPerS(a), Value::BytesPerS(b)) | (Value::Factor(a), Value::Factor(b)) => {
            near(a, b)
        }
        // Stalls: only whether there are any counts. Those of the host are true as well.
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
    fn a_rate_above_what_the_link_carries_is_wrong() {
        let known = Known {
            link_bytes_per_s: Some(3.6e9),
            disturbed: false,
        };
        assert!(known.allows(Value::BytesPerS(3.6e9)));
        assert!(!known.allows(Value::BytesPerS(10.2e9)));
        assert!(known.allows(Value::Seconds(10.2e9)));
    }

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
