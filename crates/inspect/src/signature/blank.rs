//! Checks that a device is shown to be empty: beginning, end, known locations of superblock copies, and
//! samples are all zeros or all ones, as in erased and discarded flash. Only reading the whole device
//! would prove it.

use super::ReadAt;
use nandscope_units::Bytes;
use std::io;

/// Bytes read as a whole at each end of the device. The farthest known formats are within 4 MiB of an end (the second
/// header of LUKS2, and Promise's, 1.6 MB from the end).
const EDGE: u64 = 8 << 20;
/// Bytes that are read at a time.
const CHUNK: u64 = 256 << 10;
/// Bytes that are read at each place between the two ends.
const SAMPLE: u64 = 4096;
/// Number of places that are read between the two ends, at equal distances.
const SAMPLES: u64 = 256;
/// Offsets in bytes of the copies of the superblock of btrfs.
const BTRFS: [u64; 2] = [64 << 20, 256 << 30];
/// Block groups of ext with copies of the superblock.
const EXT_GROUPS: [u64; 5] = [1, 3, 5, 7, 9];

/// The first sampled offset with data.
///
/// # Errors
/// `io::Error` if a sample cannot be read: it must not count as empty.
pub fn first_data(source: &(impl ReadAt + ?Sized), size: Bytes) -> io::Result<Option<Bytes>> {
    let mut buffer = vec![0; CHUNK as usize];
    for (offset, length) in places(size.0) {
        let part = &mut buffer[..length as usize];
        let read = source.read_some(part, offset)?;
        if read < part.len() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the device ends before its size",
            ));
        }
        let mut blocks = part.chunks(SAMPLE as usize);
        if let Some(at) = blocks.position(|block| !is_uniform(block)) {
            return Ok(Some(Bytes(offset + at as u64 * SAMPLE)));
        }
    }
    Ok(None)
}

fn is_uniform(block: &[u8]) -> bool {
    [0x00, 0xff]
        .iter()
        .any(|fill| block.iter().all(|b| b == fill))
}

/// Places and lengths, all of them within the device.
fn places(size: u64) -> impl Iterator<Item = (u64, u64)> {
    let first_end = size.min(EDGE);
    let last_begin = size.saturating_sub(EDGE).max(first_end);
    let chunks = |from: u64, to: u64| {
        (from..to)
            .step_by(CHUNK as usize)
            .map(move |at| (at, CHUNK.min(to - at)))
    };
    let samples = (1..=SAMPLES).map(move |n| {
        let at = u128::from(size) * u128::from(n) / u128::from(SAMPLES + 1);
        at as u64 / SAMPLE * SAMPLE
    });
    // Block groups have eight blocks for each byte of a block.
    let ext = EXT_GROUPS.into_iter().flat_map(|group| {
        [1024u64, 2048, 4096].map(|block| group * 8 * block * block / SAMPLE * SAMPLE)
    });
    let single = BTRFS.into_iter().chain(ext).chain(samples);
    let single = single
        .filter(move |at| at.saturating_add(SAMPLE) <= size)
        .map(|at| (at, SAMPLE));
    chunks(0, first_end)
        .chain(chunks(last_begin, size))
        .chain(single)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(bytes: &[u8]) -> Option<u64> {
        let found = first_data(bytes, Bytes(bytes.len() as u64)).unwrap();
        found.map(|at| at.0)
    }

    #[test]
    fn zeros_and_ones_of_any_size_are_empty() {
        for size in [0, 1, 4095, 4097, 300_000, (8 << 20) + 1, 40 << 20] {
            for fill in [0, 0xff] {
                assert_eq!(first(&vec![fill; size]), None, "{size} of {fill}");
            }
        }
        assert_eq!(first(&[0xa5; 4096]), Some(0));
        // Erased and discarded blocks side by side.
        let mixed = [vec![0; 4096], vec![0xff; 4096]].concat();
        assert_eq!(first(&mixed), None);
    }

    #[test]
    fn one_byte_at_either_end_or_in_a_copy_is_data() {
        let size = 40 << 20;
        for at in [0, 4 << 20, (8 << 20) - 1, size - (8 << 20), size - 1] {
            let mut bytes = vec![0; size];
            bytes[at] = 1;
            assert_eq!(first(&bytes), Some(at as u64 / 4096 * 4096), "{at}");
        }
        // A copy of the superblock of ext with blocks of 1 KiB.
        let mut bytes = vec![0; size];
        bytes[(24 << 20) + 1024 + 0x38] = 0x53;
        assert_eq!(first(&bytes), Some(24 << 20));
    }

    #[test]
    fn a_device_that_ends_early_or_cannot_be_read_is_not_empty() {
        assert!(first_data(&[0; 4096][..], Bytes(8192)).is_err());
    }

    #[test]
    fn every_place_is_on_the_device() {
        for size in [1, 4096, 9 << 20, 1 << 30, 1 << 40, u64::MAX] {
            for (at, length) in places(size) {
                assert!(at.checked_add(length).is_some_and(|end| end <= size));
            }
        }
    }
}
