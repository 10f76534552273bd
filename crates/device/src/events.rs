//! The event queue. Events at one instant come out in the order of insertion.

use crate::command::{Completion, SubmitError};
use crate::invariant::{Checked, check_near, ensure};
use crate::nand::Die;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// Firmware has looked at a command.
    Firmware(u32),
    /// Data of a write has arrived in the buffer: index of the transfer.
    DataIn(u32),
    /// The array of a die is done: die (generation checked by the array).
    Array(Die),
    /// A transfer over a channel is done: index of the flash operation.
    Bus(u32),
    /// A page of the map has come from host memory: number of the fetch.
    MapFetched(u32),
    /// Firmware has handled the units of a relocation job.
    Relocated(u32),
    /// The host sees the completion: command.
    Complete(u32),
    /// The idle timer: the device may have been idle long enough for background work.
    Idle,
    /// A read has found a block that must be refreshed.
    RefreshDue,
}

impl Event {
    const fn pack(self) -> u32 {
        let (kind, index) = match self {
            Event::Firmware(i) => (0, i),
            Event::DataIn(i) => (1, i),
            Event::Array(die) => (2, die.0),
            Event::Bus(i) => (3, i),
            Event::MapFetched(i) => (4, i),
            Event::Complete(i) => (5, i),
            Event::Idle => (6, 0),
            Event::Relocated(i) => (7, i),
            Event::RefreshDue => (8, 0),
        };
        kind << 28 | index
    }

    const fn unpack(word: u32) -> Self {
        let index = word & 0x0fff_ffff;
        match word >> 28 {
            0 => Event::Firmware(index),
            1 => Event::DataIn(index),
            2 => Event::Array(Die(index)),
            3 => Event::Bus(index),
            4 => Event::MapFetched(index),
            5 => Event::Complete(index),
            6 => Event::Idle,
            7 => Event::Relocated(index),
            _ => Event::RefreshDue,
        }
    }
}

impl Event {
    /// FIFO of its kind, or [`FIFOS`] if it has none.
    const fn fifo(self) -> usize {
        match self {
            Event::Firmware(_) => 0,
            Event::DataIn(_) => 1,
            Event::Complete(_) => 2,
            Event::Array(_) => 3,
            Event::Bus(_) => 4,
            Event::MapFetched(_) | Event::Relocated(_) | Event::Idle | Event::RefreshDue => FIFOS,
        }
    }
}

/// Kinds that mostly come in order of time, each with its own FIFO.
const FIFOS: usize = 5;
/// Later than every event.
const NEVER: u128 = u128::MAX;

/// Events in order of time.
///
/// An event is one number: time, then sequence, then what happens. What firmware finishes, what
/// the link delivers, what the host is told, and flash operations of one length follow one another
/// in time nearly always, so these kinds wait in plain queues, and only what overtakes goes into the
/// heap with the rest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EventQueue {
    fifos: [VecDeque<u128>; FIFOS],
    heap: BinaryHeap<Reverse<u128>>,
    /// First event of every FIFO, and of the heap.
    first: [u128; FIFOS + 1],
    sequence: u32,
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            fifos: std::array::from_fn(|_| VecDeque::new()),
            heap: BinaryHeap::new(),
            first: [NEVER; FIFOS + 1],
            sequence: 0,
        }
    }
}

impl EventQueue {
    pub(crate) fn push(&mut self, at: Nanos, event: Event) {
        if self.sequence == u32::MAX {
            self.renumber();
        }
        self.sequence += 1;
        let key =
            u128::from(at.0) << 64 | u128::from(self.sequence) << 32 | u128::from(event.pack());
        let fifo = event.fifo();
        if let Some(queue) = self.fifos.get_mut(fifo)
            && queue.back().is_none_or(|last| *last < key)
        {
            queue.push_back(key);
            self.first[fifo] = self.first[fifo].min(key);
        } else {
            self.heap.push(Reverse(key));
            self.first[FIFOS] = self.first[FIFOS].min(key);
        }
    }

    pub(crate) fn next_time(&self) -> Option<Nanos> {
        let (_, key) = self.earliest();
        (key != NEVER).then_some(Nanos((key >> 64) as u64))
    }

    /// Whether a device at `now` may take a command at `at`.
    #[inline]
    pub(crate) fn admit(&self, now: Nanos, at: Nanos) -> Result<(), SubmitError> {
        SubmitError::check(now, self.next_time(), at)
    }

    /// The first event, where it comes no later than `limit`.
    #[inline]
    pub(crate) fn pop_until(&mut self, limit: Nanos) -> Option<(Nanos, Event)> {
        let (fifo, key) = self.earliest();
        if key == NEVER || (key >> 64) as u64 > limit.0 {
            return None;
        }
        self.first[fifo] = match self.fifos.get_mut(fifo) {
            Some(queue) => {
                queue.pop_front();
                queue.front().copied()
            }
            None => {
                self.heap.pop();
                self.heap.peek().map(|Reverse(key)| *key)
            }
        }
        .unwrap_or(NEVER);
        debug_assert!(key <= self.earliest().1, "events come out in order of time");
        Some((Nanos((key >> 64) as u64), Event::unpack(key as u32)))
    }

