//! The event queue. Events at one instant come out in the order of insertion.

use crate::convert::Narrow;
use crate::flash::Die;
use crate::invariant::{Checked, check_near, ensure};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// A command arrives at the cores.
    Arrived(u32),
    /// Firmware has looked at a command.
    Firmware(u32),
    /// Data of a write has arrived in the buffer: index of the transfer.
    DataIn(u32),
    /// The array of a die is done: die (generation checked by the array).
    Array(Die),
    /// Planes that read on their own are done: index of the flash operation.
    PlaneRead(u32),
    /// A transfer over a channel is done: index of the flash operation.
    Bus(u32),
    /// A page of the map has come from host memory, or is decoded: number of the fetch.
    MapFetched(u32),
    /// The last page that a relocation job waits for is decoded.
    RelocationDecoded(u32),
    /// Old data of a unit written in part is decoded: sequence number of the program that takes it.
    MergeDecoded(u32),
    /// Firmware has handled the units of a relocation job.
    Relocated(u32),
    /// The host sees the completion: command.
    Complete(u32),
    /// The idle timer: the device may have been idle long enough for background work.
    Idle,
    /// A read has found a block that must be refreshed.
    RefreshDue,
    /// An adapter reports the completions that it has held.
    Interrupt,
}

/// Nanoseconds of a slot, as a power of two: about one event falls into a slot of a busy drive.
const SLOT_SHIFT: u32 = 10;
/// Marks the end of a list of nodes.
const SLOTS: usize = 2048;
const WORDS: usize = SLOTS / 64;
/// No node.
const NONE: u32 = u32::MAX;
/// A time later than every event, ns.
const NEVER: u64 = u64::MAX;

/// Events in order of time; events at one instant in the order of insertion.
///
/// A calendar queue (Brown, "Calendar queues", Communications of the ACM 31, 1988): a ring of slots of
/// equal length, each with a short list in order, and bits that say which slots are occupied. What is
/// later than the ring waits in a heap and moves to the ring as soon as the ring reaches its slot:
/// before anything else can be inserted there, which keeps the order of insertion.
///
/// An event that is earlier than all others when it is inserted is kept aside, and is often handled before
/// another one comes: then it never enters the ring.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Vec<(Nanos, Event)>", into = "Vec<(Nanos, Event)>")]
pub(crate) struct EventQueue {
    nodes: Vec<Node>,
    /// First node of the list of unused nodes.
    free: u32,
    slots: Box<[Slot; SLOTS]>,
    /// One bit per slot, set if the slot has events; then one bit per word of these, set if the word is not zero.
    occupied: [u64; WORDS],
    occupied_words: u32,
    /// Number of the first slot of the ring, counted from time zero.
    start: u64,
    /// Events later than the ring covers.
    beyond: BinaryHeap<Reverse<Beyond>>,
    sequence: u64,
    /// Time of the first event of the ring and of `beyond`.
    next: u64,
    /// The earliest event, if it was inserted before all others and is outside the ring, and its time; [`NEVER`] without
    /// such an event.
    first: Event,
    first_at: u64,
}

/// An event in the list of a slot.
#[derive(Clone, Copy, Debug)]
struct Node {
    at: u64,
    event: Event,
    next: u32,
}

/// The list of a slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    head: u32,
    tail: u32,
}

const EMPTY: Slot = Slot {
    head: NONE,
    tail: NONE,
};

/// An event later than the ring covers.
#[derive(Clone, Copy, Debug)]
struct Beyond {
    at: u64,
    sequence: u64,
    event: Event,
}

impl Beyond {
    const fn key(&self) -> (u64, u64) {
        (self.at, self.sequence)
    }
}

impl PartialEq for Beyond {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Beyond {}

impl PartialOrd for Beyond {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Beyond {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            nodes: Vec::new(),
            free: NONE,
            slots: Box::new([EMPTY; SLOTS]),
            occupied: [0; WORDS],
            occupied_words: 0,
            start: 0,
            beyond: BinaryHeap::new(),
            sequence: 0,
            next: NEVER,
            first: Event::Idle,
            first_at: NEVER,
        }
    }
}

impl From<Vec<(Nanos, Event)>> for EventQueue {
    fn from(events: Vec<(Nanos, Event)>) -> Self {
        let mut queue = EventQueue::default();
        for (at, event) in events {
            queue.push(at, event);
        }
        queue
    }
}

impl From<EventQueue> for Vec<(Nanos, Event)> {
    fn from(mut queue: EventQueue) -> Self {
        std::iter::from_fn(|| queue.pop_until(Nanos(NEVER - 1))).collect()
    }
}

/// The slot of the ring in which a time falls.
#[inline]
const fn slot_of(at: u64) -> usize {
    (at >> SLOT_SHIFT) as usize % SLOTS
}

impl EventQueue {
    #[inline]
    pub(crate) fn push(&mut self, at: Nanos, event: Event) {
        debug_assert!(at.0 >> SLOT_SHIFT >= self.start, "an event is past");
        if at.0 < self.first_at.min(self.next) {
            if self.first_at != NEVER {
                self.put_back_first();
            }
            self.first = event;
            self.first_at = at.0;
            return;
        }
        self.next = self.next.min(at.0);
        if self.is_in_ring(at.0) {
            self.insert(at.0, event);
        } else {
            self.sequence += 1;
            self.push_beyond(at.0, self.sequence, event);
        }
    }

