//! Parameters of a sweep and the values they take, as `KEY=V1,V2,V3`, `KEY=1..4`, `KEY=0.07..0.28` or `KEY=1..64:log`.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Most values of a range of whole numbers.
const MOST_VALUES: u64 = 100_000;
/// Prefix of keys that set an option of every job.
const JOB: &str = "job.";
/// Ending of ranges on a logarithmic scale.
const LOG: &str = ":log";

/// Setting that a parameter changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A value of the device profile, by dotted key.
    Profile(String),
    /// An option of every job: `job.iodepth`.
    Job(String),
    /// Name or file of the host.
    Host,
    /// State of the device before the run.
    Precondition,
    /// Seed of device and jobs.
    Seed,
}

impl Key {
    fn read(text: &str) -> Key {
        match text {
            "host" => Key::Host,
            "precondition" => Key::Precondition,
            "seed" => Key::Seed,
            _ => match text.strip_prefix(JOB) {
                Some(option) => Key::Job(option.to_string()),
                None => Key::Profile(text.to_string()),
            },
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Profile(key) => f.write_str(key),
            Key::Job(option) => write!(f, "{JOB}{option}"),
            Key::Host => f.write_str("host"),
            Key::Precondition => f.write_str("precondition"),
            Key::Seed => f.write_str("seed"),
        }
    }
}

/// The values of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// These values, in this order.
    List(Vec<String>),
    /// Whole numbers from the first to the second, both included.
    Whole(i64, i64),
    /// All numbers of a range; for sampling only.
    Real(Range),
}

/// The numbers from `low` to below `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Range {
    /// The range, of uniform density on a logarithmic scale with `is_log`; `None` if `low` is not below `high`, their
    /// distance is not finite, or a logarithmic scale does not begin above 0.
    pub fn new(low: f64, high: f64, is_log: bool) -> Option<Range> {
        let is_range = low < high && (high - low).is_finite();
        let has_scale = !is_log || low > 0.0 && (high / low).is_finite();
        (is_range && has_scale).then_some(Range { low, high, is_log })
    }

    /// The number at `share` of the range, from 0 to below 1; the same on every machine.
    pub fn at(self, share: f64) -> f64 {
        match self.is_log {
            true => self.low * libm::pow(self.high / self.low, share),
            false => self.low + share * (self.high - self.low),
        }
    }
}

/// A parameter with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The changed setting.
    pub key: Key,
    /// Values of the parameter, at least one.
    pub values: Values,
}

/// Parameters that make no space.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpaceError {
    /// The text is not of the form of a parameter.
    #[error("`{0}` is not a parameter; write KEY=V1,V2,…, KEY=LOW..HIGH or KEY=LOW..HIGH:log")]
    Form(String),
    /// A range ends before it begins, or has too many values.
    #[error(
        "`{0}`: give a range from a lower to a higher number, of {MOST_VALUES} whole numbers at most, above 0 for {LOG}"
    )]
    Range(String),
    /// A value is given twice.
    #[error("`{text}`: the value {value} is there twice; leave one out")]
    Repeated {
        /// The parameter as it was given.
        text: String,
        /// Value as text.
        value: String,
    },
    /// A parameter is given twice.
    #[error("the parameter {0} is given twice; put all values in one list")]
    Twice(String),
    /// A range of real numbers has no grid.
    #[error(
        "{0} is a range of fractional numbers or on a logarithmic scale, of which a grid cannot take all; list values, or choose points with --sample"
    )]
    RealGrid(String),
    /// The grid is too large.
    #[error("the grid has more than {MOST_POINTS} points; choose points with --sample")]
    TooLarge,
    /// A key of something else than the device profile.
    #[error(
        "`{0}` is not a key of a device profile; use --job for keys of jobs, or list values of --host, --precondition or --seed"
    )]
    NotOfProfile(String),
    /// There is no point.
    #[error("the sweep has no points; give at least one")]
    Empty,
    /// A parameter and an option for all points set the same.
    #[error("{0} is a parameter and given once for all points too; leave one out")]
    Fixed(String),
}

/// Most points of a sweep.
pub(crate) const MOST_POINTS: usize = 1_000_000;

impl Parameter {
    /// A parameter with these values, in this order.
    ///
    /// # Errors
    /// Returns [`SpaceError::Repeated`] if a value is there twice.
    pub fn listed(key: Key, values: Vec<String>) -> Result<Parameter, SpaceError> {
        let text = format!("{key}={}", values.join(","));
        let values = Values::List(without_repeats(&text, values)?);
        Ok(Parameter { key, values })
    }
}

