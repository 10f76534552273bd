//! Moves valid units out of a victim into the relocation stream.

use super::moving::Fetched;
use super::open::Writer;
use super::{Cause, Log, PageRun, Pool, ProgramUnit, Victim};
use crate::convert::Narrow;
use crate::flash::blocks::State;
use crate::flash::superblock_id::SuperblockId;
use crate::flash::{Plane, PlaneSet};
use crate::mapping::page::ppn::Ppn;
use nandscope_units::Nanos;

/// Maximum number of prefetched map entries of units to be moved: those of one or two program units.
const FETCHED_AHEAD: u32 = 48;
/// Map entries prefetched per unit written by the host: more than the units moved for it, unless the device is nearly
/// full.
const FETCHED_PER_WRITE: u32 = 8;

impl Log {
    /// Moves valid units out of the current victim into the relocation stream, until a program unit is full. Adds that
    /// unit to `full`, the old place of every moved unit to `sources`, and to `written` the host-stream program units
    /// filled with evicted map pages. Returns the number of units moved, and whether the victim is exhausted.
    pub(crate) fn relocate(
        &mut self,
        now: Nanos,
        sources: &mut Vec<Ppn>,
        written: &mut Vec<ProgramUnit>,
        full: &mut Option<ProgramUnit>,
    ) -> (u32, bool) {
        let Some(victim) = &self.moving.victim else {
            return (0, true);
        };
        let (superblock, cause, pool) = (victim.superblock, victim.cause, victim.pool);
        let mut moved = 0;
        let some_valid = self.next_to_move(victim).is_some();
        let stream = Writer::Relocation(pool);
        if some_valid && let Some((to, open)) = self.end_of(stream, now) {
            let before = sources.len();
            self.take_units(self.room(stream), sources);
            moved = (sources.len() - before).narrow();
            self.moving.fetched.ahead = self.moving.fetched.ahead.saturating_sub(moved);
            let (fitting, unit) = self.fill(stream, moved, false);
            debug_assert_eq!(fitting, moved, "a program unit overflows");
            *full = unit;
            self.move_taken((superblock, moved), to, open);
            self.close_if_full(stream);
            self.touch_for_move(to, moved, now, written);
        }
        self.count_moved(cause, moved);
        let left = |victim: &Victim| self.next_to_move(victim);
        let exhausted = self.moving.victim.as_ref().and_then(left).is_none();
        if exhausted {
            self.moving.victim = None;
        }
        (moved, exhausted)
    }

    /// Maps the units taken last from the victim to `to` in the superblock `open`.
    fn move_taken(&mut self, (victim, moved): (SuperblockId, u32), to: Ppn, open: SuperblockId) {
        debug_assert_eq!(
            self.blocks.get(victim).state,
            State::Collecting,
            "data is moved out of a superblock that is no victim"
        );
        self.map.move_taken(to);
        self.map.mark_valid(to, moved);
        // A victim is neither open nor listed, so only its count changes.
        self.blocks.get_mut(victim).valid -= moved;
        self.count_appended(open, moved);
    }

    /// Prefetches the map entries of some of the next units to move, when the host writes `units`. Fetches for a whole
    /// program unit at once would wait for one another.
    #[inline]
    pub(crate) fn prefetch_moves(&mut self, units: u32) {
        let most = FETCHED_AHEAD.saturating_sub(self.moving.fetched.ahead);
        if most > 0
            && let Some(victim) = &self.moving.victim
        {
            let (from, end) = (victim.cursor, victim.end);
            self.prefetch_moves_in(from, end, most.min(FETCHED_PER_WRITE * units));
        }
    }

    fn prefetch_moves_in(&mut self, from: Ppn, end: Ppn, most: u32) {
        if !(from..=end).contains(&self.moving.fetched.to) {
            self.moving.fetched = Fetched { to: from, ahead: 0 };
        }
        let (to, fetched) = self.map.prefetch_owners(self.moving.fetched.to, end, most);
        self.moving.fetched.to = to;
        self.moving.fetched.ahead += fetched;
    }

    /// Takes the next valid units of the victim, or of its one block if it is limited to that.
    fn take_units(&mut self, most: u32, taken: &mut Vec<Ppn>) {
        let Some(victim) = &mut self.moving.victim else {
            return;
        };
        let before = taken.len();
        let (from, end) = (victim.cursor, victim.end);
        match victim.only {
            None => self.map.take_valid(from, end, most, |_| true, taken),
            Some(block) => {
                let g = &self.geometry;
                let slc = self.blocks.get(victim.superblock).slc;
                let start = g.ppn(victim.superblock, 0);
                let is_in_block = |ppn: Ppn| g.erase_block(ppn - start, slc) == block;
                self.map.take_valid(from, end, most, is_in_block, taken);
            }
        }
        if let Some(last) = taken[before..].last() {
            victim.cursor = *last + 1;
        }
    }

    /// Calls `each` with the array reads of units of one superblock, in order; units of one page are read together.
    pub(crate) fn join_reads(
        &self,
        units: &[Ppn],
        superblock: SuperblockId,
        mut each: impl FnMut(PageRun),
    ) {
        let mut units = units.iter().copied().peekable();
        while let Some(unit) = units.next() {
            let (page_end, run) = self.first_of_page(unit);
            let (mut count, mut planes) = (run.units, run.planes);
            while let Some(next) = units.next_if(|next| *next < page_end) {
                count += 1;
                planes.insert(self.plane_at(next, superblock));
            }
            each(PageRun {
                units: count,
                planes,
                ..run
            });
        }
    }

