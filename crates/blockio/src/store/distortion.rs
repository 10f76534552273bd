//! Faults of contents: a fake card stores data at other addresses or not at all, and tampered bytes
//! read differently than they were written.

use crate::memory_len;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;

const SECTOR: u64 = nandscope_units::SECTOR_BYTES;
const SECTOR_LEN: usize = 512;

/// A card that holds fewer bytes than it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fake {
    /// Real capacity in bytes, a multiple of the sector size.
    pub holds: u64,
    /// Effect of accesses past the real capacity.
    pub beyond: Beyond,
}

/// Effect of writes past the real capacity of a fake card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The write goes to the address modulo the real capacity.
    Wrap,
    /// The write is dropped; reads return zeroes.
    Drop,
    /// The write is dropped; reads return the data at the address modulo the real capacity.
    Stale,
    /// This number of the most recently written sectors are kept; older ones are dropped and read as zeroes.
    Cached(u64),
}

/// Address and length, in bytes, of one piece of a range; no address if the piece is dropped.
pub type Piece = (Option<u64>, u64);

impl Fake {
    /// Splits a range into pieces, each stored in one place or dropped.
    fn pieces(self, offset: u64, length: u64, writing: bool) -> impl Iterator<Item = Piece> {
        let end = offset + length;
        let mut at = offset;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let within = at % self.holds;
            let piece = (self.holds - within).min(end - at);
            let here = match self.beyond {
                _ if at < self.holds => true,
                Beyond::Wrap => true,
                Beyond::Drop | Beyond::Cached(_) => false,
                Beyond::Stale => !writing,
            };
            at += piece;
            Some((here.then_some(within), piece))
        })
    }
}

/// Bytes that are read unchanged once, and changed from the second read on.
#[derive(Debug)]
struct Tampered {
    range: Range<u64>,
    read: Cell<bool>,
}

/// Faults that change the contents of a card: too small a capacity, and tampering.
#[derive(Debug, Default)]
pub struct Distortion {
    fake: Option<Fake>,
    /// Cached sectors beyond the real capacity: number and data, the most recently written last.
    cache: VecDeque<(u64, [u8; SECTOR_LEN])>,
    tampered: Vec<Tampered>,
}

impl Distortion {
    pub const fn is_none(&self) -> bool {
        self.fake.is_none() && self.tampered.is_empty()
    }

    pub fn set_fake(&mut self, fake: Option<Fake>) {
        self.fake = fake;
        self.cache.clear();
    }

    /// Caches written sectors past the real capacity.
    pub fn remember(&mut self, offset: u64, data: &[u8]) {
        let Some(Fake {
            holds,
            beyond: Beyond::Cached(room),
        }) = self.fake
        else {
            return;
        };
        let end = offset + data.len() as u64;
        // The real capacity is a whole number of sectors.
        for sector in offset.max(holds) / SECTOR..end.div_ceil(SECTOR) {
            let from = (sector * SECTOR).max(offset.max(holds));
            let to = ((sector + 1) * SECTOR).min(end);
            if from >= to {
                continue;
            }
            let old = self.cache.iter().position(|(s, _)| *s == sector);
            let old = old.and_then(|at| self.cache.remove(at));
            let mut contents = old.map_or([0; SECTOR_LEN], |(_, contents)| contents);
            let within = memory_len(from % SECTOR);
            let piece = &data[memory_len(from - offset)..memory_len(to - offset)];
            contents[within..within + piece.len()].copy_from_slice(piece);
            self.cache.push_back((sector, contents));
            if self.cache.len() as u64 > room {
                self.cache.pop_front();
            }
        }
    }

    pub fn tamper(&mut self, range: Range<u64>) {
        let read = Cell::new(false);
        self.tampered.push(Tampered { range, read });
    }

    /// Maps a range to the addresses that store it.
    pub fn pieces(&self, offset: u64, length: u64, writing: bool) -> Vec<Piece> {
        match self.fake {
            None => vec![(Some(offset), length)],
            Some(fake) => fake.pieces(offset, length, writing).collect(),
        }
    }

    /// Replaces data read from `offset` on by cached sectors, and tampers with bytes that have been read
    /// before.
    pub fn change(&self, data: &mut [u8], offset: u64) {
        let end = offset + data.len() as u64;
        for (sector, contents) in &self.cache {
            let from = (sector * SECTOR).max(offset);
            let to = ((sector + 1) * SECTOR).min(end);
            if from < to {
                let within = memory_len(from % SECTOR);
                let piece = &contents[within..within + memory_len(to - from)];
                data[memory_len(from - offset)..memory_len(to - offset)].copy_from_slice(piece);
            }
        }
        for tampered in &self.tampered {
            let from = tampered.range.start.max(offset);
            let to = tampered.range.end.min(end);
            if from < to && tampered.read.replace(true) {
                for byte in &mut data[memory_len(from - offset)..memory_len(to - offset)] {
                    *byte = !*byte;
                }
            }
        }
    }
}
