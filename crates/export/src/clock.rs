//! The relation between the device's virtual time and the wall clock.

use nandscope_units::Nanos;
use std::str::FromStr;
use thiserror::Error;

/// Speed of virtual time relative to real time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// Seconds of virtual time per second of wall-clock time; 1 is the device's own speed.
    Times(f64),
    /// No pacing: requests complete as soon as they are computed.
    Max,
}

/// Outside this range results do not represent the device.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.001..=1e6;

/// A text that is not a speed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a speed; write `max`, or a number from {} to {}", SPEEDS.start(), SPEEDS.end())]
pub struct InvalidSpeed {
    text: String,
}

impl FromStr for Speed {
    type Err = InvalidSpeed;

    fn from_str(text: &str) -> Result<Self, InvalidSpeed> {
        if text == "max" {
            return Ok(Speed::Max);
        }
        match text.parse::<f64>() {
            Ok(times) if SPEEDS.contains(&times) => Ok(Speed::Times(times)),
            _ => Err(InvalidSpeed {
                text: text.to_string(),
            }),
        }
    }
}

/// Translates between wall time, counted from the start of the service, and the device's time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    speed: Speed,
    start: Nanos,
}

impl Clock {
    /// A clock whose wall time zero is the device's time `start`.
    pub const fn new(speed: Speed, start: Nanos) -> Self {
        Clock { speed, start }
    }

    /// Speed of the device's clock relative to real time.
    pub const fn speed(&self) -> Speed {
        self.speed
    }

    /// The virtual time at a wall-clock time; `None` at [`Speed::Max`], which ignores the wall clock.
    pub fn device_time(&self, wall: Nanos) -> Option<Nanos> {
        match self.speed {
            Speed::Max => None,
            Speed::Times(1.0) => Some(self.start + wall),
            Speed::Times(times) => Some(self.start + Nanos((wall.0 as f64 * times) as u64)),
        }
    }

    /// When, on the wall, the device's time `at` is reached; at [`Speed::Max`] at once.
    pub fn wall_time(&self, at: Nanos) -> Nanos {
        let since = at.saturating_sub(self.start);
        match self.speed {
            Speed::Max => Nanos::ZERO,
            Speed::Times(1.0) => since,
            // Rounded up: at the time on the wall the device's time has been reached.
            Speed::Times(times) => Nanos((since.0 as f64 / times).ceil() as u64),
        }
    }

    /// Real time of a span of the device's time.
    pub fn wall_span(&self, span: Nanos) -> Nanos {
        match self.speed {
            Speed::Max => Nanos::ZERO,
            Speed::Times(times) => Nanos((span.0 as f64 / times) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_or_refused() {
        assert_eq!("max".parse(), Ok(Speed::Max));
        assert_eq!("10".parse(), Ok(Speed::Times(10.0)));
        for text in ["", "0", "-1", "nan", "inf", "1e9", "fast"] {
            let error = text.parse::<Speed>().unwrap_err().to_string();
            assert!(error.contains("is not a speed"), "{error}");
        }
    }

    #[test]
    fn ten_times_faster_takes_a_tenth() {
        let clock = Clock::new(Speed::Times(10.0), Nanos(500));
        assert_eq!(clock.wall_time(Nanos(1500)), Nanos(100));
        assert_eq!(clock.device_time(Nanos(100)), Some(Nanos(1500)));
        assert_eq!(clock.wall_time(Nanos(0)), Nanos::ZERO);
        for at in (500..100_000).step_by(77) {
            let wall = clock.wall_time(Nanos(at));
            assert!(clock.device_time(wall).unwrap() >= Nanos(at));
        }
    }
}
