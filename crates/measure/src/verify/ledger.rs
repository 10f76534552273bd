//! Expected contents of each block of a run: data of a write, zeros, or unknown.

use std::collections::BTreeMap;
use std::ops::Range;

/// Number of blocks allocated together.
const CHUNK: u64 = 1 << 14;
/// A block that was never written.
const NEVER: u32 = 0;
/// Generation of a block with several possible last writes.
const EITHER: u32 = u32::MAX;
/// A block that was discarded and must read as zeros.
const ZERO: u32 = u32::MAX - 1;

/// One block.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Number of the write, or one of the special values above.
    generation: u32,
    /// Distance in blocks from the start of the write to this block.
    place: u32,
    thread: u32,
}

/// Expected contents of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Being written.
    Moving,
    /// Not written in this run.
    Unknown,
    /// Data of one of several simultaneous writes.
    Either,
    /// Trimmed, and to be read as zeros.
    Zeros,
    /// Data of this write, from `position` bytes after its start on.
    Written {
        /// Number of the write.
        generation: u32,
        /// Number of the thread that wrote.
        thread: u32,
        /// Bytes from the start of the write.
        position: u64,
    },
}

/// See the module's text.
#[derive(Debug)]
pub(super) struct Ledger {
    block: u64,
    chunks: BTreeMap<u64, Box<[Entry]>>,
    /// Blocks of each write under way.
    under_way: Vec<Range<u64>>,
    generation: u32,
}

impl Ledger {
    /// An empty ledger of blocks of `block` bytes; 0 counts as 1.
    pub(super) fn new(block: u64) -> Self {
        Ledger {
            block: block.max(1),
            chunks: BTreeMap::new(),
            under_way: Vec::new(),
            generation: NEVER,
        }
    }

    /// Number of the last write.
    pub(super) fn last(&self) -> u32 {
        self.generation
    }

    /// Begins a write; returns its number. Blocks for which `is_known` is false are unknown afterwards.
    pub(super) fn begin(&mut self, offset: u64, length: usize, thread: u32, is_known: bool) -> u32 {
        // The largest values have other meanings; 2^32 writes are enough for a run.
        self.generation = self.generation.saturating_add(1).min(ZERO - 1);
        let generation = self.generation;
        let blocks = self.blocks(offset, length as u64);
        let others = self.writes_in(&blocks);
        let mut place = 0;
        self.for_each(blocks.clone(), |block, entry| {
            let is_shared = others.iter().any(|other| other.contains(&block));
            let generation = match (is_shared, is_known) {
                (true, _) => EITHER,
                (false, true) => generation,
                (false, false) => NEVER,
            };
            *entry = Entry {
                generation,
                place,
                thread,
            };
            place += 1;
        });
        self.under_way.push(blocks);
        generation
    }

    /// Ends a write. After a failed one, the contents of its blocks are unknown.
    pub(super) fn end(&mut self, offset: u64, length: usize, is_done: bool) {
        let blocks = self.blocks(offset, length as u64);
        if let Some(place) = self.under_way.iter().position(|other| *other == blocks) {
            self.under_way.swap_remove(place);
        }
        if is_done {
            return;
        }
        self.for_each(blocks, |_, entry| {
            if entry.generation != NEVER {
                entry.generation = EITHER;
            }
        });
    }

    /// A range has been discarded.
    pub(super) fn discard(&mut self, offset: u64, length: u64, reads_as_zeros: bool) {
        let generation = if reads_as_zeros { ZERO } else { NEVER };
        let blocks = self.blocks(offset, length);
        self.for_each(blocks, |_, entry| {
            *entry = Entry {
                generation,
                ..Entry::default()
            };
        });
    }

    /// Splits a range into parts with equal expectations, with their lengths in bytes.
    pub(super) fn parts(&mut self, offset: u64, length: usize) -> Vec<(usize, Holds)> {
        let end = offset + length as u64;
        let size = self.block;
        let mut parts: Vec<(usize, Holds)> = Vec::with_capacity(1);
        let blocks = self.blocks(offset, length as u64);
        // A read that overlaps a write in progress may return old or new data.
        let moving = self.writes_in(&blocks);
        self.for_each(blocks, |block, entry| {
            let start = (block * size).max(offset);
            let bytes = (((block + 1) * size).min(end) - start) as usize;
            let holds = match moving.iter().any(|write| write.contains(&block)) {
                true => Holds::Moving,
                false => entry.holds(size, start - block * size),
            };
            match parts.last_mut() {
                Some((before, last)) if continues(*last, *before, holds) => *before += bytes,
                _ => parts.push((bytes, holds)),
            }
        });
        parts
    }

