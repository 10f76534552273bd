//! The host's side: data is appended to the open superblock, program unit by program unit; what it
//! replaces becomes invalid; discards forget.

use super::{Log, Pool, ProgramUnit, Stream};
use crate::convert::Narrow;
use crate::ftl::blocks::State;
use crate::ftl::page_map::lpn::Lpn;
use crate::ftl::page_map::map::LostRun;
use crate::ftl::page_map::ppn::Ppn;
use crate::ftl::page_map::program_id::ProgramId;
use crate::ftl::superblock_id::SuperblockId;
use nandscope_units::Nanos;

impl Log {
    /// Appends `count` logical units from `first`; full program units go to `full`. Returns how many
    /// were appended: fewer where no block is left to write to, which ends the device's life.
    /// [`Log::note_map_change`] must follow for these.
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
            self.programmed.host += u64::from(appended);
            at += appended;
        }
        self.gc_writes_since_host = 0;
        debug_assert!(at.0 <= self.layout.map_base.0, "the host writes to the map");
        at - first
    }

    /// As [`Log::write`] and [`Log::note_map_change`] for one unit after another, up to the end of the program unit that
    /// is being filled and to the next page of the journal. Returns how many were appended: none if each of them needs
    /// those calls, or no block is left.
    pub(crate) fn write_units(
        &mut self,
        units: &[Lpn],
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> usize {
        if self.heat.is_some() || self.map_cache.is_some() || self.checkpoint.is_some() {
            return 0;
        }
        let open = self.host[Pool::Cold as usize].take();
        let Some(mut stream) = open.or_else(|| self.open_host(now)) else {
            return 0;
        };
        let fitting = self.room(&stream).min(self.entries_to_journal_page());
        let units = &units[..units.len().min(fitting as usize)];
        let count = units.len().narrow();
        let ppn = self.geometry.ppn(stream.superblock, stream.next);
        let mut lost = std::mem::take(&mut self.lost);
        self.map.point_each(units, ppn, &mut lost);
        self.count_appended(&mut stream, count);
        for old in &lost {
            self.invalidated(self.geometry.superblock_of(*old), 1);
        }
        self.lost = lost;
        stream.host_units += count;
        self.programmed.host += u64::from(count);
        self.gc_writes_since_host = 0;
        full.extend(self.take_full_unit(&mut stream));
        self.host[Pool::Cold as usize] = self.keep_or_close(stream);
        self.note_journal_entries(count, now, full);
        units.len()
    }

    /// Closes the host's program units with padding, so that what they hold can be programmed.
    pub(crate) fn close_host_units(&mut self) -> impl Iterator<Item = ProgramUnit> + use<> {
        let units = Pool::ALL.map(|pool| {
            let mut stream = self.host[pool as usize].take()?;
            let unit = self.close_unit(&mut stream);
            self.host[pool as usize] = self.keep_or_close(stream);
            unit
        });
        units.into_iter().flatten()
    }

    /// Appends what fits of `count` logical units from `first` into the program unit that is being
    /// filled; returns how many, zero where no block is left.
    pub(super) fn append_host(
        &mut self,
        pool: Pool,
        (first, count): (Lpn, u32),
        host_data: bool,
        now: Nanos,
        full: &mut Vec<ProgramUnit>,
    ) -> u32 {
        let open = self.host[pool as usize].take();
        let Some(mut stream) = open.or_else(|| self.open_host(now)) else {
            return 0;
        };
        let fitting = count.min(self.room(&stream));
        stream.host_units += if host_data { fitting } else { 0 };
        self.append(&mut stream, first, fitting);
        debug_assert!(stream.host_units <= stream.filling);
        full.extend(self.take_full_unit(&mut stream));
        self.host[pool as usize] = self.keep_or_close(stream);
        fitting
    }

    /// Units that fit into the program unit that is being filled.
    pub(super) fn room(&self, stream: &Stream) -> u32 {
        self.geometry.mode(stream.slc).program_units - stream.filling
    }

    /// Appends logical units that fit.
    pub(super) fn append(&mut self, stream: &mut Stream, first: Lpn, count: u32) {
        debug_assert!(count <= self.room(stream), "a program unit overflows");
        let ppn = self.geometry.ppn(stream.superblock, stream.next);
        if count == 1 {
            self.point_unit(first, ppn);
        } else {
            self.point_units(first, count, ppn);
        }
        self.advance_stream(stream, ppn, count);
    }

    #[inline]
    fn point_unit(&mut self, unit: Lpn, ppn: Ppn) {
        let old = self.map.point(unit, ppn);
        if old != Ppn::UNMAPPED {
            self.invalidated(self.geometry.superblock_of(old), 1);
        }
    }

    /// As [`Log::point_unit`] for several units. Invalid units of one superblock are booked together.
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

    /// Units were put at the end of a stream, from `ppn`.
    pub(super) fn advance_stream(&mut self, stream: &mut Stream, ppn: Ppn, count: u32) {
        self.map.mark_valid(ppn, count);
        self.count_appended(stream, count);
    }

    fn count_appended(&mut self, stream: &mut Stream, count: u32) {
        self.blocks.get_mut(stream.superblock).valid += count;
        stream.next += count;
        stream.filling += count;
        self.appended += u64::from(count);
    }

    pub(super) fn take_full_unit(&mut self, stream: &mut Stream) -> Option<ProgramUnit> {
        if self.room(stream) == 0 {
            self.take_unit(stream)
        } else {
            None
        }
    }

    pub(super) fn close_unit(&mut self, stream: &mut Stream) -> Option<ProgramUnit> {
        if stream.filling == 0 {
            return None;
        }
        let program_units = self.geometry.mode(stream.slc).program_units;
        let padded = stream.next.next_multiple_of(program_units);
        self.programmed.padding += u64::from(padded - stream.next);
        self.appended += u64::from(padded - stream.next);
        stream.next = padded;
        self.take_unit(stream)
    }

    pub(super) fn take_unit(&mut self, stream: &mut Stream) -> Option<ProgramUnit> {
        let program_units = self.geometry.mode(stream.slc).program_units;
        debug_assert!(
            stream.next > 0 && stream.next.is_multiple_of(program_units),
            "a program unit is programmed before it is full"
        );
        let program = ProgramId(stream.next / program_units - 1);
        stream.filling = 0;
        let host_units = std::mem::take(&mut stream.host_units);
        self.blocks.get_mut(stream.superblock).programs_pending += 1;
        self.count_parity(stream.slc, program);
        let die = self.geometry.die_of(stream.slc, program);
        Some(ProgramUnit {
            superblock: stream.superblock,
            program,
            die,
            slc: stream.slc,
            host_units,
        })
    }

    /// The parity of a row of program units counts with the last one of data.
    fn count_parity(&mut self, slc: bool, program: ProgramId) {
        let g = &self.geometry;
        let units = g.parity_units(slc, program.0 + 1) - g.parity_units(slc, program.0);
        if units > 0 {
            self.programmed.parity += u64::from(units);
            self.appended += u64::from(units);
        }
    }

    pub(super) fn keep_or_close(&mut self, stream: Stream) -> Option<Stream> {
        let units = self.geometry.mode(stream.slc).superblock_units;
        debug_assert!(
            stream.next <= units,
            "data lies beyond the end of a superblock"
        );
        if stream.next < units {
            return Some(stream);
        }
        self.closings += 1;
        let block = self.blocks.get_mut(stream.superblock);
        block.state = State::Closed;
        block.closed_order = self.closings;
        let valid = block.valid;
        if valid == 0 {
            self.queue_erase(stream.superblock);
        } else if stream.slc {
            self.slc_closed.push_back(stream.superblock);
        } else {
            self.victims.insert(stream.superblock, valid);
        }
        None
    }

    pub(super) fn open_host(&mut self, now: Nanos) -> Option<Stream> {
        let slc = self.slc_may_grow();
        let superblock = self.blocks.open(slc, now)?;
        self.slc_count += u32::from(slc);
        Some(Stream {
            superblock,
            next: 0,
            slc,
            filling: 0,
            host_units: 0,
        })
    }
}
