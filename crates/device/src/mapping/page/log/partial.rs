//! Writes of less than a mapping unit. A part of a unit that is still gathered for its program is merged there; missing
//! parts are read from the old place before the program.

use super::{Log, PageRun, ProgramUnit};
use crate::flash::superblock_id::SuperblockId;
use crate::invariant::{Checked, ensure};
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::ppn::Ppn;
use serde::{Deserialize, Serialize};

/// A unit in the write buffer of which only a part was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Partial {
    logical: Lpn,
    /// Place at which the unit will be programmed.
    ppn: Ppn,
    /// Place of the old data; `None` if the unit was never written or its data is in the buffer.
    old: Option<Ppn>,
    /// First written sector of the unit, then the sector after the last: one range that grows at its ends.
    from: u32,
    to: u32,
    /// Whether the old data has been read.
    read: bool,
}

/// Units in the write buffer of which only a part was written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Partials {
    units: Vec<Partial>,
}

impl Log {
    /// Whether a further part of a logical unit can be merged in the buffer: the unit is gathered for the next program
    /// of the host's stream, or its program unit waits for its rest.
    pub(crate) fn takes_parts(&self, logical: Lpn) -> bool {
        let ppn = self.map.lookup(logical);
        if ppn == Ppn::UNMAPPED {
            return false;
        }
        let gathered = self.streams.of_host().any(|stream| {
            let end = self.geometry.ppn(stream.superblock, stream.next);
            ppn < end && end - ppn <= stream.filling
        });
        gathered || self.partials.units.iter().any(|p| p.ppn == ppn && !p.read)
    }

    /// Records that only sectors `from..to` of a unit just appended were written; its old data is at `old`.
    pub(crate) fn note_partial(&mut self, logical: Lpn, old: Option<Ppn>, from: u32, to: u32) {
        self.partials.units.push(Partial {
            logical,
            ppn: self.map.lookup(logical),
            old,
            from,
            to,
            read: false,
        });
    }

    /// Adds sectors `from..to` to a gathered unit.
    pub(crate) fn merge_partial(&mut self, logical: Lpn, from: u32, to: u32) {
        let sectors = self.geometry.unit_bytes / 512;
        let ppn = self.map.lookup(logical);
        let Some(index) = self.partials.units.iter().position(|p| p.ppn == ppn) else {
            return;
        };
        let partial = &mut self.partials.units[index];
        if from <= partial.to && to >= partial.from {
            partial.from = partial.from.min(from);
            partial.to = partial.to.max(to);
        }
        if (partial.from, partial.to) == (0, sectors) {
            self.partials.units.swap_remove(index);
        }
    }

    /// Whether the rest of the last unit of a full program unit may come next: its beginning was written.
    pub(crate) fn awaits_rest(&self, unit: &ProgramUnit) -> bool {
        let units = self.geometry.mode(unit.slc).program_units;
        let last = self
            .geometry
            .ppn(unit.superblock, unit.program.0 * units + units - 1);
        let rest = |p: &Partial| p.ppn == last && p.from == 0 && !p.read;
        self.partials.units.iter().any(rest)
    }

    /// Appends to `reads` the reads of old data that a full program unit must wait for, and removes its partly written
    /// units.
    pub(crate) fn take_merges(&mut self, unit: &ProgramUnit, reads: &mut Vec<PageRun>) {
        let units = self.geometry.mode(unit.slc).program_units;
        let start = self.geometry.ppn(unit.superblock, unit.program.0 * units);
        let mut index = 0;
        while index < self.partials.units.len() {
            let partial = self.partials.units[index];
            if partial.ppn < start || partial.ppn - start >= units {
                index += 1;
                continue;
            }
            self.partials.units.swap_remove(index);
            // No read for a unit that was overwritten or discarded since.
            if let Some(old) = partial.old
                && !partial.read
                && self.map.lookup(partial.logical) == partial.ppn
            {
                reads.push(self.run_at(old));
            }
        }
    }

    /// Reads of old data in a superblock that is about to be erased, needed by partly written units.
    pub(crate) fn merges_before_erase(
        &mut self,
        superblock: SuperblockId,
        reads: &mut Vec<PageRun>,
    ) {
        for index in 0..self.partials.units.len() {
            let partial = self.partials.units[index];
            if let Some(old) = partial.old
                && !partial.read
                && self.geometry.superblock_of(old) == superblock
            {
                self.partials.units[index].read = true;
                reads.push(self.run_at(old));
            }
        }
    }

    /// Forgets that units are partly written, so that they are programmed as they are: for starting states.
    pub(crate) fn forget_partials(&mut self) {
        self.partials.units.clear();
    }

    fn run_at(&self, ppn: Ppn) -> PageRun {
        self.unit_run(ppn)
    }

    /// Checks that partly written units exist, and that there are at most three program units of them.
    pub(super) fn audit_partials(&self) -> Checked {
        let sectors = self.geometry.unit_bytes / 512;
        let physical = self.blocks.len() * self.geometry.native.superblock_units;
        for partial in &self.partials.units {
            ensure!(
                partial.ppn.0 < physical
                    && partial.old.is_none_or(|old| old.0 < physical)
                    && partial.logical.0 < self.geometry.user_units
                    && partial.from < partial.to
                    && partial.to <= sectors,
                "a part of a unit waits for the rest: {partial:?}"
            );
        }
        let units = self.geometry.native.program_units;
        let most = units.max(self.geometry.slc.program_units) as usize;
        ensure!(
            self.partials.units.len() <= 3 * most,
            "{} units came in parts",
            self.partials.units.len()
        );
        Ok(())
    }
}
