//! Planned reads: transfers booked before the time at which they begin, and their conversion back to operations in
//! queues and events. Which reads are planned is decided elsewhere.

use super::{Array, Die, FlashOp};
use nandscope_units::Nanos;

/// A transfer out of a die, booked in advance.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transfer {
    /// End of the transfer.
    pub(crate) end: Nanos,
    /// Bookings of the channel before this transfer; then the end of the previous transfer out of the die.
    channel_before: (Nanos, Nanos),
    die_before: Nanos,
}

impl Array {
    /// Whether a read occupies its die until its transfer has ended, and all dies are idle.
    pub(crate) fn may_plan_reads(&self) -> bool {
        self.outstanding == 0 && self.times.planes == 0 && !self.times.cache_read
    }

    /// Books the channel for the pages of a read whose array read ends at `at`. Must be called in the order of these
    /// ends.
    #[inline]
    pub(crate) fn plan_transfer(&mut self, op: &FlashOp, at: Nanos) -> Transfer {
        let attempts = 1 + u64::from(op.retransfers);
        let time = self.transfer_time(op.bus_bytes, op.transfers) * attempts;
        let channel = self.channel(op.die);
        let channel_before = channel.booked();
        let end = channel.book_read(time, at);
        debug_assert!(
            self.dies[op.die].bus_until <= at,
            "a page leaves a die before the one that was read first"
        );
        let die_before = std::mem::replace(&mut self.dies[op.die].bus_until, end);
        Transfer {
            end,
            channel_before,
            die_before,
        }
    }

    /// Takes back the last booking of a channel.
    pub(crate) fn take_back(&mut self, die: Die, transfer: &Transfer) {
        self.channel(die).take_back(transfer.channel_before);
        self.dies[die].bus_until = transfer.die_before;
    }

    /// Counts the array read of a planned operation.
    #[inline]
    pub(crate) fn count_array_read(&mut self, op: &FlashOp) {
        self.page_reads += 1;
        self.energy_pj += self.read_energy_pj(op);
    }

    /// Counts the transfer of a planned operation.
    #[inline]
    pub(crate) fn count_transfer(&mut self, op: &FlashOp) {
        self.bus_bytes += op.bytes_on_bus();
    }

    /// Energy of the array for a read, pJ.
    pub(crate) fn read_energy_pj(&self, op: &FlashOp) -> u64 {
        u64::from(op.array_ns) * self.times.read_mw
    }

    /// Adds a planned read that waits for its die.
    pub(crate) fn adopt_waiting(&mut self, op: FlashOp) {
        let slot = self.adopt(op);
        self.enqueue(slot);
    }

    /// Adds a planned read that is in the array of its die until `until`.
    pub(crate) fn adopt_reading(&mut self, op: FlashOp, until: Nanos) {
        let slot = self.adopt(op);
        let die = &mut self.dies[op.die];
        die.array = slot;
        die.array_until = until;
    }

    /// Adds a planned read whose page is being transferred; returns the index of the operation.
    pub(crate) fn adopt_transferring(&mut self, op: FlashOp) -> u32 {
        let slot = self.adopt(op);
        self.dies[op.die].register = slot;
        slot
    }

    fn adopt(&mut self, op: FlashOp) -> u32 {
        self.outstanding += 1;
        self.allocate(op)
    }
}
