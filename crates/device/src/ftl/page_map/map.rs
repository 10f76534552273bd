//! Both directions of the mapping, and which physical units hold valid data. Four bytes per
//! logical unit, four and one bit per physical one.
//!
//! A place is kept as its complement, so that zero means unmapped: the table of a fresh device is
//! zeroed memory, which the system hands out page by page as it is written to.

use super::ppn::Ppn;
use crate::ftl::page_map::lpn::Lpn;
use crate::invariant::{Checked, ensure};
use crate::table::Table;
use serde::{Deserialize, Serialize};

/// Logical-to-physical map, its inverse, and the validity of every physical unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Map {
    /// Complements of places.
    forward: Table<u32>,
    inverse: Table<u32>,
    /// A bit for each place.
    valid: Table<u64>,
    mapped: u32,
}

impl Map {
    pub(crate) fn new(logical_units: u32, physical_units: u32) -> Self {
        Map {
            forward: Table::zeroed(logical_units as usize),
            inverse: Table::zeroed(physical_units as usize),
            valid: Table::zeroed(physical_units.div_ceil(64) as usize),
            mapped: 0,
        }
    }

    /// Makes copies cheap, as [`Table::share`].
    pub(crate) fn share(&mut self) {
        self.forward.share();
        self.inverse.share();
        self.valid.share();
    }

    /// Logical units that are mapped.
    #[cfg(test)]
    pub(crate) fn mapped(&self) -> u32 {
        self.mapped
    }

    #[inline]
    pub(crate) fn lookup(&self, logical: Lpn) -> Ppn {
        Ppn::from_complement(self.forward.get(logical.index()))
    }

    /// Points a logical unit at a new place, which [`Map::mark_valid`] must be told of; returns the old one.
    #[inline]
    pub(crate) fn point(&mut self, logical: Lpn, ppn: Ppn) -> Ppn {
        let slot = self.forward.slot(logical.index());
        let old = Ppn::from_complement(std::mem::replace(slot, ppn.complement()));
        if old == Ppn::UNMAPPED {
            self.mapped += 1;
        } else {
            self.clear(old);
        }
        debug_assert!(!self.is_valid(ppn), "a program overwrites valid data");
        *self.inverse.slot(ppn.index()) = logical.0;
        old
    }

    /// Takes valid units of `from..end`, those that `wanted` accepts and at most `most`: they are
    /// appended to `taken` and marked as valid no longer. The entries of their owners are prefetched:
    /// they lie anywhere in memory, and [`Map::move_units`] needs all of them.
    pub(crate) fn take_valid(
        &mut self,
        from: Ppn,
        end: Ppn,
        most: u32,
        wanted: impl Fn(Ppn) -> bool,
        taken: &mut Vec<Ppn>,
    ) {
        let most = taken.len() + most as usize;
        let mut at = from.0;
        while at < end.0 && taken.len() < most {
            let word = self.valid.slot(at as usize / 64);
            let mut left = *word >> (at % 64) << (at % 64);
            while left != 0 && taken.len() < most {
                let ppn = Ppn(at / 64 * 64 + left.trailing_zeros());
                if ppn >= end {
                    break;
                }
                let bit = left & left.wrapping_neg();
                left ^= bit;
                if wanted(ppn) {
                    *word ^= bit;
                    taken.push(ppn);
                    let owner = self.inverse.get(ppn.index());
                    self.forward.prefetch(owner as usize);
                }
            }
            let Some(next) = (at / 64 + 1).checked_mul(64) else {
                break;
            };
            at = next;
        }
    }

    /// Points the owners of units that were taken from `sources` at the places from `to`, which
    /// [`Map::mark_valid`] must be told of.
    pub(crate) fn move_units(&mut self, sources: &[Ppn], to: Ppn) {
        for (from, at) in sources.iter().zip(to.0..) {
            let logical = self.inverse.get(from.index());
            let place = self.forward.slot(logical as usize);
            debug_assert_eq!(*place, from.complement());
            *place = Ppn(at).complement();
            *self.inverse.slot(at as usize) = logical;
        }
    }

    /// `count` places from `first` hold valid data now.
    #[inline]
    pub(crate) fn mark_valid(&mut self, first: Ppn, count: u32) {
        let mut at = first.0;
        let end = at + count;
        while at < end {
            let n = (64 - at % 64).min(end - at);
            *self.valid.slot(at as usize / 64) |= (u64::MAX >> (64 - n)) << (at % 64);
            at += n;
        }
    }

    /// Begins to fetch an entry from memory that is going to be looked up soon.
    #[inline]
    pub(crate) fn prefetch(&self, logical: Lpn) {
        self.forward.prefetch(logical.index());
    }

    /// Reads what is going to be needed for these logical units, so that a row of accesses to
    /// memory that is not in any cache overlaps and each has arrived when its turn comes.
    #[inline]
    pub(crate) fn warm(&self, units: &[Lpn]) {
        let mut sum = 0u64;
        for unit in units {
            let ppn = self.lookup(*unit);
            if ppn != Ppn::UNMAPPED {
                sum ^= self.valid.get(ppn.index() / 64);
            }
        }
        std::hint::black_box(sum);
    }

    /// Forgets a logical unit; returns where it was.
    pub(crate) fn unmap(&mut self, logical: Lpn) -> Ppn {
        let slot = self.forward.slot(logical.index());
        let old = Ppn::from_complement(std::mem::replace(slot, Ppn::UNMAPPED.complement()));
        if old != Ppn::UNMAPPED {
            self.mapped -= 1;
            self.clear(old);
        }
        old
    }

    /// Which logical unit was written at a physical one.
    pub(crate) fn owner(&self, ppn: Ppn) -> Lpn {
        Lpn(self.inverse.get(ppn.index()))
    }

