//! Host writes and discards: data is appended to the open superblock, one program unit after another, and overwritten
//! data becomes invalid; a discard unmaps units.

use super::open::Writer;
use super::{Log, Pool, ProgramUnit};
use crate::convert::Narrow;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::map::LostRun;
use crate::mapping::page::ppn::Ppn;
use nandscope_units::Nanos;

impl Log {
    /// Appends `count` logical units from `first`; adds full program units to `full`. Returns the number appended:
    /// fewer if no block is left, which ends the device's life. [`Log::note_map_change`] must follow for these units.
    pub(crate) fn write(
        &mut self,
        first: Lpn,
        count: u32,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> u32 {
        let mut at = first;
        while at < first + count {
            let (pool, units) = self.pool_of_write(at, first + count - at);
            let appended = self.append_host(pool, (at, units), true, now, full);
            if appended == 0 {
                self.end_life(now);
                break;
            }
            self.count_write(at, appended);
            self.accounts.count_host(appended);
            at += appended;
        }
        self.collection.host_wrote();
        debug_assert!(at.0 <= self.layout.map.base.0, "the host writes to the map");
        at - first
    }

    /// As [`Log::write`] and [`Log::note_map_change`] for one unit after another, up to the end of the current program
    /// unit or journal page. Returns the number appended: 0 if every unit needs those calls, or if no block is left.
    pub(crate) fn write_units(
        &mut self,
        units: &[Lpn],
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> usize {
        if self.heat.is_some() || self.checkpoint.is_some() {
            return 0;
        }
        let to = Writer::Host(Pool::Cold);
        let Some((ppn, superblock)) = self.end_of(to, now) else {
            return 0;
        };
        let most = units.len().narrow().min(self.entries_to_journal_page());
        let (count, unit) = self.fill(to, most, true);
        full.extend(unit);
        let units = &units[..count as usize];
        let mut lost = std::mem::take(&mut self.lost);
        self.map.point_each(units, ppn, &mut lost);
        self.count_appended(superblock, count);
        for old in &lost {
            self.invalidated(self.geometry.superblock_of(*old), 1);
        }
        self.lost = lost;
        self.accounts.count_host(count);
        self.collection.host_wrote();
        self.close_if_full(to);
        self.note_journal_entries(count, now, full);
        if !self.window.is_whole_map() {
            for unit in units {
                self.touch_map(self.map_page_of(*unit), true, now, full);
            }
            self.window.forget_wanted();
        }
        units.len()
    }

    /// Closes the host's program units with padding, so that their data can be programmed.
    pub(crate) fn close_host_units(&mut self) -> impl Iterator<Item = ProgramUnit> + use<> {
        let units = Pool::HOST.map(|pool| self.pad(Writer::Host(pool)));
        units.into_iter().flatten()
    }

    /// Appends logical units from `first`, at most `count`, to the current program unit; returns the number appended, 0
    /// if no block is left.
    pub(super) fn append_host(
        &mut self,
        pool: Pool,
        (first, count): (Lpn, u32),
        host_data: bool,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> u32 {
        let to = Writer::Host(pool);
        let Some((ppn, superblock)) = self.end_of(to, now) else {
            return 0;
        };
        let (fitting, unit) = self.fill(to, count, host_data);
        full.extend(unit);
        if fitting == 1 {
            self.point_unit(first, ppn);
        } else {
            self.point_units(first, fitting, ppn);
        }
        self.map.mark_valid(ppn, fitting);
        self.count_appended(superblock, fitting);
        self.close_if_full(to);
        fitting
    }

    #[inline]
    fn point_unit(&mut self, unit: Lpn, ppn: Ppn) {
        let old = self.map.point(unit, ppn);
        if old != Ppn::UNMAPPED {
            self.invalidated(self.geometry.superblock_of(old), 1);
        }
    }

    /// As [`Log::point_unit`] for several units. Invalid units of one superblock are subtracted together.
    fn point_units(&mut self, first: Lpn, count: u32, ppn: Ppn) {
        let mut lost = std::mem::take(&mut self.lost_runs);
        self.map.point_run(first, count, ppn, &mut lost);
        let superblock_units = self.geometry.native.superblock_units;
        let (mut superblock, mut from, mut units) = (SuperblockId(0), Ppn(0), 0);
        for &LostRun { first, count } in &lost {
            let mut done = 0;
            while done < count {
                let at = first + done;
                if units == 0 || at.0.wrapping_sub(from.0) >= superblock_units {
                    self.invalidated(superblock, units);
                    superblock = self.geometry.superblock_of(at);
                    from = self.geometry.ppn(superblock, 0);
                    units = 0;
                }
                let here = (count - done).min(superblock_units - (at - from));
                units += here;
                done += here;
            }
        }
        self.invalidated(superblock, units);
        self.lost_runs = lost;
    }
}
