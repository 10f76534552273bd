//! Invariants of dies, channels and the operations in them: every operation is in exactly one place, and an event is
//! planned wherever one waits.

use super::{Array, ArrayTimes, Die, DieState, NONE, OVERTAKES_MAX, Queue, SUSPENDS_MAX, slowdown};
use crate::divisor::Divisor;
use crate::events::{Event, EventQueue};
use crate::flash::channel::{Channel, ChannelId};
use crate::flash::{FlashOp, OpClass, Plane};
use crate::invariant::{Checked, check_near, check_sum, ensure};
use nandscope_units::Nanos;
use std::collections::BTreeSet;

/// Upper bound of the bytes in an operation: a program unit has at most 8 MiB, in 64 pages.
const MOST_BYTES: u32 = 1 << 24;
const MOST_TRANSFERS: u32 = 1 << 10;

/// Location of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Unknown,
    Free,
    Queued,
    InArray,
    /// Staged; its data is in the die.
    Staged,
    /// Staged; its data is on the channel.
    Staging,
    Suspended,
    /// Read from the array; its data is on the channel.
    Leaving,
}

/// An operation that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live {
    pub(crate) op: FlashOp,
    /// The die has all data of it.
    pub(crate) is_in_die: bool,
}

/// Place of each operation found so far.
struct Places<'a> {
    array: &'a Array,
    of: Vec<Place>,
}

impl Places<'_> {
    fn put(&mut self, index: u32, place: Place) -> Checked<FlashOp> {
        let known = self.of.get_mut(index as usize);
        ensure!(
            known.as_ref().is_some_and(|p| **p == Place::Unknown),
            "flash operation {index} is {place:?} and {known:?}"
        );
        if let Some(known) = known {
            *known = place;
        }
        Ok(self.array.slots[index as usize].op)
    }

    /// As `put`, for places of a die that have at most one operation.
    fn put_of_die(&mut self, index: u32, die: Die, place: Place) -> Checked<Option<OpClass>> {
        if index == NONE {
            return Ok(None);
        }
        let op = self.put(index, place)?;
        ensure!(
            op.die == die,
            "an operation of die {} is in die {die}",
            op.die
        );
        Ok(Some(op.class))
    }

    fn queue(&mut self, queue: Queue, die: Die, urgent: bool) -> Checked {
        let (mut at, mut last) = (queue.head, NONE);
        while at != NONE {
            let class = self.put_of_die(at, die, Place::Queued)?;
            let slot = self.array.slots[at as usize];
            ensure!(
                slot.op.urgent == urgent && (!urgent || class == Some(OpClass::Read)),
                "operation {at} is in the wrong queue of die {die}"
            );
            (last, at) = (at, slot.next);
        }
        ensure!(
            queue.tail == last,
            "the queue of die {die} does not end with its last operation"
        );
        Ok(())
    }
}

impl Array {
    /// Checks all invariants; returns the operations queued or under way.
    pub(crate) fn audit(
        &self,
        times: &ArrayTimes,
        (channels, dies): (u32, u32),
        clock: f64,
        now: Nanos,
        events: &EventQueue,
    ) -> Checked<Vec<Live>> {
        ensure!(
            self.times == *times
                && self.dies.len() == dies as usize
                && self.channels.len() == channels as usize
                && self.planes.len() == (dies * times.planes) as usize
                && self.by_channels == Divisor::new(channels)
                && self.slowdown == slowdown(clock)
                && self.active_dies_max > 0,
            "the flash array is not that of the profile"
        );
        check_sum("energies", self.energy_pj)?;
        check_sum("bytes on the channels", self.bus_bytes)?;
        check_sum("page reads", self.page_reads)?;
        let places = self.places(events)?;
        self.audit_channels(&places, now)?;
        self.audit_plane_reads(&places)?;
        let mut live = Vec::new();
        for (slot, place) in self.slots.iter().zip(&places) {
            ensure!(
                *place != Place::Unknown,
                "a flash operation is in no queue, die or channel: {:?}",
                slot.op
            );
            if *place == Place::Free {
                continue;
            }
            ensure!(
                slot.op.bus_bytes <= MOST_BYTES && slot.op.transfers <= MOST_TRANSFERS,
                "an operation moves {} bytes in {} pages",
                slot.op.bus_bytes,
                slot.op.transfers
            );
            live.push(Live {
                op: slot.op,
                is_in_die: matches!(place, Place::InArray | Place::Staged | Place::Suspended),
            });
        }
        ensure!(
            live.len() == self.outstanding as usize,
            "{} operations are outstanding, {} were counted",
            live.len(),
            self.outstanding
        );
        let ends: BTreeSet<(Nanos, Die)> = events
            .iter()
            .filter_map(|(at, event)| match event {
                Event::Array(die) => Some((at, die)),
                _ => None,
            })
            .collect();
        for (_, die) in &ends {
            ensure!(
                self.dies.get(*die).is_some(),
                "the array of die {die} ends, which does not exist"
            );
        }
        for (number, die) in self.dies.iter() {
            self.audit_die(number, die, &places, now)?;
            ensure!(
                die.array == NONE || ends.contains(&(die.array_until, number)),
                "the array of die {number} never ends"
            );
        }
        self.audit_power()?;
        Ok(live)
    }

