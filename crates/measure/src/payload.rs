//! Default data of writes: incompressible and without repetitions.

use nandscope_units::random::{SplitMix64, mix};

/// Distance of tags, bytes: every sector starts with one.
const SECTOR: usize = 512;

/// Fills with the sequence of SplitMix64 from `seed`.
pub fn fill(bytes: &mut [u8], seed: u64) {
    let mut random = SplitMix64::new(seed);
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&random.bits().to_le_bytes()[..chunk.len()]);
    }
}

/// Makes every sector of random data unique among all writes, so that a device with deduplication cannot save work:
/// mixes in offset and number of the operation.
#[inline]
pub fn tag(bytes: &mut [u8], offset: u64, operation: u64) {
    for (i, sector) in bytes.chunks_exact_mut(SECTOR).enumerate() {
        let place = mix(offset.wrapping_add((i * SECTOR) as u64) ^ operation.rotate_left(40));
        sector[..8].copy_from_slice(&place.to_le_bytes());
    }
}