    /// Array read of one unit, to be extended to others of its page, and the end of that page.
    pub(crate) fn first_of_page(&self, ppn: Ppn) -> (Ppn, PageRun) {
        let g = &self.geometry;
        let run = self.unit_run(ppn);
        let offset = ppn - g.ppn(run.superblock, 0);
        let stripe = offset - g.place_in_stripe(offset);
        (g.ppn(run.superblock, stripe + g.stripe_units), run)
    }

    /// Array read of one unit.
    #[inline(always)]
    pub(crate) fn unit_run(&self, ppn: Ppn) -> PageRun {
        let g = &self.geometry;
        let superblock = g.superblock_of(ppn);
        let offset = ppn - g.ppn(superblock, 0);
        let slc = self.blocks.get(superblock).slc;
        let place = g.place(superblock, offset, slc);
        PageRun {
            first: ppn,
            superblock,
            program: place.program,
            die: place.die,
            array_ns: g.read_ns(slc, place.program, place.stripe),
            units: 1,
            planes: PlaneSet::of(g.plane_of(offset)),
        }
    }

    /// Number of a run's page in its word line.
    pub(crate) fn page_type(&self, run: &PageRun) -> u32 {
        let g = &self.geometry;
        let slc = self.blocks.get(run.superblock).slc;
        let place = g.place(run.superblock, run.first - g.ppn(run.superblock, 0), slc);
        g.page_type(slc, place.program, place.stripe)
    }

    /// The plane that holds a unit.
    pub(crate) fn plane_at(&self, ppn: Ppn, superblock: SuperblockId) -> Plane {
        let offset = ppn - self.geometry.ppn(superblock, 0);
        self.geometry.plane_of(offset)
    }

    /// Next valid unit of the victim, or of its one block if it is limited to that.
    pub(super) fn next_to_move(&self, victim: &Victim) -> Option<Ppn> {
        let mut from = self.map.next_valid(victim.cursor, victim.end)?;
        let Some(block) = victim.only else {
            return Some(from);
        };
        let g = &self.geometry;
        let slc = self.blocks.get(victim.superblock).slc;
        loop {
            let offset = from - g.ppn(victim.superblock, 0);
            if g.erase_block(offset, slc) == block {
                return Some(from);
            }
            from = self.map.next_valid(from + 1, victim.end)?;
        }
    }

    /// Position of a unit within its program unit.
    pub(crate) fn place_in_program(&self, ppn: Ppn) -> u32 {
        let superblock = self.geometry.superblock_of(ppn);
        let slc = self.blocks.get(superblock).slc;
        (ppn - self.geometry.ppn(superblock, 0)) % self.geometry.mode(slc).program_units
    }

    /// Places of the units gathered in the current program unit of relocation into a pool.
    pub(crate) fn gathered_by_relocation(&self, pool: Pool) -> impl Iterator<Item = Ppn> + use<> {
        let gathered = self.streams.get(Writer::Relocation(pool)).map(|stream| {
            let end = self.geometry.ppn(stream.superblock, stream.next);
            end.0 - stream.filling..end.0
        });
        gathered.into_iter().flatten().map(Ppn)
    }

    /// Closes the current program unit of relocation into a pool with padding.
    pub(crate) fn close_relocation_unit(&mut self, pool: Pool) -> Option<ProgramUnit> {
        self.pad(Writer::Relocation(pool))
    }

    pub(super) fn count_moved(&mut self, cause: Cause, units: u32) {
        if cause == Cause::Collect {
            self.collection.count_moved(units);
        }
        self.accounts.count_moved(cause, units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::page::geometry::Geometry;
    use crate::mapping::page::lpn::Lpn;
    use crate::mapping::page::small::{self, Small};
    use crate::random::Random;

    /// A read of collected data transfers the page of every plane that holds a part of it.
    #[test]
    fn valid_units_on_two_planes_are_two_pages() {
        let size = Small {
            word_lines: 4,
            blocks_per_plane: 40,
            superblocks: 30,
        };
        let profile = size.profile("sm2708-250gb", |nand| nand.factory_bad_percent = 0.0);
        let mut ftl = small::ftl(&profile);
        ftl.slc_cache = None;
        let geometry = Geometry::new(&profile, &ftl);
        let per_page = geometry.units_per_page;
        let mut log = Log::new(&profile, &ftl, geometry.clone(), &mut Random::new(1));
        let mut full = Vec::new();
        let written = geometry.native.superblock_units;
        log.write(Lpn(0), written, Nanos::ZERO, &mut full);
        // The first superblock keeps a unit of its first page, and one of the page on the other plane.
        for unit in (1..per_page).chain(per_page + 1..written / 2) {
            log.write(Lpn(unit), 1, Nanos::ZERO, &mut full);
        }
        log.victims.remove(SuperblockId(0));
        log.blocks.get_mut(SuperblockId(0)).state = State::Collecting;
        log.moving.victim = Some(Victim {
            superblock: SuperblockId(0),
            cause: Cause::Collect,
            cursor: geometry.ppn(SuperblockId(0), 0),
            end: geometry.ppn(SuperblockId(0), 2 * per_page),
            only: None,
            pool: Pool::Cold,
            empty: false,
            yield_per_move: 0,
        });
        let (mut sources, mut reads) = (Vec::new(), Vec::new());
        let (moved, _) = log.relocate(Nanos::ZERO, &mut sources, &mut Vec::new(), &mut None);
        log.join_reads(&sources, SuperblockId(0), |run| reads.push(run));
        assert_eq!((moved, reads.len()), (2, 1), "{reads:?}");
        assert_eq!(
            (reads[0].units, reads[0].planes),
            (2, PlaneSet::from_to(Plane(0), Plane(1)))
        );
    }
}
