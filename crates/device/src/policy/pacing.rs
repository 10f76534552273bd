//! [`Pace`], that of the host while relocation makes room. The host pays for what it writes with credit, and
//! relocation earns credit for what its victims yield, so that a write waits for its share of relocation
//! and no more. Below the free space at which collection begins, credit is worth less the less is left:
//! collection gains on the host. Rate limiters of real translation layers are governed by the
//! number of free blocks as well (Bjørling, González and Bonnet, "LightNVM", FAST 2017).

use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// Credit for one native unit. A victim that is nearly full yields a small part of a unit for each unit moved.
pub(crate) const CREDIT_PER_UNIT: u64 = 1 << 20;

/// More than relocation ever grants.
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

    /// From now on relocation sets the pace, or does not. Returns true if it begins to. The credit is 0 after a change.
    pub(crate) fn follow(&mut self, is_paced: bool) -> bool {
        let changes = is_paced != self.active;
        if changes {
            self.active = is_paced;
            self.take_credit();
        }
        changes && is_paced
    }

    /// The host has no credit.
    pub(crate) fn take_credit(&mut self) {
        self.credit = 0;
    }

    /// The host has credit for `units` native units.
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

    /// The host has been given places for `units`, or `units` were written with its data, at the cost of one in native units.
    #[inline]
    pub(crate) fn spend(&mut self, units: u32, cost: impl Fn() -> u64) {
        if self.active {
            self.credit -= i64::from(units) * price(cost());
        }
    }

    /// Relocation is done that is worth `grants`. The credit never exceeds `max_units` native units.
    pub(crate) fn grant(&mut self, grants: u64, room: Room, max_units: u32) {
        let Room { start, last, .. } = room;
        let free = room.free.clamp(last, start);
        // Rounded at the end only: a victim with hardly any invalid data yields less than a unit per job.
        let worth =
            u128::from(grants) * u128::from(free - last) / u128::from((start - last).max(1));
        let worth = i64::try_from(worth).unwrap_or(i64::MAX);
        let max = price(u64::from(max_units));
        self.credit = self.credit.saturating_add(worth).min(max);
    }

    /// The host may write at least one unit. Credit for less than that (a unit in SLC mode
    /// costs several) must not keep relocation from its turn, or both would wait for ever.
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
