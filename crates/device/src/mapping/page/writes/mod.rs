//! Writes: data in the buffer, on the link and on its way into the array. [`buffer`] has the places of the write
//! buffer, [`in_flight`] the programs under way; [`admission`] accepts data, [`programs`] submits program units to the
//! array, [`durable`] completes flushes and forced writes.

mod admission;
mod audit;
mod buffer;
mod durable;
mod in_flight;
mod programs;

use buffer::{Transfers, WriteBuffer};
use in_flight::Programs;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// State of the write path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::mapping::page) struct Writes {
    pub(in crate::mapping::page) buffer: WriteBuffer,
    /// Number of writes not yet handled by the firmware.
    pub(in crate::mapping::page) in_firmware: u32,
    /// Number of incomplete writes and discards.
    pub(in crate::mapping::page) outstanding: u32,
    /// Writes and discards that wait for their turn, in order.
    admission: VecDeque<u32>,
    pub(in crate::mapping::page) transfers: Transfers,
    pub(in crate::mapping::page) programs: Programs,
    /// Commands that wait for all programs before a sequence number, in the order of these numbers.
    durable_waiters: VecDeque<(u32, u32)>,
}

impl Writes {
    /// A write path with a buffer of `capacity` mapping units.
    pub(in crate::mapping::page) fn new(capacity: u32) -> Self {
        Writes {
            buffer: WriteBuffer::new(capacity),
            in_firmware: 0,
            outstanding: 0,
            admission: VecDeque::new(),
            transfers: Transfers::default(),
            programs: Programs::default(),
            durable_waiters: VecDeque::new(),
        }
    }

    /// Whether data is on the link, or will be when the firmware has handled its command.
    fn is_data_coming(&self) -> bool {
        self.buffer.in_transit() > 0 || self.in_firmware > 0
    }

    /// Commands that wait for their turn, and those that wait for programs.
    pub(in crate::mapping::page) fn waiting(
        &self,
    ) -> (impl Iterator<Item = u32>, impl Iterator<Item = u32>) {
        (
            self.admission.iter().copied(),
            self.durable_waiters.iter().map(|(_, index)| *index),
        )
    }

    /// Queues a write or discard.
    pub(in crate::mapping::page) fn wait_for_admission(&mut self, index: u32) {
        self.admission.push_back(index);
    }

    /// The write or discard at the head of the queue.
    pub(in crate::mapping::page) fn first_waiting(&self) -> Option<u32> {
        self.admission.front().copied()
    }

    /// Removes the head of the queue.
    pub(in crate::mapping::page) fn end_first_waiting(&mut self) {
        self.admission.pop_front();
    }

    /// Whether writes wait for room.
    #[inline]
    pub(in crate::mapping::page) fn is_waited_for(&self) -> bool {
        !self.admission.is_empty()
    }

    /// Makes a command wait until all programs before a sequence number are done.
    fn wait_for_programs(&mut self, sequence: u32, index: u32) {
        self.durable_waiters.push_back((sequence, index));
    }

    /// Removes and returns the next command whose programs are done.
    fn take_durable(&mut self) -> Option<u32> {
        let (until, index) = *self.durable_waiters.front()?;
        let is_done = self.programs.are_done_before(until);
        if is_done {
            self.durable_waiters.pop_front();
        }
        is_done.then_some(index)
    }
}