    /// Gives the events to come the lowest sequence numbers, in their order, so that the numbers never
    /// run out: every 4.3 billion events, for the few that are pending.
    #[cold]
    fn renumber(&mut self) {
        let heap = std::mem::take(&mut self.heap).into_vec();
        let mut keys: Vec<u128> = self.fifos.iter().flatten().copied().collect();
        keys.extend(heap.iter().map(|Reverse(key)| key));
        keys.sort_unstable();
        // Keys are unique. The queues hold far fewer than 2^32 events: each has its own entry in a list
        // of commands, transfers, operations, dies or jobs, whose indices have 28 bits.
        let renumbered = |key: u128| {
            let rank = keys.partition_point(|k| *k < key) as u32;
            key & !(u128::from(u32::MAX) << 32) | u128::from(rank) << 32
        };
        for (queue, first) in self.fifos.iter_mut().zip(&mut self.first) {
            queue.iter_mut().for_each(|key| *key = renumbered(*key));
            *first = queue.front().copied().unwrap_or(NEVER);
        }
        self.heap = heap
            .into_iter()
            .map(|Reverse(key)| Reverse(renumbered(key)))
            .collect();
        self.first[FIFOS] = self.heap.peek().map_or(NEVER, |Reverse(key)| *key);
        self.sequence = keys.len() as u32;
    }

    /// All events to come, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Nanos, Event)> + '_ {
        let heap = self.heap.iter().map(|Reverse(key)| key);
        let keys = self.fifos.iter().flatten().chain(heap);
        keys.map(|key| (Nanos((key >> 64) as u64), Event::unpack(*key as u32)))
    }

    /// Checks that the queue is in order and that nothing in it is past or too far ahead.
    pub(crate) fn audit(&self, now: Nanos) -> Checked {
        for (fifo, queue) in self.fifos.iter().enumerate() {
            let own = |key: &u128| Event::unpack(*key as u32).fifo() == fifo;
            ensure!(
                queue.iter().is_sorted_by(|a, b| a < b) && queue.iter().all(own),
                "the events of kind {fifo} are out of order"
            );
            ensure!(
                self.first[fifo] == queue.front().copied().unwrap_or(NEVER),
                "another event of kind {fifo} is noted as the first"
            );
        }
        let first = self.heap.peek().map_or(NEVER, |Reverse(key)| *key);
        ensure!(
            self.first[FIFOS] == first,
            "another event of the heap is noted as the first"
        );
        for (at, event) in self.iter() {
            ensure!(at >= now, "{event:?} is at {at}, before {now}");
            check_near("an event", at, now)?;
        }
        Ok(())
    }

    #[inline]
    fn earliest(&self) -> (usize, u128) {
        let mut best = (0, self.first[0]);
        for (fifo, key) in self.first.iter().enumerate().skip(1) {
            if *key < best.1 {
                best = (fifo, *key);
            }
        }
        best
    }
}

/// How far a device goes on until `until`: with completions to deliver (`done`), it only finishes
/// the present instant.
#[inline]
pub(crate) fn horizon(until: Nanos, now: Nanos, done: &[Completion]) -> Nanos {
    if done.is_empty() {
        until
    } else {
        until.min(now)
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
        queue.push(Nanos(10), Event::Array(Die(3)));
        assert_eq!(
            queue.pop_until(Nanos::MAX),
            Some((Nanos(10), Event::Bus(7)))
        );
        assert_eq!(
            queue.pop_until(Nanos::MAX),
            Some((Nanos(10), Event::Array(Die(3))))
        );
        assert_eq!(queue.next_time(), Some(Nanos(20)));
        assert_eq!(queue.pop_until(Nanos(19)), None);
        assert_eq!(queue.pop_until(Nanos(20)), Some((Nanos(20), Event::Idle)));
        assert_eq!(queue.pop_until(Nanos::MAX), None);
    }

    #[test]
    fn whatever_the_kind_the_order_is_that_of_a_sorted_list() {
        orders_like_a_sorted_list(EventQueue::default());
    }

    #[test]
    fn the_order_outlives_the_sequence_numbers() {
        for left in [0, 1, 2, 100, 7000] {
            orders_like_a_sorted_list(EventQueue {
                sequence: u32::MAX - left,
                ..EventQueue::default()
            });
        }
    }

    fn orders_like_a_sorted_list(mut queue: EventQueue) {
        let mut state = 1u64;
        let mut model: Vec<(u64, u32, Event)> = Vec::new();
        for n in 0..20_000u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = state >> 58;
            if state >> 40 & 3 == 0 {
                let first = model.iter().min_by_key(|e| (e.0, e.1)).copied();
                assert_eq!(queue.next_time(), first.map(|e| Nanos(e.0)));
                assert_eq!(
                    queue.pop_until(Nanos::MAX),
                    first.map(|e| (Nanos(e.0), e.2))
                );
                model.retain(|e| Some(e.1) != first.map(|f| f.1));
                continue;
            }
            let event = match state >> 50 & 7 {
                0 => Event::Firmware(n),
                1 => Event::DataIn(n),
                2 => Event::Complete(n),
                3 => Event::Array(Die(n)),
                4 => Event::Bus(n),
                _ => Event::Relocated(n),
            };
            queue.push(Nanos(at), event);
            model.push((at, n, event));
        }
    }
}
