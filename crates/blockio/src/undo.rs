//! Undo of unpersisted writes: the contents under the latest writes are kept until the device has
//! persisted them, so that a power cut can restore them.

use crate::image::{Image, OutOfRange};
use crate::memory_len;
use crate::store::{Store, StoreError};
use nandscope_device::Damage;
use nandscope_units::SECTOR_BYTES;
use nandscope_units::random::SplitMix64;
use std::collections::VecDeque;
use std::ops::Range;

/// Atomic unit in bytes: after an interrupted program, each unit of a page is completely old or new,
/// since the maps of most cards have no smaller unit.
const ATOM: u64 = 4096;

/// Contents that a power cut can change.
pub trait Contents {
    /// Error of the contents, which could not be read or written.
    type Error;

    /// Appends `length` bytes from `offset` on to `to`.
    ///
    /// # Errors
    /// `Self::Error` if the range reaches beyond the end or cannot be read.
    fn append_to(&self, to: &mut Vec<u8>, offset: u64, length: u64) -> Result<(), Self::Error>;

    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// `Self::Error` if the range reaches beyond the end or cannot be written.
    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Self::Error>;
}

impl Contents for Store {
    type Error = StoreError;

    fn append_to(&self, to: &mut Vec<u8>, offset: u64, length: u64) -> Result<(), StoreError> {
        Store::append_to(self, to, offset, length)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        Store::write(self, offset, data)
    }
}

impl Contents for Image {
    type Error = OutOfRange;

    fn append_to(&self, to: &mut Vec<u8>, offset: u64, length: u64) -> Result<(), OutOfRange> {
        OutOfRange::check(offset, length, self.capacity())?;
        let start = to.len();
        to.resize(start + memory_len(length), 0);
        self.read(offset, &mut to[start..])
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), OutOfRange> {
        Image::write(self, offset, data)
    }
}

/// Contents of a page after an interrupted program.
#[derive(Debug)]
pub enum Torn<'r> {
    /// The data before the write: the card recognises the page as incomplete and uses the copy before it.
    Old,
    /// This byte, repeated: the card returns the page as if it were valid.
    Garbage(u8),
    /// Random bytes if the write was acknowledged; otherwise the new data up to a random block, and the old data after
    /// it.
    Random(&'r mut SplitMix64),
}

/// A change of the contents.
#[derive(Debug)]
struct Entry {
    /// Number of the write in the device's numbering; `None` for a change that is never undone.
    write: Option<u64>,
    range: Range<u64>,
    /// Contents of the range before the write; `None` if they were zeroes.
    old: Option<Vec<u8>>,
    /// The host has seen its completion.
    acknowledged: bool,
}

/// Unpersisted writes and the data under them.
#[derive(Debug, Default)]
pub struct Undo {
    /// Changes in the order in which they were made.
    entries: VecDeque<Entry>,
}

impl Undo {
    /// Notes that the write of this number is about to change a range.
    ///
    /// # Errors
    /// `C::Error` if the contents cannot be read.
    pub fn note<C: Contents>(
        &mut self,
        contents: &C,
        write: u64,
        (offset, length): (u64, u64),
        acknowledged: bool,
    ) -> Result<(), C::Error> {
        let mut old = Vec::new();
        contents.append_to(&mut old, offset, length)?;
        self.entries.push_back(Entry {
            write: Some(write),
            range: offset..offset + length,
            old: old.iter().any(|byte| *byte != 0).then_some(old),
            acknowledged,
        });
        Ok(())
    }

    /// Notes a change of a range that no power cut takes back. Earlier damage does not show through it.
    pub fn note_lasting(&mut self, range: Range<u64>) {
        self.entries.push_back(Entry {
            write: None,
            range,
            old: None,
            acknowledged: true,
        });
    }

    /// Forgets the writes with numbers below `persisted`, which no power cut can undo any more.
    pub fn forget_before(&mut self, persisted: u64) {
        let done = |entry: &Entry| entry.write.is_none_or(|write| write < persisted);
        while self.entries.front().is_some_and(done) {
            self.entries.pop_front();
        }
    }

