//! The probed target with its budget: counts writes and time, can restrict a measurement to a part of the target, and runs
//! operations at a queue depth.

use crate::timed::ProbeError;
use nandscope_measure::target::{Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// A target that counts its operations, bytes and time.
#[derive(Debug)]
pub struct Metered<T> {
    target: T,
    shown: Bytes,
    begin: Bytes,
    /// Bytes written so far.
    pub written: u64,
    /// Write budget, bytes; a write that exceeds it is refused.
    pub limit: u64,
    /// End of the probe on the target's clock. An operation that might end later is refused.
    pub end: Nanos,
    /// Why the last refused operation was refused.
    pub refused: Option<Refused>,
    /// Longest time of one operation, without waiting for earlier ones.
    longest: Nanos,
    last_completed: Nanos,
    began: Nanos,
    outstanding: u32,
    completed: u64,
    replies: Vec<Reply>,
}

/// Exhausted part of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The write budget.
    Writes,
    /// The time.
    Time,
}

/// Time of one operation above which it counts as a merge: stalls of a host are shorter.
const MINUTE: Nanos = Nanos::from_secs(60);

impl<T: Target> Metered<T> {
    /// Starts with zero counts and the whole target visible.
    pub fn new(target: T) -> Self {
        Metered {
            shown: target.capacity(),
            begin: Bytes(0),
            began: target.now(),
            outstanding: 0,
            completed: 0,
            target,
            written: 0,
            limit: u64::MAX,
            end: Nanos::MAX,
            refused: None,
            longest: Nanos::ZERO,
            last_completed: Nanos::ZERO,
            replies: Vec::new(),
        }
    }

    /// Refuses an operation if there is no time: it may take as long as the longest so far (twice that if it was longer than a
    /// minute), after the outstanding ones, which take the mean time of an operation each.
    fn check_time(&mut self) -> Result<(), TargetError> {
        let spent = self.target.now().saturating_sub(self.began);
        let mean = spent.0 / self.completed.max(1);
        let before = Nanos(mean.saturating_mul(u64::from(self.outstanding)));
        if before < self.time_left() {
            return Ok(());
        }
        Err(self.time_is_spent())
    }

    /// Remaining time in which an operation may start.
    pub(super) fn time_left(&self) -> Nanos {
        // The merge of a large AU takes minutes, and the next one may have to copy twice as much.
        let may = match self.longest > MINUTE {
            true => Nanos(self.longest.0.saturating_mul(2)),
            false => self.longest,
        };
        self.end.saturating_sub(self.target.now() + may)
    }

    /// Number of completed operations.
    pub(super) fn ended(&self) -> u64 {
        self.completed
    }

    fn time_is_spent(&mut self) -> TargetError {
        self.refused = Some(Refused::Time);
        TargetError::Other("the budget of time is spent".to_string())
    }

    fn note(&mut self, replies: &[Reply]) {
        self.completed += replies.len() as u64;
        for reply in replies {
            // Operations that wait for earlier ones start when those complete: one stall delays all outstanding ones, but counts
            // once.
            let began = reply.submitted.max(self.last_completed);
            self.longest = self.longest.max(reply.completed.saturating_sub(began));
            self.last_completed = self.last_completed.max(reply.completed);
        }
    }

    /// Restricts the visible target to its first `bytes`, or makes it whole again.
    pub fn show(&mut self, bytes: Bytes) {
        self.shown = bytes.min(self.whole());
    }

    /// Moves the visible start of the target to `begin` and makes the rest visible, so that an AU boundary there can be measured
    /// like one at the start.
    pub fn begin_at(&mut self, begin: Bytes) {
        self.begin = begin.min(self.target.capacity());
        self.shown = self.whole();
    }

    /// Capacity from the visible start on, whether visible or not.
    pub fn whole(&self) -> Bytes {
        Bytes(self.target.capacity().0 - self.begin.0)
    }

    /// Idles for a time.
    ///
    /// # Errors
    /// `ProbeError::Stopped` if the time left is shorter; `ProbeError::Failed` if the target is gone.
    pub fn idle(&mut self, time: Nanos) -> Result<(), ProbeError> {
        self.replies.clear();
        let until = self.target.now() + time;
        if until > self.end {
            self.refused = Some(Refused::Time);
            return Err(ProbeError::Stopped);
        }
        while self.target.now() < until {
            self.target
                .wait(until, &mut self.replies)
                .map_err(|e| ProbeError::Failed(e.to_string()))?;
        }
        Ok(())
    }

    /// Flushes the write buffer; does nothing on a target without flushes.
    ///
    /// # Errors
    /// `ProbeError::Failed` if the target is gone.
    pub fn flush(&mut self) -> Result<(), ProbeError> {
        // A flush has no offset.
        let request = Request {
            tag: 0,
            kind: OpKind::Flush,
            offset: Bytes(0),
            length: 0,
            durable: false,
            thread: 0,
        };
        self.single(request).map(|_| ())
    }

