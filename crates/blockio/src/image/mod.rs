//! Sparse copy-on-write contents of a device: bytes by address.
//!
//! Ranges that were never written or were discarded read as zeroes. A clone shares its pages with
//! the original until one of them is written, so that an image can be kept at many points of a run.
//! A page of one repeated byte, such as zeroes or the files that fill a file system, takes no memory. Other
//! pages take memory up to a limit; the rest goes to an unnamed temporary file.

mod pages;

use crate::memory_len;
pub use pages::SpillError;
use pages::{DIRECTORY, DIRECTORY_BYTES, Directory, PAGE, PAGE_BYTES, Pool, Slot};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Limit, in bytes, of the pages that [`Image::bounded`] and its clones keep in memory.
pub const IN_MEMORY: u64 = 128 << 20;

/// A range that reaches beyond the end of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the range from {offset} of {length} bytes extends past the end at {capacity} bytes")]
pub struct OutOfRange {
    /// First byte of the range.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// Size of the device in bytes.
    pub capacity: u64,
}

impl OutOfRange {
    /// Checks a range against a capacity.
    ///
    /// # Errors
    /// `OutOfRange` if the range does not end within the capacity.
    pub fn check(offset: u64, length: u64, capacity: u64) -> Result<(), OutOfRange> {
        match offset.checked_add(length) {
            Some(end) if end <= capacity => Ok(()),
            _ => Err(OutOfRange {
                offset,
                length,
                capacity,
            }),
        }
    }
}

/// The contents of a device.
#[derive(Clone, Debug)]
pub struct Image {
    capacity: u64,
    /// Directories by number; absent ones hold zeroes.
    directories: BTreeMap<u64, Directory>,
    pool: Arc<Pool>,
}

/// Part of a range that lies within one page.
struct Piece {
    directory: u64,
    page: usize,
    from: usize,
    length: usize,
}

/// Cuts a range at the borders of pages.
fn pieces(offset: u64, length: u64) -> impl Iterator<Item = Piece> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let from = memory_len(at % PAGE_BYTES);
        let rest = memory_len((end - at).min(PAGE_BYTES));
        let length = rest.min(PAGE - from);
        let page = at / PAGE_BYTES;
        at += length as u64;
        Some(Piece {
            directory: page / DIRECTORY as u64,
            page: memory_len(page % DIRECTORY as u64),
            from,
            length,
        })
    })
}

impl Image {
    /// Zeroes, with all pages in memory.
    pub fn in_memory(capacity: u64) -> Self {
        Image::with_limit(capacity, u64::MAX)
    }

    /// Zeroes, with pages beyond [`IN_MEMORY`] in a temporary file.
    pub fn bounded(capacity: u64) -> Self {
        Image::with_limit(capacity, IN_MEMORY)
    }

    /// Zeroes. Pages beyond `limit` bytes go to a temporary file.
    fn with_limit(capacity: u64, limit: u64) -> Self {
        Image {
            capacity,
            directories: BTreeMap::new(),
            pool: Arc::new(Pool::new(limit / PAGE_BYTES)),
        }
    }

    /// The first failure of the temporary file. What was read or written since is not what the
    /// device holds.
    pub fn fault(&self) -> Option<SpillError> {
        self.pool.fault()
    }

    /// Bytes of pages in memory and in the temporary file, of this image and its clones.
    pub fn stored(&self) -> (u64, u64) {
        self.pool.stored()
    }

    /// Size in bytes.
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    fn check(&self, offset: u64, length: u64) -> Result<(), OutOfRange> {
        OutOfRange::check(offset, length, self.capacity)
    }

    fn slot(&self, piece: &Piece) -> &Slot {
        let directory = self.directories.get(&piece.directory);
        directory.map_or(&Slot::Uniform(0), |directory| directory.slot(piece.page))
    }