    /// Undoes the writes that a power cut damaged, and forgets all others. `damage` is ordered like the
    /// writes.
    ///
    /// # Errors
    /// `C::Error` if the contents cannot be written.
    pub fn roll_back<C: Contents>(
        &mut self,
        contents: &mut C,
        damage: &[Damage],
        torn: &mut Torn<'_>,
    ) -> Result<(), C::Error> {
        debug_assert!(damage.is_sorted_by_key(|d| d.write));
        // Persisted by later writes, which hide earlier damage.
        let mut kept: Vec<Range<u64>> = Vec::new();
        for entry in std::mem::take(&mut self.entries).iter().rev() {
            let Range { start, end } = entry.range;
            let mut sound: Vec<_> = std::iter::once(start..end).collect();
            for part in entry.damage(damage) {
                let from = part.first.offset().0.max(start);
                let to = (part.first.offset().0 + u64::from(part.sectors) * SECTOR_BYTES).min(end);
                if from >= to {
                    continue;
                }
                sound = without(sound, &(from..to));
                let whole = std::iter::once(from..to).collect();
                for range in kept.iter().fold(whole, without) {
                    entry.take_back(contents, range, part.torn, torn)?;
                }
            }
            kept.extend(sound);
        }
        Ok(())
    }
}

impl Entry {
    /// The damage of this write.
    fn damage<'d>(&self, damage: &'d [Damage]) -> &'d [Damage] {
        let Some(write) = self.write else { return &[] };
        let from = damage.partition_point(|d| d.write < write);
        let to = damage.partition_point(|d| d.write <= write);
        &damage[from..to]
    }

    fn take_back<C: Contents>(
        &self,
        contents: &mut C,
        range: Range<u64>,
        is_torn: bool,
        torn: &mut Torn<'_>,
    ) -> Result<(), C::Error> {
        let length = memory_len(range.end - range.start);
        let mut from = range.start;
        match torn {
            Torn::Garbage(byte) if is_torn => {
                return contents.write(from, &vec![*byte; length]);
            }
            Torn::Random(random) if is_torn && self.acknowledged => {
                let words = length.div_ceil(8);
                let mut garbage: Vec<u8> = (0..words)
                    .flat_map(|_| random.bits().to_le_bytes())
                    .collect();
                garbage.truncate(length);
                return contents.write(from, &garbage);
            }
            Torn::Random(random) if is_torn => {
                let blocks = range.end.div_ceil(ATOM) - range.start / ATOM;
                let new = random.below(blocks + 1);
                from = ((range.start / ATOM + new) * ATOM).clamp(range.start, range.end);
            }
            _ => {}
        }
        let place = |at: u64| memory_len(at - self.range.start);
        match &self.old {
            Some(old) => contents.write(from, &old[place(from)..place(range.end)]),
            None => contents.write(from, &vec![0; memory_len(range.end - from)]),
        }
    }
}

/// Parts of `ranges` outside `hole`.
pub fn without(ranges: Vec<Range<u64>>, hole: &Range<u64>) -> Vec<Range<u64>> {
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
        // Three overlapping writes, with every combination of lost ones.
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
            undo.roll_back(
                &mut store,
                &damage,
                &mut Torn::Random(&mut SplitMix64::new(1)),
            )
            .unwrap();
            assert_eq!(sectors(&store, 6), expected, "{losses:03b}");
        }
    }

    #[test]
    fn a_part_of_a_write_is_lost() {
        let mut store = Store::memory(Bytes::kib(64));
        let mut undo = Undo::default();
        put(&mut store, &mut undo, 0, 0, &[1, 1, 1, 1], true);
        undo.roll_back(
            &mut store,
            &[lost(0, 1, 2)],
            &mut Torn::Random(&mut SplitMix64::new(1)),
        )
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
            undo.roll_back(
                &mut store,
                &[torn],
                &mut Torn::Random(&mut SplitMix64::new(seed)),
            )
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
        undo.roll_back(
            &mut store,
            &[torn],
            &mut Torn::Random(&mut SplitMix64::new(1)),
        )
        .unwrap();
        assert_eq!(sectors(&store, 2), [255, 255]);
    }

    #[test]
    fn a_change_that_lasts_hides_earlier_damage() {
        for (mut torn, expected) in [(Torn::Old, 0), (Torn::Garbage(0xa5), 0xa5)] {
            let mut store = Store::memory(Bytes::kib(64));
            let mut undo = Undo::default();
            put(&mut store, &mut undo, 0, 0, &[1, 1, 1], true);
            undo.note_lasting(512..1024);
            store.discard(512, 512).unwrap();
            let damage = Damage {
                torn: true,
                ..lost(0, 0, 3)
            };
            undo.roll_back(&mut store, &[damage], &mut torn).unwrap();
            assert_eq!(sectors(&store, 3), [expected, 0, expected]);
        }
    }
}
