//! Blocks that are written before a purge and read after it. A device that returns one of them was not purged, whatever it
//! reported.

use super::blocks;
use nandscope_units::Bytes;
use nandscope_units::random::SplitMix64;
use serde::Serialize;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Length of a sample, bytes.
const LENGTH: usize = 4096;
/// Number of samples, evenly spaced from the first block to the last.
const SAMPLES: u64 = 256;

/// Number of samples by their contents after a purge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// Samples with the data written before the purge.
    pub kept: u64,
    /// Samples of zeros.
    pub zeros: u64,
    /// Samples of ones, as erased flash reads.
    pub ones: u64,
    /// Samples of other data, such as what a new key makes of the old data.
    pub other: u64,
    /// Samples whose reads failed, as some devices answer reads of blocks that were never written.
    pub unreadable: u64,
}

impl Contents {
    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.kept + self.zeros + self.ones + self.other + self.unreadable
    }
}

/// Samples of a device of this size.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    size: u64,
    seed: u64,
}

impl Samples {
    /// Samples whose data follows from the seed.
    pub fn new(size: Bytes, seed: u64) -> Self {
        Samples { size: size.0, seed }
    }

    fn places(&self) -> impl Iterator<Item = u64> {
        let blocks = self.size / LENGTH as u64;
        let count = SAMPLES.min(blocks);
        let last = blocks.saturating_sub(1);
        let steps = count.saturating_sub(1).max(1);
        (0..count).map(move |i| {
            let block = u128::from(last) * u128::from(i) / u128::from(steps);
            // At most `last`, which is a u64.
            block as u64 * LENGTH as u64
        })
    }

    fn data(&self, place: u64) -> Vec<u8> {
        let mut random = SplitMix64::new(self.seed ^ place);
        let words = (0..LENGTH / 8).flat_map(|_| random.bits().to_le_bytes());
        words.collect()
    }

    /// Writes all samples, and waits until they are stored.
    ///
    /// # Errors
    /// The first error of the device.
    pub fn write(&self, file: &File) -> io::Result<()> {
        blocks::buffered(file)?;
        for place in self.places() {
            file.write_all_at(&self.data(place), place)?;
        }
        file.sync_data()
    }

    /// Reads all samples from the device.
    ///
    /// # Errors
    /// If the kernel's cache cannot be dropped: then reads would not show what the device holds.
    pub fn read(&self, file: &File) -> io::Result<Contents> {
        blocks::buffered(file)?;
        blocks::drop_cache(file)?;
        let mut found = Contents::default();
        let mut data = vec![0; LENGTH];
        for place in self.places() {
            let read = file.read_exact_at(&mut data, place);
            let count = match read {
                Err(_) => &mut found.unreadable,
                Ok(()) if data.iter().all(|b| *b == 0) => &mut found.zeros,
                Ok(()) if data.iter().all(|b| *b == 0xff) => &mut found.ones,
                Ok(()) if data == self.data(place) => &mut found.kept,
                Ok(()) => &mut found.other,
            };
            *count += 1;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_begin_and_end_with_the_device() {
        for size in [4096, 4096 * 3 + 512, 1 << 20, 250_059_350_016] {
            let places: Vec<u64> = Samples::new(Bytes(size), 1).places().collect();
            let last = (size / 4096 - 1) * 4096;
            assert_eq!(places.first(), Some(&0));
            assert_eq!(places.last(), Some(&last));
            assert!(places.windows(2).all(|w| w[0] < w[1]), "{size}");
        }
        assert_eq!(Samples::new(Bytes(512), 1).places().count(), 0);
    }

    #[test]
    fn no_two_samples_hold_the_same_data() {
        let samples = Samples::new(Bytes(1 << 30), 7);
        let all: std::collections::HashSet<Vec<u8>> =
            samples.places().map(|p| samples.data(p)).collect();
        assert_eq!(all.len() as u64, SAMPLES);
    }
}
