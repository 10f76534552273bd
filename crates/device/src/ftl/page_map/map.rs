//! Both directions of the mapping, and which physical units hold valid data. Four bytes per
//! logical unit, four and one bit per physical one.
//!
//! A place is kept as its complement, so that zero means unmapped: the table of a fresh device is
//! zeroed memory, which the system hands out page by page as it is written to.

use super::ppn::Ppn;
use crate::invariant::{Checked, ensure};
use crate::word_table::WordTable;
use prefetch_index::prefetch_index;
use serde::{Deserialize, Serialize};

/// Logical-to-physical map, its inverse, and the validity of every physical unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Map {
    /// Complements of places.
    forward: WordTable,
    inverse: WordTable,
    valid: Vec<u64>,
    mapped: u32,
}

impl Map {
    pub(crate) fn new(logical_units: u32, physical_units: u32) -> Self {
        Map {
            forward: WordTable::zeroed(logical_units as usize),
            inverse: WordTable::zeroed(physical_units as usize),
            valid: vec![0; physical_units.div_ceil(64) as usize],
            mapped: 0,
        }
    }

    /// Logical units that are mapped.
    #[cfg(test)]
    pub(crate) fn mapped(&self) -> u32 {
        self.mapped
    }

    #[inline]
    pub(crate) fn lookup(&self, logical: u32) -> Ppn {
        Ppn::from_complement(self.forward[logical as usize])
    }

    /// Points a logical unit at a new place, which [`Map::mark_valid`] must be told of; returns the old one.
    #[inline]
    pub(crate) fn point(&mut self, logical: u32, ppn: Ppn) -> Ppn {
        let slot = &mut self.forward[logical as usize];
        let old = Ppn::from_complement(std::mem::replace(slot, ppn.complement()));
        if old == Ppn::UNMAPPED {
            self.mapped += 1;
        } else {
            self.clear(old);
        }
        debug_assert!(!self.is_valid(ppn), "a program overwrites valid data");
        self.inverse[ppn.index()] = logical;
        old
    }

    /// Points the owner of a valid place at another place, which [`Map::mark_valid`] must be told
    /// of. Nothing is looked up in the forward table, so that many moves wait for memory at once.
    #[inline]
    pub(crate) fn move_unit(&mut self, from: Ppn, to: Ppn) {
        let logical = self.inverse[from.index()];
        debug_assert!(self.is_valid(from) && !self.is_valid(to) && self.lookup(logical) == from);
        self.forward[logical as usize] = to.complement();
        self.inverse[to.index()] = logical;
        self.clear(from);
    }

    /// `count` places from `first` hold valid data now.
    #[inline]
    pub(crate) fn mark_valid(&mut self, first: Ppn, count: u32) {
        let mut at = first.0;
        let end = at + count;
        while at < end {
            let n = (64 - at % 64).min(end - at);
            self.valid[at as usize / 64] |= (u64::MAX >> (64 - n)) << (at % 64);
            at += n;
        }
    }

    /// Begins to fetch an entry from memory that is going to be looked up soon.
    #[inline]
    pub(crate) fn prefetch(&self, logical: u32) {
        prefetch_index(&self.forward[..], logical as usize);
    }

    /// Reads what is going to be needed for these logical units, so that a row of accesses to
    /// memory that is not in any cache overlaps and each is at hand when its turn comes.
    #[inline]
    pub(crate) fn warm(&self, units: &[u32]) {
        let mut sum = 0u64;
        for unit in units {
            let ppn = self.lookup(*unit);
            sum ^= self.valid.get(ppn.index() / 64).copied().unwrap_or(0);
        }
        std::hint::black_box(sum);
    }

    /// Forgets a logical unit; returns where it was.
    pub(crate) fn unmap(&mut self, logical: u32) -> Ppn {
        let slot = &mut self.forward[logical as usize];
        let old = Ppn::from_complement(std::mem::replace(slot, Ppn::UNMAPPED.complement()));
        if old != Ppn::UNMAPPED {
            self.mapped -= 1;
            self.clear(old);
        }
        old
    }

    /// Which logical unit was written at a physical one.
    pub(crate) fn owner(&self, ppn: Ppn) -> u32 {
        self.inverse[ppn.index()]
    }

    /// Whether a physical unit holds valid data.
    pub(crate) fn is_valid(&self, ppn: Ppn) -> bool {
        self.valid[ppn.index() / 64] >> (ppn.0 % 64) & 1 == 1
    }

