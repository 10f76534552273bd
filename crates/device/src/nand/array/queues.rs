//! Operations in their slots, and the queues of dies.

use super::{Array, Die, FlashOp, NONE, Slot};
use crate::convert::Narrow;
use crate::nand::{PagesRead, Progress};

impl Array {
    pub(super) fn allocate(&mut self, op: FlashOp) -> u32 {
        if self.free_slot == NONE {
            self.slots.push(Slot { op, next: NONE });
            return self.slots.len().narrow() - 1;
        }
        let index = self.free_slot;
        self.free_slot = self.slots[index as usize].next;
        self.slots[index as usize] = Slot { op, next: NONE };
        index
    }

    pub(super) fn finish(&mut self, index: u32) -> Progress {
        self.outstanding -= 1;
        let op = self.slots[index as usize].op;
        self.slots[index as usize].next = self.free_slot;
        self.free_slot = index;
        let pages = PagesRead {
            pages: op.transfers,
            failed: op.retransfers,
        };
        Progress::Finished(op.owner, pages)
    }

    pub(super) fn enqueue(&mut self, index: u32) {
        let op = self.slots[index as usize].op;
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

    /// Takes the head of a queue that is not empty.
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
