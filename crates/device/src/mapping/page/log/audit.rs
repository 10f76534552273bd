//! The invariants of the log, checked from the ground up, for tests and snapshots: both directions of the map
//! agree, every count is what a recount gives, and every superblock is in exactly the lists
//! that its state requires. It looks at the whole device and is slow.

use super::open::Writer;
use super::{Layout, Log, Pool, ProgramUnit, Stream, Victim};
use crate::convert::Widen;
use crate::flash::blocks::State;
use crate::flash::superblock_id::SuperblockId;
use crate::invariant::{Checked, check_near, check_sum, ensure};
use crate::mapping::page::geometry::Geometry;
use crate::mapping::page::ppn::Ppn;
use crate::policy::pacing::CREDIT_PER_UNIT;
use crate::profile::schema::{FtlSection, Profile};
use nandscope_units::Nanos;
use std::collections::BTreeSet;

impl Log {
    /// Checks every invariant. The first checks cover what the later ones rely on: sizes of lists, and indices within
    /// them.
    pub(crate) fn audit(&self, profile: &Profile, ftl: &FtlSection, now: Nanos) -> Checked {
        let geometry = Geometry::new(profile, ftl);
        ensure!(
            self.geometry == geometry,
            "the layout of the flash differs from the profile"
        );
        let bad = profile.nand.factory_bad_percent;
        self.blocks.audit(&geometry, bad, now)?;
        ensure!(
            self.layout == Layout::new(ftl, &geometry, self.blocks.len()),
            "the translation is not that of the profile"
        );
        self.chooser.audit(&ftl.collection)?;
        self.audit_numbers(now)?;
        self.audit_places()?;
        self.audit_streams()?;
        ensure!(
            self.is_separated() == ftl.separate_by_heat,
            "hot and cold data is separated although the profile says no, or the reverse"
        );
        self.heat
            .as_ref()
            .map_or(Ok(()), |heat| heat.audit(self.geometry.user_units))?;
        self.audit_partials()?;
        self.audit_map()?;
        self.moving
            .victim
            .map_or(Ok(()), |victim| self.audit_victim(&victim))?;
        self.audit_states()?;
        self.audit_lists()?;
        self.audit_wear()
    }

