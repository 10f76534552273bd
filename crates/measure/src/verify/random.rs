//! fio's random data: four interleaved sequences of words, each word a multiple of the previous one, from a seed. The
//! seed can therefore be computed from any word whose position is known.

use super::generated;

/// Bytes of four words.
const GROUP: usize = 32;
/// Factors of the seed at the start of each sequence.
const STARTS: [u64; 4] = [1, 2, 3, 5];
/// Factor from one word of a sequence to the next.
const STEP: u64 = 0x61c8_8646_80b5_83eb;

/// Fills with the data of a seed, from `position` bytes after its start on.
pub(super) fn fill(bytes: &mut [u8], seed: u64, position: u64) {
    let group = GROUP as u64;
    let (groups, within) = (position / group, (position % group) as usize);
    let start = seed.wrapping_mul(power(STEP, groups));
    let end = within + bytes.len();
    if within == 0 && end.is_multiple_of(GROUP) {
        fill_groups(bytes, start);
        return;
    }
    // Only verify_interval makes such places.
    let mut long = vec![0; end.next_multiple_of(GROUP)];
    fill_groups(&mut long, start);
    bytes.copy_from_slice(&long[within..end]);
}

/// Fills with the complete data of a seed: as in fio, an incomplete last group continues the first sequence alone.
pub(super) fn fill_to_end(bytes: &mut [u8], seed: u64) {
    let whole = bytes.len() / GROUP * GROUP;
    let (groups, rest) = bytes.split_at_mut(whole);
    let mut word = fill_groups(groups, seed);
    for place in rest.chunks_mut(8) {
        place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
        word = word.wrapping_mul(STEP);
    }
}

/// Fills whole groups; returns the first word of the next one.
fn fill_groups(bytes: &mut [u8], start: u64) -> u64 {
    generated::count(bytes.len());
    let mut words = STARTS.map(|factor| start.wrapping_mul(factor));
    for group in bytes.chunks_exact_mut(GROUP) {
        for (word, place) in words.iter_mut().zip(group.chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
            *word = word.wrapping_mul(STEP);
        }
    }
    words[0]
}

/// Seed of data that begins `position` bytes after its start; `None` if the data does not come from a seed.
pub(super) fn seed_of(bytes: &[u8], position: u64) -> Option<u64> {
    if !position.is_multiple_of(GROUP as u64) {
        return None;
    }
    let start = start_of(bytes)?;
    Some(start.wrapping_mul(power(inverse(STEP), position / GROUP as u64)))
}

/// The first word, if random data follows it from any position.
pub(super) fn start_of(bytes: &[u8]) -> Option<u64> {
    let start = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let mut right = vec![0; bytes.len()];
    fill(&mut right, start, 0);
    (right == bytes).then_some(start)
}

fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut base, mut product) = (base, 1u64);
    while exponent > 0 {
        if exponent % 2 == 1 {
            product = product.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent /= 2;
    }
    product
}

/// Multiplicative inverse of an odd number, by Newton's method: each step doubles the number of correct bits, from
/// three.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut bits = 3;
    while bits < u64::BITS {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
}

/// Seeds of writes, which contain the number of the write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeds {
    /// Distinguishes runs.
    key: u32,
}

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xbf58_476d_1ce4_e5b9;

impl Seeds {
    /// Seeds of the run with this seed.
    pub(super) fn of_run(seed: u64) -> Self {
        Seeds {
            key: (nandscope_units::random::mix(seed) >> 32) as u32,
        }
    }

    /// The seed of a write.
    pub(super) fn of(self, generation: u32) -> u64 {
        let mixed = (u64::from(self.key) << 32 | u64::from(generation)).wrapping_mul(FIRST);
        (mixed ^ mixed >> 32).wrapping_mul(SECOND)
    }

    /// Number of the write with a seed; `None` if it belongs to another run.
    pub(super) fn generation(self, seed: u64) -> Option<u32> {
        let mixed = seed.wrapping_mul(inverse(SECOND));
        let number = (mixed ^ mixed >> 32).wrapping_mul(inverse(FIRST));
        (number >> 32 == u64::from(self.key)).then_some(number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_say_from_which_seed_they_come() {
        let mut all = vec![0; 4096];
        fill(&mut all, 0x1234_5678_9abc_def0, 0);
        for position in [0, 32, 512, 3584] {
            let part = &all[position..position + 512];
            assert_eq!(seed_of(part, position as u64), Some(0x1234_5678_9abc_def0));
            let mut again = vec![0; 100];
            fill(&mut again, 0x1234_5678_9abc_def0, position as u64 + 7);
            assert_eq!(again, all[position + 7..position + 107]);
        }
        all[700] ^= 1;
        assert_eq!(seed_of(&all[512..1024], 512), None);
    }

    #[test]
    fn seeds_say_from_which_write_they_come() {
        let (one, other) = (Seeds::of_run(1), Seeds::of_run(2));
        for generation in [1, 2, 77, u32::MAX - 2] {
            assert_eq!(one.generation(one.of(generation)), Some(generation));
            assert_eq!(other.generation(one.of(generation)), None);
        }
    }
}
