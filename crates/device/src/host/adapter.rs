//! [`Adapter`], a host bus adapter or RAID controller between driver and drive. Its firmware passes commands on one after
//! another, and holds completions back while many come, so that several share an interrupt.

use crate::invariant::{Checked, check_near, ensure};
use crate::profile::host::{Chain, Moderation};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// The adapter of a host path. Without rate limit and moderation it does nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Adapter {
    /// Time from which the firmware can pass the next command on.
    free: Nanos,
    /// End of the present period, in which so many commands have ended so far.
    period_end: Nanos,
    ended: u64,
    /// Whether completions of the present period are held.
    holds: bool,
    /// Commands that have ended and wait for the next interrupt, in the order in which they ended.
    held: Vec<u32>,
}

/// What becomes of a command that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The host sees it at once.
    Seen,
    /// It waits for an interrupt that is planned.
    Held,
    /// It is the first to wait; the interrupt is to be planned for this time.
    Opens(Nanos),
}

impl Adapter {
    /// Time at which the firmware passes on a command that reaches it at `arrival`.
    #[inline]
    pub(crate) fn pass(&mut self, arrival: Nanos, chain: &Chain) -> Nanos {
        if chain.gap.is_zero() {
            return arrival;
        }
        let passed = arrival.max(self.free);
        self.free = passed + chain.gap;
        passed
    }

    /// Decides on the completion of a command that has ended now.
    pub(crate) fn end(&mut self, index: u32, now: Nanos, moderation: &Moderation) -> Ending {
        if now >= self.period_end {
            let follows = now - self.period_end < moderation.period;
            self.holds = follows && self.ended > moderation.most;
            self.ended = 0;
            let periods = now.0 / moderation.period.0 + 1;
            self.period_end = Nanos(periods * moderation.period.0);
        }
        self.ended += 1;
        if !self.holds && self.held.is_empty() {
            return Ending::Seen;
        }
        self.held.push(index);
        match self.held.len() {
            1 => Ending::Opens(now + moderation.hold),
            _ => Ending::Held,
        }
    }

    /// Commands whose completions an interrupt reports.
    pub(crate) fn interrupt(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.held)
    }

    /// Commands that wait for the next interrupt.
    pub(crate) fn held(&self) -> &[u32] {
        &self.held
    }

    /// Checks that the host path has what the state shows, and that held completions have their one interrupt.
    pub(crate) fn audit(&self, chain: &Chain, interrupts: u32, now: Nanos) -> Checked {
        check_near("the next command of the adapter", self.free, now)?;
        ensure!(
            chain.moderation.is_some() || (self.held.is_empty() && self.period_end.is_zero()),
            "completions are held, but the host does not hold any"
        );
        ensure!(
            interrupts == u32::from(!self.held.is_empty()),
            "{} completions are held, and {interrupts} interrupts are planned",
            self.held.len()
        );
        let period = chain.moderation.map_or(Nanos::ZERO, |m| m.period);
        ensure!(
            self.period_end <= now + period,
            "the period of the adapter ends too late"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODERATION: Moderation = Moderation {
        hold: Nanos(100),
        most: 3,
        period: Nanos(1_000),
    };

    #[test]
    fn completions_are_held_in_the_period_after_a_busy_one() {
        let mut adapter = Adapter::default();
        for at in [0, 10, 20, 30] {
            assert_eq!(adapter.end(at, at_ns(at), &MODERATION), Ending::Seen);
        }
        let end = |adapter: &mut Adapter, index| adapter.end(index, at_ns(index), &MODERATION);
        assert_eq!(end(&mut adapter, 1_000), Ending::Opens(Nanos(1_100)));
        assert_eq!(end(&mut adapter, 1_050), Ending::Held);
        assert_eq!(adapter.interrupt(), [1_000, 1_050]);
        assert_eq!(end(&mut adapter, 1_999), Ending::Opens(Nanos(2_099)));
        // Three in that period are not more than `most`; what is held already takes the next one along.
        assert_eq!(end(&mut adapter, 2_000), Ending::Held);
        assert_eq!(adapter.interrupt(), [1_999, 2_000]);
        assert_eq!(end(&mut adapter, 2_100), Ending::Seen);
    }

    #[test]
    fn an_idle_period_ends_the_holding() {
        let mut adapter = Adapter::default();
        for at in 0..4 {
            adapter.end(at, at_ns(at), &MODERATION);
        }
        assert_eq!(adapter.end(4, Nanos(2_000), &MODERATION), Ending::Seen);
    }

    const fn at_ns(number: u32) -> Nanos {
        Nanos(number as u64)
    }
}