    /// Inserts the event of `first` into the ring, before all others.
    fn put_back_first(&mut self) {
        let (at, event) = (self.first_at, self.first);
        self.next = at;
        if !self.is_in_ring(at) {
            // Sequence number 0: no other event of this time was inserted earlier.
            return self.push_beyond(at, 0, event);
        }
        let index = slot_of(at);
        let slot = self.slots[index];
        if slot.head == NONE {
            return self.insert(at, event);
        }
        let node = self.new_node(at, event);
        self.nodes[node as usize].next = slot.head;
        self.slots[index].head = node;
    }

    #[inline]
    const fn is_in_ring(&self, at: u64) -> bool {
        (at >> SLOT_SHIFT).wrapping_sub(self.start) < SLOTS as u64
    }

    #[cold]
    fn push_beyond(&mut self, at: u64, sequence: u64, event: Event) {
        self.beyond.push(Reverse(Beyond {
            at,
            sequence,
            event,
        }));
    }

    /// Inserts into the ring, after the events of the same time.
    #[inline]
    fn insert(&mut self, at: u64, event: Event) {
        let node = self.new_node(at, event);
        let index = slot_of(at);
        let slot = self.slots[index];
        if slot.head == NONE {
            self.slots[index] = Slot {
                head: node,
                tail: node,
            };
            self.occupied[index / 64] |= 1 << (index % 64);
            self.occupied_words |= 1 << (index / 64);
        } else if self.nodes[slot.tail as usize].at <= at {
            self.nodes[slot.tail as usize].next = node;
            self.slots[index].tail = node;
        } else {
            self.insert_before_later(index, node, at);
        }
    }

    /// Inserts an event into a list whose last event is later.
    fn insert_before_later(&mut self, slot: usize, node: u32, at: u64) {
        let mut before = NONE;
        let mut after = self.slots[slot].head;
        while self.nodes[after as usize].at <= at {
            before = after;
            after = self.nodes[after as usize].next;
        }
        self.nodes[node as usize].next = after;
        match before {
            NONE => self.slots[slot].head = node,
            before => self.nodes[before as usize].next = node,
        }
    }

    #[inline]
    fn new_node(&mut self, at: u64, event: Event) -> u32 {
        let node = Node {
            at,
            event,
            next: NONE,
        };
        let index = self.free;
        match self.nodes.get_mut(index as usize) {
            Some(place) => {
                self.free = place.next;
                *place = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len().narrow() - 1
            }
        }
    }

    #[inline]
    pub(crate) fn next_time(&self) -> Option<Nanos> {
        let next = self.first_at.min(self.next);
        (next != NEVER).then_some(Nanos(next))
    }

    /// Removes and returns the first event if it comes no later than `limit`.
    #[inline]
    pub(crate) fn pop_until(&mut self, limit: Nanos) -> Option<(Nanos, Event)> {
        let at = self.first_at;
        if at == NEVER {
            return self.pop_from_ring(limit);
        }
        if at > limit.0 {
            return None;
        }
        self.first_at = NEVER;
        self.advance_to(at);
        Some((Nanos(at), self.first))
    }

    /// Moves the start of the ring to the slot of a time; no event may be earlier.
    #[inline]
    fn advance_to(&mut self, at: u64) {
        if at >> SLOT_SHIFT != self.start {
            self.start = at >> SLOT_SHIFT;
            self.fetch_from_beyond();
        }
    }

    fn pop_from_ring(&mut self, limit: Nanos) -> Option<(Nanos, Event)> {
        let at = self.next;
        if at > limit.0 || at == NEVER {
            return None;
        }
        self.advance_to(at);
        let index = slot_of(at);
        let head = self.slots[index].head;
        let Node { event, next, .. } = self.nodes[head as usize];
        self.nodes[head as usize].next = self.free;
        self.free = head;
        if next == NONE {
            self.slots[index] = EMPTY;
            self.occupied[index / 64] &= !(1 << (index % 64));
            if self.occupied[index / 64] == 0 {
                self.occupied_words &= !(1 << (index / 64));
            }
            self.next = self.earliest(index);
        } else {
            self.slots[index].head = next;
            self.next = self.nodes[next as usize].at;
        }
        debug_assert!(at <= self.next, "events come out in order of time");
        Some((Nanos(at), event))
    }

    /// Moves the events of `beyond` that the ring now covers into the ring.
    #[inline]
    fn fetch_from_beyond(&mut self) {
        while let Some(Reverse(first)) = self.beyond.peek()
            && self.is_in_ring(first.at)
        {
            let Beyond { at, event, .. } = *first;
            self.beyond.pop();
            self.insert(at, event);
        }
    }

