//! Witnesses: checksums of blocks that a verification does not write, which identify the device of a journal. Model, size and
//! serial number are often those of the card reader.

use super::io_errors::IoErrors;
use super::medium::{Medium, MediumError};
use super::tag::Salt;
use nandscope_units::random::SplitMix64;
use std::collections::BTreeSet;

/// A block that is not written, and the checksum of its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Block number on the device.
    pub place: u64,
    /// Checksum of its contents.
    pub sum: u32,
    /// Whether the contents identify a device: a block of equal bytes is the same on every blank device.
    pub distinctive: bool,
}

/// Size of a witness in a record, bytes.
const BYTES: usize = 16;
/// Blocks of 512 bytes with partition tables, file systems and their identifiers: at the start of the device, and of a first
/// partition at 1 MiB, 4 MiB or 16 MiB.
const TELLING: [u64; 9] = [0, 1, 2, 2048, 2050, 8192, 8194, 32_768, 32_770];
/// Number of witnesses at random addresses.
const RANDOM: usize = 47;

impl Witness {
    pub(super) fn per_block(block_bytes: usize) -> usize {
        (block_bytes / BYTES).max(1)
    }

    pub(super) fn to_bytes(part: &[Witness]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(part.len() * BYTES);
        for witness in part {
            bytes.extend(witness.place.to_le_bytes());
            bytes.extend(witness.sum.to_le_bytes());
            bytes.extend(u32::from(witness.distinctive).to_le_bytes());
        }
        bytes
    }

    /// Decodes the first `count` witnesses of a record.
    pub(super) fn read_all(bytes: &[u8], count: usize) -> impl Iterator<Item = Witness> {
        let (entries, _) = bytes.as_chunks::<BYTES>();
        entries.iter().take(count).map(|entry| {
            let (place, rest) = entry.split_at(8);
            let (sum, distinctive) = rest.split_at(4);
            let place = place.try_into().map_or(0, u64::from_le_bytes);
            Witness {
                place,
                sum: sum.try_into().map_or(0, u32::from_le_bytes),
                distinctive: distinctive != [0; 4],
            }
        })
    }

    pub(super) fn of(place: u64, block: &[u8]) -> Self {
        Witness {
            place,
            sum: crc32fast::hash(block),
            distinctive: block.iter().any(|byte| *byte != block[0]),
        }
    }
}

/// Reads the witnesses of a device; skips and counts unreadable blocks.
///
/// # Errors
/// `MediumError` if the device is gone.
pub(super) fn read_witnesses<M: Medium>(
    medium: &mut M,
    salt: Salt,
    errors: &mut IoErrors,
) -> Result<Vec<Witness>, MediumError> {
    let blocks = medium.blocks().max(1);
    let mut generator = SplitMix64::new(crc32fast::hash(&salt.0).into());
    let random = (0..RANDOM).map(|_| generator.below(blocks));
    let places: BTreeSet<u64> = TELLING
        .into_iter()
        .filter(|place| *place < blocks)
        .chain(random)
        .collect();
    let mut block = vec![0; medium.block_bytes()];
    let mut witnesses = Vec::new();
    for place in places {
        let read = medium.read(place, &mut block);
        if errors.passing(read, |e| &mut e.reads)? {
            witnesses.push(Witness::of(place, &block));
        }
    }
    Ok(witnesses)
}
