//! Pauses of a job: fio's think time, and the idle part of a duty cycle.
//!
//! Both follow the same pattern: after a burst of work the thread waits until all its operations are complete, and
//! then stays idle. This module calculates the start and length of the idle time; the thread waits.

use nandscope_units::Nanos;
use nandscope_workload::{DutyCycle, Pacing};

/// The pauses of one thread.
#[derive(Clone, Debug)]
pub(super) struct Pauses {
    think: Nanos,
    blocks: u32,
    /// Operating time after which a pause begins.
    after: Option<Nanos>,
    /// First operation since the last pause.
    awake_since: Option<Nanos>,
    since_think: u32,
    duty: Option<DutyCycle>,
    burst_spent: u64,
    burst_start: Option<Nanos>,
    drain: bool,
    /// Start of the current or last pause.
    from: Nanos,
    until: Nanos,
    /// Idle time of finished pauses within the measured window.
    idle: Nanos,
    measure_from: Nanos,
}

impl Pauses {
    /// Pauses of a thread that is measured from `measure_from` on.
    pub(super) fn new(pacing: &Pacing, measure_from: Nanos) -> Self {
        Pauses {
            think: pacing.thinktime,
            blocks: pacing.thinktime_blocks,
            after: pacing.think_after,
            awake_since: None,
            since_think: 0,
            duty: pacing.duty_cycle,
            burst_spent: 0,
            burst_start: None,
            drain: false,
            from: Nanos::ZERO,
            until: Nanos::ZERO,
            idle: Nanos::ZERO,
            measure_from,
        }
    }

    /// A reading, writing or trimming operation was issued.
    #[inline]
    pub(super) fn issued(&mut self, bytes: u32, now: Nanos) {
        if !self.think.is_zero() {
            self.since_think += 1;
            self.awake_since.get_or_insert(now);
            self.drain |= self.is_think_due(now);
        }
        if let Some(duty) = self.duty {
            self.burst_start.get_or_insert(now);
            self.burst_spent = self.burst_spent.saturating_add(u64::from(bytes));
            self.drain |= self.burst_spent >= duty.burst_bytes;
        }
    }

    /// Whether the next think time is due: by the number of operations, or by time.
    #[inline]
    fn is_think_due(&self, now: Nanos) -> bool {
        let by_count = self.blocks > 0 && self.since_think >= self.blocks;
        let by_time = self.after.zip(self.awake_since);
        by_count || by_time.is_some_and(|(after, since)| now.saturating_sub(since) >= after)
    }

    /// Whether no operation may be issued until all outstanding ones are complete.
    #[inline]
    pub(super) fn draining(&self) -> bool {
        self.drain
    }

    /// Begins the pause, after all outstanding operations are complete.
    pub(super) fn begin(&mut self, now: Nanos) {
        self.close(now);
        self.drain = false;
        let mut length = Nanos::ZERO;
        if !self.think.is_zero() && self.is_think_due(now) {
            self.since_think = 0;
            self.awake_since = None;
            length = self.think;
        }
        if let Some(duty) = self.duty
            && self.burst_spent >= duty.burst_bytes
        {
            let busy = now.saturating_sub(self.burst_start.take().unwrap_or(now));
            self.burst_spent = 0;
            length = length.max(idle_after(busy, duty.busy_percent));
        }
        (self.from, self.until) = (now, now + length);
    }

    /// End of the current or last pause.
    #[inline]
    pub(super) fn until(&self) -> Nanos {
        self.until
    }

    /// Idle time within the measured window of a thread that ended at `end`.
    pub(super) fn idle(&mut self, end: Nanos) -> Nanos {
        self.close(end);
        self.idle
    }

    /// Counts the time of the current pause up to `now`.
    fn close(&mut self, now: Nanos) {
        let from = self.from.max(self.measure_from);
        self.idle += self.until.min(now).saturating_sub(from);
        self.from = self.until;
    }
}

/// How long a thread stays idle after a burst that took `busy`, so that bursts take
/// `busy_percent` of the time: busy · (100 - p) / p.
fn idle_after(busy: Nanos, busy_percent: u32) -> Nanos {
    let p = u128::from(busy_percent.clamp(1, 100));
    let idle = u128::from(busy.0) * (100 - p) / p;
    Nanos(u64::try_from(idle).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_duty_cycle() {
        let cases = [(20, 4_000), (50, 1_000), (100, 0), (1, 99_000), (80, 250)];
        for (percent, idle) in cases {
            assert_eq!(
                idle_after(Nanos(1_000), percent),
                Nanos(idle),
                "{percent} %"
            );
        }
    }

    #[test]
    fn idle_time_counts_only_inside_the_measured_window() {
        let pacing = Pacing {
            thinktime: Nanos(100),
            ..Pacing::default()
        };
        let mut p = Pauses::new(&pacing, Nanos(150));
        p.issued(512, Nanos(90));
        assert!(p.draining());
        p.begin(Nanos(100));
        assert_eq!(p.until(), Nanos(200));
        p.issued(512, Nanos(200));
        p.begin(Nanos(210));
        // From 150 to 200 in the first pause, and from 210 to 250 in the second, which is cut short.
        assert_eq!(p.idle(Nanos(250)), Nanos(90));
    }
}
