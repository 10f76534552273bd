//! What lay under the latest writes: kept until the device has them on the medium, so that a power
//! cut can take them back.

use crate::store::{Store, StoreError};
use nandscope_device::Damage;
use nandscope_units::SECTOR_BYTES;
use nandscope_units::random::SplitMix64;
use std::collections::VecDeque;
use std::ops::Range;

/// Of a page that was being programmed, whole blocks of this many bytes are old or new, as of most
/// cards, whose maps know nothing smaller.
const ATOM: u64 = 4096;

/// A write that became contents.
#[derive(Debug)]
struct Entry {
    /// The device's number of it.
    write: u64,
    offset: u64,
    /// What was there before.
    old: Vec<u8>,
    /// The host has heard of its end.
    acknowledged: bool,
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct Undo {
    /// In the order in which they became contents.
    entries: VecDeque<Entry>,
}

impl Undo {
    /// A write of this number is about to change a range.
    ///
    /// # Errors
    /// Where the contents cannot be read.
    pub fn note(
        &mut self,
        store: &Store,
        write: u64,
        (offset, length): (u64, u64),
        acknowledged: bool,
    ) -> Result<(), StoreError> {
        let mut old = Vec::new();
        store.append_to(&mut old, offset, length)?;
        self.entries.push_back(Entry {
            write,
            offset,
            old,
            acknowledged,
        });
        Ok(())
    }

    /// Forgets writes that are on the medium: those of lower numbers.
    pub fn forget_before(&mut self, durable: u64) {
        while self.entries.front().is_some_and(|e| e.write < durable) {
            self.entries.pop_front();
        }
    }

