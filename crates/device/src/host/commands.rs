//! [`Commands`], commands submitted by the host and not yet completed.

use crate::command::{Command, Completion, Payload, Status, hand_over};
use crate::convert::Narrow;
use crate::invariant::{Checked, ensure, places_in_use};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// A command, when it was submitted, and its status so far.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) command: Command,
    pub(crate) submitted: Nanos,
    pub(crate) status: Status,
}

impl Request {
    /// A command that was submitted at `at` to a device of `capacity` bytes.
    #[inline(always)]
    pub(crate) fn new(command: Command, at: Nanos, capacity: u64) -> Self {
        Request {
            command,
            submitted: at,
            status: if command.is_within(capacity) {
                Status::Ok
            } else {
                Status::LbaOutOfRange
            },
        }
    }

    /// Completion of the command at `now`.
    #[inline]
    pub(crate) fn completion(&self, now: Nanos, payload: Option<Box<Payload>>) -> Completion {
        Completion {
            tag: self.command.tag,
            status: self.status,
            submitted: self.submitted,
            completed: now,
            payload,
        }
    }
}

/// Table of commands submitted by the host and not yet completed. A command keeps its index until it completes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Commands<P> {
    table: Vec<P>,
    /// Free indices.
    free: Vec<u32>,
    /// Number of commands sent to the device and not complete.
    outstanding: u32,
    /// Commands that wait at the host, beyond the queue depth of the host path.
    queue: VecDeque<u32>,
    /// Completions not yet passed to the host.
    #[serde(skip)]
    done: Vec<Completion>,
}

impl<P> Default for Commands<P> {
    fn default() -> Self {
        Commands {
            table: Vec::new(),
            free: Vec::new(),
            outstanding: 0,
            queue: VecDeque::new(),
            done: Vec::new(),
        }
    }
}

impl<P> Index<u32> for Commands<P> {
    type Output = P;

    #[inline(always)]
    fn index(&self, index: u32) -> &P {
        &self.table[index as usize]
    }
}

impl<P> IndexMut<u32> for Commands<P> {
    #[inline(always)]
    fn index_mut(&mut self, index: u32) -> &mut P {
        &mut self.table[index as usize]
    }
}

impl<P> Commands<P> {
    /// Adds a command; returns its index.
    #[inline(always)]
    pub(crate) fn add(&mut self, command: P) -> u32 {
        if let Some(index) = self.free.pop() {
            self.table[index as usize] = command;
            return index;
        }
        self.table.push(command);
        self.table.len().narrow() - 1
    }

    /// Length of the table; all indices are below it.
    pub(crate) fn table_len(&self) -> usize {
        self.table.len()
    }

    /// Number of commands sent to the device and not complete.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Counts a command sent to the device.
    #[inline]
    pub(crate) fn start(&mut self) {
        self.outstanding += 1;
    }

    /// Queues a command at the host.
    pub(crate) fn wait(&mut self, index: u32) {
        self.queue.push_back(index);
    }

    /// Removes and returns the command that has waited longest at the host.
    #[inline]
    pub(crate) fn take_waiting(&mut self) -> Option<u32> {
        self.queue.pop_front()
    }

    /// Whether commands wait at the host.
    #[inline]
    pub(crate) fn any_waits(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Indices of the commands that wait at the host, in order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.queue.iter().copied()
    }

    /// Completes a command and frees its index.
    #[inline]
    pub(crate) fn finish(&mut self, index: u32, completion: Completion) {
        self.done.push(completion);
        self.free.push(index);
        self.outstanding -= 1;
    }

    /// Resets the table, so that indices begin at 0 again. No command may be outstanding or waiting.
    pub(crate) fn clear(&mut self) {
        debug_assert!(self.outstanding == 0 && self.queue.is_empty());
        self.table.clear();
        self.free.clear();
    }

    /// Time to which a device advances towards `until`: at most `now` if completions wait for the host.
    #[inline]
    pub(crate) fn horizon(&self, until: Nanos, now: Nanos) -> Nanos {
        if self.done.is_empty() {
            until
        } else {
            until.min(now)
        }
    }

    /// Whether no completion waits for the host.
    #[inline]
    pub(crate) fn nothing_done(&self) -> bool {
        self.done.is_empty()
    }

    /// Moves all completions to the end of the host's list.
    #[inline]
    pub(crate) fn hand_over(&mut self, completions: &mut Vec<Completion>) {
        hand_over(&mut self.done, completions);
    }

    /// Checks the counts against a queue depth, beyond which `beyond` commands may have started. Returns, by index,
    /// whether a command was sent to the device.
    pub(crate) fn audit(&self, depth: u32, beyond: u32) -> Checked<Vec<bool>> {
        let mut started = places_in_use("commands", self.table.len(), &self.free)?;
        for index in &self.queue {
            let place = started.get_mut(*index as usize);
            ensure!(
                place.is_some_and(|used| std::mem::replace(used, false)),
                "command {index} waits at the host and elsewhere"
            );
        }
        let count = started.iter().filter(|used| **used).count();
        ensure!(
            count == self.outstanding as usize
                && self.outstanding <= depth + beyond
                && (self.queue.is_empty() || self.outstanding >= depth),
            "{count} commands are outstanding, {} were counted, {} wait",
            self.outstanding,
            self.queue.len()
        );
        Ok(started)
    }

    /// All commands that are outstanding or wait at the host, with their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &P)> {
        let used = |index: &u32| !self.free.contains(index);
        (0u32..)
            .zip(&self.table)
            .filter(move |(index, _)| used(index))
    }
}
