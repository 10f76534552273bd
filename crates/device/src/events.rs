//! The queue of things to come. Events at one instant come out in the order in which they went in.

use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// Firmware has looked at a command.
    Firmware(u32),
    /// Data of a write has arrived in the buffer: index of the transfer.
    DataIn(u32),
    /// The array of a die is done: die (generation checked by the array).
    Array(u32),
    /// A transfer over a channel is done: index of the flash operation.
    Bus(u32),
    /// A part of the map has come from host memory: command.
    MapFetched(u32),
    /// Firmware has handled the units of a relocation job.
    Relocated(u32),
    /// The host sees the completion: command.
    Complete(u32),
    /// The device has been idle long enough for background work.
    Idle,
}

impl Event {
    const fn pack(self) -> u32 {
        let (kind, index) = match self {
            Event::Firmware(i) => (0, i),
            Event::DataIn(i) => (1, i),
            Event::Array(i) => (2, i),
            Event::Bus(i) => (3, i),
            Event::MapFetched(i) => (4, i),
            Event::Complete(i) => (5, i),
            Event::Idle => (6, 0),
            Event::Relocated(i) => (7, i),
        };
        kind << 28 | index
    }

    const fn unpack(word: u32) -> Self {
        let index = word & 0x0fff_ffff;
        match word >> 28 {
            0 => Event::Firmware(index),
            1 => Event::DataIn(index),
            2 => Event::Array(index),
            3 => Event::Bus(index),
            4 => Event::MapFetched(index),
            5 => Event::Complete(index),
            6 => Event::Idle,
            _ => Event::Relocated(index),
        }
    }
}

/// Events in order of time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(u64, u64)>>,
    sequence: u32,
}

impl EventQueue {
    pub(crate) fn push(&mut self, at: Nanos, event: Event) {
        self.sequence = self.sequence.wrapping_add(1);
        self.heap.push(Reverse((
            at.0,
            u64::from(self.sequence) << 32 | u64::from(event.pack()),
        )));
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _))| Nanos(*at))
    }

    pub(crate) fn pop(&mut self) -> Option<(Nanos, Event)> {
        self.heap
            .pop()
            .map(|Reverse((at, word))| (Nanos(at), Event::unpack(word as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_first_and_first_in_first_out_at_one_instant() {
        let mut queue = EventQueue::default();
        queue.push(Nanos(20), Event::Idle);
        queue.push(Nanos(10), Event::Bus(7));
        queue.push(Nanos(10), Event::Array(3));
        assert_eq!(queue.pop(), Some((Nanos(10), Event::Bus(7))));
        assert_eq!(queue.pop(), Some((Nanos(10), Event::Array(3))));
        assert_eq!(queue.next_time(), Some(Nanos(20)));
        assert_eq!(queue.pop(), Some((Nanos(20), Event::Idle)));
        assert_eq!(queue.pop(), None);
    }
}