    /// Time of the first event, if the slots before `from` are empty.
    #[inline]
    fn earliest(&self, from: usize) -> u64 {
        let word = from / 64;
        let here = self.occupied[word] & (u64::MAX << (from % 64));
        let bits = if here != 0 {
            Some((word, here))
        } else if self.occupied_words != 0 {
            // The following words around the ring, then this word again: its bits below `from` are the end of the ring.
            let later = self.occupied_words.rotate_right(word.narrow() + 1);
            let word = (word + 1 + later.trailing_zeros() as usize) % WORDS;
            Some((word, self.occupied[word]))
        } else {
            None
        };
        match bits {
            Some((word, bits)) => {
                let head = self.slots[word * 64 + bits.trailing_zeros() as usize].head;
                self.nodes[head as usize].at
            }
            None => self.beyond.peek().map_or(NEVER, |Reverse(first)| first.at),
        }
    }

    /// All pending events, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Nanos, Event)> + '_ {
        let beyond = self.beyond.iter().map(|Reverse(e)| (Nanos(e.at), e.event));
        let lists = self.slots.iter().flat_map(|slot| self.list(*slot));
        let first = (self.first_at != NEVER).then_some((Nanos(self.first_at), self.first));
        let ring = lists.map(|node| (Nanos(node.at), node.event));
        ring.chain(beyond).chain(first)
    }

    fn list(&self, slot: Slot) -> impl Iterator<Item = &Node> {
        let node = |index: u32| self.nodes.get(index as usize);
        std::iter::successors(node(slot.head), move |before| node(before.next))
    }

    /// Checks that the queue is in order and that nothing in it is past or too far ahead.
    pub(crate) fn audit(&self, now: Nanos) -> Checked {
        for (index, slot) in self.slots.iter().enumerate() {
            let bit = self.occupied[index / 64] >> (index % 64) & 1 == 1;
            ensure!(
                bit == (slot.head != NONE),
                "slot {index} of the event queue and its occupancy bit disagree"
            );
            let in_slot = |node: &Node| slot_of(node.at) == index && self.is_in_ring(node.at);
            ensure!(
                self.list(*slot).is_sorted_by_key(|node| node.at) && self.list(*slot).all(in_slot),
                "the events of slot {index} are out of order"
            );
        }
        for (index, word) in self.occupied.iter().enumerate() {
            ensure!(
                (self.occupied_words >> index & 1 == 1) == (*word != 0),
                "word {index} of the occupancy bits and its summary bit disagree"
            );
        }
        ensure!(
            self.beyond.iter().all(|Reverse(e)| !self.is_in_ring(e.at)),
            "an event waits in the overflow of the queue although its time is within the ring"
        );
        let first = self.iter().map(|(at, _)| at.0).min();
        ensure!(
            self.first_at.min(self.next) == first.unwrap_or(NEVER),
            "the next event of the queue is not its earliest one"
        );
        ensure!(
            self.first_at == NEVER || self.first_at <= self.next,
            "the event kept outside the queue is not the earliest one"
        );
        for (at, event) in self.iter() {
            ensure!(at >= now, "{event:?} is at {at}, before {now}");
            check_near("an event", at, now)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

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

    /// Times within a slot, over the ring and far beyond it, while the clock advances.
    #[test]
    fn the_order_is_that_of_a_sorted_list() {
        for range in [40, 5_000, 3_000_000, 60_000_000, 10_000_000_000] {
            orders_like_a_sorted_list(range);
        }
    }

    #[test]
    fn a_restored_queue_gives_the_same_events() {
        let mut queue = EventQueue::default();
        for n in 0..3_000 {
            queue.push(Nanos(n * 7_919 % 5_000_000), Event::Bus(n as u32));
        }
        for _ in 0..700 {
            queue.pop_until(Nanos::MAX);
        }
        let events: Vec<(Nanos, Event)> = queue.clone().into();
        let mut restored = EventQueue::from(events);
        restored.audit(Nanos::ZERO).expect("in order");
        while let Some(event) = queue.pop_until(Nanos::MAX) {
            assert_eq!(restored.pop_until(Nanos::MAX), Some(event));
        }
        assert_eq!(restored.next_time(), None);
    }

    fn orders_like_a_sorted_list(range: u64) {
        let mut random = Random::new(range);
        let mut queue = EventQueue::default();
        let mut model: Vec<(u64, u32, Event)> = Vec::new();
        let mut now = 0;
        for n in 0..20_000u32 {
            if random.below(5) < 2 {
                let first = model.iter().min_by_key(|e| (e.0, e.1)).copied();
                assert_eq!(queue.next_time(), first.map(|e| Nanos(e.0)));
                let limit = now + random.below(range);
                let due = first.filter(|e| e.0 <= limit);
                assert_eq!(
                    queue.pop_until(Nanos(limit)),
                    due.map(|e| (Nanos(e.0), e.2))
                );
                model.retain(|e| Some(e.1) != due.map(|f| f.1));
                now = due.map_or(now, |e| e.0);
                continue;
            }
            let at = match random.below(4) {
                0 => now,
                // Many at one instant.
                1 => (now + random.below(range)).next_multiple_of(range / 4),
                _ => now + random.below(range),
            };
            let event = match random.below(6) {
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
                queue.audit(Nanos(now)).expect("in order");
            }
        }
    }
}
