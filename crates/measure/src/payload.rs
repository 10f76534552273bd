//! Data of writes: it neither compresses nor repeats.

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

/// Makes every sector of random data unlike any that was written before, so that a device that
/// finds equal data cannot save work: offset and number of the operation, mixed.
#[inline]
pub fn tag(bytes: &mut [u8], offset: u64, operation: u64) {
    for (i, sector) in bytes.chunks_exact_mut(SECTOR).enumerate() {
        let place = mix(offset.wrapping_add((i * SECTOR) as u64) ^ operation.rotate_left(40));
        sector[..8].copy_from_slice(&place.to_le_bytes());
    }
}
