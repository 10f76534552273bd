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
    /// FIFOs for events of its kind: the first, and how many.
    #[inline]
    const fn fifos(self) -> (usize, usize) {
        match self {
            Event::Firmware(_) => (0, 1),
            Event::DataIn(_) => (1, 1),
            Event::Complete(_) => (2, 1),
            Event::Bus(_) => (3, 1),
            Event::Array(_) => (4, ARRAY_FIFOS),
            Event::MapFetched(_) | Event::Relocated(_) | Event::Idle | Event::RefreshDue => {
                (FIFOS, 0)
            }
        }
    }
}

/// FIFOs for the arrays of dies: the pages of a word line of TLC differ in their read times.
const ARRAY_FIFOS: usize = 3;
/// FIFOs of all kinds that mostly come in order of time.
const FIFOS: usize = 4 + ARRAY_FIFOS;
/// Later than every event.
const NEVER: u128 = u128::MAX;

/// Events in order of time.
///
/// An event is one number, its key: time, sequence, the queue that it waits in, and what happens. What
/// firmware finishes, what the link delivers, what the host is told, and flash operations of one
/// length follow one another in time nearly always, so these kinds wait in plain queues, and only
/// what overtakes goes into the heap with the rest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EventQueue {
    fifos: [VecDeque<u128>; FIFOS],
    heap: BinaryHeap<Reverse<u128>>,
    /// First event of every FIFO, and of the heap.
    first: [u128; FIFOS + 1],
    /// The earliest of these.
    next: u128,
    sequence: u32,
}

/// Sequence numbers have 28 bits.
const LAST_SEQUENCE: u32 = (1 << 28) - 1;

/// The key of an event at position `queue` of [`EventQueue::first`].
#[inline]
fn key(at: Nanos, sequence: u32, queue: usize, event: Event) -> u128 {
    let low = u64::from(sequence) << 36 | (queue as u64) << 32 | u64::from(event.pack());
    u128::from(at.0) << 64 | u128::from(low)
}

/// The position in [`EventQueue::first`] that a key names.
#[inline]
const fn queue_of(key: u128) -> usize {
    (key >> 32) as usize & 15
}

/// The same event with another sequence number.
const fn with_sequence(key: u128, sequence: u32) -> u128 {
    key & !((LAST_SEQUENCE as u128) << 36) | (sequence as u128) << 36
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            fifos: std::array::from_fn(|_| VecDeque::new()),
            heap: BinaryHeap::new(),
            first: [NEVER; FIFOS + 1],
            next: NEVER,
            sequence: 0,
        }
    }
}

impl EventQueue {
    #[inline]
    pub(crate) fn push(&mut self, at: Nanos, event: Event) {
        if self.sequence == LAST_SEQUENCE {
            self.renumber();
        }
        self.sequence += 1;
        let (start, count) = event.fifos();
        let fits = |fifo: &VecDeque<u128>| {
            let after_all = key(at, self.sequence, 0, event);
            fifo.back().is_none_or(|last| *last < after_all)
        };
        let key = match self.fifos[start..start + count].iter().position(fits) {
            Some(offset) => {
                let key = key(at, self.sequence, start + offset, event);
                self.fifos[start + offset].push_back(key);
                key
            }
            None => {
                let key = key(at, self.sequence, FIFOS, event);
                self.heap.push(Reverse(key));
                key
            }
        };
        let first = &mut self.first[queue_of(key)];
        *first = key.min(*first);
        self.next = key.min(self.next);
    }

    #[inline]
    pub(crate) fn next_time(&self) -> Option<Nanos> {
        (self.next != NEVER).then_some(Nanos((self.next >> 64) as u64))
    }

    /// Whether a device at `now` may take a command at `at`.
    #[inline]
    pub(crate) fn admit(&self, now: Nanos, at: Nanos) -> Result<(), SubmitError> {
        SubmitError::check(now, self.next_time(), at)
    }

    /// The first event, where it comes no later than `limit`.
    #[inline]
    pub(crate) fn pop_until(&mut self, limit: Nanos) -> Option<(Nanos, Event)> {
        let key = self.next;
        if key == NEVER || (key >> 64) as u64 > limit.0 {
            return None;
        }
        let queue = queue_of(key);
        self.first[queue] = match self.fifos.get_mut(queue) {
            Some(fifo) => {
                fifo.pop_front();
                fifo.front().copied()
            }
            None => {
                self.heap.pop();
                self.heap.peek().map(|Reverse(key)| *key)
            }
        }
        .unwrap_or(NEVER);
        self.next = self.earliest();
        debug_assert!(key <= self.next, "events come out in order of time");
        Some((Nanos((key >> 64) as u64), Event::unpack(key as u32)))
    }

    /// Gives the events to come the lowest sequence numbers, in their order, so that the numbers never
    /// run out: every 268 million events, for the few that are pending.
    #[cold]
    fn renumber(&mut self) {
        let heap = std::mem::take(&mut self.heap).into_vec();
        let mut keys: Vec<u128> = self.fifos.iter().flatten().copied().collect();
        keys.extend(heap.iter().map(|Reverse(key)| key));
        keys.sort_unstable();
        // Keys are unique. The queues hold far fewer than 2^28 events: each has its own entry in a list
        // of commands, transfers, operations, dies or jobs, whose indices have 28 bits.
        let renumbered = |key: u128| {
            let rank = keys.partition_point(|k| *k < key) as u32;
            with_sequence(key, rank)
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
        self.next = self.earliest();
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
            let own = |key: &u128| {
                let (start, count) = Event::unpack(*key as u32).fifos();
                queue_of(*key) == fifo && (start..start + count).contains(&fifo)
            };
            ensure!(
                queue.iter().is_sorted_by(|a, b| a < b) && queue.iter().all(own),
                "the events of kind {fifo} are out of order"
            );
            ensure!(
                self.first[fifo] == queue.front().copied().unwrap_or(NEVER),
                "another event of kind {fifo} is noted as the first"
            );
        }
        ensure!(
            self.sequence <= LAST_SEQUENCE,
            "event {} is past the last number",
            self.sequence
        );
        let first = self.heap.peek().map_or(NEVER, |Reverse(key)| *key);
        let in_heap = |Reverse(key): &Reverse<u128>| queue_of(*key) == FIFOS;
        ensure!(
            self.first[FIFOS] == first && self.heap.iter().all(in_heap),
            "another event of the heap is noted as the first"
        );
        ensure!(
            self.next == self.earliest(),
            "another event is noted as the next"
        );
        for (at, event) in self.iter() {
            ensure!(at >= now, "{event:?} is at {at}, before {now}");
            check_near("an event", at, now)?;
        }
        Ok(())
    }

    #[inline]
    fn earliest(&self) -> u128 {
        self.first.iter().fold(NEVER, |least, key| least.min(*key))
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
                sequence: LAST_SEQUENCE - left,
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
            if n.is_multiple_of(1000) {
                queue.audit(Nanos::ZERO).expect("in order");
            }
        }
    }
}
