//! Tags: contents that identify the block and the run. The unpredictable salt distinguishes them from tags of earlier runs and
//! from any other data; the rest of the block is incompressible noise.

use nandscope_units::random::SplitMix64;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Random number that distinguishes the tags of one run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; 16]);

impl Salt {
    /// Seed of the random number generator of the run.
    pub(super) fn seed(self) -> u64 {
        let mut seed = [0; 8];
        seed.copy_from_slice(&self.0[8..]);
        u64::from_le_bytes(seed)
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A tag that stays on the device for a later check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftTag {
    /// Block number for which the tag was made.
    pub place: u64,
    /// Number of tags written to the block in the run, including this one.
    pub generation: u32,
}

/// Contents of a tagged block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The last tag written to the block.
    Right,
    /// A complete tag of this run, of another block or another generation.
    Tag {
        /// Block to which the tag was written.
        place: u64,
        /// Number of tags written to that block in the run, including this one.
        generation: u32,
    },
    /// The right tag with wrong bits.
    Damaged {
        /// Number of wrong bits.
        bits: u32,
    },
    /// Contents that are no tag of this run.
    Foreign,
    /// The block cannot be read, or was not tagged because it could not be read before.
    Unreadable,
    /// Contents that are no tag of this run, after the device answered the write with an error.
    Refused,
}

impl Seen {
    /// Whether the block holds its last tag.
    pub fn right(self) -> bool {
        self == Seen::Right
    }

    /// Whether the device answered with an error, so that the contents prove nothing.
    pub fn failed(self) -> bool {
        matches!(self, Seen::Unreadable | Seen::Refused)
    }
}

const PLACE: usize = 16;
const GENERATION: usize = 24;
const SUM: usize = 28;
const BODY: usize = 32;
/// Share of wrong bits below which contents are a damaged tag: unrelated blocks differ in half of their bits.
const DAMAGED_BELOW: f64 = 0.25;

/// Fills a block of at least 64 bytes with the tag of block number `place`.
pub fn write_tag(block: &mut [u8], salt: Salt, place: u64, generation: u32) {
    block[..PLACE].copy_from_slice(&salt.0);
    block[PLACE..GENERATION].copy_from_slice(&place.to_le_bytes());
    block[GENERATION..SUM].copy_from_slice(&generation.to_le_bytes());
    let seed = place ^ u64::from(generation).rotate_left(40) ^ first_half(salt);
    let mut generator = SplitMix64::new(seed);
    for piece in block[BODY..].chunks_mut(8) {
        let noise = generator.bits().to_le_bytes();
        piece.copy_from_slice(&noise[..piece.len()]);
    }
    let sum = sum(block).to_le_bytes();
    block[SUM..BODY].copy_from_slice(&sum);
}

/// Block number and generation of a complete tag of this salt; `None` for other contents.
pub fn read_tag(block: &[u8], salt: Salt) -> Option<(u64, u32)> {
    if block.len() < BODY || block[..PLACE] != salt.0 {
        return None;
    }
    let place = u64::from_le_bytes(block[PLACE..GENERATION].try_into().ok()?);
    let generation = u32::from_le_bytes(block[GENERATION..SUM].try_into().ok()?);
    let stored = u32::from_le_bytes(block[SUM..BODY].try_into().ok()?);
    (stored == sum(block)).then_some((place, generation))
}

/// Compares contents with the last tag written to the block.
pub fn judge(block: &[u8], salt: Salt, place: u64, generation: u32) -> Seen {
    match read_tag(block, salt) {
        Some(found) if found == (place, generation) => Seen::Right,
        Some((place, generation)) => Seen::Tag { place, generation },
        None => {
            let mut expected = vec![0; block.len()];
            write_tag(&mut expected, salt, place, generation);
            let differences = expected.iter().zip(block);
            let bits: u32 = differences.map(|(a, b)| (a ^ b).count_ones()).sum();
            if f64::from(bits) < DAMAGED_BELOW * 8.0 * block.len() as f64 {
                Seen::Damaged { bits }
            } else {
                Seen::Foreign
            }
        }
    }
}

/// Checksum of all bytes but those of the checksum.
fn sum(block: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&block[..SUM]);
    hasher.update(&block[BODY..]);
    hasher.finalize()
}

fn first_half(salt: Salt) -> u64 {
    let mut half = [0; 8];
    half.copy_from_slice(&salt.0[..8]);
    u64::from_le_bytes(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_told_from_each_other_and_from_everything_else() {
        let (salt, other) = (Salt([7; 16]), Salt([8; 16]));
        let mut block = vec![0; 512];
        write_tag(&mut block, salt, 77, 2);
        assert_eq!(judge(&block, salt, 77, 2), Seen::Right);
        let (place, generation) = (77, 2);
        let found = Seen::Tag { place, generation };
        assert_eq!(judge(&block, salt, 78, 2), found);
        assert_eq!(judge(&block, salt, 77, 3), found);
        assert_eq!(read_tag(&block, other), None);
        assert_eq!(judge(&block, other, 77, 2), Seen::Foreign);
        assert_eq!(judge(&[0; 512], salt, 77, 2), Seen::Foreign);
        for at in [0, 20, 29, 500] {
            let mut damaged = block.clone();
            damaged[at] ^= 0b101;
            assert_eq!(judge(&damaged, salt, 77, 2), Seen::Damaged { bits: 2 });
        }
    }
}