    fn places(&self, events: &EventQueue) -> Checked<Vec<Place>> {
        let mut places = Places {
            array: self,
            of: vec![Place::Unknown; self.slots.len()],
        };
        let mut free = self.free_slot;
        while free != NONE {
            places.put(free, Place::Free)?;
            free = self.slots[free as usize].next;
        }
        for (number, die) in self.dies.iter() {
            places.queue(die.urgent, number, true)?;
            places.queue(die.normal, number, false)?;
            places.put_of_die(die.array, number, Place::InArray)?;
            let staged = places.put_of_die(die.staged, number, Place::Staged)?;
            let suspended = places.put_of_die(die.suspended.op, number, Place::Suspended)?;
            ensure!(
                staged != Some(OpClass::Read) && suspended != Some(OpClass::Read),
                "a read is staged or suspended in die {number}"
            );
        }
        for (_, event) in events.iter() {
            if let Event::PlaneRead(index) = event {
                let op = places.put(index, Place::InArray)?;
                let here = op.class == OpClass::Read && self.dies.get(op.die).is_some();
                ensure!(
                    here && self.times.planes > 0,
                    "operation {index} is an independent read of a plane, which the device does not have"
                );
                continue;
            }
            let Event::Bus(index) = event else { continue };
            let Some(place) = places.of.get_mut(index as usize) else {
                ensure!(false, "operation {index} on a channel does not exist");
                continue;
            };
            let op = self.slots[index as usize].op;
            let in_die = self.dies.get(op.die);
            let moving = in_die.is_some_and(|die| die.staged == index && !die.staged_ready);
            *place = match (*place, op.class) {
                (Place::Staged, OpClass::Program) if moving => Place::Staging,
                (Place::Unknown, OpClass::Read) if in_die.is_some() => Place::Leaving,
                (other, _) => {
                    ensure!(false, "operation {index} is on a channel and {other:?}");
                    other
                }
            };
        }
        Ok(places.of)
    }

    fn audit_die(&self, number: Die, die: &DieState, places: &[Place], now: Nanos) -> Checked {
        let place = |index: u32| places.get(index as usize).copied();
        let staged = place(die.staged);
        ensure!(
            (staged == Some(Place::Staged)) == (die.staged != NONE && die.staged_ready),
            "the program next in turn in die {number} waits for data that does not come"
        );
        ensure!(
            die.register == NONE
                || (die.array == NONE
                    && place(die.register) == Some(Place::Leaving)
                    && self.slots[die.register as usize].op.die == number),
            "the page register of die {number} is never free"
        );
        check_near("the end of an array operation", die.bus_until, now)?;
        check_near("the rest of a suspended operation", die.suspended.left, now)?;
        if die.array != NONE {
            check_near("the end of an array operation", die.array_until, now)?;
            ensure!(
                die.array_until >= now,
                "the array operation of die {number} should have ended already"
            );
        }
        ensure!(
            die.suspended.count <= SUSPENDS_MAX && die.overtakes <= OVERTAKES_MAX + SUSPENDS_MAX,
            "die {number} was suspended {} times and overtaken {} times",
            die.suspended.count,
            die.overtakes
        );
        check_near("the first read of a die", die.reads_from, now)?;
        self.audit_planes(number, die, places, now)?;
        let reads_wait = die.urgent.head != NONE;
        let idle = die.array == NONE && die.register == NONE && die.reading == 0;
        let comes = if die.staged == NONE {
            die.normal.head == NONE && !reads_wait
        } else {
            (!die.staged_ready || die.waits_for_power)
                && (!reads_wait || die.overtakes >= OVERTAKES_MAX)
        };
        ensure!(
            !idle || (die.suspended.op == NONE && comes),
            "die {number} is idle and has work"
        );
        Ok(())
    }

