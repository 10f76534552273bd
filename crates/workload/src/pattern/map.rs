//! The random map: blocks used in this pass, so that each is used exactly once.
//!
//! As in fio, a random number selects a block, and if that is used the next free one is taken. The map is a bitmap with
//! summaries above it: a bit of level k+1 is set if the whole word of level k is. A look-up reads one word in most
//! cases and two per level at worst, and the map takes little more than one bit per block (32 MiB for 1 TiB in blocks
//! of 4 KiB).

use nandscope_units::saturating_usize;

/// Blocks used and free.
#[derive(Clone, Debug)]
pub struct RandomMap {
    blocks: u64,
    used: u64,
    /// Bits of each level, the lowest first; the last level has one word.
    levels: Vec<Vec<u64>>,
}

/// Maximum number of blocks (1 GiB of map); the generator refuses more.
pub const MAX_BLOCKS: u64 = 1 << 33;

impl RandomMap {
    /// A map with all blocks free.
    pub fn new(blocks: u64) -> Self {
        let mut map = RandomMap {
            blocks,
            used: 0,
            levels: Vec::new(),
        };
        let mut bits = blocks.max(1);
        loop {
            let words = bits.div_ceil(64);
            map.levels.push(vec![0; saturating_usize(words)]);
            if words == 1 {
                break;
            }
            bits = words;
        }
        map.clear();
        map
    }

    /// Bytes of memory of a map of `blocks` blocks.
    pub fn bytes(blocks: u64) -> u64 {
        let mut bits = blocks.max(1);
        let mut bytes = 0;
        loop {
            let words = bits.div_ceil(64);
            bytes += words * 8;
            if words == 1 {
                return bytes;
            }
            bits = words;
        }
    }

    /// Frees all blocks.
    pub fn clear(&mut self) {
        self.used = 0;
        let mut bits = self.blocks;
        for level in &mut self.levels {
            level.fill(0);
            // Bits beyond the end count as used, so that no search finds them.
            let words = level.len() as u64;
            if bits < words * 64
                && let Some(last) = level.last_mut()
            {
                let keep = bits - (words - 1) * 64;
                *last = if keep == 0 {
                    u64::MAX
                } else {
                    u64::MAX << keep
                };
            }
            bits = words;
        }
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    #[inline]
    fn is_used(&self, block: u64) -> bool {
        self.levels[0][(block / 64) as usize] >> (block % 64) & 1 == 1
    }

    /// Prefetches the memory that [`RandomMap::next_free`] reads for a block.
    #[inline]
    pub fn prefetch(&self, block: u64) {
        prefetch_index::prefetch_index(&self.levels[0], saturating_usize(block / 64));
    }

    /// The first free block from `block` on, continuing at the start; `None` if all are used. A block beyond the map
    /// counts as free, as in fio.
    #[inline]
    pub fn next_free(&self, block: u64) -> Option<u64> {
        if self.used == self.blocks {
            return None;
        }
        if block >= self.blocks || !self.is_used(block) {
            return Some(block);
        }
        self.search(block).or_else(|| self.search(0))
    }

    /// The first free block from `block` to the end: up through the summaries until a word has a
    /// free bit after the place, then down to that block.
    fn search(&self, block: u64) -> Option<u64> {
        let mut bit = block;
        for (height, level) in self.levels.iter().enumerate() {
            let index = (bit / 64) as usize;
            let free = level
                .get(index)
                .map_or(0, |word| !word & (u64::MAX << (bit % 64)));
            if free != 0 {
                let found = (index as u64) * 64 + u64::from(free.trailing_zeros());
                return Some(self.descend(height, found));
            }
            bit = index as u64 + 1;
        }
        None
    }

    fn descend(&self, height: usize, mut bit: u64) -> u64 {
        for level in self.levels[..height].iter().rev() {
            let free = !level[bit as usize];
            bit = bit * 64 + u64::from(free.trailing_zeros());
        }
        bit
    }

    /// Marks up to `want` free blocks from `block` on as used, up to the first used one; returns their number.
    #[inline]
    pub fn take(&mut self, block: u64, want: u64) -> u64 {
        let mut taken = 0;
        while taken < want && block + taken < self.blocks && !self.is_used(block + taken) {
            self.mark(block + taken);
            taken += 1;
        }
        taken
    }

    #[inline]
    fn mark(&mut self, block: u64) {
        self.used += 1;
        let mut bit = block;
        for level in &mut self.levels {
            let word = &mut level[(bit / 64) as usize];
            *word |= 1 << (bit % 64);
            if *word != u64::MAX {
                return;
            }
            bit /= 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Random;
    use proptest::prelude::*;

    #[test]
    fn finds_the_next_free_block_and_goes_round() {
        let mut map = RandomMap::new(5000);
        assert_eq!(map.take(10, 4990), 4990);
        assert_eq!(map.next_free(4999), Some(0));
        assert_eq!(map.take(0, 3), 3);
        assert_eq!(map.next_free(1), Some(3));
        assert_eq!(map.take(9, 5), 1);
        assert_eq!(map.take(3, 100), 6);
        assert_eq!(map.next_free(7), None);
        map.clear();
        assert_eq!(map.next_free(4999), Some(4999));
    }

    #[test]
    fn an_empty_map_has_nothing_free() {
        assert_eq!(RandomMap::new(0).next_free(0), None);
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(blocks in 1u64..9000, seed: u64) {
            let mut map = RandomMap::new(blocks);
            let mut plain = vec![false; blocks as usize];
            let mut random = Random::new(seed, &[]);
            for _ in 0..blocks {
                let r = random.below(blocks);
                let expected = (0..blocks)
                    .map(|i| (r + i) % blocks)
                    .find(|b| !plain[*b as usize]);
                let found = map.next_free(r);
                prop_assert_eq!(found, expected);
                let block = found.expect("fewer blocks are used than there are");
                prop_assert_eq!(map.take(block, 1), 1);
                plain[block as usize] = true;
            }
            prop_assert_eq!(map.next_free(0), None);
        }
    }
}
