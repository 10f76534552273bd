//! Progress of preconditioning a device before a run: on a terminal a line; otherwise a note if it takes long, and one
//! every half minute.

use super::progress::Line;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use nandscope_experiment::{PreconditionError, Preparation};
use nandscope_units::Bytes;
use std::time::{Duration, Instant};

/// Shortest time between two updates of the line, so that drawing costs little.
const DRAW: Duration = Duration::from_millis(100);
/// Time at a level speed, seconds, and finished share of a part from which the time left is estimated. The share is small,
/// since all steps take about equally long.
const SETTLED_S: f64 = 1.0;
const SETTLED: f64 = 0.001;
/// A preparation that takes longer than this is announced, seconds.
const LONG: f64 = 60.0;

/// Shows the progress of a device on its way to its initial state.
pub struct PreparationLine {
    line: Line,
    console: Console,
    began: Instant,
    drawn: Instant,
    overwrites: bool,
    is_announced: bool,
    /// Time since which the speed of the present part is level, and what had been written then.
    level: Option<(Instant, Bytes)>,
}

impl PreparationLine {
    /// A line that is not drawn yet.
    pub fn new(console: &Console) -> Self {
        PreparationLine {
            line: Line::new("prepare"),
            console: *console,
            began: Instant::now(),
            drawn: Instant::now(),
            overwrites: false,
            is_announced: false,
            level: Some((Instant::now(), Bytes::ZERO)),
        }
    }

    /// Shows the present progress.
    pub fn show(&mut self, now: &Preparation) {
        if now.overwrites != self.overwrites {
            self.overwrites = now.overwrites;
            self.is_announced = false;
            self.level = None;
        }
        if self.level.is_none() && now.written >= now.level_from {
            self.level = Some((Instant::now(), now.written));
        }
        if self.drawn.elapsed() < DRAW {
            return;
        }
        self.drawn = Instant::now();
        let mut text = now.text();
        let mut is_due = false;
        if let Some((from, seconds)) = self.settled(now) {
            let left = now.seconds_left(from, seconds);
            let about = if now.is_first { "at least" } else { "about" };
            let whole = self.began.elapsed().as_secs_f64() + left;
            if whole > LONG && !self.is_announced {
                is_due = true;
                text = format!(
                    "this takes {about} {}, because {}",
                    duration(whole),
                    now.reason(from, seconds)
                );
            } else {
                text.push_str(&format!(", {about} {} left", duration(left)));
            }
            self.is_announced |= is_due;
        }
        self.line.draw(now.fraction(), text, is_due, &self.console);
    }

    /// Bytes written before the speed became level, and seconds since then. `None` for the first second and the first
    /// thousandth of the expected bytes, which are too few for an estimate.
    fn settled(&self, now: &Preparation) -> Option<(Bytes, f64)> {
        let (since, from) = self.level?;
        let seconds = since.elapsed().as_secs_f64();
        let done = now.written.0.saturating_sub(from.0) as f64;
        let is_settled = seconds > SETTLED_S && done > SETTLED * now.expected.0 as f64;
        is_settled.then_some((from, seconds))
    }

    /// Removes the line from the terminal.
    pub fn clear(&self) {
        self.line.clear();
    }
}

/// Seconds in words: whole seconds up to two minutes, then minutes or hours.
fn duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A device that is not brought into its state.
pub fn failure(error: &PreconditionError) -> Failure {
    match error {
        PreconditionError::Stopped => Failure::new(Exit::Interrupted, error),
        PreconditionError::Unsteady(_) | PreconditionError::ReadOnly => {
            Failure::new(Exit::Partial, error)
        }
        error => Failure::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_words() {
        for (seconds, text) in [
            (0.4, "0 s"),
            (119.0, "119 s"),
            (121.0, "2 min"),
            (3600.0, "60 min"),
            (9000.0, "2.5 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