    /// Checks that busy planes have independent reads of these planes, and that their die does nothing else.
    fn audit_planes(&self, number: Die, die: &DieState, places: &[Place], now: Nanos) -> Checked {
        if self.times.planes == 0 {
            ensure!(
                die.reading == 0,
                "die {number} does not read planes independently"
            );
            return Ok(());
        }
        let mut reads = BTreeSet::new();
        for (own, plane) in (0..).map(Plane).zip(&self.planes[self.planes_of(number)]) {
            check_near("the end of a transfer", plane.bus_until, now)?;
            if plane.read == NONE {
                continue;
            }
            let slot = self.slots.get(plane.read as usize);
            let held = matches!(
                places.get(plane.read as usize),
                Some(Place::InArray | Place::Leaving)
            );
            ensure!(
                held && slot.is_some_and(|slot| slot.op.die == number
                    && slot.op.class == OpClass::Read
                    && slot.op.planes.contains(own)),
                "plane {own} of die {number} reads nothing"
            );
            reads.insert(plane.read);
        }
        ensure!(
            reads.len() == die.reading as usize && (reads.is_empty() || die.array == NONE),
            "{} reads are in planes of die {number}, {} were counted",
            reads.len(),
            die.reading
        );
        Ok(())
    }

    /// Checks that an independent plane read occupies all of its planes until its transfer.
    fn audit_plane_reads(&self, places: &[Place]) -> Checked {
        if self.times.planes == 0 {
            return Ok(());
        }
        for (index, (slot, place)) in (0u32..).zip(self.slots.iter().zip(places)) {
            if *place == Place::Free || slot.op.class != OpClass::Read {
                continue;
            }
            let planes = slot.op.planes;
            let fits = !planes.is_empty() && planes.iter().all(|plane| plane.0 < self.times.planes);
            let holds =
                *place == Place::InArray || (*place == Place::Leaving && !self.times.cache_read);
            ensure!(
                fits && self
                    .planes_read(index)
                    .all(|plane| (self.planes[plane].read == index) == holds),
                "the planes of operation {index} are not those that read"
            );
        }
        Ok(())
    }

    /// Checks that every program whose data is being transferred is booked on the channel of its die.
    fn audit_channels(&self, places: &[Place], now: Nanos) -> Checked {
        for (number, channel) in (0..).map(ChannelId).zip(&self.channels) {
            channel.audit(now, |op| {
                let slot = self.slots.get(op as usize);
                places.get(op as usize) == Some(&Place::Staging)
                    && slot.is_some_and(|s| self.channel_of(s.op.die) == number)
            })?;
        }
        let booked: usize = self.channels.iter().map(Channel::programs).sum();
        let staging = places.iter().filter(|p| **p == Place::Staging).count();
        ensure!(
            booked == staging,
            "{staging} programs wait for their data, {booked} are booked on channels"
        );
        Ok(())
    }

    /// Checks that programs and erases, under way or suspended, have power tokens.
    fn audit_power(&self) -> Checked {
        let draws = |index: u32| {
            let slot = self.slots.get(index as usize);
            slot.is_some_and(|slot| slot.op.class != OpClass::Read)
        };
        let drawing = self
            .dies
            .iter()
            .map(|(_, die)| u32::from(draws(die.array)) + u32::from(draws(die.suspended.op)));
        let drawing: u32 = drawing.sum();
        ensure!(
            drawing == self.active_dies,
            "{drawing} dies program or erase, {} were counted",
            self.active_dies
        );
        let waiting = self
            .dies
            .iter()
            .filter(|(_, die)| die.waits_for_power)
            .count();
        let queued: BTreeSet<Die> = self.power_queue.iter().copied().collect();
        let known = |die: &Die| {
            let die = self.dies.get(*die);
            die.is_some_and(|die| die.waits_for_power)
        };
        ensure!(
            queued.len() == self.power_queue.len()
                && queued.len() == waiting
                && queued.iter().all(known)
                && (waiting == 0 || drawing > 0),
            "{waiting} dies wait for power, {} are queued for it",
            self.power_queue.len()
        );
        Ok(())
    }
}
