//! What each block of a run must hold: by which write, or zeros, or nobody knows.

use std::collections::BTreeMap;

/// Blocks that lie together in memory.
const CHUNK: u64 = 1 << 14;
/// A block that was never written.
const NEVER: u32 = 0;
/// A block whose last write is not known.
const EITHER: u32 = u32::MAX;
/// A block that was discarded and must read as zeros.
const ZERO: u32 = u32::MAX - 1;

/// One block.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Number of the write, or one of the above.
    generation: u32,
    /// Blocks from the start of that write to this one.
    place: u32,
    thread: u32,
}

/// Expected contents of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// They are being written.
    Moving,
    /// Nobody wrote them in this run.
    Unknown,
    /// One of several writes that were under way at once.
    Either,
    /// Trimmed, and to be read as zeros.
    Zeros,
    /// The data of this write, from `position` bytes after its start on.
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
    /// Blocks that are being written, and by how many.
    under_way: BTreeMap<u64, u32>,
    generation: u32,
}

impl Ledger {
    /// Of blocks of so many bytes, at least one.
    pub(super) fn new(block: u64) -> Self {
        Ledger {
            block: block.max(1),
            chunks: BTreeMap::new(),
            under_way: BTreeMap::new(),
            generation: NEVER,
        }
    }

    /// Number of the last write.
    pub(super) fn last(&self) -> u32 {
        self.generation
    }

    /// A write is about to begin; gives its number. What `is_known` is false for may hold anything afterwards.
    pub(super) fn begin(&mut self, offset: u64, length: usize, thread: u32, is_known: bool) -> u32 {
        // The last values have other meanings; 2^32 writes are enough for a run.
        self.generation = self.generation.saturating_add(1).min(ZERO - 1);
        let generation = self.generation;
        for (place, block) in (0u32..).zip(self.blocks(offset, length as u64)) {
            let others = self.under_way.entry(block).or_default();
            *others += 1;
            let generation = match (*others, is_known) {
                (1, true) => generation,
                (1, false) => NEVER,
                _ => EITHER,
            };
            *self.at(block) = Entry {
                generation,
                place,
                thread,
            };
        }
        generation
    }

    /// A write has ended. One that failed leaves its blocks with contents that nobody knows.
    pub(super) fn end(&mut self, offset: u64, length: usize, is_done: bool) {
        for block in self.blocks(offset, length as u64) {
            if let Some(others) = self.under_way.get_mut(&block) {
                *others -= 1;
                if *others == 0 {
                    self.under_way.remove(&block);
                }
            }
            let entry = self.at(block);
            if !is_done && entry.generation != NEVER {
                entry.generation = EITHER;
            }
        }
    }

    /// A range has been discarded.
    pub(super) fn discard(&mut self, offset: u64, length: u64, reads_as_zeros: bool) {
        let generation = if reads_as_zeros { ZERO } else { NEVER };
        for block in self.blocks(offset, length) {
            *self.at(block) = Entry {
                generation,
                ..Entry::default()
            };
        }
    }

    /// The parts of a range that hold the same, with their lengths in bytes.
    pub(super) fn parts(&mut self, offset: u64, length: usize) -> Vec<(usize, Holds)> {
        let end = offset + length as u64;
        let mut parts: Vec<(usize, Holds)> = Vec::with_capacity(1);
        for block in self.blocks(offset, length as u64) {
            let start = (block * self.block).max(offset);
            let bytes = (((block + 1) * self.block).min(end) - start) as usize;
            let holds = self.holds(block, start);
            match parts.last_mut() {
                Some((before, last)) if continues(*last, *before, holds) => *before += bytes,
                _ => parts.push((bytes, holds)),
            }
        }
        parts
    }

    fn holds(&mut self, block: u64, start: u64) -> Holds {
        // Who reads while it is written may see both.
        if self.under_way.contains_key(&block) {
            return Holds::Moving;
        }
        let within = start - block * self.block;
        let size = self.block;
        let entry = *self.at(block);
        match entry.generation {
            NEVER => Holds::Unknown,
            EITHER => Holds::Either,
            ZERO => Holds::Zeros,
            generation => Holds::Written {
                generation,
                thread: entry.thread,
                position: u64::from(entry.place) * size + within,
            },
        }
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

    fn blocks(&self, offset: u64, length: u64) -> std::ops::Range<u64> {
        offset / self.block..(offset + length).div_ceil(self.block)
    }

    fn at(&mut self, block: u64) -> &mut Entry {
        let chunk = self
            .chunks
            .entry(block / CHUNK)
            .or_insert_with(|| vec![Entry::default(); CHUNK as usize].into_boxed_slice());
        &mut chunk[(block % CHUNK) as usize]
    }
}

/// Whether what follows `before` bytes that hold `last` belongs to them.
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