    /// Whether a physical unit holds valid data.
    pub(crate) fn is_valid(&self, ppn: Ppn) -> bool {
        self.valid.get(ppn.index() / 64) >> (ppn.0 % 64) & 1 == 1
    }

    /// The first valid unit in `from..end`.
    pub(crate) fn next_valid(&self, from: Ppn, end: Ppn) -> Option<Ppn> {
        let mut at = from.0;
        while at < end.0 {
            let word = self.valid.get(at as usize / 64) >> (at % 64);
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
        for (number, word) in self.valid.iter().enumerate().filter(|(_, word)| *word != 0) {
            let first = number * 64;
            let top = first + (63 - word.leading_zeros()) as usize;
            ensure!(
                top < physical,
                "a place beyond the flash is marked as valid"
            );
            // A page of the table has a multiple of 64 places.
            let owners = self.inverse.rest_of_page(first);
            // The entries lie anywhere in memory: they are fetched while those before are checked.
            for bit in bits(word) {
                self.forward.prefetch(owners[bit] as usize);
            }
            for bit in bits(word) {
                let (ppn, owner) = (first + bit, owners[bit] as usize);
                let known = owner < self.forward.len();
                let place = known.then(|| Ppn::from_complement(self.forward.get(owner)));
                ensure!(
                    place.is_some_and(|place| place.index() == ppn),
                    "place {ppn} holds unit {owner}, which lies at {place:?}"
                );
                valid[ppn / per_superblock as usize] += 1;
            }
            marked += word.count_ones() as usize;
        }
        let is_mapped = |place: &&u32| **place != Ppn::UNMAPPED.complement();
        let mapped: usize = self
            .forward
            .pages()
            .map(|page| page.iter().filter(is_mapped).count())
            .sum();
        ensure!(
            mapped == marked && mapped == self.mapped as usize,
            "{mapped} units are mapped, {} were counted, and {marked} places are valid",
            self.mapped
        );
        Ok(())
    }

    #[inline]
    fn clear(&mut self, ppn: Ppn) {
        *self.valid.slot(ppn.index() / 64) &= !(1 << (ppn.0 % 64));
    }
}

/// Numbers of the bits that are set, upwards.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.checked_sub(1)?;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_directions_agree() {
        let mut map = Map::new(100, 300);
        assert_eq!(map.point(Lpn(7), Ppn(130)), Ppn::UNMAPPED);
        map.mark_valid(Ppn(130), 1);
        assert_eq!(map.point(Lpn(7), Ppn(200)), Ppn(130));
        map.mark_valid(Ppn(200), 1);
        assert_eq!(
            (map.lookup(Lpn(7)), map.owner(Ppn(200)), map.mapped()),
            (Ppn(200), Lpn(7), 1)
        );
        assert!(map.is_valid(Ppn(200)) && !map.is_valid(Ppn(130)));
        assert_eq!(map.next_valid(Ppn(0), Ppn(300)), Some(Ppn(200)));
        assert_eq!(map.next_valid(Ppn(0), Ppn(200)), None);
        assert_eq!(map.unmap(Lpn(7)), Ppn(200));
        assert_eq!(
            (
                map.lookup(Lpn(7)),
                map.mapped(),
                map.next_valid(Ppn(0), Ppn(300))
            ),
            (Ppn::UNMAPPED, 0, None)
        );
    }

    #[test]
    fn a_moved_unit_is_found_at_its_new_place() {
        let mut map = Map::new(10, 300);
        map.point(Lpn(3), Ppn(60));
        map.mark_valid(Ppn(60), 1);
        let mut taken = Vec::new();
        map.take_valid(Ppn(0), Ppn(300), 5, |_| true, &mut taken);
        assert_eq!(taken, [Ppn(60)]);
        map.move_units(&taken, Ppn(190));
        map.mark_valid(Ppn(190), 1);
        assert_eq!(
            (map.lookup(Lpn(3)), map.owner(Ppn(190)), map.mapped()),
            (Ppn(190), Lpn(3), 1)
        );
        assert_eq!(map.next_valid(Ppn(0), Ppn(300)), Some(Ppn(190)));
    }

    /// Against a search from unit to unit.
    #[test]
    fn the_units_taken_are_the_next_valid_ones() {
        let every = |n: u32| move |ppn: Ppn| ppn.0.is_multiple_of(n);
        for (from, end, most) in [
            (0, 300, 1000),
            (0, 300, 7),
            (63, 65, 9),
            (64, 128, 64),
            (70, 190, 31),
            (5, 5, 3),
            (0, 300, 0),
        ] {
            for (kept, wanted) in [(1, 1), (3, 1), (2, 5), (64, 1), (63, 2)] {
                let mut map = Map::new(300, 300);
                for unit in (0..300).filter(|unit| every(kept)(Ppn(*unit))) {
                    map.point(Lpn(unit), Ppn(unit));
                    map.mark_valid(Ppn(unit), 1);
                }
                let mut expected = vec![Ppn(7)];
                let mut at = Ppn(from);
                while expected.len() <= most as usize
                    && let Some(next) = map.next_valid(at, Ppn(end))
                {
                    expected.extend(Some(next).filter(|ppn| every(wanted)(*ppn)));
                    at = next + 1;
                }
                let mut taken = vec![Ppn(7)];
                map.take_valid(Ppn(from), Ppn(end), most, every(wanted), &mut taken);
                assert_eq!(
                    taken, expected,
                    "{from}..{end}, {most} of {kept} and {wanted}"
                );
                for unit in 0..300 {
                    let left = every(kept)(Ppn(unit)) && !taken[1..].contains(&Ppn(unit));
                    assert_eq!(map.is_valid(Ppn(unit)), left, "{unit}");
                }
            }
        }
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
