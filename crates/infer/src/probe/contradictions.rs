//! Withdraws answers that contradict each other: of two, the one with the lower confidence, or both if they are equally sure. It
//! measures nothing.

use super::question::Question;
use super::worst::AVOIDED;
use super::{Report, Value};

/// Two questions whose answers may contradict each other.
struct Rule {
    questions: [Question; 2],
    contradict: fn(Value, Value) -> bool,
    why: &'static str,
}

const RULES: [Rule; 7] = [
    Rule {
        questions: [Question::Page, Question::LargePage],
        contradict: |page, large| {
            sizes(page, large).is_some_and(|(p, l)| l <= p || !l.is_multiple_of(p))
        },
        why: "a larger page consists of several whole pages",
    },
    Rule {
        questions: [Question::Page, Question::Unit],
        contradict: |page, unit| sizes(page, unit).is_some_and(|(p, u)| p > u),
        why: "no page is larger than an allocation unit",
    },
    Rule {
        questions: [Question::LargePage, Question::Unit],
        contradict: |page, unit| sizes(page, unit).is_some_and(|(p, u)| p > u),
        why: "no page is larger than an allocation unit",
    },
    Rule {
        questions: [Question::Unit, Question::Offset],
        contradict: |unit, offset| sizes(unit, offset).is_some_and(|(u, o)| o >= u),
        why: "the first boundary is within the first allocation unit",
    },
    Rule {
        questions: [Question::Discard, Question::DiscardReads],
        contradict: |taken, _| taken == Value::Flag(false),
        why: "a device that takes no discards has no discarded blocks",
    },
    Rule {
        questions: [Question::Discard, Question::DiscardSpeed],
        contradict: |taken, _| taken == Value::Flag(false),
        why: "a device that takes no discards is not changed by them",
    },
    Rule {
        questions: [Question::OpenLinear, Question::Worst],
        contradict: |open, factor| match (open, factor) {
            (Value::Count(1..) | Value::Range(1.., _), Value::Factor(factor)) => factor < AVOIDED,
            _ => false,
        },
        why: "writes to more allocation units than stay open are slow",
    },
];

fn sizes(first: Value, second: Value) -> Option<(u64, u64)> {
    match (first, second) {
        (Value::Bytes(first), Value::Bytes(second)) => Some((first, second)),
        _ => None,
    }
}

/// Withdraws answers until none contradicts another.
pub(super) fn withdraw(report: &mut Report) {
    for rule in &RULES {
        let [first, second] = rule.questions.map(|q| report.finding(q).cloned());
        let (Some(first), Some(second)) = (first, second) else {
            continue;
        };
        let (Some(value), Some(other)) = (first.value, second.value) else {
            continue;
        };
        if !(rule.contradict)(value, other) {
            continue;
        }
        let most = first.confidence.max(second.confidence);
        let equal = first.confidence == second.confidence;
        for (one, against) in [(&first, &second), (&second, &first)] {
            if equal || one.confidence < most {
                let why = format!(
                    "{}: {}, but {}: {}; {}",
                    one.question.wording(),
                    one.answer,
                    against.question.wording(),
                    against.answer,
                    rule.why
                );
                report.replace(one.question.unknown(why));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::confidence::Strength;

    fn report(answers: &[(Question, Value, Strength)]) -> Report {
        let findings = answers.iter().map(|(question, value, strength)| {
            question.answer(*value, format!("{value:?}"), *strength, String::new())
        });
        Report {
            findings: findings.collect(),
            ..Report::default()
        }
    }

    fn stated(answers: &[(Question, Value, Strength)]) -> Vec<Question> {
        let mut report = report(answers);
        withdraw(&mut report);
        let left = report.findings.iter().filter(|f| f.value.is_some());
        left.map(|f| f.question).collect()
    }

    #[test]
    fn the_less_certain_of_two_answers_is_withdrawn() {
        use Question::{Discard, DiscardReads, LargePage, Offset, OpenLinear, Page, Unit, Worst};
        use Strength::{Fair, Strong};
        let size = |kib: u64| Value::Bytes(kib << 10);
        assert_eq!(
            stated(&[(Page, size(64), Strong), (LargePage, size(32), Fair)]),
            [Page]
        );
        assert_eq!(
            stated(&[(Page, size(24), Strong), (LargePage, size(64), Fair)]),
            [Page]
        );
        assert_eq!(
            stated(&[(Page, size(16), Strong), (LargePage, size(64), Fair)]),
            [Page, LargePage]
        );
        assert_eq!(
            stated(&[(Unit, size(4096), Strong), (Offset, size(4096), Strong)]),
            []
        );
        assert_eq!(
            stated(&[
                (Discard, Value::Flag(false), Strong),
                (DiscardReads, Value::Count(0), Strong)
            ]),
            [Discard]
        );
        let open = (OpenLinear, Value::Count(4), Strong);
        let even = (Worst, Value::Factor(1.1), Strong);
        assert!(stated(&[open, even]).len() < 2);
        assert_eq!(
            stated(&[open, (Worst, Value::Factor(8.0), Strong)]),
            [OpenLinear, Worst]
        );
    }

    #[test]
    fn the_reason_names_both_answers() {
        let mut report = report(&[
            (Question::Page, Value::Bytes(65536), Strength::Strong),
            (Question::LargePage, Value::Bytes(32768), Strength::Fair),
        ]);
        withdraw(&mut report);
        let reason = &report.finding(Question::LargePage).unwrap().evidence;
        assert!(
            reason.contains("32768") && reason.contains("65536"),
            "{reason}"
        );
    }
}
