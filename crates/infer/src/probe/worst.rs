//! The slowest access pattern among all rates measured. It measures nothing.

use super::confidence::Strength;
use super::finding::Value;
use super::open_answers::{curve_name, question, short_pieces};
use super::question::Question;
use super::writes::IN_ORDER;
use super::{Probing, Report};
use crate::flashbench::Order;
use nandscope_measure::target::Target;

/// Adds the slowest measured pattern and its factor. A single slow rate is a stall: the neighbouring rates must be slow as well.
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
    let Some((name, x, rate)) = slowest.map(|(name, x, rate)| (name.to_string(), x, rate)) else {
        return;
    };
    if let Some(order) = not_told(&probing.report).filter(|_| probing.overlaps().is_none()) {
        let why = format!(
            "{rate:.2} MB/s against {best:.1} MB/s at best; but the rate of interleaved AUs written in {} order is not known",
            order.name()
        );
        probing.add(Question::Worst.unknown(why));
        return;
    }
    let factor = best / rate;
    if name == IN_ORDER && factor >= AVOIDED {
        slow_without_a_pause(&mut probing.report, factor);
    }
    let what = match name.as_str() {
        IN_ORDER => format!("long writes in order, after {x:.1} GB"),
        name => format!("{x:.0} {name}"),
    };
    let finding = Question::Worst.answer(
        Value::Factor(factor),
        answer(&what, factor),
        Strength::Strong,
        format!("{rate:.2} MB/s against {best:.1} MB/s at best, of all patterns that were written"),
    );
    probing.add(finding);
}

/// Sequential writes that become slow gradually have no stalls, but a plain answer of "none" would contradict the slowest
/// pattern, unless an SLC cache explains it.
fn slow_without_a_pause(report: &mut Report, factor: f64) {
    if report.bytes(Question::Slc).is_some() {
        return;
    }
    let found = report
        .findings
        .iter_mut()
        .find(|f| f.question == Question::Stalls);
    if let Some(stalls) = found.filter(|f| f.value == Some(Value::Count(0))) {
        stalls.answer =
            format!("no single pause, but sequential writes become {factor:.0} times slower");
    }
}

/// Least factor of a pattern that should be avoided.
pub(super) const AVOIDED: f64 = 1.5;

fn answer(what: &str, factor: f64) -> String {
    if factor < AVOIDED {
        format!(
            "none of the tested patterns; the slowest takes {factor:.2} times as long as the fastest"
        )
    } else {
        format!("{what}: {factor:.0} times slower")
    }
}

/// The order whose fall of the rate is unknown and which may be the slowest; `None` if both are known.
fn not_told(report: &Report) -> Option<Order> {
    let told = |order: &Order| report.count(question(*order)).is_some();
    [Order::Linear, Order::Random]
        .into_iter()
        .find(|order| !told(order))
}

/// Consecutive rates that must be slow in sequential writes.
const LASTING: usize = 6;

/// Consecutive rates that must be slow in a curve. One is enough for interleaved AUs whose fall was measured repeatedly.
fn lasting(report: &Report, curve: &str) -> usize {
    let of = |order: Order| curve_name(order) == curve && report.count(question(order)).is_some();
    match curve {
        IN_ORDER => LASTING,
        _ if of(Order::Linear) || of(Order::Random) => 1,
        _ if [Order::Linear, Order::Random]
            .map(short_pieces)
            .iter()
            .any(|c| c == curve) =>
        {
            1
        }
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_are_alike_are_no_pattern_to_avoid() {
        assert_eq!(answer("3 AUs", 34.2), "3 AUs: 34 times slower");
        let none = answer("long writes", 1.034);
        assert_eq!(
            none,
            "none of the tested patterns; the slowest takes 1.03 times as long as the fastest"
        );
    }

    #[test]
    fn no_stalls_and_slow_writes_in_order_are_not_stated_together() {
        let none = |question: Question| {
            let (value, strength) = (Value::Count(0), Strength::Strong);
            question.answer(value, "none".to_string(), strength, String::new())
        };
        let mut report = Report {
            findings: vec![none(Question::Stalls)],
            ..Report::default()
        };
        slow_without_a_pause(&mut report, 8.2);
        let stalls = report.finding(Question::Stalls).unwrap();
        assert_eq!(
            stalls.answer,
            "no single pause, but sequential writes become 8 times slower"
        );
        assert_eq!(stalls.value, Some(Value::Count(0)));
        let size = Value::Bytes(5 << 30);
        report.findings = vec![none(Question::Stalls)];
        let strength = Strength::Strong;
        let cache = Question::Slc.answer(size, String::new(), strength, String::new());
        report.findings.push(cache);
        slow_without_a_pause(&mut report, 8.2);
        assert_eq!(report.finding(Question::Stalls).unwrap().answer, "none");
    }

    #[test]
    fn one_slow_rate_is_a_stall_unless_a_fall_was_measured_again() {
        let mut report = Report::default();
        let linear = curve_name(Order::Linear);
        assert_eq!(lasting(&report, IN_ORDER), LASTING);
        assert_eq!(lasting(&report, &linear), 2);
        let question = question(Order::Linear);
        let count = Value::Count(4);
        let evidence = String::new();
        let found = question.answer(count, "4".to_string(), Strength::Strong, evidence);
        assert_eq!(not_told(&report), Some(Order::Linear));
        report.findings.push(found);
        assert_eq!(not_told(&report), Some(Order::Random));
        assert_eq!(lasting(&report, &linear), 1);
        assert_eq!(lasting(&report, &short_pieces(Order::Linear)), 1);
        assert_eq!(lasting(&report, &curve_name(Order::Random)), 2);
    }
}
