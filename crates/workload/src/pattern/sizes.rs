//! How long the next operation is.

use super::Random;
use crate::job::{BlockSizes, Job};
use nandscope_units::saturating_u32;

/// Draws block sizes of a job.
#[derive(Clone, Debug)]
pub struct Sizes {
    sizes: BlockSizes,
    min: u32,
}

impl Sizes {
    /// Sizes of one direction.
    pub fn new(sizes: &BlockSizes) -> Self {
        Sizes {
            sizes: sizes.clone(),
            min: sizes.min(),
        }
    }

    /// Sizes of a job. fio walks through a split from the smallest share to the largest, which affects only its own
    /// sequences.
    pub(super) fn of(job: &Job, sizes: &BlockSizes) -> Self {
        let mut sizes = Sizes::new(sizes);
        if let (Some(_), BlockSizes::Split(parts)) = (job.generator, &mut sizes.sizes) {
            parts.sort_by_key(|(_, share)| *share);
        }
        sizes
    }

    /// The smallest size.
    pub fn min(&self) -> u32 {
        self.min
    }

    /// Whether there is only one size.
    pub fn is_fixed(&self) -> bool {
        matches!(self.sizes, BlockSizes::Fixed(_))
    }

    /// A size that fits in `room` bytes; `None` if not even the smallest does. As in fio, a size that does not fit is
    /// drawn again, and after many draws the smallest is taken.
    #[inline]
    pub fn draw(&self, room: u64, random: &mut Random) -> Option<u32> {
        const TRIES: u32 = 64;
        if room < u64::from(self.min) {
            return None;
        }
        if let BlockSizes::Fixed(size) = self.sizes {
            return Some(size);
        }
        for _ in 0..TRIES {
            let size = self.once(room, random);
            if u64::from(size) <= room {
                return Some(size);
            }
        }
        Some(self.min)
    }

    fn once(&self, room: u64, random: &mut Random) -> u32 {
        match &self.sizes {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Range { min, max } => {
                // As in fio: the smallest plus a uniform number below the largest, rounded down to
                // multiples of the smallest and cut at the largest. Where the largest is such a
                // multiple, all multiples are drawn alike.
                let min = (*min).max(1);
                let size = min.saturating_add(saturating_u32(random.below(u64::from(*max))));
                (size / min * min).min(*max)
            }
            // As in fio, the next size in the list that fits replaces one that exceeds the room.
            BlockSizes::Split(parts) => {
                let drawn = random.below(100);
                let mut below = 0;
                for (size, share) in parts {
                    below += u64::from(*share);
                    if drawn < below && u64::from(*size) <= room {
                        return *size;
                    }
                }
                parts.last().map_or(self.min, |(size, _)| *size)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_shares_of_a_split() {
        let sizes = Sizes::new(&BlockSizes::Split(vec![
            (4096, 60),
            (65_536, 30),
            (512, 10),
        ]));
        let mut random = Random::new(1, &[]);
        let mut counts = [0u32; 3];
        for _ in 0..100_000 {
            match sizes.draw(u64::MAX, &mut random) {
                Some(4096) => counts[0] += 1,
                Some(65_536) => counts[1] += 1,
                Some(512) => counts[2] += 1,
                other => panic!("{other:?}"),
            }
        }
        for (count, share) in counts.iter().zip([0.6, 0.3, 0.1]) {
            assert!((f64::from(*count) / 1e5 - share).abs() < 0.01, "{counts:?}");
        }
    }

    /// fio 3.33 on 8,000 operations: 1670, 1605, 1654, 1636 for 4k-16k; 3236, 3162, 1602 for 4k-10k.
    #[test]
    fn a_range_draws_its_multiples_as_fio_does() {
        let cases: [(u32, &[f64]); 2] = [(16_384, &[0.25; 4]), (10_240, &[0.4, 0.4, 0.2])];
        for (max, shares) in cases {
            let sizes = Sizes::new(&BlockSizes::Range { min: 4096, max });
            let mut random = Random::new(1, &[]);
            let mut counts = vec![0.0; shares.len()];
            for _ in 0..100_000 {
                let size = sizes.draw(u64::MAX, &mut random).unwrap();
                counts[size.div_ceil(4096) as usize - 1] += 1e-5;
            }
            for (count, share) in counts.iter().zip(shares) {
                assert!((count - share).abs() < 0.01, "{max}: {counts:?}");
            }
        }
    }

    #[test]
    fn a_range_has_multiples_of_its_smallest() {
        let sizes = Sizes::new(&BlockSizes::Range {
            min: 4096,
            max: 16_384,
        });
        let mut random = Random::new(1, &[]);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..10_000 {
            seen.insert(sizes.draw(u64::MAX, &mut random));
        }
        assert_eq!(
            seen,
            [4096, 8192, 12_288, 16_384].map(Some).into_iter().collect()
        );
    }

    #[test]
    fn takes_only_what_fits() {
        let sizes = Sizes::new(&BlockSizes::Split(vec![(4096, 1), (65_536, 99)]));
        let mut random = Random::new(1, &[]);
        assert!((0..1000).all(|_| sizes.draw(10_000, &mut random) == Some(4096)));
        assert_eq!(sizes.draw(4095, &mut random), None);
    }
}
