//! What a class requires and what was measured: the reason for its verdict, charts with the limits, and limits for plots.

use super::bars::{self, BarChart, LimitedValue};
use super::plot::Limit;
use crate::number::{short, with_unit};
use nandscope_result::{Conclusion, Requirement, StepResult};

/// How many times better than required, below 1 if not met.
fn margin(requirement: &Requirement) -> f64 {
    match requirement.at_most {
        true => requirement.limit / requirement.value,
        false => requirement.value / requirement.limit,
    }
}

/// The value beside its limit.
fn in_words(requirement: &Requirement) -> String {
    let value = with_unit(requirement.value, &requirement.unit);
    let limit = with_unit(requirement.limit, &requirement.unit);
    let what = match requirement.what.as_str() {
        "" => String::new(),
        what => format!(" {what}"),
    };
    match (requirement.at_most, requirement.is_met()) {
        (false, true) => format!(
            "{value}{what}, {}× the required {limit}",
            short(margin(requirement))
        ),
        (false, false) => format!("{value}{what}, less than the required {limit}"),
        (true, true) => format!("{value}{what} of the allowed {limit}"),
        (true, false) => format!("{value}{what}, more than the allowed {limit}"),
    }
}

/// Why a test was passed or failed: the requirements that are not met, or the one that is met most narrowly. Empty for other
/// conclusions.
pub fn why(conclusion: &Conclusion) -> String {
    let requirements = &conclusion.requirements;
    let unmet = requirements.iter().filter(|r| !r.is_met());
    let unmet: Vec<String> = unmet.map(in_words).collect();
    let narrowest = |a: &&Requirement, b: &&Requirement| margin(a).total_cmp(&margin(b));
    let rates = requirements.iter().filter(|r| !r.at_most);
    match conclusion.passed {
        Some(false) => unmet.join("; "),
        Some(true) => rates.min_by(narrowest).map_or(String::new(), in_words),
        None => String::new(),
    }
}

/// The least values in this unit that the tests of a step require. Tests with the same limit share one: `U3, V30: 30 MB/s`.
pub fn limits(step: &StepResult, unit: &str) -> Vec<Limit> {
    let mut values: Vec<(f64, Vec<String>)> = Vec::new();
    for conclusion in step.conclusions.iter().filter(|c| c.passed.is_some()) {
        let required = conclusion.requirements.iter();
        for r in required.filter(|r| !r.at_most && r.unit == unit) {
            let name = format!("{} {}", conclusion.question, r.what);
            let name = name.trim().to_string();
            match values.iter_mut().find(|(limit, _)| *limit == r.limit) {
                Some((_, names)) => names.push(name),
                None => values.push((r.limit, vec![name])),
            }
        }
    }
    let limits = values.into_iter().map(|(y, names)| Limit {
        y,
        name: format!("{}: {}", names.join(", "), round(y, unit)),
    });
    limits.collect()
}

/// Whether a step tests something against limits, which its plots then show.
pub fn has_limits(step: &StepResult) -> bool {
    step.conclusions.iter().any(|c| !c.requirements.is_empty())
}

/// A limit with its unit; limits are mostly whole numbers, which have no decimals.
fn round(limit: f64, unit: &str) -> String {
    match limit.fract() == 0.0 {
        true => format!("{limit}\u{202f}{unit}"),
        false => with_unit(limit, unit),
    }
}