    /// Writes under way that include any of these blocks.
    fn writes_in(&self, blocks: &Range<u64>) -> Vec<Range<u64>> {
        let meets = |other: &&Range<u64>| other.start < blocks.end && blocks.start < other.end;
        self.under_way.iter().filter(meets).cloned().collect()
    }

    /// The ranges that were written, or must be zeros, in order: offset and length in bytes.
    pub(super) fn written(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (chunk, entries) in &self.chunks {
            let mut entries = (0u64..).zip(entries.iter());
            while let Some((i, _)) = entries.find(|(_, entry)| entry.generation != NEVER) {
                let offset = (chunk * CHUNK + i) * self.block;
                match ranges.last_mut() {
                    Some((from, length)) if *from + *length == offset => *length += self.block,
                    _ => ranges.push((offset, self.block)),
                }
            }
        }
        ranges
    }

    fn blocks(&self, offset: u64, length: u64) -> Range<u64> {
        offset / self.block..(offset + length).div_ceil(self.block)
    }

    /// Calls `each` with these blocks in order.
    fn for_each(&mut self, blocks: Range<u64>, mut each: impl FnMut(u64, &mut Entry)) {
        let mut block = blocks.start;
        while block < blocks.end {
            let chunk = self
                .chunks
                .entry(block / CHUNK)
                .or_insert_with(|| vec![Entry::default(); CHUNK as usize].into_boxed_slice());
            let first = block % CHUNK;
            let count = (CHUNK - first).min(blocks.end - block);
            for entry in &mut chunk[first as usize..(first + count) as usize] {
                each(block, entry);
                block += 1;
            }
        }
    }
}

impl Entry {
    /// Expected contents of the block from byte `within` on; a block has `size` bytes.
    fn holds(self, size: u64, within: u64) -> Holds {
        match self.generation {
            NEVER => Holds::Unknown,
            EITHER => Holds::Either,
            ZERO => Holds::Zeros,
            generation => Holds::Written {
                generation,
                thread: self.thread,
                position: u64::from(self.place) * size + within,
            },
        }
    }
}

/// Whether `next` continues the `before` bytes with expectation `last`.
fn continues(last: Holds, before: usize, next: Holds) -> bool {
    match last {
        Holds::Written {
            generation,
            thread,
            position,
        } => {
            let position = position + before as u64;
            next == Holds::Written {
                generation,
                thread,
                position,
            }
        }
        _ => last == next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::random::SplitMix64;

    /// Overlapping writes and discards of random lengths, compared with a separate account of each block.
    #[test]
    fn writes_that_overlap_leave_either_and_others_their_own() {
        const BLOCKS: u64 = 40;
        for seed in 0..200 {
            let mut random = SplitMix64::new(seed);
            let mut ledger = Ledger::new(512);
            let mut expected = vec![Holds::Unknown; BLOCKS as usize];
            let mut under_way: Vec<Range<u64>> = Vec::new();
            for _ in 0..60 {
                let first = random.below(BLOCKS);
                let range = first..first + 1 + random.below((BLOCKS - first).min(9));
                let (offset, length) = (range.start * 512, (range.end - range.start) * 512);
                match random.below(5) {
                    0 => {
                        ledger.discard(offset, length, true);
                        range.for_each(|b| expected[b as usize] = Holds::Zeros);
                    }
                    1 | 2 if !under_way.is_empty() => {
                        let at = random.below(under_way.len() as u64) as usize;
                        let done = under_way.swap_remove(at);
                        let bytes = ((done.end - done.start) * 512) as usize;
                        ledger.end(done.start * 512, bytes, true);
                    }
                    _ => {
                        let generation = ledger.begin(offset, length as usize, 3, true);
                        for block in range.clone() {
                            let shared = under_way.iter().any(|other| other.contains(&block));
                            let position = (block - range.start) * 512;
                            let own = Holds::Written {
                                generation,
                                thread: 3,
                                position,
                            };
                            expected[block as usize] = if shared { Holds::Either } else { own };
                        }
                        under_way.push(range);
                    }
                }
                for block in 0..BLOCKS {
                    let moves = under_way.iter().any(|write| write.contains(&block));
                    let holds = if moves {
                        Holds::Moving
                    } else {
                        expected[block as usize]
                    };
                    assert_eq!(
                        ledger.parts(block * 512, 512),
                        [(512, holds)],
                        "seed {seed}"
                    );
                }
            }
        }
    }
}
