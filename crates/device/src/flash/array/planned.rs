//! Reads that are planned ahead: bookings of their transfers before the time at which they begin, and the way
//! back to operations in queues and events. Which reads are planned is not decided here.

use super::{Array, Die, FlashOp};
use nandscope_units::Nanos;

/// A transfer out of a die that was booked ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transfer {
    /// End of the transfer.
    pub(crate) end: Nanos,
    /// Bookings of the channel before it, and the end of the transfer out of the die before it.
    channel_before: (Nanos, Nanos),
    die_before: Nanos,
}

impl Array {
    /// Whether a read on its own occupies its die until its transfer is over, and the dies have nothing to do.
    pub(crate) fn may_plan_reads(&self) -> bool {
        self.outstanding == 0 && self.times.planes == 0 && !self.times.cache_read
    }

    /// Books the channel for the pages of a read whose array is done at `at`. Transfers are booked in the order
    /// in which arrays are done.
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

    /// Takes the last booking of a channel back.
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

    /// Energy that the array takes for a read.
    pub(crate) fn read_energy_pj(&self, op: &FlashOp) -> u64 {
        u64::from(op.array_ns) * self.times.read_mw
    }

    /// A planned read waits for its die.
    pub(crate) fn adopt_waiting(&mut self, op: FlashOp) {
        let slot = self.adopt(op);
        self.enqueue(slot);
    }

    /// The array of a die is at work on a planned read until `until`.
    pub(crate) fn adopt_reading(&mut self, op: FlashOp, until: Nanos) {
        let slot = self.adopt(op);
        let die = &mut self.dies[op.die];
        die.array = slot;
        die.array_until = until;
    }

    /// The page of a planned read is on its way out of the die; returns the number of the operation.
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
