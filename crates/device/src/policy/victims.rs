//! Closed superblocks by number of valid units, to find the one with the fewest.
//!
//! A count changes with nearly every host write, and a victim is chosen once per thousands of units. Therefore an
//! update is a single store, and a choice scans all superblocks.

use crate::flash::superblock_id::SuperblockId;
use crate::invariant::{Checked, check_sum, ensure};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    /// Number of valid units, or [`NONE`] if the superblock is not listed.
    valid: u32,
    /// Sequence number of the last change of the count.
    change: u64,
}

/// Superblocks by valid units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Victims {
    entries: Vec<Entry>,
    /// Number of changes so far.
    changes: u64,
}

impl Victims {
    pub(crate) fn new(superblocks: u32) -> Self {
        let unlisted = Entry {
            valid: NONE,
            change: 0,
        };
        Victims {
            entries: vec![unlisted; superblocks as usize],
            changes: 0,
        }
    }

    pub(crate) fn insert(&mut self, superblock: SuperblockId, valid: u32) {
        debug_assert_eq!(self.entries[superblock.index()].valid, NONE);
        self.list(superblock, valid);
    }

    pub(crate) fn remove(&mut self, superblock: SuperblockId) {
        self.entries[superblock.index()].valid = NONE;
    }

    /// Subtracts units that became invalid from a listed superblock; ignores superblocks that are not listed.
    #[inline]
    pub(crate) fn reduce(&mut self, superblock: SuperblockId, units: u32) {
        let valid = self.entries[superblock.index()].valid;
        if valid != NONE {
            debug_assert!(units <= valid, "more units invalidated than listed");
            self.list(superblock, valid - units);
        }
    }

    #[inline]
    fn list(&mut self, superblock: SuperblockId, valid: u32) {
        self.changes += 1;
        self.entries[superblock.index()] = Entry {
            valid,
            change: self.changes,
        };
    }

    /// The listed superblock with the fewest valid units; of several, the one whose count changed last.
    pub(crate) fn least(&self) -> Option<SuperblockId> {
        let rank = |superblock: &SuperblockId| {
            let entry = &self.entries[superblock.index()];
            (entry.valid, Reverse(entry.change))
        };
        self.iter().min_by_key(rank)
    }

    /// Count of a listed superblock; `None` if it is not listed.
    pub(crate) fn listed_under(&self, superblock: SuperblockId) -> Option<u32> {
        let valid = self.entries[superblock.index()].valid;
        (valid != NONE).then_some(valid)
    }

    /// Checks that each superblock has a count of at most `units`, and that the sequence numbers are plausible.
    pub(crate) fn audit(&self, superblocks: u32, units: u32) -> Checked {
        ensure!(
            self.entries.len() == superblocks as usize,
            "the list of victims has another number of superblocks than the flash"
        );
        check_sum("changes of victims", self.changes)?;
        for (superblock, entry) in (0..).map(SuperblockId).zip(&self.entries) {
            ensure!(
                (entry.valid <= units || entry.valid == NONE) && entry.change <= self.changes,
                "victim {superblock} is listed under {} units",
                entry.valid
            );
        }
        Ok(())
    }

    /// All listed superblocks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SuperblockId> + '_ {
        (0..)
            .map(SuperblockId)
            .zip(&self.entries)
            .filter(|(_, entry)| entry.valid != NONE)
            .map(|(superblock, _)| superblock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference for tests: one list per count, each in order of change.
    struct Lists(Vec<Vec<SuperblockId>>);

    impl Lists {
        fn put(&mut self, superblock: SuperblockId, valid: u32) {
            self.0
                .iter_mut()
                .for_each(|l| l.retain(|s| *s != superblock));
            self.0[valid as usize].push(superblock);
        }

        fn least(&self) -> Option<SuperblockId> {
            self.0.iter().find_map(|list| list.last().copied())
        }
    }

    proptest! {
        #[test]
        fn least_is_the_latest_of_the_least(steps in prop::collection::vec((0u32..20, 0u32..8), 1..300)) {
            let mut victims = Victims::new(20);
            let mut lists = Lists(vec![Vec::new(); 8]);
            let mut model: Vec<Option<u32>> = vec![None; 20];
            for (superblock, count) in steps {
                let superblock = SuperblockId(superblock);
                match model[superblock.index()] {
                    None => {
                        victims.insert(superblock, count);
                        lists.put(superblock, count);
                        model[superblock.index()] = Some(count);
                    }
                    Some(0) => {
                        victims.remove(superblock);
                        lists.0.iter_mut().for_each(|l| l.retain(|s| *s != superblock));
                        model[superblock.index()] = None;
                    }
                    Some(n) => {
                        let by = 1 + n / 3;
                        victims.reduce(superblock, by);
                        lists.put(superblock, n - by);
                        model[superblock.index()] = Some(n - by);
                    }
                }
                prop_assert_eq!(victims.least(), lists.least());
                let listed: Vec<Option<u32>> = (0..20).map(|s| victims.listed_under(SuperblockId(s))).collect();
                prop_assert_eq!(&listed, &model);
                prop_assert!(victims.audit(20, 8).is_ok());
            }
        }
    }
}
