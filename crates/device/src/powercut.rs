//! A power cut: which of the writes that a device took are on the medium, and which are not.
//!
//! Writes are numbered as they are submitted, from [`crate::Device::track_writes`] on: the first is 0. [`crate::Device::durable_writes`] says up to
//! which number everything is safe, so that older contents need not be kept;
//! [`crate::Device::cut_power`] says what is lost.
//!
//! What is assumed of the firmware:
//! - Maps are found again: from the journal and from tags beside the pages, as all such firmware does, which delays the
//!   first command after the cut. A flush therefore need not write the map; with `ftl.journal_on_flush` it completes the
//!   journal. A discard that completed is not undone. Old data that was moved or overwritten stays until the new is safe.
//! - Where the translation is a page map, a page that was being programmed is known by its
//!   checksum and its old data is used: lost, never torn. An AU map returns the page as if it were valid.
//! - Programming a page of a word line endangers the pages that share the word line and were
//!   programmed before (MLC, TLC in passes). What was there at the last completed flush has a
//!   second copy until the word line is complete; what came after has not.
//! - Erasing and relocation lose nothing.
//!
//! Flash operations under way finish without time passing for the host: they represent what the
//! firmware rewrites at the next start.

use crate::convert::Narrow;
use nandscope_units::{Lba, Nanos};

/// Effect of a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Damaged parts of writes, in order of the writes. All other sectors are persisted, even those of
    /// unfinished commands.
    pub damage: Vec<Damage>,
    /// Time at which the device answers again, if power returns at once.
    pub ready: Nanos,
}

/// A part of a write that is not on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Number of the write.
    pub write: u64,
    /// First sector.
    pub first: Lba,
    /// Number of sectors.
    pub sectors: u32,
    /// The page was being programmed, or shares its word line with such a page: its contents are neither old nor new.
    /// If false, the old contents remain.
    pub torn: bool,
}

impl Damage {
    /// Damage of sectors `from..to`; a write is shorter than 2³² sectors.
    pub(crate) fn new(write: u64, from: u64, to: u64, torn: bool) -> Self {
        Damage {
            write,
            first: Lba(from),
            sectors: (to - from).narrow(),
            torn,
        }
    }
}

/// Numbers of the pending writes, by index of the pending command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    next: u64,
    pending: Vec<Option<u64>>,
}

impl Numbers {
    /// Numbers a submitted command, if it is a write.
    pub(crate) fn submitted(&mut self, index: u32) {
        let index = index as usize;
        if self.pending.len() <= index {
            self.pending.resize(index + 1, None);
        }
        self.pending[index] = Some(self.next);
        self.next += 1;
    }

    /// Number of a pending command, if it is a write.
    pub(crate) fn of(&self, index: u32) -> Option<u64> {
        self.pending.get(index as usize).copied().flatten()
    }

    /// Forgets the number of a completed command.
    pub(crate) fn completed(&mut self, index: u32) {
        if let Some(number) = self.pending.get_mut(index as usize) {
            *number = None;
        }
    }

    /// Index and number of each pending write.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (u32, u64)> {
        let places = (0..).zip(&self.pending);
        places.filter_map(|(index, number)| number.map(|n| (index, n)))
    }

    /// Number of the first write that may be incomplete.
    pub(crate) fn first_incomplete(&self) -> u64 {
        self.pending().map(|(_, n)| n).min().unwrap_or(self.next)
    }
}
