//! [`Pace`], that of the host while relocation makes room. The host pays for what it writes with credit, and
//! relocation earns credit for what its victims yield, so that a write waits for its share of relocation
//! and no more. Below the free space at which collection begins, credit is worth less the less is left:
//! collection gains on the host. Rate limiters of real translation layers are governed by the
//! number of free blocks as well (Bjørling, González and Bonnet, "LightNVM", FAST 2017).

use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// Credit for one native unit. Fine-grained, because each unit moved out of a nearly full victim yields a small part of
/// a unit.
pub(crate) const CREDIT_PER_UNIT: u64 = 1 << 20;

/// Upper bound of all credit.
const MOST_CREDIT: u64 = (1 << 40) * CREDIT_PER_UNIT;

/// Room for writes without another relocation, in native units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Free at present.
    pub(crate) free: u64,
    /// Free when garbage collection begins.
    pub(crate) start: u64,
    /// The last superblocks, which are for relocation and checkpoints.
    pub(crate) last: u64,
}

/// Whether relocation sets the pace, and the credit of the host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pace {
    active: bool,
    credit: i64,
}

/// Credit for a number of native units, below 2^32.
const fn price(units: u64) -> i64 {
    debug_assert!(units < 1 << 40, "no device has so many units");
    (units * CREDIT_PER_UNIT).cast_signed()
}

impl Pace {
    /// Credit of the host, in whole native units.
    fn native_units(&self) -> u64 {
        self.credit.max(0).cast_unsigned() / CREDIT_PER_UNIT
    }

    /// Whether relocation sets the pace.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// Turns pacing on or off; a change resets the credit to 0. Returns true if it was turned on.
    pub(crate) fn follow(&mut self, is_paced: bool) -> bool {
        let changes = is_paced != self.active;
        if changes {
            self.active = is_paced;
            self.take_credit();
        }
        changes && is_paced
    }

    /// Sets the host's credit to 0.
    pub(crate) fn take_credit(&mut self) {
        self.credit = 0;
    }

    /// Sets the host's credit to `units` native units.
    pub(crate) fn lend(&mut self, units: u64) {
        self.credit = price(units);
    }

    /// Units that the host has credit for, at the cost of one in native units; without a limit where relocation does not set
    /// the pace.
    pub(crate) fn affordable(&self, cost: impl Fn() -> u64) -> u64 {
        if !self.active {
            return u64::MAX;
        }
        match cost() {
            1 => self.native_units(),
            cost => self.native_units() / cost,
        }
    }

    /// Charges the host for `units` admitted, or written with its data, at the cost of one in native units.
    #[inline]
    pub(crate) fn spend(&mut self, units: u32, cost: impl Fn() -> u64) {
        if self.active {
            self.credit -= i64::from(units) * price(cost());
        }
    }

    /// Adds the credit `grants` for finished relocation, up to the credit of `max_units` native units.
    pub(crate) fn grant(&mut self, grants: u64, room: Room, max_units: u32) {
        let Room { start, last, .. } = room;
        let free = room.free.clamp(last, start);
        // Rounded only at the end: a victim with hardly any invalid data yields less than a unit per job.
        let worth =
            u128::from(grants) * u128::from(free - last) / u128::from((start - last).max(1));
        let worth = i64::try_from(worth).unwrap_or(i64::MAX);
        let max = price(u64::from(max_units));
        self.credit = self.credit.saturating_add(worth).min(max);
    }

    /// Whether the host has credit for at least one unit. Less than that (a unit in SLC mode costs several native
    /// units) must not block relocation, or host and relocation would wait for each other for ever.
    #[inline]
    pub(crate) fn has_credit(&self, cost: u64) -> bool {
        self.credit >= price(cost)
    }

    pub(crate) fn audit(&self) -> Checked {
        ensure!(
            self.credit.unsigned_abs() <= MOST_CREDIT,
            "the host has a credit of {}",
            self.credit
        );
        Ok(())
    }
}