/// Charts of the rates with their limits, one for each unit.
pub fn charts(conclusions: &[&Conclusion]) -> Vec<BarChart> {
    let chart = |(title, unit): (&str, &str)| {
        let values = conclusions
            .iter()
            .filter(|c| c.passed.is_some())
            .flat_map(|c| {
                let all = c.requirements.iter();
                let rates = all.filter(|r| !r.at_most && r.unit == unit);
                rates.map(|r| LimitedValue {
                    label: format!("{} {}", c.question, r.what).trim().to_string(),
                    value: r.value,
                    limit: r.limit,
                    met: r.is_met(),
                })
            });
        let values: Vec<LimitedValue> = values.collect();
        (!values.is_empty()).then(|| bars::of_limits(title, unit, &values))
    };
    let kinds = [
        ("Recording and its limits", "MB/s"),
        ("Random access and its limits", "IOPS"),
    ];
    kinds.into_iter().filter_map(chart).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(what: &str, value: f64, limit: f64, unit: &str) -> Requirement {
        Requirement {
            what: what.into(),
            value,
            limit,
            unit: unit.into(),
            at_most: unit == "ms",
        }
    }

    fn class(limit: f64, longest: f64) -> Vec<Requirement> {
        vec![
            requirement("", 20.62, limit, "MB/s"),
            requirement("longest write", longest, 250.0, "ms"),
            requirement("longest update", 16.0, 750.0, "ms"),
        ]
    }

    fn random() -> Vec<Requirement> {
        vec![
            requirement("read", 1753.0, 1500.0, "IOPS"),
            requirement("write", 6.0, 500.0, "IOPS"),
            requirement("sequential write", 14.6, 10.0, "MB/s"),
        ]
    }

    fn conclusion(question: &str, requirements: Vec<Requirement>) -> Conclusion {
        Conclusion {
            question: question.into(),
            passed: Some(requirements.iter().all(Requirement::is_met)),
            requirements,
            ..Conclusion::default()
        }
    }

    #[test]
    fn a_class_says_why_it_is_passed_or_failed() {
        assert_eq!(
            why(&conclusion("U3", class(30.0, 29.6))),
            "20.6\u{202f}MB/s, less than the required 30.0\u{202f}MB/s"
        );
        assert_eq!(
            why(&conclusion("U1", class(10.0, 29.6))),
            "20.6\u{202f}MB/s, 2.06× the required 10.0\u{202f}MB/s"
        );
        assert_eq!(
            why(&conclusion("U1", class(10.0, 290.0))),
            "290\u{202f}ms longest write, more than the allowed 250\u{202f}ms"
        );
        assert_eq!(
            why(&conclusion("A1-like", random())),
            "6.00\u{202f}IOPS write, less than the required 500\u{202f}IOPS"
        );
        assert_eq!(why(&conclusion("other", Vec::new())), "");
    }

    #[test]
    fn tests_with_the_same_limit_share_a_line() {
        let step = StepResult {
            conclusions: vec![
                conclusion("U1", class(10.0, 29.6)),
                conclusion("V30", class(30.0, 29.6)),
                conclusion("V10", class(10.0, 29.6)),
                conclusion("A1-like", random()),
                Conclusion {
                    passed: None,
                    ..conclusion("no test", class(20.0, 29.6))
                },
            ],
            ..StepResult::default()
        };
        let names = |unit: &str| -> Vec<String> {
            let limits = limits(&step, unit).into_iter();
            limits.map(|l| l.name.replace('\u{202f}', " ")).collect()
        };
        assert_eq!(
            names("MB/s"),
            ["U1, V10, A1-like sequential write: 10 MB/s", "V30: 30 MB/s"]
        );
        assert_eq!(
            names("IOPS"),
            ["A1-like read: 1500 IOPS", "A1-like write: 500 IOPS"]
        );
        // The longest write allowed is no least value.
        assert!(names("ms").is_empty());
    }

    #[test]
    fn charts_have_the_limits() {
        let (u3, a1) = (
            conclusion("U3", class(30.0, 29.6)),
            conclusion("A1-like", random()),
        );
        let charts = charts(&[&u3, &a1]);
        let shown = |chart: &BarChart| -> Vec<(String, f64, Option<f64>)> {
            let rows = chart.rows.iter();
            rows.map(|r| (r.label.clone(), r.bars[0].value, r.bars[0].limit))
                .collect()
        };
        let row = |label: &str, value, limit| (label.to_string(), value, Some(limit));
        assert_eq!(
            shown(&charts[0]),
            [
                row("U3", 20.62, 30.0),
                row("A1-like sequential write", 14.6, 10.0)
            ]
        );
        assert_eq!(
            shown(&charts[1]),
            [
                row("A1-like read", 1753.0, 1500.0),
                row("A1-like write", 6.0, 500.0)
            ]
        );
        assert!(charts[0].has_limits() && charts[0].end >= 30.0);
    }
}
