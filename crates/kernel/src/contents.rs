//! What is stored on the simulated card: bytes by address, sparse. What was never written or was
//! discarded reads as zeroes. A clone shares its pages with the original until one of them is
//! written, so that an image can be kept at many points of a run.

use std::sync::Arc;

/// Bytes of a page, the unit in which memory is taken and shared.
const PAGE: usize = 4096;
/// Pages of a directory.
const DIRECTORY: usize = 512;

type Page = Arc<[u8; PAGE]>;
type Directory = Arc<Vec<Option<Page>>>;

/// The contents of a device.
#[derive(Clone, Debug)]
pub struct Contents {
    capacity: u64,
    directories: Vec<Option<Directory>>,
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
    /// Zeroes.
    pub fn new(capacity: u64) -> Self {
        let directories = capacity.div_ceil((PAGE * DIRECTORY) as u64) as usize;
        Contents {
            capacity,
            directories: vec![None; directories],
        }
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
            match self.page(&piece) {
                Some(page) => part.copy_from_slice(&page[piece.from..piece.from + piece.length]),
                None => part.fill(0),
            }
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
            let directory = self.directories[piece.directory]
                .get_or_insert_with(|| Arc::new(vec![None; DIRECTORY]));
            let page =
                Arc::make_mut(directory)[piece.page].get_or_insert_with(|| Arc::new([0; PAGE]));
            Arc::make_mut(page)[piece.from..piece.from + piece.length].copy_from_slice(part);
        }
        true
    }

    /// Makes a range read as zeroes; false, and nothing done, beyond the end.
    pub fn discard(&mut self, offset: u64, length: u64) -> bool {
        if !self.holds(offset, length) {
            return false;
        }
        for piece in pieces(offset, length) {
            let Some(directory) = &mut self.directories[piece.directory] else {
                continue;
            };
            if directory[piece.page].is_none() {
                continue;
            }
            let slot = &mut Arc::make_mut(directory)[piece.page];
            if piece.length == PAGE {
                *slot = None;
            } else if let Some(page) = slot {
                Arc::make_mut(page)[piece.from..piece.from + piece.length].fill(0);
            }
        }
        true
    }

    fn page(&self, piece: &Piece) -> Option<&Page> {
        self.directories[piece.directory].as_ref()?[piece.page].as_ref()
    }

    /// CRC-32 of everything that is not zero, with its addresses: equal contents, equal sums.
    pub fn checksum(&self) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        for (d, directory) in self.directories.iter().enumerate() {
            for (p, page) in directory.iter().flat_map(|d| d.iter().enumerate()) {
                if let Some(page) = page.as_ref().filter(|page| page.iter().any(|&b| b != 0)) {
                    sum.update(&((d * DIRECTORY + p) as u64).to_le_bytes());
                    sum.update(&page[..]);
                }
            }
        }
        sum.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u64 = 5 << 20;

    proptest! {
        #[test]
        fn equals_a_plain_array(steps in proptest::collection::vec(
            (0..SIZE, 0u64..20_000, any::<u8>(), any::<bool>()), 1..40)
        ) {
            let mut contents = Contents::new(SIZE);
            let mut plain = vec![0u8; SIZE as usize];
            let kept = contents.clone();
            for (offset, length, byte, discard) in steps {
                let fits = offset + length <= SIZE;
                let done = if discard {
                    contents.discard(offset, length)
                } else {
                    contents.write(offset, &vec![byte; length as usize])
                };
                prop_assert_eq!(done, fits);
                if fits {
                    let value = if discard { 0 } else { byte };
                    plain[offset as usize..(offset + length) as usize].fill(value);
                }
            }
            let mut read = vec![1u8; SIZE as usize];
            prop_assert!(contents.read(0, &mut read));
            prop_assert!(read == plain);
            prop_assert!(kept.read(0, &mut read));
            prop_assert!(read.iter().all(|&b| b == 0), "a clone changed with its original");
        }
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
