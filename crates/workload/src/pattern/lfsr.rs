//! Offsets in the order of a linear feedback shift register, as fio draws them with `random_generator=lfsr`:
//! every block once, without a map.
//!
//! The register is a Galois one with XNOR feedback and maximal period. It has the fewest bits whose values
//! outnumber the blocks, and values beyond the last block are passed over. The taps are those of fio 3.33.

/// Taps from 3 bits on, as places in the register from 1.
const TAPS: [&[u8]; 61] = [
    &[3, 2],
    &[4, 3],
    &[5, 3],
    &[6, 5],
    &[7, 6],
    &[8, 6, 5, 4],
    &[9, 5],
    &[10, 7],
    &[11, 9],
    &[12, 6, 4, 1],
    &[13, 4, 3, 1],
    &[14, 5, 3, 1],
    &[15, 14],
    &[16, 15, 13, 4],
    &[17, 14],
    &[18, 11],
    &[19, 6, 2, 1],
    &[20, 17],
    &[21, 19],
    &[22, 21],
    &[23, 18],
    &[24, 23, 22, 17],
    &[25, 22],
    &[26, 6, 2, 1],
    &[27, 5, 2, 1],
    &[28, 25],
    &[29, 27],
    &[30, 6, 4, 1],
    &[31, 28],
    &[32, 31, 29, 1],
    &[33, 20],
    &[34, 27, 2, 1],
    &[35, 33],
    &[36, 25],
    &[37, 5, 4, 3, 2, 1],
    &[38, 6, 5, 1],
    &[39, 35],
    &[40, 38, 21, 19],
    &[41, 38],
    &[42, 41, 20, 19],
    &[43, 42, 38, 37],
    &[44, 43, 18, 17],
    &[45, 44, 42, 41],
    &[46, 45, 26, 25],
    &[47, 42],
    &[48, 47, 21, 20],
    &[49, 40],
    &[50, 49, 24, 23],
    &[51, 50, 36, 35],
    &[52, 49],
    &[53, 52, 38, 37],
    &[54, 53, 18, 17],
    &[55, 31],
    &[56, 55, 35, 34],
    &[57, 50],
    &[58, 39],
    &[59, 58, 38, 37],
    &[60, 59],
    &[61, 60, 46, 45],
    &[62, 61, 6, 5],
    &[63, 62],
];

/// A register for a number of blocks.
#[derive(Clone, Debug)]
pub(super) struct Lfsr {
    blocks: u64,
    first: u64,
    value: u64,
    drawn: u64,
    /// Whether no offset was drawn yet, in this or an earlier pass.
    is_new: bool,
    top: u64,
    feedback: u64,
}

impl Lfsr {
    /// Starts with the low bits of `seed`. `None` if these are all ones, a state that the register never leaves, or
    /// if no register is long enough.
    pub(super) fn new(blocks: u64, seed: u64) -> Option<Self> {
        let taps = (3u32..).zip(TAPS).find(|(bits, _)| 1 << bits > blocks);
        let (bits, taps) = taps?;
        let mask = (1u64 << bits) - 1;
        let first = seed & mask;
        (first != mask).then(|| Lfsr {
            blocks,
            first,
            value: first,
            drawn: 0,
            is_new: true,
            top: 1 << (bits - 1),
            feedback: taps.iter().fold(0, |all, tap| all | 1 << (tap - 1)),
        })
    }

    /// Starts the same sequence again.
    pub(super) fn restart(&mut self) {
        self.value = self.first;
        self.drawn = 0;
    }

    /// The next block; `None` after every block was drawn.
    pub(super) fn draw(&mut self) -> Option<u64> {
        if self.drawn >= self.blocks {
            return None;
        }
        self.drawn += 1;
        // fio takes two steps for the very first block, and one for each after it.
        if std::mem::take(&mut self.is_new) {
            self.step();
        }
        // The period holds each value but the one that `new` refuses, so that one below `blocks` comes.
        loop {
            self.step();
            if self.value < self.blocks {
                return Some(self.value);
            }
        }
    }

    #[inline]
    fn step(&mut self) {
        let feedback = if self.value & 1 == 0 {
            self.feedback
        } else {
            0
        };
        self.value = ((self.value >> 1) | self.top) ^ feedback;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_block_comes_once(blocks in 1u64..5000, seed: u64) {
            let Some(mut lfsr) = Lfsr::new(blocks, seed) else {
                return Ok(());
            };
            let pass: Vec<u64> = std::iter::from_fn(|| lfsr.draw()).collect();
            let mut sorted = pass.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..blocks));
            for _ in 0..2 {
                lfsr.restart();
                let again: Vec<u64> = std::iter::from_fn(|| lfsr.draw()).collect();
                // The value skipped by the first step comes last in the first pass and first in later ones, if it is a
                // block.
                let moved = pass.last() == again.first();
                prop_assert!(again == pass || moved && again[1..] == pass[..pass.len() - 1]);
            }
        }
    }

    /// The taps of a register of n bits have n as their first, and each is within it.
    #[test]
    fn the_taps_fit_their_registers() {
        for (bits, taps) in (3u8..).zip(TAPS) {
            assert_eq!(taps[0], bits);
            assert!(taps.iter().all(|tap| (1..=bits).contains(tap)));
        }
    }

    #[test]
    fn a_state_that_never_changes_is_refused() {
        assert!(Lfsr::new(5, 7).is_none());
        assert!(Lfsr::new(5, 6).is_some());
        assert!(Lfsr::new(u64::MAX, 1).is_none());
    }
}