impl FromStr for Parameter {
    type Err = SpaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || SpaceError::Form(text.to_string());
        let (key, values) = text.split_once('=').ok_or_else(form)?;
        let (key, values) = (key.trim(), values.trim());
        if key.is_empty() || key == JOB || values.is_empty() {
            return Err(form());
        }
        let values = match range(text, values)? {
            Some(range) => range,
            None => Values::List(list(text, values)?),
        };
        Ok(Parameter {
            key: Key::read(key),
            values,
        })
    }
}

fn range(text: &str, values: &str) -> Result<Option<Values>, SpaceError> {
    let Some((low, high)) = values.split_once("..") else {
        return Ok(None);
    };
    let wrong = || SpaceError::Range(text.to_string());
    let (high, is_log) = match high.strip_suffix(LOG) {
        Some(high) => (high, true),
        None => (high, false),
    };
    if let (Ok(low), Ok(high), false) = (low.parse::<i64>(), high.parse::<i64>(), is_log) {
        if low > high || high.abs_diff(low) >= MOST_VALUES {
            return Err(wrong());
        }
        return Ok(Some(Values::Whole(low, high)));
    }
    match (low.parse::<f64>(), high.parse::<f64>()) {
        (Ok(low), Ok(high)) => {
            let range = Range::new(low, high, is_log).ok_or_else(wrong)?;
            Ok(Some(Values::Real(range)))
        }
        // Such as a path with `..` in it.
        _ => Ok(None),
    }
}

/// Values between commas; commas within brackets or quotes belong to a value.
fn list(text: &str, values: &str) -> Result<Vec<String>, SpaceError> {
    let (mut depth, mut quoted) = (0_i32, false);
    let mut found = vec![String::new()];
    for c in values.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = found.last_mut() {
            last.push(c);
        }
    }
    let found: Vec<String> = found.iter().map(|v| v.trim().to_string()).collect();
    if found.iter().any(String::is_empty) {
        return Err(SpaceError::Form(text.to_string()));
    }
    without_repeats(text, found)
}

/// Refuses values that are given twice.
fn without_repeats(text: &str, values: Vec<String>) -> Result<Vec<String>, SpaceError> {
    for (number, value) in values.iter().enumerate() {
        if values[..number].contains(value) {
            return Err(SpaceError::Repeated {
                text: text.to_string(),
                value: value.clone(),
            });
        }
    }
    Ok(values)
}

/// Refuses parameters that are given twice.
///
/// # Errors
/// Returns [`SpaceError::Twice`] with the first of them.
pub fn refuse_twice(parameters: &[Parameter]) -> Result<(), SpaceError> {
    for (number, one) in parameters.iter().enumerate() {
        if parameters[..number]
            .iter()
            .any(|other| other.key == one.key)
        {
            return Err(SpaceError::Twice(one.key.to_string()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_parameters() {
        let read = |text: &str| text.parse::<Parameter>().unwrap();
        let list = |values: &[&str]| Values::List(values.iter().map(|v| v.to_string()).collect());
        for (text, key, values) in [
            (
                "controller.cores=1..4",
                Key::Profile("controller.cores".into()),
                Values::Whole(1, 4),
            ),
            (
                "a.b=0.07..0.28",
                Key::Profile("a.b".into()),
                Values::Real(Range::new(0.07, 0.28, false).unwrap()),
            ),
            (
                "a.b=1..64:log",
                Key::Profile("a.b".into()),
                Values::Real(Range::new(1.0, 64.0, true).unwrap()),
            ),
            (
                "job.rw=read, write",
                Key::Job("rw".into()),
                list(&["read", "write"]),
            ),
            ("host=../a.toml,b", Key::Host, list(&["../a.toml", "b"])),
            ("precondition=none", Key::Precondition, list(&["none"])),
            (
                "n.r=[1, 2],[3]",
                Key::Profile("n.r".into()),
                list(&["[1, 2]", "[3]"]),
            ),
            (
                "n.s=\"a,b\"",
                Key::Profile("n.s".into()),
                list(&["\"a,b\""]),
            ),
            ("seed=3..3", Key::Seed, Values::Whole(3, 3)),
        ] {
            let expected = Parameter { key, values };
            assert_eq!(read(text), expected, "{text}");
        }
        for text in [
            "",
            "a",
            "=1",
            "a=",
            "a=1,",
            "a=,1",
            "a=4..1",
            "a=0.5..0.5",
            "a=1,1",
            "job.=1",
            "a=0..99999999",
            "a=nan..1.0",
            "a=0.0..inf",
            "a=0..1:log",
            "a=-1.5..1:log",
            "a=4..1:log",
        ] {
            assert!(text.parse::<Parameter>().is_err(), "{text}");
        }
        assert!(refuse_twice(&[read("a=1"), read("b=1"), read("a=2")]).is_err());
    }
}
