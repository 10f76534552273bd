//! The state in which a device is before a run: as it came from the factory, or filled.

use nandscope_device::{Device, Fill};
use std::str::FromStr;
use thiserror::Error;

/// Why a device is not brought into a state.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PreconditionError {
    /// The state has another form.
    #[error("unknown state; use none, sequential[:PERCENT] or random[:PERCENT]")]
    Form,
    /// The fullness is out of range.
    #[error("`{0}` is not a percentage; give a number above 0 and up to 100")]
    Percent(String),
    /// Commands are outstanding, which before a run would be a fault of the program.
    #[error("the device has commands outstanding and cannot be filled")]
    Busy,
}

/// How a device is prepared, as on the command line: `none`, `sequential`, `random`, each fill
/// with `:PERCENT` of the capacity behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// As it is.
    None,
    /// Written from the start up to this percentage, in order.
    Sequential(f64),
    /// The same units, once each, in random order.
    Random(f64),
}

impl FromStr for Precondition {
    type Err = PreconditionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (how, percent) = match text.split_once(':') {
            None => (text, 100.0),
            Some((how, percent)) => {
                let number = percent.trim_end_matches('%').parse::<f64>();
                match number {
                    Ok(n) if n > 0.0 && n <= 100.0 => (how, n),
                    _ => return Err(PreconditionError::Percent(percent.to_string())),
                }
            }
        };
        match how {
            "none" if text == "none" => Ok(Precondition::None),
            "sequential" => Ok(Precondition::Sequential(percent)),
            "random" => Ok(Precondition::Random(percent)),
            _ => Err(PreconditionError::Form),
        }
    }
}

impl Precondition {
    /// Brings a device into this state, in no time of its clock.
    ///
    /// # Errors
    /// Returns [`PreconditionError::Busy`] if commands are outstanding.
    pub fn apply(self, device: &mut Device, seed: u64) -> Result<(), PreconditionError> {
        let (percent, fill) = match self {
            Precondition::None => return Ok(()),
            Precondition::Sequential(percent) => (percent, Fill::Sequential),
            Precondition::Random(percent) => (percent, Fill::Random { seed }),
        };
        if device.precondition(percent / 100.0, fill) {
            Ok(())
        } else {
            Err(PreconditionError::Busy)
        }
    }

    /// In words, for the result document.
    pub fn describe(self) -> Option<String> {
        match self {
            Precondition::None => None,
            Precondition::Sequential(p) => Some(format!("filled to {p} % in order")),
            Precondition::Random(p) => Some(format!("filled to {p} % in random order")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, state) in [
            ("none", Precondition::None),
            ("sequential", Precondition::Sequential(100.0)),
            ("random:80", Precondition::Random(80.0)),
            ("random:12.5%", Precondition::Random(12.5)),
        ] {
            assert_eq!(text.parse(), Ok(state));
        }
        for text in ["", "none:5", "random:0", "random:101", "random:x", "full"] {
            assert!(text.parse::<Precondition>().is_err(), "{text}");
        }
    }
}
