//! What a class requires and what was measured, from the evidence of its test: `20.62 MB/s of 30 MB/s`, `29.6 ms (at most 250 ms)`.

use super::bars::{self, BarChart, LimitedValue};
use crate::number::{short, with_unit};
use nandscope_result::Conclusion;

/// A measured value and its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    value: f64,
    limit: f64,
    unit: String,
    /// `read`, `write`, or empty.
    what: String,
    /// The value must not be greater than the limit, rather than not less.
    at_most: bool,
}

impl Requirement {
    fn met(&self) -> bool {
        self.margin() >= 1.0
    }

    /// How many times better than required, below 1 if not met.
    fn margin(&self) -> f64 {
        match self.at_most {
            true => self.limit / self.value,
            false => self.value / self.limit,
        }
    }

    /// The value beside its limit.
    fn in_words(&self) -> String {
        let value = with_unit(self.value, &self.unit);
        let limit = with_unit(self.limit, &self.unit);
        let what = if self.what.is_empty() {
            String::new()
        } else {
            format!(" {}", self.what)
        };
        match (self.at_most, self.met()) {
            (false, true) => format!(
                "{value}{what}, {}× the required {limit}",
                short(self.margin())
            ),
            (false, false) => format!("{value}{what}, less than the required {limit}"),
            (true, true) => format!("{value}{what} of the allowed {limit}"),
            (true, false) => format!("{value}{what}, more than the allowed {limit}"),
        }
    }
}

/// The requirements in the evidence of a test.
pub fn of_evidence(evidence: &str) -> Vec<Requirement> {
    let trimmed = |w: &'_ str| w.trim_matches([',', ';', '(', ')']).to_string();
    let words: Vec<String> = evidence.split_whitespace().map(trimmed).collect();
    (0..words.len()).filter_map(|i| at(&words, i)).collect()
}

/// The requirement whose limit follows word `i`.
fn at(words: &[String], i: usize) -> Option<Requirement> {
    let number = |i: Option<usize>| words.get(i?)?.parse::<f64>().ok().filter(|v| *v > 0.0);
    let at_most = match words.get(i)?.as_str() {
        "of" => false,
        "most" => true,
        _ => return None,
    };
    let (limit, unit) = (number(Some(i + 1))?, words.get(i + 2)?);
    if !["MB/s", "IOPS", "ms"].contains(&unit.as_str()) {
        return None;
    }
    let value = match at_most {
        true => number(i.checked_sub(3))?,
        // The unit may stand once.
        false => number(i.checked_sub(1)).or_else(|| number(i.checked_sub(2)))?,
    };
    let next = words.get(i + 3).map_or("", String::as_str);
    Some(Requirement {
        value,
        limit,
        unit: unit.clone(),
        what: match next {
            "read" | "write" => next.to_string(),
            "sequential" => "sequential write".to_string(),
            _ => String::new(),
        },
        at_most,
    })
}

/// Why a test was passed or failed: the requirements that are not met, or the one that is met most narrowly. Empty for other
/// conclusions.
pub fn why(conclusion: &Conclusion) -> String {
    let requirements = of_evidence(&conclusion.evidence);
    let unmet: Vec<String> = requirements
        .iter()
        .filter(|r| !r.met())
        .map(Requirement::in_words)
        .collect();
    let narrowest = |a: &&Requirement, b: &&Requirement| a.margin().total_cmp(&b.margin());
    let rates = requirements.iter().filter(|r| !r.at_most);
    match conclusion.passed {
        Some(false) => unmet.join("; "),
        Some(true) => rates
            .min_by(narrowest)
            .map_or(String::new(), Requirement::in_words),
        None => String::new(),
    }
}

/// Charts of the rates with their limits, one for each unit.
pub fn charts(conclusions: &[&Conclusion]) -> Vec<BarChart> {
    let chart = |(title, unit): (&str, &str)| {
        let values = conclusions
            .iter()
            .filter(|c| c.passed.is_some())
            .flat_map(|c| {
                let all = of_evidence(&c.evidence).into_iter();
                let rates = all.filter(|r| !r.at_most && r.unit == unit);
                rates.map(|r| LimitedValue {
                    label: format!("{} {}", c.question, r.what).trim().to_string(),
                    value: r.value,
                    limit: r.limit,
                    met: r.met(),
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

    const CLASS: &str = "20.62 MB/s of 30 MB/s, slowest of 8 empty areas; longest write 29.6 ms (at most 250 ms); updates of the file system 9.2 ms (at most 100 ms, mean of 8) and 16.0 ms (at most 750 ms)";
    const RANDOM: &str = "1753 of 1500 IOPS read, 6 of 500 IOPS write, 14.6 of 10 MB/s sequential write; card three quarters full, queue depth 1";

    fn conclusion(question: &str, evidence: &str, passed: bool) -> Conclusion {
        Conclusion {
            question: question.into(),
            evidence: evidence.into(),
            passed: Some(passed),
            ..Conclusion::default()
        }
    }

    #[test]
    fn a_class_says_why_it_is_passed_or_failed() {
        assert_eq!(of_evidence(CLASS).len(), 4);
        assert_eq!(
            why(&conclusion("U3", CLASS, false)),
            "20.6\u{202f}MB/s, less than the required 30.0\u{202f}MB/s"
        );
        let passed = CLASS.replace("of 30", "of 10");
        assert_eq!(
            why(&conclusion("U1", &passed, true)),
            "20.6\u{202f}MB/s, 2.06× the required 10.0\u{202f}MB/s"
        );
        let slow = passed.replace("29.6", "290");
        assert_eq!(
            why(&conclusion("U1", &slow, false)),
            "290\u{202f}ms, more than the allowed 250\u{202f}ms"
        );
        assert_eq!(
            why(&conclusion("A1-like", RANDOM, false)),
            "6.00\u{202f}IOPS write, less than the required 500\u{202f}IOPS"
        );
        assert_eq!(why(&conclusion("other", "3 of 4 blocks", true)), "");
    }

    #[test]
    fn charts_have_the_limits() {
        let (u3, a1) = (
            conclusion("U3", CLASS, false),
            conclusion("A1-like", RANDOM, false),
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
