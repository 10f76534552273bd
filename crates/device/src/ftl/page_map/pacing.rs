//! The pace of the host while relocation makes room. The host pays for what it writes with credit, and
//! relocation earns credit for what its victims yield, so that a write waits for its share of relocation
//! and no more. Below the free space at which collection begins, credit is worth less the less is left:
//! collection gains on the host. Rate limiters of real translation layers are governed by the
//! number of free blocks as well (Bjørling, González and Bonnet, "LightNVM", FAST 2017).

use super::log::Log;
use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// Credit for one native unit. A victim that is nearly full yields a small part of a unit for each unit moved.
pub(super) const CREDIT_PER_UNIT: u64 = 1 << 20;

/// More than relocation ever grants.
const MOST_CREDIT: u64 = (1 << 40) * CREDIT_PER_UNIT;

/// Whether relocation sets the pace, and the credit of the host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Pace {
    active: bool,
    credit: i64,
}

/// Credit for a number of native units, of which a device has less than 2^32.
const fn price(units: u64) -> i64 {
    debug_assert!(units < 1 << 40, "no device has so many units");
    (units * CREDIT_PER_UNIT).cast_signed()
}

impl Pace {
    /// Whole native units that the host has credit for.
    fn native_units(&self) -> u64 {
        self.credit.max(0).cast_unsigned() / CREDIT_PER_UNIT
    }

    /// Whether relocation sets the pace.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// From now on relocation sets the pace, or does not. Returns true if it begins to. The credit is 0 after a change.
    pub(super) fn follow(&mut self, is_paced: bool) -> bool {
        let changes = is_paced != self.active;
        if changes {
            self.active = is_paced;
            self.take_credit();
        }
        changes && is_paced
    }

    /// The host has no credit.
    pub(super) fn take_credit(&mut self) {
        self.credit = 0;
    }

    /// The host has credit for `units` native units.
    pub(super) fn lend(&mut self, units: u64) {
        self.credit = price(units);
    }

    /// Units that may be admitted for the host now, with `in_transit` units on the link.
    pub(super) fn allowance(&self, log: &Log, in_transit: u32) -> u32 {
        // Superblocks that wait for their erasure need no relocation, and are no room yet.
        let space = log.host_space_units().saturating_sub(u64::from(in_transit));
        let is_paced = self.active;
        let affordable = if is_paced {
            let units = self.native_units();
            match log.cost_of_host_unit() {
                1 => units,
                cost => units / cost,
            }
        } else {
            u64::MAX
        };
        affordable.min(space).clamp_u32()
    }

    /// The host has been given places for `units`, or `units` were written with its data.
    #[inline]
    pub(super) fn spend(&mut self, units: u32, log: &Log) {
        if self.active {
            self.credit -= i64::from(units) * price(log.cost_of_host_unit());
        }
    }

    /// Relocation is done that is worth `grants`.
    pub(super) fn grant(&mut self, grants: u64, log: &Log) {
        let (start, last) = log.room_at_gc();
        let room = log.free_room().clamp(last, start);
        // Rounded at the end only: a victim with hardly any invalid data yields less than a unit per job.
        let worth =
            u128::from(grants) * u128::from(room - last) / u128::from((start - last).max(1));
        let most = price(u64::from(log.geometry.native.superblock_units));
        let worth = i64::try_from(worth).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_add(worth).min(most);
    }

    /// The host may write at least one unit. Credit for less than that (a unit in SLC mode
    /// costs several) must not keep relocation from its turn, or both would wait for ever.
    #[inline]
    pub(super) fn has_credit(&self, log: &Log) -> bool {
        self.credit >= price(log.cost_of_host_unit())
    }

    pub(super) fn audit(&self) -> Checked {
        ensure!(
            self.credit.unsigned_abs() <= MOST_CREDIT,
            "the host has a credit of {}",
            self.credit
        );
        Ok(())
    }
}
