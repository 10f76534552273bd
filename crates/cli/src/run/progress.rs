//! The progress of a run on standard error: a line if that is a terminal, otherwise notes at most.

use crate::console::{Console, on_one_line};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nandscope_measure::runner::{Observer, Progress};
use nandscope_units::Nanos;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

const STEPS: u64 = 1000;
/// Elapsed time before which the time left is not estimated.
const SETTLED: Duration = Duration::from_secs(1);
/// Time between progress notes without a terminal.
const TELL: Duration = Duration::from_secs(30);

/// A line that is redrawn in place.
pub struct Line {
    bar: ProgressBar,
    began: Instant,
    told: Instant,
    /// Suffix of times of the target's clock.
    clock: &'static str,
}

impl Line {
    /// A line for one group of jobs; hidden if standard error is not a terminal.
    pub fn new(title: &str) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        // The message is truncated to the line: a wrapped line would not be overwritten.
        let style = ProgressStyle::with_template("{prefix} {bar:12} {percent:>3} % {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(on_one_line(title));
        Line {
            bar,
            began: Instant::now(),
            told: Instant::now(),
            clock: " virtual",
        }
    }

    /// For a target in real time: its times are not marked as virtual.
    pub fn in_real_time(mut self) -> Self {
        self.clock = "";
        self
    }

    /// A time of the target's clock, in words.
    pub fn time(&self, at: Nanos) -> String {
        format!("{at}{}", self.clock)
    }

    /// Shows the current activity if its share is not known.
    pub fn say(&self, what: &str) {
        self.bar.set_message(on_one_line(what));
        self.bar.tick();
    }

    /// Removes the line from the terminal.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Line {
    /// Shows the finished share, from 0 to 1 if it is known, and the current activity.
    pub fn show(&self, fraction: Option<f64>, mut text: String) {
        if let Some(fraction) = fraction {
            self.bar.set_position((fraction * STEPS as f64) as u64);
            if let Some(left) = self.seconds_left(fraction, 0.01) {
                text.push_str(&format!(", {left:.0} s left"));
            }
        }
        self.bar.set_message(on_one_line(&text));
    }

    /// Begins a part with a different speed: the time left is estimated from its start.
    pub fn begin_part(&mut self) {
        self.began = Instant::now();
    }

    /// Shows a share from 0 to 1, and a text that includes the time left. Without a terminal it prints the text as a
    /// note every half minute, or at once if `due`.
    pub fn draw(&mut self, fraction: f64, text: String, due: bool, console: &Console) {
        self.note(due, &text, console);
        self.bar.set_position((fraction * STEPS as f64) as u64);
        self.bar.set_message(on_one_line(&text));
    }

    /// Prints a note if there is no terminal, and it is `due` or the last note was half a minute ago.
    fn note(&mut self, due: bool, text: &str, console: &Console) {
        if self.bar.is_hidden() && (due || self.told.elapsed() > TELL) {
            self.told = Instant::now();
            console.note(&format!("{}: {text}", self.bar.prefix()));
        }
    }

    /// Seconds that the rest takes at the speed so far; `None` in the first second and up to the `least`
    /// share, while that would be a guess.
    pub fn seconds_left(&self, fraction: f64, least: f64) -> Option<f64> {
        let elapsed = self.began.elapsed();
        let is_settled = elapsed > SETTLED && fraction > least;
        is_settled.then(|| elapsed.as_secs_f64() * (1.0 - fraction) / fraction)
    }
}

impl Line {
    /// As [`Self::show`] for long work; without a terminal it prints notes, every half minute and at each step that has no
    /// share.
    pub fn tell(&mut self, fraction: Option<f64>, text: String, console: &Console) {
        self.note(fraction.is_none(), &text, console);
        self.show(fraction, text);
    }
}

impl Observer for Line {
    fn progress(&mut self, progress: &Progress) {
        let text = format!(
            "{}, {:.1} GB",
            self.time(progress.elapsed),
            progress.bytes.as_gb()
        );
        self.show(progress.fraction, text);
    }
}
