//! Addresses of the tags, chosen so that every wrap-around is detected.
//!
//! A card with M blocks that claims N answers for block x with block x − M, or x − 2M, …. Whatever M is, two names of one block
//! are a distance of M apart. Tags are therefore written to T **probe LBAs** at the end of the device, g blocks apart, and
//! **windows** of g blocks are read, one every T·g blocks, all over the device. Each distance from 1 to N − 1 is the distance
//! between one probe LBA and one block of a window: with X = N − 1 − M, window number ⌊X / Tg⌋, and probe LBA number ⌊(X mod Tg)
//! / g⌋ from the end. A window that holds a tag of another block proves a wrap-around of *any* size, even if a part of the device
//! at its start does not take part; if no window does, there is no wrap-around.
//!
//! The probe LBAs are in a few allocation units, where writes are cheap, and the windows have N / T blocks in total. **Samples**
//! elsewhere detect single blocks that lose data; a **run** below the end evicts tags from caches.

/// Addresses of the probe LBAs and the run on one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Distance between probe LBAs, and length of a window, in blocks.
    pub pitch: u64,
    /// Distance between windows, in blocks.
    pub reach: u64,
    /// Probe LBAs below the run, ascending; those within the run are part of it.
    pub probe_lbas: Vec<u64>,
    /// First block of the run.
    pub run_first: u64,
    /// Length of the run in blocks; it ends before the last block of the device.
    pub run: u64,
}

/// Number of probe LBAs on a device of less than [`LARGE`] blocks, of which one block in 128 is read.
const PROBE_LBAS: u64 = 128;
/// Number of probe LBAs on a device of at least [`LARGE`] blocks.
const PROBE_LBAS_LARGE: u64 = 224;
/// 128 GiB, in blocks of 512 bytes. Larger devices are drives, which write anywhere at the same cost; reading one block in 128
/// would take longer.
const LARGE: u64 = 1 << 28;
/// Least range of the probe LBAs, in blocks: a larger range needs fewer windows, each a read; a card of 32 GB needs some thousand
/// reads.
const REACH_MIN: u64 = 32_768;
/// Largest number of windows on a device large enough to extend the range of the probe LBAs.
const WINDOWS: u64 = 4096;
/// Shortest run, in blocks: it detects a cache even if the device ends just below its claimed capacity.
const RUN_MIN: u64 = 64;
/// Blocks by which the run exceeds the largest cache: all earlier writes are then evicted, and the number of blocks of the run
/// still in the cache is the size of the cache.
const BEYOND_CACHE: u64 = 8;
/// Smallest device on which there is room for the tags, in blocks.
pub const BLOCKS_MIN: u64 = 64;

impl Places {
    /// Addresses on a device of `blocks` blocks, with a run that evicts a cache of `cache` blocks.
    pub fn new(blocks: u64, cache: u64) -> Self {
        let reach = (blocks / WINDOWS).max(REACH_MIN).min(blocks / 4).max(1);
        let count = if blocks < LARGE {
            PROBE_LBAS
        } else {
            PROBE_LBAS_LARGE
        };
        let count = count.min(reach);
        let pitch = reach / count;
        let reach = pitch * count;
        let last = blocks.saturating_sub(1);
        let run = cache.saturating_add(BEYOND_CACHE).max(RUN_MIN);
        let run = run.min(blocks / 16);
        let run_first = last - run;
        let down = (1..count).map(|i| last.saturating_sub(i * pitch));
        let mut probe_lbas: Vec<u64> = down.filter(|lba| *lba < run_first).collect();
        probe_lbas.reverse();
        Places {
            pitch,
            reach,
            probe_lbas,
            run_first,
            run,
        }
    }

    /// First blocks of the windows on a device of `blocks` blocks.
    pub fn windows(&self, blocks: u64) -> impl Iterator<Item = u64> + use<> {
        (0..blocks).step_by(usize::try_from(self.reach.max(1)).unwrap_or(usize::MAX))
    }

    /// Largest cache that the run certainly detects, in blocks.
    pub fn largest_cache(&self) -> u64 {
        self.run.saturating_sub(BEYOND_CACHE)
    }

