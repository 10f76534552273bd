//! Turns a plan back into operations and events: bookings for the future are taken back, the latest first, and each
//! read is put into its present state.

use super::{IDLE, NONE, PlannedRead, ReadPlan, Stage, Trigger};
use crate::events::Event;
use crate::mapping::page::PageMapDevice;
use nandscope_units::Nanos;

/// Bound of what has happened: all events before a time, and of the events at that time those planned no later than a
/// given event.
#[derive(Clone, Copy)]
struct Settled {
    at: Nanos,
    planned_by: Nanos,
}

impl Settled {
    fn has_happened(self, at: Nanos, planned_at: Nanos) -> bool {
        at < self.at || at == self.at && planned_at <= self.planned_by
    }
}

/// An event and its order among events at the same time: time of planning, kind, and order within the kind.
struct Planned {
    at: Nanos,
    planned_at: Nanos,
    kind: u8,
    order: Trigger,
    event: Event,
}

impl PageMapDevice {
    /// Abandons the plan at the present, after all events of the present.
    #[cold]
    pub(in crate::mapping::page) fn leave_plan(&mut self) {
        self.leave(Settled {
            at: self.plan.settled,
            planned_by: Nanos::MAX,
        });
    }

    /// A copy of the device with its plan turned into events; `None` if it has no plan.
    pub(crate) fn without_plan(&self) -> Option<Self> {
        self.plan.is_active().then(|| {
            let mut device = self.clone();
            device.leave_plan();
            device
        })
    }

    /// Abandons the plan while the firmware handles a command that was submitted at `submitted`: of the other present
    /// events, those planned by then have happened.
    #[cold]
    pub(super) fn leave_plan_during(&mut self, submitted: Nanos) {
        self.leave(Settled {
            at: self.plan.settled,
            planned_by: submitted,
        });
    }

    fn leave(&mut self, settled: Settled) {
        let plan = self.plan.take();
        let mut reads: Vec<(u32, PlannedRead)> = plan.under_way().map(|(c, r)| (c, *r)).collect();
        self.take_bookings_back(&mut reads, settled);
        reads.sort_by_key(|(_, read)| read.order);
        let waits_for_firmware = |command: u32| plan.firmware.contains(&command);
        let mut events = Vec::new();
        for (command, read) in &mut reads {
            let planned = if waits_for_firmware(*command) {
                Planned {
                    at: read.firmware,
                    planned_at: read.submitted,
                    kind: 3,
                    order: by_number(read.order),
                    event: Event::Firmware(*command),
                }
            } else if let Some(planned) = self.put_back(*command, read, settled) {
                planned
            } else {
                continue;
            };
            events.push(planned);
        }
        events.sort_by_key(|e| (e.at, e.planned_at, e.kind, e.order));
        for planned in events {
            self.schedule.push(planned.at, planned.event);
        }
    }

    /// Takes back bookings of channels and link that would not have been made yet.
    fn take_bookings_back(&mut self, reads: &mut [(u32, PlannedRead)], settled: Settled) {
        reads.sort_by_key(|(_, read)| (read.transfer.end, read.array.rank));
        for (_, read) in reads.iter().rev().filter(|r| r.1.stage == Stage::Link) {
            if !settled.has_happened(read.transfer.end, read.array.end) {
                self.link.take_back_to(read.link.before);
            }
        }
        reads.sort_by_key(|(_, read)| read.array.rank);
        for (_, read) in reads.iter().rev().filter(|r| r.1.stage >= Stage::Transfer) {
            if !settled.has_happened(read.array.end, read.array.start) {
                self.array.take_back(read.op.die, &read.transfer);
            }
        }
    }

    /// Puts a read handled by the firmware into its present state: waiting for its die, in the array, on the channel or
    /// on the link; returns the event that it waits for.
    fn put_back(&mut self, command: u32, read: &PlannedRead, settled: Settled) -> Option<Planned> {
        let is_sent =
            read.stage == Stage::Link && settled.has_happened(read.transfer.end, read.array.end);
        let is_transferring =
            read.stage >= Stage::Transfer && settled.has_happened(read.array.end, read.array.start);
        let is_reading = read.stage >= Stage::Array
            && settled.has_happened(read.array.start, read.array.trigger.planned_at);
        self.commands[command].waits = u32::from(!is_sent);
        let up_to = match (is_sent, is_transferring, is_reading) {
            (true, ..) => Stage::Link,
            (_, true, _) => Stage::Transfer,
            (_, _, true) => Stage::Array,
            _ => Stage::None,
        };
        self.count_read(read, up_to);
        match up_to {
            Stage::Link => {
                self.commands[command].link_done = read.link.end;
                Some(Planned {
                    at: read.link.completed,
                    planned_at: read.transfer.end,
                    kind: 0,
                    order: by_number(read.array.rank),
                    event: Event::Complete(command),
                })
            }
            Stage::Transfer => {
                let slot = self.array.adopt_transferring(read.op);
                Some(Planned {
                    at: read.transfer.end,
                    planned_at: read.array.end,
                    kind: 1,
                    order: by_number(read.array.rank),
                    event: Event::Bus(slot),
                })
            }
            Stage::Array => {
                self.array.adopt_reading(read.op, read.array.end);
                Some(Planned {
                    at: read.array.end,
                    planned_at: read.array.start,
                    kind: 2,
                    order: read.array.trigger,
                    event: Event::Array(read.op.die),
                })
            }
            _ => {
                self.array.adopt_waiting(read.op);
                None
            }
        }
    }
}

fn by_number(order: u64) -> Trigger {
    Trigger {
        order,
        ..Trigger::default()
    }
}

impl ReadPlan {
    /// Removes and returns the whole plan.
    fn take(&mut self) -> ReadPlan {
        let empty = ReadPlan {
            dies: vec![IDLE; self.dies.len()],
            order: self.order,
            rank: self.rank,
            #[cfg(test)]
            refused: self.refused,
            ..ReadPlan::default()
        };
        debug_assert!(empty.dies.iter().all(|die| die.last == NONE));
        std::mem::replace(self, empty)
    }
}