    /// Fills `to` from `offset` on.
    ///
    /// # Errors
    /// `OutOfRange` if the range reaches beyond the end; `to` is unchanged then.
    pub fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), OutOfRange> {
        self.check(offset, to.len() as u64)?;
        let mut rest = to;
        for piece in pieces(offset, rest.len() as u64) {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(piece.length);
            rest = after;
            self.pool.read(self.slot(&piece), piece.from, part);
        }
        Ok(())
    }

    /// The bytes of a range, page by page; ends at the first page that is not in memory, and at
    /// once if the range reaches beyond the end.
    pub fn pieces(&self, offset: u64, length: u64) -> impl Iterator<Item = &[u8]> {
        let length = self.check(offset, length).map_or(0, |()| length);
        pieces(offset, length).map_while(|piece| {
            let page = self.slot(&piece).bytes()?;
            Some(&page[piece.from..piece.from + piece.length])
        })
    }

    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// `OutOfRange` if the range extends past the end; then nothing is written.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), OutOfRange> {
        self.check(offset, data.len() as u64)?;
        let mut rest = data;
        for piece in pieces(offset, data.len() as u64) {
            let (part, after) = rest.split_at(piece.length);
            rest = after;
            self.put(&piece, part, uniform(part));
        }
        Ok(())
    }

    /// Discards a range, which then reads as zeroes and takes no memory.
    ///
    /// # Errors
    /// `OutOfRange` if the range extends past the end; then nothing is discarded.
    pub fn discard(&mut self, offset: u64, length: u64) -> Result<(), OutOfRange> {
        self.check(offset, length)?;
        let end = offset + length;
        let touched = offset / DIRECTORY_BYTES..end.div_ceil(DIRECTORY_BYTES);
        let present = self.directories.range(touched).map(|(number, _)| *number);
        for number in present.collect::<Vec<_>>() {
            let start = number * DIRECTORY_BYTES;
            let (from, to) = (offset.max(start), end.min(start + DIRECTORY_BYTES));
            if to - from == DIRECTORY_BYTES {
                self.directories.remove(&number);
                continue;
            }
            for piece in pieces(from, to - from) {
                self.put(&piece, &ZEROES[..piece.length], Some(0));
            }
        }
        Ok(())
    }

    /// Writes bytes into one page. `uniform` is the value of all bytes of `part` if they are equal, otherwise `None`.
    fn put(&mut self, piece: &Piece, part: &[u8], uniform: Option<u8>) {
        match (self.slot(piece), uniform) {
            (Slot::Uniform(old), Some(new)) if *old == new => return,
            _ => {}
        }
        let directory = self.directories.entry(piece.directory);
        let directory = directory.or_insert_with(|| Directory::of(0));
        match uniform {
            Some(byte) if piece.length == PAGE => {
                *directory.slot_mut(piece.page) = Slot::Uniform(byte);
            }
            _ => self
                .pool
                .write(directory.slot_mut(piece.page), piece.from, part),
        }
        // Sequential writers finish a directory with its last page.
        if piece.page == DIRECTORY - 1 {
            directory.collapse();
        }
    }

    /// CRC-32 of everything that is not zero, with its addresses: equal for equal contents.
    pub fn checksum(&self) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        let mut page = [0; PAGE];
        for (number, directory) in &self.directories {
            if matches!(directory, Directory::Same(Slot::Uniform(0))) {
                continue;
            }
            for (p, slot) in (number * DIRECTORY as u64..).zip(directory.slots()) {
                self.pool.read(slot, 0, &mut page);
                if page != ZEROES {
                    sum.update(&p.to_le_bytes());
                    sum.update(&page);
                }
            }
        }
        sum.finalize()
    }
}

/// Page of unwritten data.
static ZEROES: [u8; PAGE] = [0; PAGE];

/// The value of all bytes of a part of a page if they are equal, otherwise `None`.
fn uniform(part: &[u8]) -> Option<u8> {
    let (first, rest) = part.split_first()?;
    (*rest == part[..rest.len()]).then_some(*first)
}

#[cfg(test)]
mod tests;
