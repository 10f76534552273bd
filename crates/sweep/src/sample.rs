//! Which points of a space are run: all of a grid, or some at random.

use crate::space::{MOST_POINTS, Parameter, SpaceError, Values};
use nandscope_units::random::SplitMix64;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Choice of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Every combination of values; the last parameter varies fastest.
    #[default]
    Grid,
    /// This many points, each value drawn uniformly and independently.
    Random(usize),
    /// This number of points; the range of each parameter is divided into the same number of equal strata, and each
    /// stratum is used once (McKay, Beckman and Conover, 1979).
    LatinHypercube(usize),
}

/// Not a way to choose points.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a way to choose points; use random:N or lhs:N with N from 1 to {MOST_POINTS}"
)]
pub struct SamplingError(String);

impl FromStr for Sampling {
    type Err = SamplingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || SamplingError(text.to_string());
        let (how, count) = text.split_once(':').unwrap_or((text, "0"));
        let count = count.parse().ok().filter(|n| *n <= MOST_POINTS);
        let count = count.ok_or_else(wrong)?;
        match (how, count) {
            ("grid", 0) if text == "grid" => Ok(Sampling::Grid),
            ("random", 1..) => Ok(Sampling::Random(count)),
            ("lhs", 1..) => Ok(Sampling::LatinHypercube(count)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sampling::Grid => f.write_str("grid"),
            Sampling::Random(count) => write!(f, "random:{count}"),
            Sampling::LatinHypercube(count) => write!(f, "lhs:{count}"),
        }
    }
}

impl Values {
    /// Number of the parameter's values; `None` for a range of real numbers.
    fn count(&self) -> Option<usize> {
        match self {
            Values::List(values) => Some(values.len()),
            Values::Whole(low, high) => usize::try_from(high.abs_diff(*low)).ok()?.checked_add(1),
            Values::Real(..) => None,
        }
    }

    /// The value with this number.
    fn nth(&self, number: usize) -> String {
        match self {
            Values::List(values) => values.get(number).cloned().unwrap_or_default(),
            Values::Whole(low, _) => low.saturating_add_unsigned(number as u64).to_string(),
            Values::Real(range) => real(range.at(0.0)),
        }
    }

    /// The value at `share` of the range, from 0 to below 1.
    fn at(&self, share: f64) -> String {
        match (self, self.count()) {
            (Values::Real(range), _) => real(range.at(share)),
            (_, Some(count)) => self.nth(((share * count as f64) as usize).min(count - 1)),
            (_, None) => self.nth(0),
        }
    }
}

/// A number as a value of a parameter: always with a point or an exponent, as Python writes it.
fn real(number: f64) -> String {
    format!("{number:?}")
}

impl Sampling {
    /// The points of a sample: for each the shares, from 0 to below 1, at which its parameters are on their ranges; none
    /// for a grid. The same seed gives the same shares.
    pub fn shares(self, parameters: usize, seed: u64) -> Vec<Vec<f64>> {
        match self {
            Sampling::Grid => Vec::new(),
            Sampling::Random(count) => random(parameters, count, seed),
            Sampling::LatinHypercube(count) => latin_hypercube(parameters, count, seed),
        }
    }

    /// The points: for each its values in the order of the parameters. The same seed gives the same
    /// points.
    ///
    /// # Errors
    /// Returns [`SpaceError`] if there are too many points, none, or a range of real numbers in a grid.
    pub fn points(
        self,
        parameters: &[Parameter],
        seed: u64,
    ) -> Result<Vec<Vec<String>>, SpaceError> {
        let at = |shares: &Vec<f64>| {
            let values = parameters.iter().zip(shares);
            values.map(|(p, share)| p.values.at(*share)).collect()
        };
        let points: Vec<Vec<String>> = match self {
            Sampling::Grid => grid(parameters)?,
            _ => {
                let shares = self.shares(parameters.len(), seed);
                shares.iter().map(at).collect()
            }
        };
        match points.is_empty() {
            true => Err(SpaceError::Empty),
            false => Ok(points),
        }
    }
}

fn grid(parameters: &[Parameter]) -> Result<Vec<Vec<String>>, SpaceError> {
    let mut points = vec![Vec::new()];
    for parameter in parameters {
        let count = parameter.values.count();
        let count = count.ok_or_else(|| SpaceError::RealGrid(parameter.key.to_string()))?;
        if points.len().saturating_mul(count) > MOST_POINTS {
            return Err(SpaceError::TooLarge);
        }
        let with_each = |point: &Vec<String>| {
            let point = point.clone();
            (0..count).map(move |n| [&point[..], &[parameter.values.nth(n)]].concat())
        };
        points = points.iter().flat_map(with_each).collect();
    }
    Ok(points)
}

