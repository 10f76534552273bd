//! A trace as a source of operations.
//!
//! The replay determines the address and the due time of each request. The runner determines the number of outstanding
//! requests, and the effect of a late device.

use super::error::MOST_YEARS;
use super::fit::fit;
use super::{Fit, Record, ReplayError, Trace};
use crate::{Op, OpKind, OpSource, TimedOp};
use nandscope_units::{Bytes, Nanos};

/// When requests are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timing {
    /// At the recorded times, whether or not the device keeps up.
    OpenLoop {
        /// Recorded time divided by replayed time: 2 is twice as fast. Above zero.
        speed: f64,
        /// Pauses between two requests longer than this are cut to it (after the speed is applied).
        ///
        /// A trace does not know when the recorded device became idle, so this counts from one
        /// request to the next. It is the half of [`Pacing::idle_cap`](crate::Pacing::idle_cap)
        /// that the source can do, and what AnandTech's suites did with 25 ms: give the same value
        /// here when a job asks for it. A runner that caps true idle time as well finds nothing
        /// left to cut.
        idle_cap: Option<Nanos>,
    },
    /// As fast as the queue depth of the pacing allows; recorded times are not used.
    ClosedLoop,
}

impl Default for Timing {
    /// Open loop at the recorded speed.
    fn default() -> Self {
        Timing::OpenLoop {
            speed: 1.0,
            idle_cap: None,
        }
    }
}

/// Options for replaying a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplayOptions {
    /// When requests are made.
    pub timing: Timing,
    /// Mapping to a device of another size.
    pub fit: Fit,
}

/// A trace being replayed.
#[derive(Clone, Debug)]
pub struct Replay {
    records: Vec<Record>,
    due: bool,
    next: usize,
    /// Start of the present pass: passes follow one another without a pause.
    pass_start: Nanos,
}

impl Replay {
    /// A replay of `trace` on a device of `capacity`.
    ///
    /// # Errors
    /// Returns [`ReplayError`] if a request reaches beyond the device and the fit is exact, the device is too small for
    /// the fit, a trace without times is to be replayed in an open loop, the speed is not above zero, or a request is
    /// due after more than a hundred years.
    pub fn new(
        trace: &Trace,
        options: &ReplayOptions,
        capacity: Bytes,
    ) -> Result<Replay, ReplayError> {
        let mut records = fit(trace, options.fit, capacity)?;
        if let Timing::OpenLoop { speed, idle_cap } = options.timing {
            if !trace.is_timed() {
                return Err(ReplayError::Untimed);
            }
            if speed.is_nan() || speed <= 0.0 {
                return Err(ReplayError::Speed);
            }
            retime(&mut records, speed, idle_cap.unwrap_or(Nanos::MAX));
            check_clock(&records)?;
        }
        Ok(Replay {
            records,
            due: matches!(options.timing, Timing::OpenLoop { .. }),
            next: 0,
            pass_start: Nanos::ZERO,
        })
    }

    /// Number of operations in one pass.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True for a trace without a request.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// When the last operation of a pass is due, from the start of the pass; zero in a closed loop.
    pub fn span(&self) -> Nanos {
        match self.records.last() {
            Some(last) if self.due => last.time,
            _ => Nanos::ZERO,
        }
    }
}

/// Refuses a trace whose passes take longer than [`MOST_YEARS`].
fn check_clock(records: &[Record]) -> Result<(), ReplayError> {
    const YEAR: u64 = 365 * 86_400 * 1_000_000_000;
    // Times never decrease.
    let beyond = records.partition_point(|r| r.time.0 <= MOST_YEARS * YEAR);
    match records.get(beyond) {
        Some(record) => Err(ReplayError::BeyondClock {
            record: beyond as u64 + 1,
            years: record.time.0 / YEAR,
        }),
        None => Ok(()),
    }
}

/// Recorded times become due times.
fn retime(records: &mut [Record], speed: f64, longest_gap: Nanos) {
    let scaled = |time: Nanos| {
        if speed == 1.0 {
            time
        } else {
            Nanos((time.0 as f64 / speed + 0.5) as u64)
        }
    };
    let (mut before, mut due) = (Nanos::ZERO, Nanos::ZERO);
    for record in records {
        let time = scaled(record.time);
        due += time.saturating_sub(before).min(longest_gap);
        before = time;
        record.time = due;
    }
}

impl OpSource for Replay {
    fn next_op(&mut self) -> Option<TimedOp> {
        let record = self.records.get(self.next)?;
        self.next += 1;
        Some(TimedOp {
            op: Op {
                kind: record.kind,
                offset: record.offset,
                length: record.length,
            },
            due: self.due.then(|| self.pass_start + record.time),
        })
    }

