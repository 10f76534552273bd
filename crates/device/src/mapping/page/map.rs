//! Both directions of the mapping, and the validity of physical units. Takes 4 bytes per logical unit, and 4 bytes and
//! a bit per physical unit.
//!
//! Physical numbers are stored as their complements, so that zero means unmapped: the table of a fresh device is zeroed
//! memory, which the system allocates page by page on the first write.

use super::ppn::Ppn;
use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use crate::mapping::page::lpn::Lpn;
use crate::table::Table;
use serde::{Deserialize, Serialize};

/// Logical-to-physical map, its inverse, and the validity of every physical unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Map {
    /// Complements of physical numbers, by logical unit.
    forward: Table<u32>,
    inverse: Table<u32>,
    /// One validity bit per physical unit.
    valid: Table<u64>,
    mapped: u32,
    /// Owners of the units taken last by [`Map::take_valid`].
    #[serde(skip)]
    owners: Vec<u32>,
}

/// Consecutive physical units from which consecutive logical units were moved away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostRun {
    pub(crate) first: Ppn,
    /// Number of units; 0 in an empty run.
    pub(crate) count: u32,
}

impl Default for LostRun {
    fn default() -> Self {
        LostRun {
            first: Ppn(0),
            count: 0,
        }
    }
}

impl Map {
    pub(crate) fn new(logical_units: u32, physical_units: u32) -> Self {
        Map {
            forward: Table::zeroed(logical_units as usize),
            inverse: Table::zeroed(physical_units as usize),
            valid: Table::zeroed(physical_units.div_ceil(64) as usize),
            mapped: 0,
            owners: Vec::new(),
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

    /// Number of units from `first`, at most `most` and at least one, whose physical units are consecutive, or which
    /// are all unmapped.
    pub(crate) fn units_in_run(&self, first: Lpn, most: u32) -> u32 {
        let start = self.forward.get(first.index());
        let step = u32::from(start != Ppn::UNMAPPED.complement());
        let mut units = 0;
        while units < most {
            let entries = self.forward.rest_of_page((first + units).index());
            let entries = &entries[..entries.len().min((most - units) as usize)];
            let expected = (units..).map(|i| start.wrapping_sub(i * step));
            let equal = |(entry, expected): &(&u32, u32)| *entry == expected;
            let in_run = entries.iter().zip(expected).take_while(equal).count();
            units += in_run.narrow();
            if in_run < entries.len() {
                break;
            }
        }
        units
    }

    /// Whether `count` units from `first` are all mapped.
    pub(crate) fn are_mapped(&self, first: Lpn, count: u32) -> bool {
        let mut done = 0;
        while done < count {
            let entries = self.forward.rest_of_page((first + done).index());
            let entries = &entries[..entries.len().min((count - done) as usize)];
            // All entries are examined, without an early end, so that the loop is vectorised.
            let is_unmapped = |entry: &u32| *entry == Ppn::UNMAPPED.complement();
            if entries.iter().fold(false, |any, e| any | is_unmapped(e)) {
                return false;
            }
            done += entries.len().narrow();
        }
        true
    }

    /// Maps a logical unit to a new physical unit and returns the old one. The caller marks the new unit as valid
    /// ([`Map::mark_valid`]).
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

    /// As [`Map::point`] for `count` logical units from `first` and physical units from `to`. Appends the old physical
    /// units to `lost`, in order.
    pub(crate) fn point_run(
        &mut self,
        mut first: Lpn,
        mut count: u32,
        mut to: Ppn,
        lost: &mut Vec<LostRun>,
    ) {
        lost.clear();
        let (mut run, mut unmapped) = (LostRun::default(), 0);
        while count > 0 {
            let places = self.forward.slots(first.index(), count as usize);
            let owners = self.inverse.slots(to.index(), places.len());
            let done = owners.len().narrow();
            for (place, at) in places[..owners.len()].iter_mut().zip(to.0..) {
                let old = std::mem::replace(place, Ppn(at).complement());
                let old = Ppn::from_complement(old);
                if old == Ppn::UNMAPPED {
                    unmapped += 1;
                } else if old == run.first + run.count {
                    run.count += 1;
                } else {
                    lost.push(run);
                    run = LostRun {
                        first: old,
                        count: 1,
                    };
                }
            }
            for (owner, unit) in owners.iter_mut().zip(first.0..) {
                *owner = unit;
            }
            (first, to, count) = (first + done, to + done, count - done);
        }
        lost.push(run);
        self.mapped += unmapped;
        for run in lost {
            self.change_valid(run.first, run.count, |word, bits| word & !bits);
        }
    }

    /// As [`Map::point`] for any logical units, possibly repeated, and physical units from `to`; then marks these as
    /// valid. Appends the old physical units to `lost`.
    pub(crate) fn point_each(&mut self, units: &[Lpn], to: Ppn, lost: &mut Vec<Ppn>) {
        lost.clear();
        self.mark_valid(to, units.len().narrow());
        let owners = units.iter().zip(to.index()..);
        self.inverse
            .replace(owners.map(|(unit, at)| (at, unit.0)), |_| ());
        let places = units.iter().zip(to.0..);
        let places = places.map(|(unit, at)| (unit.index(), Ppn(at).complement()));
        let mut unmapped = 0;
        self.forward
            .replace(places, |old| match Ppn::from_complement(old) {
                Ppn::UNMAPPED => unmapped += 1,
                old => lost.push(old),
            });
        self.mapped += unmapped;
        for old in lost {
            self.clear(*old);
        }
    }

    /// Takes valid units of `from..end` that `wanted` accepts, at most `most`: appends them to `taken` and marks them
    /// as invalid. Prefetches the map entries of their owners, which lie anywhere in memory and are all needed by
    /// [`Map::move_taken`].
    pub(crate) fn take_valid(
        &mut self,
        from: Ppn,
        end: Ppn,
        most: u32,
        wanted: impl Fn(Ppn) -> bool,
        taken: &mut Vec<Ppn>,
    ) {
        self.owners.clear();
        let most = taken.len() + most as usize;
        let mut at = from.0;
        while at < end.0 && taken.len() < most {
            let first = at / 64 * 64;
            let word = self.valid.slot(first as usize / 64);
            // A page of the table holds a multiple of 64 entries.
            let owners = self.inverse.rest_of_page(first as usize);
            let mut left = between(*word, at, end.0);
            while left != 0 && taken.len() < most {
                let place = left.trailing_zeros();
                let bit = left & left.wrapping_neg();
                left ^= bit;
                if wanted(Ppn(first + place)) {
                    *word ^= bit;
                    taken.push(Ppn(first + place));
                    self.owners.push(owners[place as usize]);
                }
            }
            let Some(next) = first.checked_add(64) else {
                break;
            };
            at = next;
        }
        // Most entries were prefetched while the host wrote; without a prefetch here, each other one would cost a full
        // cache miss.
        let owners = self.owners.iter();
        self.forward
            .prefetch_all(owners.map(|owner| *owner as usize));
    }

    /// Prefetches the map entries of the owners of the first `most` valid units in `from..end`. Returns the physical
    /// unit after the last one (or `end`), and their number.
    pub(crate) fn prefetch_owners(&self, from: Ppn, end: Ppn, most: u32) -> (Ppn, u32) {
        let mut at = from.0;
        let mut left = most;
        while at < end.0 && left > 0 {
            let first = at / 64 * 64;
            let word = between(self.valid.get(first as usize / 64), at, end.0);
            let owners = self.inverse.rest_of_page(first as usize);
            for place in bits(word).take(left as usize) {
                self.forward.prefetch(owners[place] as usize);
                left -= 1;
                at = first + place.narrow() + 1;
            }
            if left > 0 {
                at = first.saturating_add(64);
            }
        }
        (end.min(Ppn(at)), most - left)
    }

    /// Maps the owners of the units taken last to physical units from `to`. The caller marks these as valid
    /// ([`Map::mark_valid`]).
    pub(crate) fn move_taken(&mut self, to: Ppn) {
        let places = self.owners.iter().zip(to.0..);
        let places = places.map(|(owner, at)| (*owner as usize, Ppn(at).complement()));
        self.forward.replace(places, |_| ());
        let owners = self.owners.iter().zip(to.index()..);
        let owners = owners.map(|(owner, at)| (at, *owner));
        self.inverse.replace(owners, |_| ());
    }

    /// Marks `count` physical units from `first` as valid.
    #[inline]
    pub(crate) fn mark_valid(&mut self, first: Ppn, count: u32) {
        self.change_valid(first, count, |word, bits| word | bits);
    }

    /// Changes the validity bits of physical units, word by word.
    #[inline]
    fn change_valid(&mut self, first: Ppn, count: u32, change: impl Fn(u64, u64) -> u64) {
        let mut at = first.0;
        let end = at + count;
        while at < end {
            let n = (64 - at % 64).min(end - at);
            let word = self.valid.slot(at as usize / 64);
            *word = change(*word, (u64::MAX >> (64 - n)) << (at % 64));
            at += n;
        }
    }

    /// Prefetches the map entry of a logical unit.
    #[inline]
    pub(crate) fn prefetch(&self, logical: Lpn) {
        self.forward.prefetch(logical.index());
    }

    /// Prefetches the validity bits that a write to `logical` will change; the map entry should be in a cache already.
    #[inline]
    pub(crate) fn prefetch_old(&self, logical: Lpn) {
        self.valid.prefetch(self.lookup(logical).index() / 64);
    }

    /// As [`Map::prefetch`], for several units.
    pub(crate) fn prefetch_all(&self, units: &[Lpn]) {
        self.forward.prefetch_all(units.iter().map(|u| u.index()));
    }

    /// Reads the map entries and validity bits of these logical units, so that their cache misses overlap before the
    /// units are used.
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

    /// Unmaps a logical unit; returns its physical unit.
    pub(crate) fn unmap(&mut self, logical: Lpn) -> Ppn {
        let slot = self.forward.slot(logical.index());
        let old = Ppn::from_complement(std::mem::replace(slot, Ppn::UNMAPPED.complement()));
        if old != Ppn::UNMAPPED {
            self.mapped -= 1;
            self.clear(old);
        }
        old
    }

    /// Logical unit last written to a physical unit.
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

    /// Checks the tables' sizes and that both directions agree: every valid physical unit is the one to which its owner
    /// is mapped, and there are as many as mapped units. `valid` counts them per `per_superblock` physical units.
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
            // A page of the table holds a multiple of 64 entries.
            let owners = self.inverse.rest_of_page(first);
            // Prefetched: entries lie anywhere in memory.
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

/// The bits of a word that belong to physical units from `at` to before `end`.
#[inline]
fn between(word: u64, at: u32, end: u32) -> u64 {
    let from = word >> (at % 64) << (at % 64);
    match end - at / 64 * 64 {
        places @ ..64 => from & ((1 << places) - 1),
        _ => from,
    }
}

/// Indices of the set bits, ascending.
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
    use crate::random::Random;

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
        map.move_taken(Ppn(190));
        map.mark_valid(Ppn(190), 1);
        assert_eq!(
            (map.lookup(Lpn(3)), map.owner(Ppn(190)), map.mapped()),
            (Ppn(190), Lpn(3), 1)
        );
        assert_eq!(map.next_valid(Ppn(0), Ppn(300)), Some(Ppn(190)));
    }

    /// Compared with [`Map::point`] for each unit, some units twice.
    #[test]
    fn units_anywhere_are_pointed_as_each_of_them_is() {
        let mut random = Random::new(6);
        let (mut map, mut single) = (Map::new(500, 100_000), Map::new(500, 100_000));
        let (mut to, mut lost) = (Ppn(0), Vec::new());
        for _ in 0..1000 {
            let count = random.below(60) as usize;
            let units: Vec<Lpn> = (0..count).map(|_| Lpn(random.below(500) as u32)).collect();
            map.point_each(&units, to, &mut lost);
            let mut old = Vec::new();
            for unit in units {
                old.push(single.point(unit, to));
                single.mark_valid(to, 1);
                to = to + 1;
            }
            old.retain(|old| *old != Ppn::UNMAPPED);
            assert_eq!(lost, old);
        }
        assert_eq!(map.mapped(), single.mapped());
        assert!(map.forward.iter().eq(single.forward.iter()));
        assert!(map.inverse.iter().eq(single.inverse.iter()));
        assert!(map.valid.iter().eq(single.valid.iter()));
    }

    /// Compared with [`Map::point`] for each unit: runs of any length to consecutive physical units, over data written
    /// in runs of other lengths.
    #[test]
    fn a_run_is_pointed_as_its_units_are() {
        let mut random = Random::new(5);
        let (mut map, mut single) = (Map::new(500, 100_000), Map::new(500, 100_000));
        let (mut to, mut lost) = (Ppn(0), Vec::new());
        for _ in 0..1000 {
            let first = random.below(500) as u32;
            let count = random.below(u64::from(500 - first).min(90)) as u32;
            map.point_run(Lpn(first), count, to, &mut lost);
            let old: Vec<Ppn> = (0..count)
                .map(|i| single.point(Lpn(first + i), to + i))
                .filter(|old| *old != Ppn::UNMAPPED)
                .collect();
            let runs = lost
                .iter()
                .flat_map(|run| (0..run.count).map(|i| run.first + i));
            assert!(runs.eq(old));
            map.mark_valid(to, count);
            single.mark_valid(to, count);
            to = to + count;
        }
        assert_eq!(map.mapped(), single.mapped());
        assert!(map.forward.iter().eq(single.forward.iter()));
        assert!(map.inverse.iter().eq(single.inverse.iter()));
        assert!(map.valid.iter().eq(single.valid.iter()));
    }

    /// Compared with a look-up of each unit.
    #[test]
    fn runs_are_those_of_single_look_ups() {
        let mut random = Random::new(8);
        let mut map = Map::new(400, 100_000);
        let (mut to, mut lost) = (Ppn(0), Vec::new());
        for _ in 0..60 {
            let first = random.below(390) as u32;
            let count = random.below(u64::from(400 - first).min(40)) as u32;
            map.point_run(Lpn(first), count, to, &mut lost);
            map.mark_valid(to, count);
            to = to + count;
            if random.below(3) == 0 {
                map.unmap(Lpn(random.below(400) as u32));
            }
            let start = Lpn(random.below(400) as u32);
            let most = 1 + random.below(u64::from(400 - start.0)) as u32;
            let places: Vec<Ppn> = (0..most).map(|i| map.lookup(start + i)).collect();
            let follows = |i: u32, place: Ppn| match places[0] {
                Ppn::UNMAPPED => place == Ppn::UNMAPPED,
                first => place == first + i,
            };
            let expected = (0..)
                .zip(&places)
                .take_while(|(i, place)| follows(*i, **place));
            assert_eq!(map.units_in_run(start, most) as usize, expected.count());
            assert_eq!(
                map.are_mapped(start, most),
                !places.contains(&Ppn::UNMAPPED)
            );
        }
    }

    /// Compared with a search from unit to unit.
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
