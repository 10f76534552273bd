//! Samples of a target's contents, stored with every finished step. An interrupted measurement compares them with the
//! target on which it would continue: cards in one reader have the same name, size and serial number.

use super::Volume;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;

/// Bytes of a sampled block.
const BLOCK: u64 = 4096;
/// Blocks at equal distances.
const EVEN: u64 = 32;
/// Size of a sample in the journal, bytes: whether the block has more than one byte value, and its CRC-32.
const RECORD: usize = 5;

/// Reads samples of a target, which it keeps open.
#[derive(Debug)]
pub struct Sampler {
    file: File,
    places: Vec<u64>,
}

/// Checksums of the sampled blocks; `None` for a block of one repeated byte, as an empty device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples(Vec<Option<u32>>);

/// Result of comparing samples of two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognition {
    /// At least one block is unchanged.
    Same,
    /// The target is empty, and was not.
    Another,
    /// Neither: every sample is empty, or was written since.
    Unknown,
}

impl Sampler {
    /// Opens the file of a volume once more, for reading through the page cache.
    ///
    /// # Errors
    /// `io::Error` if the system refuses.
    pub fn of(volume: &Volume) -> io::Result<Sampler> {
        // By descriptor: the name could refer to another file by now.
        let number = volume.file().as_raw_fd();
        Ok(Sampler {
            file: File::open(format!("/proc/self/fd/{number}"))?,
            places: places(volume.capacity().0),
        })
    }

    /// Reads the samples: some 200 KiB.
    ///
    /// # Errors
    /// `io::Error` if a block cannot be read.
    pub fn take(&self) -> io::Result<Samples> {
        let mut block = [0; BLOCK as usize];
        let sample = |place: &u64| {
            self.file.read_exact_at(&mut block, *place)?;
            let is_empty = block.iter().all(|byte| *byte == block[0]);
            Ok((!is_empty).then(|| crc32fast::hash(&block)))
        };
        let sums: io::Result<_> = self.places.iter().map(sample).collect();
        Ok(Samples(sums?))
    }
}

/// Sampled blocks: equidistant ones, and ones at distances that double from the start, where small jobs write.
fn places(capacity: u64) -> Vec<u64> {
    let blocks = capacity / BLOCK;
    let even = (0..EVEN).map(|n| n * (blocks / EVEN));
    let doubled = (0..64).map(|n| 1 << n).take_while(|n| *n < blocks);
    let mut places: Vec<u64> = even.chain(doubled).filter(|n| *n < blocks).collect();
    places.sort_unstable();
    places.dedup();
    places.iter().map(|n| n * BLOCK).collect()
}

impl Samples {
    /// Compares these earlier samples with the present ones.
    pub fn recognize(&self, now: &Samples) -> Recognition {
        let mut pairs = self.0.iter().zip(&now.0);
        if pairs.any(|(then, now)| then.is_some() && then == now) {
            return Recognition::Same;
        }
        let holds = |samples: &Samples| samples.0.iter().any(Option::is_some);
        match holds(self) && !holds(now) {
            true => Recognition::Another,
            false => Recognition::Unknown,
        }
    }

    /// The samples as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let record = |sum: &Option<u32>| {
            let mut bytes = vec![u8::from(sum.is_some())];
            bytes.extend(sum.unwrap_or(0).to_le_bytes());
            bytes
        };
        self.0.iter().flat_map(record).collect()
    }

    /// The samples in the bytes of [`Samples::to_bytes`]; `None` if they are not such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Samples> {
        let (records, []) = bytes.as_chunks::<RECORD>() else {
            return None;
        };
        let sum = |[kind, sum @ ..]: &[u8; RECORD]| match kind {
            0 => Some(None),
            1 => Some(Some(u32::from_le_bytes(*sum))),
            _ => None,
        };
        records.iter().map(sum).collect::<Option<_>>().map(Samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_compared_and_read_back() {
        let samples = |sums: &[u32]| Samples(sums.iter().map(|n| (*n > 0).then_some(*n)).collect());
        let then = samples(&[7, 0, 9]);
        for (now, expected) in [
            ([7, 0, 9], Recognition::Same),
            // The interrupted step wrote some samples again.
            ([1, 2, 9], Recognition::Same),
            ([0, 0, 0], Recognition::Another),
            ([1, 2, 3], Recognition::Unknown),
        ] {
            assert_eq!(then.recognize(&samples(&now)), expected, "{now:?}");
        }
        let empty = samples(&[0, 0, 0]);
        assert_eq!(empty.recognize(&empty), Recognition::Unknown);
        assert_eq!(Samples::from_bytes(&then.to_bytes()), Some(then.clone()));
        assert_eq!(Samples::from_bytes(&then.to_bytes()[1..]), None);
    }

    #[test]
    fn places_are_within_the_target() {
        for capacity in [0, 4096, 100 * 4096, 64 << 20, 1 << 40] {
            let places = places(capacity);
            assert!(places.iter().all(|place| place + BLOCK <= capacity));
            assert_eq!(places.is_empty(), capacity < BLOCK);
        }
    }
}
