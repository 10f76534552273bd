//! Open superblocks, filled one program unit after another with host data or relocated data. The choice of superblock
//! and data is made elsewhere.

use super::{Log, Pool, ProgramUnit};
use crate::flash::blocks::State;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::geometry::Geometry;
use crate::mapping::page::ppn::Ppn;
use crate::mapping::page::program_id::ProgramId;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// A writer, which fills an open superblock.
#[derive(Clone, Copy, Debug)]
pub(super) enum Writer {
    /// Data of the host for a pool, the map's journal, and pages of the map.
    Host(Pool),
    /// Relocation into a pool.
    Relocation(Pool),
}

impl Writer {
    fn pool(self) -> Pool {
        match self {
            Writer::Host(pool) | Writer::Relocation(pool) => pool,
        }
    }
}

/// An open superblock and its write position.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Stream {
    pub(super) superblock: SuperblockId,
    /// Offset of the next unit in the superblock.
    pub(super) next: u32,
    pub(super) slc: bool,
    /// Units in the current program unit, without padding.
    pub(super) filling: u32,
    /// Units of host data in the current program unit.
    pub(super) host_units: u32,
}

impl Stream {
    /// Whether `program` of the superblock is the current program unit.
    fn fills(&self, superblock: SuperblockId, program: ProgramId, g: &Geometry) -> bool {
        self.superblock == superblock
            && self.filling > 0
            && ProgramId(self.next / g.mode(self.slc).program_units) == program
    }

    /// Free units in the superblock.
    pub(super) fn units_left(&self, g: &Geometry) -> u32 {
        g.mode(self.slc).superblock_units - self.next
    }
}

/// Open superblocks of host data and of relocation, by [`Pool`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Streams {
    host: [Option<Stream>; Pool::COUNT],
    relocation: [Option<Stream>; Pool::COUNT],
}

impl Streams {
    /// Open superblock of a writer.
    pub(super) fn get(&self, writer: Writer) -> Option<&Stream> {
        match writer {
            Writer::Host(pool) => self.host[pool as usize].as_ref(),
            Writer::Relocation(pool) => self.relocation[pool as usize].as_ref(),
        }
    }

    #[inline]
    fn get_mut(&mut self, writer: Writer) -> &mut Option<Stream> {
        match writer {
            Writer::Host(pool) => &mut self.host[pool as usize],
            Writer::Relocation(pool) => &mut self.relocation[pool as usize],
        }
    }

    /// Streams of host data and the journal.
    #[inline]
    pub(super) fn of_data(&self) -> impl Iterator<Item = &Stream> {
        self.host[..Pool::Map as usize].iter().flatten()
    }

    /// Streams of host data, the journal and new map pages.
    pub(super) fn of_host(&self) -> impl Iterator<Item = &Stream> {
        self.host.iter().flatten()
    }

    /// Streams of relocation.
    pub(super) fn of_relocation(&self) -> impl Iterator<Item = &Stream> {
        self.relocation.iter().flatten()
    }

    /// All streams.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.of_host().chain(self.of_relocation())
    }

    /// Whether host data is in a program unit that is not full.
    pub(super) fn is_gathering(&self) -> bool {
        self.of_data().any(|s| s.filling > 0)
    }
}

impl Log {
    /// Whether the program unit is being filled with host data, which is in the write buffer.
    pub(crate) fn is_filling(&self, superblock: SuperblockId, program: ProgramId) -> bool {
        let fills = |s: &Stream| s.fills(superblock, program, &self.geometry);
        self.streams.of_host().any(fills)
    }

    /// Whether the program unit is being filled with relocated data.
    pub(crate) fn is_moving_into(&self, superblock: SuperblockId, program: ProgramId) -> bool {
        let fills = |s: &Stream| s.fills(superblock, program, &self.geometry);
        self.streams.of_relocation().any(fills)
    }

    /// Next place of a writer, and its superblock; opens one if none is open. `None` if no block is left.
    #[inline]
    pub(super) fn end_of(&mut self, writer: Writer, now: Nanos) -> Option<(Ppn, SuperblockId)> {
        if self.streams.get(writer).is_none() {
            *self.streams.get_mut(writer) = self.open_for(writer, now);
        }
        let open = self.streams.get(writer)?;
        Some((
            self.geometry.ppn(open.superblock, open.next),
            open.superblock,
        ))
    }

