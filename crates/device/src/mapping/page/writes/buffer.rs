//! [`WriteBuffer`] and [`Transfers`], write data in the controller and on the link.

use crate::convert::Narrow;
use crate::invariant::{Checked, ensure, places_in_use};
use crate::mapping::page::lpn::Lpn;
use serde::{Deserialize, Serialize};

/// Places of the write buffer, one mapping unit each.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::mapping::page) struct WriteBuffer {
    capacity: u32,
    used: u32,
    /// Used places whose data is still on the link.
    in_transit: u32,
}

impl WriteBuffer {
    pub(super) fn new(capacity: u32) -> Self {
        WriteBuffer {
            capacity,
            used: 0,
            in_transit: 0,
        }
    }

    /// Number of free places.
    #[inline]
    pub(in crate::mapping::page) fn room(&self) -> u32 {
        self.capacity.saturating_sub(self.used)
    }

    /// Number of used places.
    pub(in crate::mapping::page) fn used(&self) -> u32 {
        self.used
    }

    /// Used places whose data is still on the link.
    #[inline]
    pub(in crate::mapping::page) fn in_transit(&self) -> u32 {
        self.in_transit
    }

    /// Reserves places for a relocation job.
    pub(in crate::mapping::page) fn reserve(&mut self, units: u32) {
        self.used += units;
    }

    /// Reserves free places for data on the link.
    pub(super) fn reserve_for_transfer(&mut self, units: u32) {
        debug_assert!(units <= self.room(), "the write buffer overflows");
        self.reserve(units);
        self.in_transit += units;
    }

    /// Records that data of `units` places has arrived.
    pub(super) fn note_arrival(&mut self, units: u32) {
        self.in_transit -= units;
    }

    /// Frees places.
    pub(in crate::mapping::page) fn give_back(&mut self, units: u32) {
        debug_assert!(units <= self.used, "places are given back twice");
        self.used = self.used.saturating_sub(units);
    }

    pub(super) fn audit(&self, capacity: u32, in_transit: u64) -> Checked {
        ensure!(
            self.capacity == capacity,
            "a write buffer of {} units",
            self.capacity
        );
        ensure!(
            in_transit == u64::from(self.in_transit),
            "{in_transit} units are on the link, {} were counted",
            self.in_transit
        );
        Ok(())
    }
}

/// A transfer of write data on the link.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::mapping::page) struct Transfer {
    pub(in crate::mapping::page) command: u32,
    pub(in crate::mapping::page) first: Lpn,
    pub(in crate::mapping::page) units: u32,
}

/// All transfers of write data under way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::mapping::page) struct Transfers {
    table: Vec<Transfer>,
    free: Vec<u32>,
}

impl Transfers {
    /// Adds a transfer; returns its number.
    pub(super) fn begin(&mut self, transfer: Transfer) -> u32 {
        if let Some(index) = self.free.pop() {
            self.table[index as usize] = transfer;
            return index;
        }
        self.table.push(transfer);
        self.table.len().narrow() - 1
    }

    /// Ends a transfer.
    pub(super) fn end(&mut self, number: u32) -> Transfer {
        self.free.push(number);
        self.table[number as usize]
    }

    /// The transfer with a number; `None` if no event can refer to it.
    pub(in crate::mapping::page) fn get(&self, number: u32) -> Option<&Transfer> {
        self.table.get(number as usize)
    }

    /// Checks that exactly the transfers `coming` are under way; returns the sum of their units.
    pub(super) fn audit(&self, coming: &[u32]) -> Checked<u64> {
        let mut waited_for = places_in_use("transfers", self.table.len(), &self.free)?;
        let mut units = 0u64;
        for number in coming {
            let place = waited_for.get_mut(*number as usize);
            ensure!(
                place.is_some_and(|used| std::mem::replace(used, false)),
                "transfer {number} arrives twice or does not exist"
            );
            units += u64::from(self.table[*number as usize].units);
        }
        ensure!(
            !waited_for.contains(&true),
            "a transfer of write data never ends"
        );
        Ok(units)
    }
}