    /// Discards a range shorter than 4 GiB; returns the outcome, or `None` if the target did not answer.
    ///
    /// # Errors
    /// `ProbeError::Failed` if the target is gone.
    pub fn discard(&mut self, offset: Bytes, length: Bytes) -> Result<Option<Outcome>, ProbeError> {
        self.single(Request {
            tag: 0,
            kind: OpKind::Trim,
            offset: Bytes(offset.0 + self.begin.0),
            length: u32::try_from(length.0).unwrap_or(u32::MAX),
            durable: false,
            thread: 0,
        })
    }

    /// Executes one operation; its offset counts from the start of the target, not from the visible start.
    fn single(&mut self, request: Request) -> Result<Option<Outcome>, ProbeError> {
        let failed = |e: TargetError| ProbeError::Failed(e.to_string());
        self.check_time().map_err(failed)?;
        self.target.submit(request).map_err(failed)?;
        let mut replies = std::mem::take(&mut self.replies);
        replies.clear();
        self.target.wait(Nanos::MAX, &mut replies).map_err(failed)?;
        self.note(&replies);
        let outcome = replies.first().map(|r| r.outcome);
        self.replies = replies;
        Ok(outcome)
    }

    /// Runs operations at all `places` at queue depth `depth`; returns the completion times since the start, in the order of
    /// completion.
    ///
    /// # Errors
    /// `ProbeError::Failed` if an operation fails or the target is gone.
    pub fn many(
        &mut self,
        kind: OpKind,
        places: &[u64],
        length: u32,
        depth: u32,
    ) -> Result<Vec<Nanos>, ProbeError> {
        let began = self.target.now();
        let mut next = 0;
        let mut outstanding = 0;
        let mut times = Vec::with_capacity(places.len());
        let failed = |e: TargetError| ProbeError::Failed(e.to_string());
        while next < places.len() || outstanding > 0 {
            // The very first operation runs alone: the time of several is not known yet.
            let most = if self.completed == 0 { 1 } else { depth };
            while outstanding < most && next < places.len() {
                self.submit(Request {
                    tag: next as u32,
                    kind,
                    offset: Bytes(places[next]),
                    length,
                    durable: false,
                    thread: 0,
                })
                .map_err(failed)?;
                next += 1;
                outstanding += 1;
            }
            let mut replies = std::mem::take(&mut self.replies);
            replies.clear();
            self.wait(Nanos::MAX, &mut replies).map_err(failed)?;
            if replies.is_empty() {
                return Err(ProbeError::Failed(
                    "the target does not respond".to_string(),
                ));
            }
            for reply in &replies {
                outstanding -= 1;
                match reply.outcome {
                    Outcome::Done => times.push(self.target.now().saturating_sub(began)),
                    Outcome::Failed(why) => return Err(ProbeError::Failed(why.to_string())),
                    Outcome::Unsupported => {
                        return Err(ProbeError::Failed("the target cannot do it".to_string()));
                    }
                }
            }
            self.replies = replies;
        }
        Ok(times)
    }
}

impl<T: Target> Target for Metered<T> {
    fn now(&self) -> Nanos {
        self.target.now()
    }

    fn capacity(&self) -> Bytes {
        self.shown
    }

    fn submit(&mut self, mut request: Request) -> Result<(), TargetError> {
        self.check_time()?;
        request.offset.0 += self.begin.0;
        if request.kind == OpKind::Write {
            let written = self.written + u64::from(request.length);
            if written > self.limit {
                self.refused = Some(Refused::Writes);
                let why = "the budget of writes is spent";
                return Err(TargetError::Other(why.to_string()));
            }
            self.written = written;
        }
        self.target.submit(request)?;
        self.outstanding += 1;
        Ok(())
    }