    /// First block at the end of the device that may be tagged.
    pub fn end_first(&self) -> u64 {
        self.probe_lbas.first().copied().unwrap_or(self.run_first)
    }
}

/// Number of consecutive blocks in a sample, written at once: 4 KiB on most devices.
pub const NEIGHBOURS: u64 = 8;

/// First blocks of samples, one in each of `count` equal parts of the blocks below `end`, and the number of consecutive blocks
/// per sample. `random` returns a number below its argument.
pub fn samples(
    end: u64,
    count: u64,
    neighbours: u64,
    mut random: impl FnMut(u64) -> u64,
) -> (Vec<u64>, u64) {
    let part = end / count.max(1);
    let neighbours = neighbours.min(part / 2);
    if neighbours == 0 {
        return (Vec::new(), 0);
    }
    let place = |i: u64| {
        let at = random(part - neighbours + 1);
        // Aligned to the size of a sample if the part is long enough.
        let at = if part >= 4 * NEIGHBOURS {
            let end = part - NEIGHBOURS;
            (i * part + at.min(end)).next_multiple_of(NEIGHBOURS) - i * part
        } else {
            at
        };
        i * part + at.min(part - neighbours)
    };
    ((0..count).map(place).collect(), neighbours)
}

/// The prime factors of n, each once.
pub(crate) fn prime_factors(mut n: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut d = 2;
    while d * d <= n {
        if n.is_multiple_of(d) {
            factors.push(d);
            while n.is_multiple_of(d) {
                n /= d;
            }
        }
        d += 1;
    }
    if n > 1 {
        factors.push(n);
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_integer::gcd;

    fn tagged(places: &Places, blocks: u64) -> Vec<bool> {
        let mut tagged = vec![false; blocks as usize];
        for lba in &places.probe_lbas {
            tagged[*lba as usize] = true;
        }
        tagged[places.run_first as usize..].fill(true);
        tagged
    }

    #[test]
    fn every_distance_is_that_of_a_tag_from_a_block_of_a_window() {
        for blocks in [64, 1000, 4096, 65_537, 200_003] {
            let places = Places::new(blocks, 16);
            let tagged = tagged(&places, blocks);
            let mut seen = vec![false; blocks as usize];
            for window in places.windows(blocks) {
                for block in window..(window + places.pitch).min(blocks) {
                    let above = (block + 1..blocks).filter(|w| tagged[*w as usize]);
                    above.for_each(|w| seen[(w - block) as usize] = true);
                }
            }
            let missed = (1..blocks).find(|distance| !seen[*distance as usize]);
            assert_eq!(missed, None, "{blocks}");
        }
    }

    #[test]
    fn a_large_device_is_read_in_few_windows_and_a_small_part_of_it() {
        for gb in [2, 8, 32, 256, 2000] {
            let blocks = gb * 1_000_000_000 / 512;
            let places = Places::new(blocks, 512);
            assert!(places.windows(blocks).count() <= 4300, "{gb}");
            let read = places.windows(blocks).count() as u64 * places.pitch;
            assert!(read <= blocks / 120, "{gb}: {read}");
            assert!(places.probe_lbas.len() < PROBE_LBAS_LARGE as usize);
        }
    }

    #[test]
    fn samples_lie_in_their_parts() {
        let mut generator = nandscope_units::random::SplitMix64::new(1);
        let mut random = |n: u64| generator.below(n);
        for (end, count) in [(48, 4), (1000, 4), (1 << 21, 60), (100, 90)] {
            let (starts, neighbours) = samples(end, count, NEIGHBOURS, &mut random);
            let part = end / count;
            for (i, start) in (0..).zip(&starts) {
                assert!((i * part..=(i + 1) * part - neighbours).contains(start));
            }
            assert_eq!(neighbours > 0, part >= 2);
        }
    }

    #[test]
    fn factors() {
        assert_eq!(prime_factors(2 * 2 * 3 * 101), [2, 3, 101]);
        assert!(prime_factors(1).is_empty());
        assert_eq!(gcd(gcd(0, 84), 36), 12);
    }
}
