//! Contents of the simulated card: bytes by address. What was never written or was discarded reads as
//! zeroes. A clone shares its pages with the original until one of them is written, so that an image
//! can be kept at many points of a run.
//!
//! Memory is bounded: a page of one repeated byte, such as zeroes or the files that fill a file system,
//! takes none, and pages beyond [`IN_MEMORY`] go to an unnamed temporary file.

mod pages;

use pages::{DIRECTORY, Directory, PAGE, Pool, Slot};
use std::sync::Arc;

/// Bytes of pages that an image and its clones keep in memory.
pub const IN_MEMORY: u64 = 128 << 20;

/// The contents of a device.
#[derive(Clone, Debug)]
pub struct Contents {
    capacity: u64,
    directories: Vec<Directory>,
    pool: Arc<Pool>,
}

/// The part of a range that lies in one page.
struct Piece {
    directory: usize,
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
        let from = (at % PAGE as u64) as usize;
        let length = ((PAGE - from) as u64).min(end - at) as usize;
        let page = at / PAGE as u64;
        at += length as u64;
        Some(Piece {
            directory: (page / DIRECTORY as u64) as usize,
            page: (page % DIRECTORY as u64) as usize,
            from,
            length,
        })
    })
}

impl Contents {
    /// Zeroes; pages beyond [`IN_MEMORY`] go to a file.
    pub fn new(capacity: u64) -> Self {
        Contents::bounded(capacity, IN_MEMORY)
    }

    /// Zeroes; pages beyond `in_memory` bytes go to a file.
    pub fn bounded(capacity: u64, in_memory: u64) -> Self {
        let directories = capacity.div_ceil((PAGE * DIRECTORY) as u64) as usize;
        Contents {
            capacity,
            directories: vec![Directory::of(0); directories],
            pool: Arc::new(Pool::new(in_memory / PAGE as u64)),
        }
    }

    /// Why pages could not be written to the temporary file or read from it; what was read or kept since
    /// is not what the device holds.
    pub fn fault(&self) -> Option<String> {
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

    /// Whether a range lies on the device.
    pub fn holds(&self, offset: u64, length: u64) -> bool {
        offset
            .checked_add(length)
            .is_some_and(|end| end <= self.capacity)
    }

    /// Fills `to` with what stands from `offset` on; false, and nothing done, beyond the end.
    pub fn read(&self, offset: u64, to: &mut [u8]) -> bool {
        if !self.holds(offset, to.len() as u64) {
            return false;
        }
        let mut rest = to;
        for piece in pieces(offset, rest.len() as u64) {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(piece.length);
            rest = after;
            let slot = self.directories[piece.directory].slot(piece.page);
            self.pool.read(slot, piece.from, part);
        }
        true
    }

    /// Writes `data` at `offset`; false, and nothing done, beyond the end.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> bool {
        if !self.holds(offset, data.len() as u64) {
            return false;
        }
        let mut rest = data;
        for piece in pieces(offset, data.len() as u64) {
            let (part, after) = rest.split_at(piece.length);
            rest = after;
            self.put(&piece, part, uniform(part));
        }
        true
    }

    /// Makes a range read as zeroes; false, and nothing done, beyond the end.
    pub fn discard(&mut self, offset: u64, length: u64) -> bool {
        if !self.holds(offset, length) {
            return false;
        }
        for piece in pieces(offset, length) {
            self.put(&piece, &ZEROES[..piece.length], Some(0));
        }
        true
    }

    /// Puts bytes into a page; `uniform` is the one that all of them are, if they are.
    fn put(&mut self, piece: &Piece, part: &[u8], uniform: Option<u8>) {
        let directory = &mut self.directories[piece.directory];
        match (directory.slot(piece.page), uniform) {
            (Slot::Uniform(old), Some(new)) if *old == new => return,
            (_, Some(byte)) if piece.length == PAGE => {
                *directory.slot_mut(piece.page) = Slot::Uniform(byte);
            }
            _ => self
                .pool
                .write(directory.slot_mut(piece.page), piece.from, part),
        }
        // Whoever writes in sequence ends at the last page.
        if piece.page == DIRECTORY - 1 {
            directory.collapse();
        }
    }

    /// CRC-32 of everything that is not zero, with its addresses: equal contents, equal sums.
    pub fn checksum(&self) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        let mut page = [0; PAGE];
        for (d, directory) in self.directories.iter().enumerate() {
            if matches!(directory, Directory::Same(Slot::Uniform(0))) {
                continue;
            }
            for p in 0..DIRECTORY {
                self.pool.read(directory.slot(p), 0, &mut page);
                if page != ZEROES {
                    sum.update(&((d * DIRECTORY + p) as u64).to_le_bytes());
                    sum.update(&page);
                }
            }
        }
        sum.finalize()
    }
}