    /// Waits, at most until the end of the probe: an operation may take longer than any before it.
    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        let before = replies.len();
        self.target.wait(until.min(self.end), replies)?;
        let ended = &replies[before..];
        self.outstanding = self.outstanding.saturating_sub(ended.len() as u32);
        self.note(ended);
        if ended.is_empty() && self.outstanding > 0 && until > self.end {
            return Err(self.time_is_spent());
        }
        Ok(())
    }

    fn contents(&mut self, offset: Bytes, length: u32) -> Result<Option<Vec<u8>>, TargetError> {
        self.target.contents(Bytes(offset.0 + self.begin.0), length)
    }

    fn reading(&mut self) -> Reading {
        self.target.reading()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that records requests and answers at once.
    #[derive(Default)]
    struct Log {
        reached: Vec<(OpKind, u64, u32)>,
        waiting: Vec<Reply>,
        /// Current time of a target that never answers; `None` if it answers.
        stuck: Option<Nanos>,
    }

    impl Target for Log {
        fn now(&self) -> Nanos {
            let answered = Nanos::from_secs(10 * self.reached.len() as u64);
            self.stuck.unwrap_or(answered)
        }

        fn capacity(&self) -> Bytes {
            Bytes(1 << 20)
        }

        fn submit(&mut self, request: Request) -> Result<(), TargetError> {
            let Request { kind, offset, .. } = request;
            self.reached.push((kind, offset.0, request.length));
            self.waiting.push(Reply {
                tag: request.tag,
                submitted: Nanos::ZERO,
                completed: Nanos::from_secs(10),
                outcome: Outcome::Done,
            });
            Ok(())
        }

        fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
            if let Some(present) = &mut self.stuck {
                *present = until;
                return Ok(());
            }
            replies.append(&mut self.waiting);
            Ok(())
        }

        fn reading(&mut self) -> Reading {
            Reading::default()
        }
    }

    #[test]
    fn no_operation_begins_that_might_end_too_late() {
        let mut target = Metered::new(Log::default());
        target.end = Nanos::from_secs(45);
        let error = target.many(OpKind::Read, &[0; 9], 512, 1).unwrap_err();
        assert!(matches!(error, ProbeError::Failed(why) if why.contains("time")));
        assert_eq!(target.refused, Some(Refused::Time));
        // Operations take 10 s each: the fifth would end at 50 s.
        assert_eq!(target.target.reached.len(), 4);
        assert_eq!(target.idle(Nanos::from_secs(6)), Err(ProbeError::Stopped));
    }

    #[test]
    fn an_operation_is_not_waited_for_beyond_the_time() {
        let mut target = Metered::new(Log {
            stuck: Some(Nanos::ZERO),
            ..Log::default()
        });
        target.end = Nanos::from_secs(45);
        let error = target.many(OpKind::Read, &[0], 512, 1).unwrap_err();
        assert!(matches!(error, ProbeError::Failed(why) if why.contains("time")));
        assert_eq!(target.refused, Some(Refused::Time));
        assert_eq!(target.now(), target.end);
    }

    #[test]
    fn after_a_long_merge_a_longer_one_must_fit() {
        let mut target = Metered::new(Log::default());
        let reply = Reply {
            tag: 0,
            submitted: Nanos::ZERO,
            completed: Nanos::from_secs(100),
            outcome: Outcome::Done,
        };
        target.note(&[reply]);
        target.end = Nanos::from_secs(201);
        assert!(target.check_time().is_ok());
        target.end = Nanos::from_secs(199);
        assert!(target.check_time().is_err());
    }

    #[test]
    fn operations_that_wait_for_others_are_counted() {
        let mut target = Metered::new(Log::default());
        target.end = Nanos::from_secs(35);
        let request = Request {
            tag: 0,
            kind: OpKind::Read,
            offset: Bytes(0),
            length: 512,
            durable: false,
            thread: 0,
        };
        let mut replies = Vec::new();
        target.submit(request).unwrap();
        target.wait(Nanos::MAX, &mut replies).unwrap();
        // Operations take 10 s each: the second would end at 20 s, the third at 40 s.
        target.submit(request).unwrap();
        assert!(target.submit(request).is_err());
        assert_eq!(target.refused, Some(Refused::Time));
    }

    #[test]
    fn the_longest_operation_is_told_from_a_long_queue() {
        let mut target = Metered::new(Log::default());
        let reply = |submitted, completed| Reply {
            tag: 0,
            submitted: Nanos::from_secs(submitted),
            completed: Nanos::from_secs(completed),
            outcome: Outcome::Done,
        };
        target.note(&[reply(0, 10), reply(0, 20), reply(0, 30)]);
        assert_eq!(target.longest, Nanos::from_secs(10));
        target.note(&[reply(40, 55)]);
        assert_eq!(target.longest, Nanos::from_secs(15));
    }

    #[test]
    fn every_operation_with_a_place_begins_where_the_target_is_shown_from() {
        let mut target = Metered::new(Log::default());
        target.begin_at(Bytes(512));
        target.flush().unwrap();
        let ended = target.discard(Bytes(4096), Bytes(8192)).unwrap();
        assert_eq!(ended, Some(Outcome::Done));
        target.many(OpKind::Write, &[0], 512, 1).unwrap();
        let reached = [
            (OpKind::Flush, 0, 0),
            (OpKind::Trim, 4608, 8192),
            (OpKind::Write, 512, 512),
        ];
        assert_eq!(target.target.reached, reached);
        assert_eq!(target.written, 512);
    }
}