fn random(parameters: usize, count: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = SplitMix64::new(seed);
    let mut point = || (0..parameters).map(|_| random.unit()).collect();
    (0..count).map(|_| point()).collect()
}

fn latin_hypercube(parameters: usize, count: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = SplitMix64::new(seed);
    let mut points = vec![Vec::new(); count];
    for _ in 0..parameters {
        let mut strata: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            strata.swap(last, random.below(last as u64 + 1) as usize);
        }
        for (point, stratum) in points.iter_mut().zip(strata) {
            point.push((stratum as f64 + random.unit()) / count as f64);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn space(texts: &[&str]) -> Vec<Parameter> {
        texts.iter().map(|t| t.parse().unwrap()).collect()
    }

    #[test]
    fn a_grid_has_every_combination_once() {
        let parameters = space(&["a=x,y", "b=1..3"]);
        let points = Sampling::Grid.points(&parameters, 1).unwrap();
        let shown: Vec<String> = points.iter().map(|p| p.join("")).collect();
        assert_eq!(shown, ["x1", "x2", "x3", "y1", "y2", "y3"]);
        // Without a parameter there is one point: the device as it is.
        assert_eq!(
            Sampling::Grid.points(&[], 1).unwrap(),
            [Vec::<String>::new()]
        );
        let real = space(&["a=0.1..0.2"]);
        assert!(matches!(
            Sampling::Grid.points(&real, 1),
            Err(SpaceError::RealGrid(_))
        ));
        let large = space(&["a=1..2000", "b=1..2000"]);
        assert_eq!(Sampling::Grid.points(&large, 1), Err(SpaceError::TooLarge));
    }

    #[test]
    fn a_latin_hypercube_uses_each_stratum_once() {
        for (count, seed) in [(1, 1), (7, 2), (50, 3), (333, 4)] {
            let parameters = space(&["a=0.07..0.28", "b=-5.0..5.0", "c=1..333"]);
            let points = Sampling::LatinHypercube(count)
                .points(&parameters, seed)
                .unwrap();
            assert_eq!(points.len(), count);
            for (column, low, width) in [(0, 0.07, 0.21), (1, -5.0, 10.0)] {
                let stratum = |p: &Vec<String>| {
                    let value: f64 = p[column].parse().unwrap();
                    ((value - low) / width * count as f64) as usize
                };
                let strata: BTreeSet<usize> = points.iter().map(stratum).collect();
                assert_eq!(strata.len(), count, "{count} {column}");
                assert!(strata.iter().all(|s| *s < count));
            }
            if count == 333 {
                let whole: BTreeSet<&String> = points.iter().map(|p| &p[2]).collect();
                assert_eq!(whole.len(), 333);
            }
        }
    }

    #[test]
    fn a_logarithmic_range_has_as_many_points_in_each_decade() {
        let parameters = space(&["a=0.01..1:log"]);
        let points = Sampling::LatinHypercube(100)
            .points(&parameters, 1)
            .unwrap();
        let values = points.iter().map(|p| p[0].parse::<f64>().unwrap());
        assert_eq!(values.filter(|v| (0.01..0.1).contains(v)).count(), 50);
    }

    #[test]
    fn the_seed_decides_the_points() {
        let parameters = space(&["a=0.0..1.0", "b=x,y,z"]);
        for sampling in [Sampling::Random(20), Sampling::LatinHypercube(20)] {
            let points = |seed| sampling.points(&parameters, seed).unwrap();
            assert_eq!(points(1), points(1));
            assert_ne!(points(1), points(2));
            let within = |p: &Vec<String>| (0.0..1.0).contains(&p[0].parse().unwrap());
            assert!(points(3).iter().all(within));
        }
    }

    #[test]
    fn forms() {
        for (text, sampling) in [
            ("grid", Sampling::Grid),
            ("random:5", Sampling::Random(5)),
            ("lhs:12", Sampling::LatinHypercube(12)),
        ] {
            assert_eq!(text.parse(), Ok(sampling));
            assert_eq!(sampling.to_string(), text);
        }
        for text in [
            "",
            "random",
            "lhs:0",
            "random:-1",
            "grid:4",
            "sobol:3",
            "lhs:1000001",
        ] {
            assert!(text.parse::<Sampling>().is_err(), "{text}");
        }
    }
}
