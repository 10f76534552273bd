//! Progress of preconditioning a device before a run: on a terminal a line; otherwise a note if it takes long, and one
//! every half minute.

use super::progress::Line;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use nandscope_experiment::{PreconditionError, Preparation};
use std::time::{Duration, Instant};

/// Shortest time between two updates of the line, so that drawing costs little.
const DRAW: Duration = Duration::from_millis(100);
/// Finished share of a part from which the time left is estimated; it is small, since all steps take equally long.
const SETTLED: f64 = 0.001;
/// A part that takes longer than this is announced, seconds.
const LONG: f64 = 60.0;

/// Shows the progress of a device on its way to its initial state.
pub struct PreparationLine {
    line: Line,
    console: Console,
    drawn: Instant,
    overwrites: bool,
    is_announced: bool,
}

impl PreparationLine {
    /// A line that is not drawn yet.
    pub fn new(console: &Console) -> Self {
        PreparationLine {
            line: Line::new("prepare"),
            console: *console,
            drawn: Instant::now(),
            overwrites: false,
            is_announced: false,
        }
    }

    /// Shows the present progress.
    pub fn show(&mut self, now: &Preparation) {
        if self.drawn.elapsed() < DRAW {
            return;
        }
        self.drawn = Instant::now();
        if now.overwrites != self.overwrites {
            self.overwrites = now.overwrites;
            self.is_announced = false;
            self.line.begin_part();
        }
        let fraction = now.fraction();
        let mut text = now.text();
        let left = self.line.seconds_left(fraction, SETTLED);
        if let Some(left) = left {
            let least = if now.until_steady { "at least " } else { "" };
            text.push_str(&format!(", {least}{left:.0} s left"));
        }
        let is_long = left.is_some_and(|left| left > LONG);
        let announces = is_long && !self.is_announced;
        self.is_announced |= is_long;
        self.line.draw(fraction, text, announces, &self.console);
    }

    /// Removes the line from the terminal.
    pub fn clear(&self) {
        self.line.clear();
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