    fn restart(&mut self) {
        self.next = 0;
        self.pass_start += self.span();
    }

    fn expected_bytes(&self) -> Option<u64> {
        let moved = |r: &&Record| matches!(r.kind, OpKind::Read | OpKind::Write);
        let lengths = self.records.iter().filter(moved);
        Some(lengths.map(|r| u64::from(r.length)).sum())
    }

    fn largest(&self) -> Option<u32> {
        self.records.iter().map(|r| r.length).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(times_ms: &[u64]) -> Trace {
        let record = |&ms: &u64| Record {
            time: Nanos::from_millis(ms),
            offset: Bytes(ms * 4096),
            length: 4096,
            kind: OpKind::Write,
        };
        Trace::new(times_ms.iter().map(record).collect(), true, None)
    }

    fn dues_ms(replay: &mut Replay) -> Vec<Option<u64>> {
        std::iter::from_fn(|| replay.next_op())
            .map(|op| op.due.map(|d| d.0 / 1_000_000))
            .collect()
    }

    fn open(speed: f64, idle_cap: Option<Nanos>) -> ReplayOptions {
        ReplayOptions {
            timing: Timing::OpenLoop { speed, idle_cap },
            fit: Fit::Exact,
        }
    }

    const ROOM: Bytes = Bytes::gib(1);

    #[test]
    fn due_times() {
        let cap = Some(Nanos::from_millis(25));
        for (options, dues) in [
            (open(1.0, None), [0, 10, 40, 140]),
            (open(2.0, None), [0, 5, 20, 70]),
            (open(0.5, None), [0, 20, 80, 280]),
            (open(1.0, cap), [0, 10, 35, 60]),
            (open(2.0, cap), [0, 5, 20, 45]),
        ] {
            let mut replay = Replay::new(&trace(&[3, 13, 43, 143]), &options, ROOM).unwrap();
            assert_eq!(dues_ms(&mut replay), dues.map(Some), "{options:?}");
            assert_eq!(replay.next_op(), None);
        }
    }

    #[test]
    fn a_closed_loop_has_no_due_times() {
        let options = ReplayOptions {
            timing: Timing::ClosedLoop,
            fit: Fit::Exact,
        };
        let mut replay = Replay::new(&trace(&[0, 5]), &options, ROOM).unwrap();
        assert_eq!(replay.expected_bytes(), Some(8192));
        assert_eq!(dues_ms(&mut replay), [None, None]);
    }

    #[test]
    fn a_gap_beyond_the_clock_is_an_error_of_the_trace() {
        const HOUR_MS: u64 = 3_600_000;
        let gap = trace(&[0, 90 * 8_760 * HOUR_MS]);
        assert!(Replay::new(&gap, &open(1.0, None), Bytes(u64::MAX)).is_ok());
        let refused = Replay::new(&gap, &open(0.5, None), Bytes(u64::MAX)).unwrap_err();
        let expected = ReplayError::BeyondClock {
            record: 2,
            years: 180,
        };
        assert_eq!(refused, expected);
        let cap = Some(Nanos::from_millis(25));
        assert!(Replay::new(&gap, &open(0.5, cap), Bytes(u64::MAX)).is_ok());
        // Beyond the range of a time.
        let slowest = Replay::new(&gap, &open(1e-12, None), Bytes(u64::MAX)).unwrap_err();
        assert!(matches!(
            slowest,
            ReplayError::BeyondClock { record: 2, .. }
        ));
    }

    #[test]
    fn another_pass_follows_behind_the_first() {
        let mut replay = Replay::new(&trace(&[0, 10, 30]), &open(1.0, None), ROOM).unwrap();
        assert_eq!(dues_ms(&mut replay), [Some(0), Some(10), Some(30)]);
        replay.restart();
        assert_eq!(dues_ms(&mut replay), [Some(30), Some(40), Some(60)]);
        replay.restart();
        assert_eq!(dues_ms(&mut replay), [Some(60), Some(70), Some(90)]);
    }

    #[test]
    fn refuses_what_cannot_be() {
        let untimed = Trace::new(trace(&[0]).records().to_vec(), false, None);
        let replay = |t: &Trace, o| Replay::new(t, &o, ROOM).err();
        assert_eq!(
            replay(&untimed, open(1.0, None)),
            Some(ReplayError::Untimed)
        );
        for speed in [0.0, -1.0, f64::NAN] {
            assert_eq!(
                replay(&trace(&[0]), open(speed, None)),
                Some(ReplayError::Speed)
            );
        }
        assert_eq!(
            replay(
                &untimed,
                ReplayOptions {
                    timing: Timing::ClosedLoop,
                    fit: Fit::Exact
                }
            ),
            None
        );
    }
}
