//! The invariants of the log, checked from the ground up, for tests: both directions of the map
//! agree, every count is what a recount gives, and every superblock stands in exactly the lists
//! that its state asks for. It looks at the whole device and is slow; nothing else calls it.

use super::Log;
use crate::ftl::blocks::State;
use crate::geometry::UNMAPPED;
use std::collections::BTreeSet;

/// States a fault where a condition does not hold.
macro_rules! hold {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl Log {
    /// Checks every invariant.
    ///
    /// # Errors
    /// The first one that does not hold, in words.
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.audit_map()?;
        self.audit_states()?;
        self.audit_lists()?;
        self.audit_wear()
    }

    /// Units of host data that are gathered for the next program.
    pub(crate) fn gathered_host_units(&self) -> u32 {
        self.host.map_or(0, |s| s.host_units)
    }

    /// Superblocks that wait for their erasure.
    pub(crate) fn waiting_for_erasure(&self) -> usize {
        self.dead.len()
    }

    fn audit_map(&self) -> Result<(), String> {
        let per_superblock = self.geometry.native.superblock_units;
        let physical = self.blocks.len() * per_superblock;
        let mut valid = vec![0u32; self.blocks.len() as usize];
        let mut mapped = 0;
        for logical in 0..self.map.logical_units() {
            let ppa = self.map.lookup(logical);
            if ppa == UNMAPPED {
                continue;
            }
            hold!(
                ppa < physical,
                "unit {logical} lies at {ppa}, beyond the flash"
            );
            hold!(
                self.map.owner(ppa) == logical && self.map.is_valid(ppa),
                "unit {logical} lies at {ppa}, which holds {} (valid: {})",
                self.map.owner(ppa),
                self.map.is_valid(ppa)
            );
            let superblock = self.geometry.superblock_of(ppa);
            hold!(
                ppa - self.geometry.ppa(superblock, 0) < self.written_units(superblock),
                "unit {logical} lies at {ppa}, where nothing has been written"
            );
            valid[superblock as usize] += 1;
            mapped += 1;
        }
        hold!(
            mapped == self.map.mapped(),
            "{mapped} units are mapped, {} were counted",
            self.map.mapped()
        );
        let marked = (0..physical).filter(|ppa| self.map.is_valid(*ppa)).count();
        hold!(
            marked == mapped as usize,
            "{marked} physical units are marked valid, {mapped} logical ones are mapped"
        );
        for (superblock, block) in self.blocks.iter() {
            let recount = valid[superblock as usize];
            hold!(
                block.valid == recount,
                "superblock {superblock} counts {} valid units and has {recount}",
                block.valid
            );
        }
        Ok(())
    }

    /// Units of a superblock that have been written since its erasure.
    fn written_units(&self, superblock: u32) -> u32 {
        let open = [self.host, self.relocation]
            .into_iter()
            .flatten()
            .find(|s| s.superblock == superblock);
        let block = self.blocks.get(superblock);
        match (open, block.state) {
            (Some(stream), _) => stream.next,
            (None, State::Free | State::Retired) => 0,
            (None, _) => self.geometry.mode(block.slc).superblock_units,
        }
    }

    fn audit_states(&self) -> Result<(), String> {
        let open: BTreeSet<u32> = [self.host, self.relocation]
            .into_iter()
            .flatten()
            .map(|s| s.superblock)
            .collect();
        let victim = self.victim.map(|v| v.superblock);
        let mut in_slc_mode = 0;
        for (superblock, block) in self.blocks.iter() {
            let state = block.state;
            let gone = matches!(state, State::Free | State::Retired);
            in_slc_mode += u32::from(block.slc && !gone);
            hold!(
                (state == State::Open) == open.contains(&superblock),
                "superblock {superblock} is {state:?}, and the streams write to {open:?}"
            );
            let holds_data = match state {
                State::Open | State::Closed => true,
                State::Collecting => victim == Some(superblock),
                State::Free | State::Erasing | State::Retired => false,
            };
            hold!(
                holds_data || block.valid == 0,
                "superblock {superblock} is {state:?} with {} valid units",
                block.valid
            );
            hold!(
                state != State::Closed || block.valid > 0,
                "superblock {superblock} holds nothing and was not given up"
            );
            hold!(
                !gone || block.programs_pending == 0,
                "superblock {superblock} is {state:?} with programs under way"
            );
        }
        hold!(
            in_slc_mode == self.slc_count,
            "{in_slc_mode} superblocks are in SLC mode, {} were counted",
            self.slc_count
        );
        Ok(())
    }

    fn audit_lists(&self) -> Result<(), String> {
        let in_state = |wanted: State| {
            self.blocks
                .iter()
                .filter(move |(_, b)| b.state == wanted)
                .map(|(i, _)| i)
        };
        let free: BTreeSet<u32> = self.blocks.free_list().map(|(_, s)| s).collect();
        hold!(
            free == in_state(State::Free).collect()
                && free.len() == self.blocks.free_count() as usize,
            "the list of free superblocks is {free:?}"
        );
        for (erases, superblock) in self.blocks.free_list() {
            hold!(
                self.blocks.get(superblock).erases == erases,
                "free superblock {superblock} is listed under {erases} cycles"
            );
        }
        let native: BTreeSet<u32> = self.victims.iter().collect();
        let cached: BTreeSet<u32> = self.slc_closed.iter().copied().collect();
        hold!(
            cached.len() == self.slc_closed.len(),
            "a cached superblock is listed twice: {:?}",
            self.slc_closed
        );
        for superblock in in_state(State::Closed) {
            let slc = self.blocks.get(superblock).slc;
            hold!(
                native.contains(&superblock) != slc && cached.contains(&superblock) == slc,
                "closed superblock {superblock} (SLC: {slc}) is not where it belongs"
            );
        }
        let closed = in_state(State::Closed).count();
        hold!(
            native.len() + cached.len() == closed,
            "{closed} superblocks are closed, {} are listed",
            native.len() + cached.len()
        );
        for superblock in &native {
            let (listed, valid) = (
                self.victims.listed_under(*superblock),
                self.blocks.get(*superblock).valid,
            );
            hold!(
                listed == Some(valid),
                "superblock {superblock} with {valid} valid units is listed under {listed:?}"
            );
        }
        for superblock in &self.dead {
            hold!(
                self.blocks.get(*superblock).state == State::Erasing,
                "superblock {superblock} waits for its erasure as {:?}",
                self.blocks.get(*superblock).state
            );
        }
        Ok(())
    }

    fn audit_wear(&self) -> Result<(), String> {
        let cycles: u64 = self.blocks.iter().map(|(_, b)| u64::from(b.erases)).sum();
        let retired = in_retirement(self);
        hold!(
            self.blocks.total_erases() == cycles + retired,
            "{} erases were counted, the superblocks have {cycles} and {retired} failed",
            self.blocks.total_erases()
        );
        hold!(
            u64::from(self.blocks.retired()) == retired,
            "{retired} superblocks are retired, {} were counted",
            self.blocks.retired()
        );
        Ok(())
    }
}

fn in_retirement(log: &Log) -> u64 {
    log.blocks
        .iter()
        .filter(|(_, b)| b.state == State::Retired)
        .count() as u64
}
