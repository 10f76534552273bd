//! The pattern to avoid, from the rates of all patterns that were written. It measures nothing.

use super::confidence::Strength;
use super::finding::{Finding, Value};
use super::open_answers::{curve_name, question};
use super::writes::IN_ORDER;
use super::{Probing, Report};
use crate::flashbench::Order;
use nandscope_measure::target::Target;

/// The slowest of the patterns that were written, and by how much. A single slow rate is a stall, and no pattern: its
/// neighbours must be slow as well.
pub(super) fn worst<T: Target>(probing: &mut Probing<'_, T>) {
    let rates = probing
        .report
        .curves
        .iter()
        .filter(|c| c.y_name == "rate" && c.y_unit == "MB/s");
    let mut best = 0.0_f64;
    let mut slowest: Option<(&str, f64, f64)> = None;
    for curve in rates {
        best = curve.y.iter().copied().fold(best, f64::max);
        let together = lasting(&probing.report, &curve.name);
        for (i, rates) in curve.y.windows(together).enumerate() {
            let rate = rates.iter().copied().fold(0.0, f64::max);
            if rate > 0.0 && slowest.is_none_or(|s| rate < s.2) {
                slowest = Some((&curve.name, curve.x[i + together - 1], rate));
            }
        }
    }
    let Some((name, x, rate)) = slowest else {
        return;
    };
    let factor = best / rate;
    let what = match name {
        IN_ORDER => format!("long writes in order, after {x:.1} GB"),
        name => format!("{name}: {x:.0} of them, a piece of 64 KiB each"),
    };
    let finding = Finding::new(
        "worst",
        "The pattern to avoid",
        Value::Factor(factor),
        format!("{what}: {factor:.0} times slower"),
        Strength::Strong,
        format!("{rate:.2} MB/s against {best:.1} MB/s at best, of all patterns that were written"),
    );
    probing.add(finding);
}

/// Rates in a row that are slow together where writing in order is.
const LASTING: usize = 6;

/// How many rates in a row must be slow. One is enough of interleaved AUs whose fall was measured again and again.
fn lasting(report: &Report, curve: &str) -> usize {
    let of = |order: Order| curve_name(order) == curve && report.count(question(order).0).is_some();
    match curve {
        IN_ORDER => LASTING,
        _ if of(Order::Linear) || of(Order::Random) => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_rate_is_a_stall_unless_a_fall_was_measured_again() {
        let mut report = Report::default();
        let linear = curve_name(Order::Linear);
        assert_eq!(lasting(&report, IN_ORDER), LASTING);
        assert_eq!(lasting(&report, &linear), 2);
        let (id, question) = question(Order::Linear);
        let count = Value::Count(4);
        let evidence = String::new();
        let found = Finding::new(
            id,
            question,
            count,
            "4".to_string(),
            Strength::Strong,
            evidence,
        );
        report.findings.push(found);
        assert_eq!(lasting(&report, &linear), 1);
        assert_eq!(lasting(&report, &curve_name(Order::Random)), 2);
    }
}