    /// Takes back what a power cut damaged, and forgets everything. What was torn holds the new data
    /// up to some block and then the old, where the host had heard of nothing yet; and anything
    /// where it had.
    ///
    /// # Errors
    /// Where the contents cannot be changed.
    pub fn roll_back(
        &mut self,
        store: &mut Store,
        damage: &[Damage],
        random: &mut SplitMix64,
    ) -> Result<(), StoreError> {
        // What later writes hold for good; earlier damage does not show through it.
        let mut kept: Vec<Range<u64>> = Vec::new();
        for entry in std::mem::take(&mut self.entries).iter().rev() {
            let end = entry.offset + entry.old.len() as u64;
            let mut sound: Vec<_> = std::iter::once(entry.offset..end).collect();
            let first = damage.partition_point(|d| d.write < entry.write);
            for part in damage[first..]
                .iter()
                .take_while(|d| d.write == entry.write)
            {
                let from = part.first.offset().0.max(entry.offset);
                let to = (part.first.offset().0 + u64::from(part.sectors) * SECTOR_BYTES).min(end);
                if from >= to {
                    continue;
                }
                sound = without(sound, &(from..to));
                let whole = std::iter::once(from..to).collect();
                for range in kept.iter().fold(whole, without) {
                    entry.spoil(store, &range, part.torn, random)?;
                }
            }
            kept.extend(sound);
        }
        Ok(())
    }
}

impl Entry {
    fn spoil(
        &self,
        store: &mut Store,
        range: &Range<u64>,
        torn: bool,
        random: &mut SplitMix64,
    ) -> Result<(), StoreError> {
        if torn && self.acknowledged {
            let words = (range.end - range.start).div_ceil(8);
            let mut garbage: Vec<u8> = (0..words)
                .flat_map(|_| random.bits().to_le_bytes())
                .collect();
            garbage.truncate((range.end - range.start) as usize);
            return store.write(range.start, &garbage);
        }
        let mut from = range.start;
        if torn {
            let blocks = range.end.div_ceil(ATOM) - range.start / ATOM;
            let new = random.below(blocks + 1);
            from = ((range.start / ATOM + new) * ATOM).clamp(range.start, range.end);
        }
        let place = |at: u64| (at - self.offset) as usize;
        store.write(from, &self.old[place(from)..place(range.end)])
    }
}

/// What is left of ranges without another.
pub(crate) fn without(ranges: Vec<Range<u64>>, hole: &Range<u64>) -> Vec<Range<u64>> {
    let cut = |r: Range<u64>| {
        let before = r.start..r.end.min(hole.start);
        let after = r.start.max(hole.end)..r.end;
        [before, after].into_iter().filter(|r| r.start < r.end)
    };
    ranges.into_iter().flat_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::{Bytes, Lba};

    fn put(store: &mut Store, undo: &mut Undo, write: u64, sector: u64, bytes: &[u8], heard: bool) {
        let data: Vec<u8> = bytes.iter().flat_map(|b| [*b; 512]).collect();
        let range = (sector * 512, data.len() as u64);
        undo.note(store, write, range, heard).unwrap();
        store.write(sector * 512, &data).unwrap();
    }

    fn lost(write: u64, first: u64, sectors: u32) -> Damage {
        let (first, torn) = (Lba(first), false);
        Damage {
            write,
            first,
            sectors,
            torn,
        }
    }

    fn sectors(store: &Store, count: u64) -> Vec<u8> {
        let mut out = Vec::new();
        store.append_to(&mut out, 0, count * 512).unwrap();
        out.chunks(512)
            .map(|s| {
                if s.iter().all(|b| *b == s[0]) {
                    s[0]
                } else {
                    255
                }
            })
            .collect()
    }

    #[test]
    fn what_shows_through_is_what_the_medium_holds() {
        // Three writes over each other; every combination of losses.
        for losses in 0..8u8 {
            let mut store = Store::memory(Bytes::kib(64));
            let mut undo = Undo::default();
            put(&mut store, &mut undo, 0, 0, &[9, 9, 9, 9, 9, 9], true);
            undo.forget_before(1);
            put(&mut store, &mut undo, 1, 0, &[1, 1, 1], true);
            put(&mut store, &mut undo, 2, 1, &[2, 2, 2], true);
            put(&mut store, &mut undo, 3, 2, &[3, 3, 3], true);
            let damage: Vec<_> = (1..4u64)
                .filter(|w| losses >> (w - 1) & 1 == 1)
                .map(|w| lost(w, w - 1, 3))
                .collect();
            let mut expected = [9; 6];
            for w in (1..4u8).filter(|w| losses >> (w - 1) & 1 == 0) {
                expected[usize::from(w) - 1..usize::from(w) + 2].fill(w);
            }
            undo.roll_back(&mut store, &damage, &mut SplitMix64::new(1))
                .unwrap();
            assert_eq!(sectors(&store, 6), expected, "{losses:03b}");
        }
    }

    #[test]
    fn a_part_of_a_write_is_lost() {
        let mut store = Store::memory(Bytes::kib(64));
        let mut undo = Undo::default();
        put(&mut store, &mut undo, 0, 0, &[1, 1, 1, 1], true);
        undo.roll_back(&mut store, &[lost(0, 1, 2)], &mut SplitMix64::new(1))
            .unwrap();
        assert_eq!(sectors(&store, 4), [1, 0, 0, 1]);
    }

    #[test]
    fn torn_writes_are_whole_blocks_or_anything() {
        let mut shapes = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let mut store = Store::memory(Bytes::kib(64));
            let mut undo = Undo::default();
            put(&mut store, &mut undo, 0, 0, &[1; 24], false);
            let torn = Damage {
                torn: true,
                ..lost(0, 0, 24)
            };
            undo.roll_back(&mut store, &[torn], &mut SplitMix64::new(seed))
                .unwrap();
            let now = sectors(&store, 24);
            let new = now.iter().filter(|b| **b == 1).count();
            assert!(
                new.is_multiple_of(8) && now[..new].iter().all(|b| *b == 1),
                "{now:?}"
            );
            shapes.insert(new);
        }
        assert_eq!(shapes.into_iter().collect::<Vec<_>>(), [0, 8, 16, 24]);
        let mut store = Store::memory(Bytes::kib(64));
        let mut undo = Undo::default();
        put(&mut store, &mut undo, 0, 0, &[1, 1], true);
        let torn = Damage {
            torn: true,
            ..lost(0, 0, 2)
        };
        undo.roll_back(&mut store, &[torn], &mut SplitMix64::new(1))
            .unwrap();
        assert_eq!(sectors(&store, 2), [255, 255]);
    }
}