    fn open_for(&mut self, writer: Writer, now: Nanos) -> Option<Stream> {
        let may_be_slc = matches!(writer, Writer::Host(Pool::Cold | Pool::Hot));
        let slc = may_be_slc && self.slc_may_grow();
        let superblock = self.blocks.open(slc, now)?;
        if slc {
            self.slc.opened();
        }
        Some(Stream {
            superblock,
            next: 0,
            slc,
            filling: 0,
            host_units: 0,
        })
    }

    /// Free units in a writer's current program unit.
    pub(super) fn room(&self, writer: Writer) -> u32 {
        let room = |open: &Stream| self.geometry.mode(open.slc).program_units - open.filling;
        self.streams.get(writer).map_or(0, room)
    }

    /// Advances a writer by `count` units, at most to the end of its current program unit; returns the number of units,
    /// and the program unit if it is full.
    ///
    /// Called before the map is changed, and updates the stream in place: a copy right after the write would stall
    /// until all earlier writes to the map have got their cache lines.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        writer: Writer,
        count: u32,
        host_data: bool,
    ) -> (u32, Option<ProgramUnit>) {
        let room = self.room(writer);
        let fitting = count.min(room);
        let Some(open) = self.streams.get_mut(writer) else {
            return (0, None);
        };
        open.next += fitting;
        open.filling += fitting;
        open.host_units += if host_data { fitting } else { 0 };
        debug_assert!(open.host_units <= open.filling);
        let unit = (fitting == room).then(|| self.take_unit(writer));
        (fitting, unit.flatten())
    }

    /// Fills the rest of a writer's program unit with padding, so that its data can be programmed.
    pub(super) fn pad(&mut self, writer: Writer) -> Option<ProgramUnit> {
        let padding = self.room(writer);
        let open = self.streams.get_mut(writer).as_mut()?;
        if open.filling == 0 {
            return None;
        }
        open.next += padding;
        self.accounts.count_padding(padding);
        let unit = self.take_unit(writer);
        self.close_if_full(writer);
        unit
    }

    /// Removes and returns the full program unit of a writer.
    #[inline]
    fn take_unit(&mut self, writer: Writer) -> Option<ProgramUnit> {
        let open = self.streams.get_mut(writer).as_mut()?;
        open.filling = 0;
        let host_units = std::mem::take(&mut open.host_units);
        let (superblock, end, slc) = (open.superblock, open.next, open.slc);
        debug_assert!(
            end > 0 && end.is_multiple_of(self.geometry.mode(slc).program_units),
            "a program unit is programmed before it is full"
        );
        let program = self.geometry.program_of(slc, end - 1);
        self.blocks.get_mut(superblock).programs_pending += 1;
        self.count_parity(slc, program);
        Some(ProgramUnit {
            superblock,
            program,
            die: self.geometry.die_of(slc, program),
            slc,
            pool: writer.pool(),
            host_units,
        })
    }

    /// Counts the parity of a row of program units with the last data program unit of the row.
    fn count_parity(&mut self, slc: bool, program: ProgramId) {
        let g = &self.geometry;
        let units = g.parity_units(slc, program.0 + 1) - g.parity_units(slc, program.0);
        self.accounts.count_parity(units);
    }

    /// Counts valid data appended to an open superblock.
    #[inline]
    pub(super) fn count_appended(&mut self, superblock: SuperblockId, count: u32) {
        self.blocks.get_mut(superblock).valid += count;
        self.accounts.count_appended(count);
    }

    /// Closes a writer's superblock if it is full.
    #[inline]
    pub(super) fn close_if_full(&mut self, writer: Writer) {
        let Some(open) = self.streams.get(writer) else {
            return;
        };
        let units = self.geometry.mode(open.slc).superblock_units;
        debug_assert!(
            open.next <= units,
            "data lies beyond the end of a superblock"
        );
        if open.next == units {
            let (superblock, slc) = (open.superblock, open.slc);
            *self.streams.get_mut(writer) = None;
            self.close_superblock(superblock, slc, writer.pool());
        }
    }

    fn close_superblock(&mut self, superblock: SuperblockId, slc: bool, pool: Pool) {
        self.closings += 1;
        let block = self.blocks.get_mut(superblock);
        block.state = State::Closed;
        block.closed_order = self.closings;
        let valid = block.valid;
        if valid == 0 {
            self.queue_erase(superblock);
        } else if slc {
            self.slc.closed(superblock);
        } else if pool == Pool::Map {
            self.map_blocks.closed(superblock);
        } else {
            self.victims.insert(superblock, valid);
        }
    }
}
