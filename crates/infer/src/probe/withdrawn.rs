//! Withdraws answers from reads that later writes do not confirm. It measures nothing.

use super::Report;
use super::layout::MAPPED;
use super::question::Question;

/// Withdraws answers about the AU if writes show no AU: in both orders, writing more interleaved AUs never became slow.
/// Boundaries seen by reads only may be those of map pages or stripes.
pub(super) fn not_borne_out(report: &mut Report) {
    withdraw(
        report,
        &[Question::Unit, Question::Offset, Question::LargePage],
        "writes show no allocation unit: they are equally fast with any number of open units; the boundaries that reads show may be those of map pages or stripes",
    );
}

/// Withdraws the SLC cache of a device without parallel reads, if idle time did not empty the cache, or the device throttles.
pub(super) fn no_cache(report: &mut Report) {
    withdraw(
        report,
        &[Question::Slc],
        "idle time does not bring the rate back, or reads are slower, too; a card with fast units at the beginning, one that closes units once all that stay open are in use, and a device that throttles look alike",
    );
}

/// Withdraws a page that may be the mapping unit of a drive, unless writes show allocation units.
pub(super) fn may_be_mapped(report: &mut Report) {
    let units = [Question::OpenLinear, Question::OpenRandom];
    let shown = units.iter().any(|q| report.count(*q).is_some());
    if !shown && report.bytes(Question::Page).is_some_and(|p| p <= MAPPED) {
        let why =
            "drives map units of this size, and it cannot be distinguished from a mapping unit";
        withdraw(report, &[Question::Page], why);
    }
}

fn withdraw(report: &mut Report, questions: &[Question], why: &str) {
    let stated = report.findings.iter_mut().filter(|f| f.value.is_some());
    for finding in stated.filter(|f| questions.contains(&f.question)) {
        let why = format!("{}: {why}", finding.evidence);
        *finding = finding.question.unknown(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flashbench::Order;
    use crate::probe::confidence::Strength;
    use crate::probe::finding::{Finding, Value, size};
    use crate::probe::open_answers;

    fn report(page: u64) -> Report {
        let found = |question: Question, bytes| {
            let answer = size(bytes);
            question.answer(
                Value::Bytes(bytes),
                answer,
                Strength::Strong,
                "seen".to_string(),
            )
        };
        Report {
            findings: vec![
                found(Question::Page, page),
                found(Question::Unit, 2 << 20),
                found(Question::Offset, 0),
            ],
            ..Report::default()
        }
    }

    #[test]
    fn a_unit_that_writes_do_not_show_is_withdrawn() {
        let told = |report: &Report| {
            report
                .findings
                .iter()
                .map(|f| f.value.is_some())
                .collect::<Vec<_>>()
        };
        let mut plain = report(16 << 10);
        let large = Finding {
            question: Question::LargePage,
            ..plain.findings[0].clone()
        };
        plain.findings.push(large);
        not_borne_out(&mut plain);
        assert_eq!(told(&plain), [true, false, false, false]);
        assert!(
            plain.findings[1]
                .evidence
                .starts_with("seen: writes show no allocation unit")
        );
    }

    #[test]
    fn a_page_as_small_as_a_mapped_unit_needs_open_units() {
        let mut small = report(MAPPED);
        may_be_mapped(&mut small);
        assert_eq!(small.bytes(Question::Page), None);
        let mut larger = report(2 * MAPPED);
        may_be_mapped(&mut larger);
        assert_eq!(larger.bytes(Question::Page), Some(2 * MAPPED));
        let mut card = report(MAPPED);
        let question = open_answers::question(Order::Linear);
        let count = question.answer(
            Value::Count(4),
            "4".to_string(),
            Strength::Strong,
            String::new(),
        );
        card.findings.push(count);
        may_be_mapped(&mut card);
        assert_eq!(card.bytes(Question::Page), Some(MAPPED));
    }

    #[test]
    fn a_cache_that_idle_time_does_not_empty_is_withdrawn() {
        let mut report = report(16 << 10);
        let size = Value::Bytes(256 << 20);
        let cache = Question::Slc.answer(
            size,
            "256 MiB".to_string(),
            Strength::Strong,
            "the rate falls".to_string(),
        );
        report.findings.push(cache);
        no_cache(&mut report);
        assert_eq!(report.bytes(Question::Slc), None);
        assert!(report.bytes(Question::Unit).is_some());
        let finding = report.finding(Question::Slc).unwrap();
        assert!(finding.evidence.starts_with("the rate falls: idle time"));
    }
}
