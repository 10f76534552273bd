//! Criterion by which a figure meets a published value: a bound as printed, a range within its ends, a value within a
//! tolerance.

use nandscope_result::{Relation, ToleranceKind};
use thiserror::Error;

/// Contradiction between a published value and the way it is read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum CriterionError {
    #[error("the fact has no such field")]
    NoSuchField,
    #[error("it is not a number; say with `value` and `op` what it means")]
    NoNumber,
    #[error("a range has two ends")]
    OneEnd,
    #[error("two ends are a `range`; say so with `op`")]
    TwoEnds,
    #[error("bounds and ranges are met as printed; leave out `tolerance`")]
    WidenedBound,
    #[error("say with `op` how `{0}` is met")]
    UnknownRelation(String),
    #[error("ends must ascend, and a tolerance must be finite")]
    Unordered,
}

/// Condition that a figure must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Criterion {
    op: Relation,
    /// Both ends of the range; equal for a single value.
    low: f64,
    high: f64,
    tolerance: f64,
    kind: ToleranceKind,
}

impl Criterion {
    /// Reads a published value and multiplies it by `scale`.
    ///
    /// # Errors
    /// [`CriterionError`] for a bound or a range with a tolerance, two ends without `range`, words without a number.
    pub(super) fn new(
        value: &toml::Value,
        scale: f64,
        op: &Relation,
        tolerance: f64,
        kind: &ToleranceKind,
    ) -> Result<Self, CriterionError> {
        let ends = ends(value).ok_or(CriterionError::NoNumber)?;
        let (low, high) = (ends.0 * scale, ends.1 * scale);
        let is_range = matches!(value, toml::Value::Array(_));
        match op {
            Relation::Range if !is_range => return Err(CriterionError::OneEnd),
            Relation::Range
            | Relation::Below
            | Relation::AtMost
            | Relation::Above
            | Relation::AtLeast
                if tolerance != 0.0 =>
            {
                return Err(CriterionError::WidenedBound);
            }
            Relation::Range => {}
            Relation::Other(op) => return Err(CriterionError::UnknownRelation(op.clone())),
            _ if is_range => return Err(CriterionError::TwoEnds),
            _ => {}
        }
        if !(low <= high && tolerance >= 0.0 && tolerance.is_finite()) {
            return Err(CriterionError::Unordered);
        }
        Ok(Criterion {
            op: op.clone(),
            low,
            high,
            tolerance,
            kind: kind.clone(),
        })
    }

    /// Whether a measured value meets the criterion.
    pub(super) fn is_met_by(&self, measured: f64) -> bool {
        let value = self.low;
        match self.op {
            Relation::Below => measured < value,
            Relation::AtMost => measured <= value,
            Relation::Above => measured > value,
            Relation::AtLeast => measured >= value,
            Relation::Range => (self.low..=self.high).contains(&measured),
            _ => {
                let margin = match self.kind {
                    ToleranceKind::Relative => self.tolerance * value.abs(),
                    _ => self.tolerance,
                };
                (measured - value).abs() <= margin
            }
        }
    }

    /// Value, tolerance and kind of tolerance as stored in a document: a range becomes its middle and half its width.
    pub(super) fn printed(&self) -> (f64, f64, ToleranceKind) {
        if self.op == Relation::Range {
            let middle = (self.low + self.high) / 2.0;
            return (middle, self.high - middle, ToleranceKind::Absolute);
        }
        (self.low, self.tolerance, self.kind.clone())
    }

    /// Relation of the value, such as "at least".
    pub(super) fn op(&self) -> &Relation {
        &self.op
    }
}

fn ends(value: &toml::Value) -> Option<(f64, f64)> {
    match value {
        toml::Value::Array(ends) => match ends.as_slice() {
            [low, high] => Some((number(low)?, number(high)?)),
            _ => None,
        },
        one => number(one).map(|n| (n, n)),
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(n) => Some(*n as f64),
        toml::Value::Float(x) => Some(*x),
        toml::Value::Boolean(b) => Some(if *b { 1.0 } else { 0.0 }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn criterion(
        value: toml::Value,
        op: &str,
        tolerance: f64,
        kind: &str,
    ) -> Result<Criterion, CriterionError> {
        Criterion::new(&value, 1.0, &op.into(), tolerance, &kind.into())
    }

    #[test]
    fn bounds_are_met_as_they_are_printed() {
        for (value, op, measured, met) in [
            (375.0, "<=", 375.0, true),
            (375.0, "<=", 375.1, false),
            (375.0, "<=", 411.0, false),
            (1.67, "<", 1.66, true),
            (1.67, "<", 1.67, false),
            (95.0, ">=", 95.0, true),
            (95.0, ">=", 94.9, false),
            (0.0, ">", 0.0, false),
            (0.0, ">", 0.1, true),
        ] {
            let bound = criterion(value.into(), op, 0.0, "relative").unwrap();
            assert_eq!(bound.is_met_by(measured), met, "{measured} {op} {value}");
        }
        for op in ["<", "<=", ">", ">="] {
            let widened = criterion(375.0.into(), op, 0.1, "relative");
            assert_eq!(widened.unwrap_err(), CriterionError::WidenedBound, "{op}");
        }
    }

    #[test]
    fn values_are_met_within_their_tolerance_and_ranges_within_their_ends() {
        let range = toml::Value::Array(vec![25.into(), 27.into()]);
        let slightly_lower = toml::Value::Array(vec![(-10.0).into(), 0.0.into()]);
        for (value, op, tolerance, kind, measured, met) in [
            (100.0.into(), "~", 0.1, "relative", 109.9, true),
            (100.0.into(), "=", 0.1, "relative", 111.0, false),
            ((-5.0).into(), "~", 5.0, "absolute", 0.5, false),
            (9.into(), "=", 0.0, "relative", 9.0, true),
            (9.into(), "=", 0.0, "relative", 8.0, false),
            (range.clone(), "range", 0.0, "relative", 27.0, true),
            (range.clone(), "range", 0.0, "relative", 27.1, false),
            (slightly_lower, "range", 0.0, "relative", 0.5, false),
        ] {
            let text = format!("{measured} {op} {value:?}");
            let criterion = criterion(value, op, tolerance, kind).unwrap();
            assert_eq!(criterion.is_met_by(measured), met, "{text}");
        }
        let unknown = CriterionError::UnknownRelation("rank".to_string());
        for (value, op, tolerance, fault) in [
            (range.clone(), "range", 0.1, CriterionError::WidenedBound),
            (range, "~", 0.1, CriterionError::TwoEnds),
            ("similar".into(), "rank", 0.0, CriterionError::NoNumber),
            (1.into(), "rank", 0.0, unknown),
        ] {
            assert_eq!(criterion(value, op, tolerance, "relative"), Err(fault));
        }
    }
}