    /// The first valid unit in `from..end`.
    pub(crate) fn next_valid(&self, from: Ppn, end: Ppn) -> Option<Ppn> {
        let mut at = from.0;
        while at < end.0 {
            let word = self.valid[at as usize / 64] >> (at % 64);
            if word != 0 {
                let found = Ppn(at + word.trailing_zeros());
                return (found < end).then_some(found);
            }
            at = (at / 64 + 1).checked_mul(64)?;
        }
        None
    }

    /// Checks that the tables have their sizes and that both directions agree: every valid place is
    /// that of the unit which it names, and there are as many as mapped units. `valid` counts them
    /// per `per_superblock` places.
    pub(crate) fn audit(&self, logical: u32, per_superblock: u32, valid: &mut [u32]) -> Checked {
        let physical = valid.len() * per_superblock as usize;
        ensure!(
            self.forward.len() == logical as usize
                && self.inverse.len() == physical
                && self.valid.len() == physical.div_ceil(64),
            "the map has {} logical and {} physical units, and the device {logical} and {physical}",
            self.forward.len(),
            self.inverse.len()
        );
        let mut marked = 0;
        for (number, word) in self.valid.iter().enumerate() {
            // The entries lie anywhere in memory: they are fetched while those before are checked.
            let mut bits = *word;
            while bits != 0 {
                let ppn = number * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                ensure!(
                    ppn < physical,
                    "a place beyond the flash is marked as valid"
                );
                prefetch_index(&self.forward[..], self.inverse[ppn] as usize);
            }
            let mut bits = *word;
            while bits != 0 {
                let ppn = number * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let owner = self.inverse[ppn];
                let place = self.forward.get(owner as usize);
                let place = place.map(|word| Ppn::from_complement(*word));
                ensure!(
                    place.is_some_and(|place| place.index() == ppn),
                    "place {ppn} holds unit {owner}, which lies at {place:?}"
                );
                valid[ppn / per_superblock as usize] += 1;
                marked += 1;
            }
        }
        let mapped = self
            .forward
            .iter()
            .filter(|p| **p != Ppn::UNMAPPED.complement())
            .count();
        ensure!(
            mapped == marked && mapped == self.mapped as usize,
            "{mapped} units are mapped, {} were counted, and {marked} places are valid",
            self.mapped
        );
        Ok(())
    }

    #[inline]
    fn clear(&mut self, ppn: Ppn) {
        self.valid[ppn.index() / 64] &= !(1 << (ppn.0 % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_directions_agree() {
        let mut map = Map::new(100, 300);
        assert_eq!(map.point(7, Ppn(130)), Ppn::UNMAPPED);
        map.mark_valid(Ppn(130), 1);
        assert_eq!(map.point(7, Ppn(200)), Ppn(130));
        map.mark_valid(Ppn(200), 1);
        assert_eq!(
            (map.lookup(7), map.owner(Ppn(200)), map.mapped()),
            (Ppn(200), 7, 1)
        );
        assert!(map.is_valid(Ppn(200)) && !map.is_valid(Ppn(130)));
        assert_eq!(map.next_valid(Ppn(0), Ppn(300)), Some(Ppn(200)));
        assert_eq!(map.next_valid(Ppn(0), Ppn(200)), None);
        assert_eq!(map.unmap(7), Ppn(200));
        assert_eq!(
            (
                map.lookup(7),
                map.mapped(),
                map.next_valid(Ppn(0), Ppn(300))
            ),
            (Ppn::UNMAPPED, 0, None)
        );
    }

    #[test]
    fn a_moved_unit_is_found_at_its_new_place() {
        let mut map = Map::new(10, 300);
        map.point(3, Ppn(60));
        map.mark_valid(Ppn(60), 1);
        map.move_unit(Ppn(60), Ppn(190));
        map.mark_valid(Ppn(190), 1);
        assert_eq!(
            (map.lookup(3), map.owner(Ppn(190)), map.mapped()),
            (Ppn(190), 3, 1)
        );
        assert_eq!(map.next_valid(Ppn(0), Ppn(300)), Some(Ppn(190)));
    }

    #[test]
    fn ranges_are_marked_across_words() {
        for (first, count) in [
            (0, 0),
            (0, 64),
            (3, 1),
            (60, 8),
            (63, 130),
            (64, 64),
            (127, 2),
        ] {
            let mut map = Map::new(1, 300);
            map.mark_valid(Ppn(first), count);
            for ppn in 0..300 {
                assert_eq!(
                    map.is_valid(Ppn(ppn)),
                    (first..first + count).contains(&ppn)
                );
            }
        }
    }
}