/// A page as it is read where nothing was written.
static ZEROES: [u8; PAGE] = [0; PAGE];

/// The byte that a part of a page consists of, where it is one.
fn uniform(part: &[u8]) -> Option<u8> {
    let (first, rest) = part.split_first()?;
    (*rest == part[..rest.len()]).then_some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u64 = 5 << 20;

    proptest! {
        #[test]
        fn equals_a_plain_array(
            in_memory in 0u64..40,
            steps in proptest::collection::vec(
                (0..SIZE, 0u64..20_000, any::<u8>(), 0u8..3), 1..40)
        ) {
            let mut contents = Contents::bounded(SIZE, in_memory * PAGE as u64);
            let mut plain = vec![0u8; SIZE as usize];
            let kept = contents.clone();
            let mut halfway = None;
            for (number, (offset, length, byte, kind)) in steps.into_iter().enumerate() {
                let fits = offset + length <= SIZE;
                let mut data = vec![byte; length as usize];
                let done = match kind {
                    0 => contents.discard(offset, length),
                    _ => {
                        if kind == 1 {
                            data.iter_mut().zip(0u64..).for_each(|(b, i)| *b ^= (i % 251) as u8);
                        }
                        contents.write(offset, &data)
                    }
                };
                prop_assert_eq!(done, fits);
                if fits {
                    if kind == 0 {
                        data.fill(0);
                    }
                    plain[offset as usize..(offset + length) as usize].copy_from_slice(&data);
                }
                if number == 10 {
                    halfway = Some((contents.clone(), plain.clone()));
                }
            }
            let mut read = vec![1u8; SIZE as usize];
            prop_assert!(contents.read(0, &mut read));
            prop_assert!(read == plain);
            prop_assert_eq!(contents.fault(), None);
            prop_assert!(contents.stored().0 <= in_memory * PAGE as u64);
            prop_assert!(kept.read(0, &mut read));
            prop_assert!(read.iter().all(|&b| b == 0), "a clone changed with its original");
            if let Some((clone, plain)) = halfway {
                prop_assert!(clone.read(0, &mut read));
                prop_assert!(read == plain, "a clone changed with its original");
            }
        }
    }

    /// The files that fill a file system before a workload are of one byte.
    #[test]
    fn a_full_card_of_one_byte_takes_no_memory() {
        const CARD: u64 = 16 << 30;
        let mut contents = Contents::new(CARD);
        let part = vec![b'a'; 512 << 10];
        for at in (0..CARD).step_by(part.len()) {
            assert!(contents.write(at, &part));
        }
        assert_eq!(contents.stored(), (0, 0));
        let each = contents.directories.iter();
        assert!(
            each.clone()
                .all(|d| matches!(d, Directory::Same(Slot::Uniform(b'a'))))
        );
        let mut read = [0; 3];
        assert!(contents.read(CARD / 2, &mut read));
        assert_eq!(read, *b"aaa");
    }

    #[test]
    fn what_is_too_much_for_memory_is_in_a_file_and_its_room_is_used_again() {
        let mut contents = Contents::bounded(SIZE, 16 << 10);
        let data: Vec<u8> = (0..SIZE).map(|i| (i / 7 % 253) as u8).collect();
        assert!(contents.write(0, &data));
        assert_eq!(contents.stored(), (16 << 10, SIZE - (16 << 10)));
        let mut read = vec![0; SIZE as usize];
        assert!(contents.read(0, &mut read));
        assert!(read == data);
        for _ in 0..3 {
            assert!(contents.discard(1 << 20, 2 << 20));
            assert_eq!(contents.stored().1, SIZE - (2 << 20) - (16 << 10));
            assert!(contents.write(1 << 20, &data[..2 << 20]));
            assert_eq!(contents.stored().1, SIZE - (16 << 10));
        }
        let clone = contents.clone();
        drop(contents);
        assert_eq!(clone.stored().1, SIZE - (16 << 10));
        assert_eq!(clone.fault(), None);
    }

    #[test]
    fn equal_contents_have_equal_sums() {
        let mut one = Contents::new(SIZE);
        let mut other = Contents::new(SIZE);
        one.write(10_000, &[7; 9_000]);
        other.write(0, &[9; 30_000]);
        other.discard(0, 30_000);
        other.write(10_000, &[7; 9_000]);
        assert_eq!(one.checksum(), other.checksum());
        other.write(10_000, &[8]);
        assert_ne!(one.checksum(), other.checksum());
    }
}