    fn audit_numbers(&self, now: Nanos) -> Checked {
        check_sum("closed superblocks", self.closings)?;
        self.collection.audit()?;
        if let Some(since) = self.read_only_since {
            check_near("the end of life", since, now)?;
        }
        let l = &self.layout;
        self.journal.audit(&l.journal)?;
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.audit(l.map.pages, l.journal.units)?;
        }
        for (superblock, block) in self.blocks.iter() {
            ensure!(
                block.closed_order <= self.closings,
                "superblock {superblock} has close number {} of {}",
                block.closed_order,
                self.closings
            );
        }
        Ok(())
    }

    /// Checks that every superblock referred to exists.
    fn audit_places(&self) -> Checked {
        let superblocks = self.blocks.len();
        let blocks = self.geometry.blocks_per_superblock();
        let free: Vec<SuperblockId> = self.blocks.free_list().map(|(_, s)| s).collect();
        let named = self
            .streams
            .iter()
            .map(|s| s.superblock)
            .chain(self.moving.victim.map(|v| v.superblock))
            .chain(self.slc.iter())
            .chain(self.moving.refreshes().map(|target| target.superblock))
            .chain(self.to_erase.iter().copied())
            .chain(self.map_blocks.iter())
            .chain(free);
        for superblock in named {
            ensure!(
                superblock.0 < superblocks,
                "superblock {superblock} is not one of the {superblocks}"
            );
        }
        ensure!(
            self.moving
                .refreshes()
                .all(|t| t.block.is_none_or(|b| b < blocks))
                && self.moving.refreshes().len() <= superblocks as usize * (blocks as usize + 1),
            "{} superblocks wait for a refresh",
            self.moving.refreshes().len()
        );
        let units = self.geometry.native.superblock_units;
        self.victims.audit(superblocks, units)?;
        self.window.audit(&self.layout.map)?;
        self.updates.audit(&self.layout.map)
    }

    fn audit_streams(&self) -> Checked {
        for stream in self.streams.iter() {
            self.audit_stream(stream)?;
        }
        let is_open = |pool: Pool| {
            self.streams.get(Writer::Host(pool)).is_some()
                || self.streams.get(Writer::Relocation(pool)).is_some()
        };
        let (hot, map) = (is_open(Pool::Hot), is_open(Pool::Map));
        ensure!(
            (self.is_separated() || !hot) && (!self.window.is_whole_map() || !map),
            "an open superblock is for hot data or map pages, which the profile does not separate"
        );
        for stream in self.streams.of_relocation() {
            ensure!(
                !stream.slc && stream.host_units == 0,
                "relocation writes to an SLC superblock or to one for host data"
            );
        }
        Ok(())
    }

    fn audit_stream(&self, stream: &Stream) -> Checked {
        let mode = self.geometry.mode(stream.slc);
        let block = self.blocks.get(stream.superblock);
        ensure!(
            stream.next < mode.superblock_units
                && stream.filling == stream.next % mode.program_units
                && stream.host_units <= stream.filling
                && block.slc == stream.slc,
            "the log ends at unit {} of superblock {}, with {} of {} units of a program unit filled",
            stream.next,
            stream.superblock,
            stream.filling,
            mode.program_units
        );
        Ok(())
    }

    fn audit_victim(&self, victim: &Victim) -> Checked {
        let units = self.geometry.native.superblock_units;
        let start = self.geometry.ppn(victim.superblock, 0);
        let passed = Victim {
            cursor: start,
            end: victim.cursor,
            ..*victim
        };
        ensure!(
            victim.end == start + units
                && (start..=victim.end).contains(&victim.cursor)
                && self.next_to_move(&passed).is_none()
                && match victim.pool {
                    Pool::Cold => true,
                    Pool::Hot => self.is_separated(),
                    Pool::Map => !self.window.is_whole_map(),
                }
                && victim.yield_per_move <= u64::from(units) * CREDIT_PER_UNIT,
            "superblock {} is collected from {} to {}",
            victim.superblock,
            victim.cursor,
            victim.end
        );
        Ok(())
    }

    /// Checks that map pages wait only for their own fetches; returns the total number of map pages.
    pub(crate) fn audit_coming(&self, page_of: impl Fn(u32) -> Option<u32>) -> Checked<u32> {
        for (page, fetch) in self.window.coming() {
            ensure!(
                page_of(fetch) == Some(page),
                "page {page} of the map waits for fetch {fetch}, which is of {:?}",
                page_of(fetch)
            );
        }
        Ok(self.layout.map.pages)
    }

    /// Units of host data gathered for the next program.
    pub(crate) fn gathered_host_units(&self) -> u32 {
        self.streams.of_host().map(|s| s.host_units).sum()
    }

    /// Whether a superblock waits for its erasure.
    pub(crate) fn waits_for_erase(&self, superblock: SuperblockId) -> bool {
        self.to_erase.contains(&superblock)
    }

    /// Checks that data under relocation is in the flash, and that its erasure has not begun.
    pub(crate) fn audit_sources(&self, sources: &[Ppn]) -> Checked {
        let physical = self.blocks.len() * self.geometry.native.superblock_units;
        ensure!(
            sources.iter().all(|ppn| ppn.0 < physical),
            "data is moved from beyond the flash"
        );
        let mut superblocks: Vec<SuperblockId> = sources
            .iter()
            .map(|ppn| self.geometry.superblock_of(*ppn))
            .collect();
        superblocks.dedup();
        for superblock in superblocks {
            let is_gone = match self.blocks.get(superblock).state {
                State::Free | State::Retired => true,
                State::Erasing => !self.waits_for_erase(superblock),
                State::Open | State::Closed | State::Collecting => false,
            };
            ensure!(
                !is_gone,
                "superblock {superblock} is free, retired or being erased, but its data is not yet programmed elsewhere"
            );
        }
        Ok(())
    }

    /// Checks that a relocation program holds the data of its job, unit for unit, and no other.
    pub(crate) fn audit_move(&self, unit: &ProgramUnit, sources: &[Ppn]) -> Checked {
        let program_units = self.geometry.native.program_units;
        let to = self.geometry.ppn(unit.superblock, 0) + unit.program.0 * program_units;
        let owner = |place: Ppn| self.map.owner(place);
        ensure!(
            sources.len() <= program_units as usize
                && sources
                    .iter()
                    .zip(to.0..)
                    .all(|(from, at)| owner(*from) == owner(Ppn(at))),
            "program {} of superblock {} has other data than its relocation job read",
            unit.program,
            unit.superblock
        );
        Ok(())
    }

    /// Checks that every superblock under collection is the victim or was emptied by jobs.
    pub(crate) fn audit_emptied(&self, emptied: &[SuperblockId]) -> Checked {
        let collecting = self
            .blocks
            .iter()
            .filter(|(_, block)| block.state == State::Collecting)
            .map(|(superblock, _)| superblock);
        let known: BTreeSet<SuperblockId> = emptied
            .iter()
            .copied()
            .chain(self.moving.victim.map(|v| v.superblock))
            .collect();
        let named = emptied.len() + usize::from(self.moving.victim.is_some());
        ensure!(
            known.len() == named && collecting.collect::<BTreeSet<SuperblockId>>() == known,
            "{known:?} are being collected, named {named} times"
        );
        Ok(())
    }

    fn audit_map(&self) -> Checked {
        let per_superblock = self.geometry.native.superblock_units;
        let mut valid = vec![0; self.blocks.len() as usize];
        self.map
            .audit(self.layout.logical, per_superblock, &mut valid)?;
        for (superblock, block) in self.blocks.iter() {
            let recount = valid[superblock.index()];
            ensure!(
                block.valid == recount,
                "superblock {superblock} counts {} valid units and has {recount}",
                block.valid
            );
            let start = self.geometry.ppn(superblock, 0);
            let behind = start + self.written_units(superblock);
            ensure!(
                self.map
                    .next_valid(behind, start + per_superblock)
                    .is_none(),
                "superblock {superblock} holds data where nothing has been written"
            );
        }
        Ok(())
    }

    /// Units of a superblock written since its erasure.
    fn written_units(&self, superblock: SuperblockId) -> u32 {
        let open = self.streams.iter().find(|s| s.superblock == superblock);
        let block = self.blocks.get(superblock);
        match (open, block.state) {
            (Some(stream), _) => stream.next,
            (None, State::Free | State::Retired) => 0,
            (None, _) => self.geometry.mode(block.slc).superblock_units,
        }
    }

    fn audit_states(&self) -> Checked {
        let open: BTreeSet<SuperblockId> = self.streams.iter().map(|s| s.superblock).collect();
        let mut in_slc_mode = 0;
        for (superblock, block) in self.blocks.iter() {
            let state = block.state;
            let gone = matches!(state, State::Free | State::Retired);
            in_slc_mode += u32::from(block.slc && !gone);
            ensure!(
                (state == State::Open) == open.contains(&superblock),
                "superblock {superblock} is {state:?}, and the streams write to {open:?}"
            );
            let holds_data = match state {
                // A superblock with one block under refresh is in collection too, and keeps the data of its other
                // blocks.
                State::Open | State::Closed | State::Collecting => true,
                State::Free | State::Erasing | State::Retired => false,
            };
            ensure!(
                holds_data || block.valid == 0,
                "superblock {superblock} is {state:?} with {} valid units",
                block.valid
            );
            ensure!(
                state != State::Closed || block.valid > 0,
                "superblock {superblock} is closed without valid data, but was not released for erase"
            );
            ensure!(
                !gone || block.programs_pending == 0,
                "superblock {superblock} is {state:?} with programs under way"
            );
        }
        ensure!(
            in_slc_mode == self.slc.count(),
            "{in_slc_mode} superblocks are in SLC mode, {} were counted",
            self.slc.count()
        );
        Ok(())
    }

    fn audit_lists(&self) -> Checked {
        let in_state = |wanted: State| {
            self.blocks
                .iter()
                .filter(move |(_, b)| b.state == wanted)
                .map(|(i, _)| i)
        };
        let free: BTreeSet<SuperblockId> = self.blocks.free_list().map(|(_, s)| s).collect();
        ensure!(
            free == in_state(State::Free).collect()
                && free.len() == self.blocks.free_count() as usize,
            "the list of free superblocks is {free:?}"
        );
        for (wear, superblock) in self.blocks.free_list() {
            ensure!(
                self.blocks.get(superblock).wear == wear,
                "free superblock {superblock} is listed under a wear of {wear}"
            );
        }
        let native: BTreeSet<SuperblockId> = self.victims.iter().collect();
        let cached: BTreeSet<SuperblockId> = self.slc.iter().collect();
        ensure!(
            cached.len() == self.slc.iter().len(),
            "a cached superblock is listed twice: {:?}",
            self.slc
        );
        let of_map: BTreeSet<SuperblockId> = self.map_blocks.iter().collect();
        for superblock in in_state(State::Closed) {
            let slc = self.blocks.get(superblock).slc;
            let map = self.holds_map_pages(superblock);
            ensure!(
                native.contains(&superblock) != (slc || map)
                    && cached.contains(&superblock) == slc
                    && of_map.contains(&superblock) == map,
                "closed superblock {superblock} (SLC: {slc}) is in the wrong list of closed superblocks"
            );
        }
        let closed = in_state(State::Closed).count();
        ensure!(
            native.len() + cached.len() + self.map_blocks.iter().len() == closed,
            "{closed} superblocks are closed, {} are listed",
            native.len() + cached.len() + self.map_blocks.iter().len()
        );
        for superblock in &native {
            let (listed, valid) = (
                self.victims.listed_under(*superblock),
                self.blocks.get(*superblock).valid,
            );
            ensure!(
                listed == Some(valid),
                "superblock {superblock} with {valid} valid units is listed under {listed:?}"
            );
        }
        for superblock in &self.to_erase {
            ensure!(
                self.blocks.get(*superblock).state == State::Erasing,
                "superblock {superblock} waits for its erasure as {:?}",
                self.blocks.get(*superblock).state
            );
        }
        Ok(())
    }

    /// Checks that every programmed unit has a cause, and is in a superblock or was erased with one.
    fn audit_programmed(&self) -> Checked {
        let superblocks = (0..self.blocks.len()).map(SuperblockId);
        let programmed = |superblock: SuperblockId| {
            let slc = self.blocks.get(superblock).slc;
            let data = self.written_units(superblock);
            let programs = data / self.geometry.mode(slc).program_units;
            u64::from(data) + u64::from(self.geometry.parity_units(slc, programs))
        };
        let written: u64 = superblocks.map(programmed).sum();
        self.accounts.audit(written)
    }

    fn audit_wear(&self) -> Checked {
        self.audit_programmed()?;
        let cycles: u64 = self.blocks.iter().map(|(_, b)| u64::from(b.erases)).sum();
        let retired = count_retired(self);
        ensure!(
            self.blocks.total_erases() == cycles + retired,
            "{} erases were counted, the superblocks have {cycles} and {retired} failed",
            self.blocks.total_erases()
        );
        ensure!(
            u64::from(self.blocks.retired()) == retired,
            "{retired} superblocks are retired, {} were counted",
            self.blocks.retired()
        );
        Ok(())
    }
}

fn count_retired(log: &Log) -> u64 {
    log.blocks
        .iter()
        .filter(|(_, b)| b.state == State::Retired)
        .count()
        .widen()
}
