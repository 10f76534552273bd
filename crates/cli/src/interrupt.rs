//! Requests to stop: Ctrl-C (SIGINT), SIGTERM, and SIGHUP when a terminal is closed. The first one ends the run in an
//! orderly way; a second Ctrl-C or SIGTERM ends the program at once. The command decides about the partial result; a
//! command without one ends at the first request.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time within which several signals are one request: `timeout` sends SIGTERM to the process and then to its group.
const ONE_REQUEST: Duration = Duration::from_millis(500);

/// Exit code of a program that is ended at once: that of an interrupted run.
const INTERRUPTED: i32 = 130;

/// Whether somebody asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    asked: AtomicBool,
    /// The next signal ends the program.
    ends_at_once: AtomicBool,
}

impl Interrupt {
    /// Begins to listen.
    ///
    /// # Errors
    /// `Exit::File` if the system does not let signals be caught.
    pub fn listen() -> Result<Self, Failure> {
        let refused = |e| Failure::file(format!("cannot handle Ctrl-C: {e}"));
        let interrupt = Interrupt::default();
        let mut signals = vec![SIGINT, SIGTERM];
        if !is_ignored(SIGHUP) {
            signals.push(SIGHUP);
        }
        let mut signals = Signals::new(signals).map_err(refused)?;
        let state = interrupt.0.clone();
        std::thread::Builder::new()
            .name("signals".to_string())
            .spawn(move || {
                let mut requests = Requests::default();
                for signal in signals.forever() {
                    let answer = requests.hear(signal, Instant::now());
                    state.asked.store(true, Ordering::SeqCst);
                    let ends_at_once = state.ends_at_once.load(Ordering::SeqCst);
                    if ends_at_once || answer == Answer::EndAtOnce {
                        exit();
                    }
                }
            })
            .map_err(refused)?;
        Ok(interrupt)
    }

    /// Whether to stop.
    pub fn asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// From now on a signal ends the program at once, without partial files: all measured data is on the disk.
    pub fn end_at_once(&self) {
        self.0.ends_at_once.store(true, Ordering::SeqCst);
        // A signal that came before was only noted. Each side writes its flag before it reads the other's, so one of them exits.
        if self.0.asked.load(Ordering::SeqCst) {
            exit();
        }
    }
}

/// Ends the program at once, without partial files.
fn exit() {
    nandscope_files::abandon_all();
    low_level::exit(INTERRUPTED);
}

/// Reaction to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Stop,
    EndAtOnce,
}

/// Distinguishes a second request from a repeated signal of the first.
#[derive(Debug, Default)]
struct Requests {
    first: Option<Instant>,
}

impl Requests {
    /// A closed terminal is not a second request: whoever ends its session may send more than SIGHUP.
    fn hear(&mut self, signal: i32, now: Instant) -> Answer {
        if signal == SIGHUP {
            return Answer::Stop;
        }
        let first = *self.first.get_or_insert(now);
        if now.duration_since(first) < ONE_REQUEST {
            Answer::Stop
        } else {
            Answer::EndAtOnce
        }
    }
}

/// Whether this process was started with a signal ignored, as `nohup` does with SIGHUP; it then stays so.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_within_a_moment_are_one_request() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut requests = Requests::default();
        for (signal, ms, answer) in [
            (SIGTERM, 0, Answer::Stop),
            (SIGTERM, 1, Answer::Stop),
            (SIGINT, 499, Answer::Stop),
            (SIGHUP, 5000, Answer::Stop),
            (SIGINT, 5001, Answer::EndAtOnce),
        ] {
            assert_eq!(requests.hear(signal, at(ms)), answer, "{signal} at {ms} ms");
        }
    }

    #[test]
    fn the_end_of_a_session_is_no_second_request() {
        let begin = Instant::now();
        let at = |s| begin + Duration::from_secs(s);
        let mut requests = Requests::default();
        for (signal, s, answer) in [
            (SIGHUP, 0, Answer::Stop),
            (SIGHUP, 1, Answer::Stop),
            (SIGTERM, 2, Answer::Stop),
            (SIGTERM, 3, Answer::EndAtOnce),
        ] {
            assert_eq!(requests.hear(signal, at(s)), answer, "{signal} at {s} s");
        }
    }
}
