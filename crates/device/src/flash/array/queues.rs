//! Table of operations, and the queues of dies.

use super::{Array, Die, FlashOp, NONE, Slot};
use crate::convert::Narrow;
use crate::flash::{PagesRead, Progress};

impl Array {
    /// Inlined, so that an operation is written directly to its slot; a copy right after its creation would stall.
    #[inline(always)]
    pub(super) fn allocate(&mut self, op: FlashOp) -> u32 {
        let index = self.free_slot;
        match self.slots.get_mut(index as usize) {
            Some(slot) => {
                self.free_slot = slot.next;
                *slot = Slot { op, next: NONE };
                index
            }
            None => {
                self.slots.push(Slot { op, next: NONE });
                self.slots.len().narrow() - 1
            }
        }
    }

    pub(super) fn finish(&mut self, index: u32) -> Progress {
        self.outstanding -= 1;
        let slot = &mut self.slots[index as usize];
        slot.next = self.free_slot;
        self.free_slot = index;
        let pages = PagesRead {
            pages: slot.op.transfers,
            failed: slot.op.retransfers,
        };
        Progress::Finished(slot.op.owner, pages)
    }

    pub(super) fn enqueue(&mut self, index: u32) {
        let op = &self.slots[index as usize].op;
        let die = &mut self.dies[op.die];
        let queue = if op.urgent {
            &mut die.urgent
        } else {
            &mut die.normal
        };
        if queue.tail == NONE {
            queue.head = index;
        } else {
            self.slots[queue.tail as usize].next = index;
        }
        queue.tail = index;
    }

    /// Removes and returns the head of a queue that is not empty.
    pub(super) fn pop(&mut self, die: Die, urgent: bool) -> u32 {
        let queue = if urgent {
            &mut self.dies[die].urgent
        } else {
            &mut self.dies[die].normal
        };
        let index = queue.head;
        debug_assert_ne!(index, NONE, "an operation is taken from an empty queue");
        queue.head = self.slots[index as usize].next;
        if queue.head == NONE {
            queue.tail = NONE;
        }
        self.slots[index as usize].next = NONE;
        index
    }
}
