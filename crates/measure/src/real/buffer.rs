//! Memory for the data of operations: aligned for direct I/O, and filled with incompressible data without repetitions.

use crate::payload::fill;

/// Alignment of all buffers, bytes: one page suits every device.
pub(super) const ALIGNMENT: usize = 4096;

/// Memory of a given length, aligned to [`ALIGNMENT`].
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    begin: usize,
    length: usize,
}

impl Buffer {
    /// Zeroed memory, allocated by the system on first use.
    pub(super) fn zeroed(length: usize) -> Self {
        let memory = vec![0u8; length + ALIGNMENT];
        // The allocation never moves, since the vector never grows.
        let begin = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Buffer {
            memory,
            begin,
            length,
        }
    }

    /// Random bytes that follow from the seed.
    pub(super) fn random(length: usize, seed: u64) -> Self {
        let mut buffer = Buffer::zeroed(length);
        fill(buffer.bytes_mut(length), seed);
        buffer
    }

    /// Length in bytes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// The first `length` bytes, or all if there are fewer.
    pub(super) fn bytes(&self, length: usize) -> &[u8] {
        &self.memory[self.begin..self.begin + length.min(self.length)]
    }

    /// The first `length` bytes, or all if there are fewer.
    pub(super) fn bytes_mut(&mut self, length: usize) -> &mut [u8] {
        &mut self.memory[self.begin..self.begin + length.min(self.length)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::tag;
    use std::collections::HashSet;

    #[test]
    fn aligned_and_as_long_as_asked() {
        for length in [512, 4096, 131_072, 1 << 20] {
            let mut buffer = Buffer::zeroed(length);
            assert_eq!(buffer.bytes(length).len(), length);
            assert_eq!(buffer.bytes_mut(length).as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(buffer.bytes(usize::MAX).len(), length);
        }
    }

    #[test]
    fn no_sector_is_written_twice() {
        let mut buffer = Buffer::random(8192, 7);
        let mut seen = HashSet::new();
        for operation in 0..100u64 {
            tag(buffer.bytes_mut(8192), (operation % 3) * 8192, operation);
            for sector in buffer.bytes(8192).chunks(512) {
                assert!(seen.insert(sector.to_vec()));
            }
        }
    }

    #[test]
    fn random_data_does_not_compress() {
        let buffer = Buffer::random(1 << 16, 1);
        let mut counts = [0u32; 256];
        buffer
            .bytes(1 << 16)
            .iter()
            .for_each(|b| counts[usize::from(*b)] += 1);
        // 256 of each are expected; six standard deviations are 96.
        assert!(counts.iter().all(|c| (160..=352).contains(c)), "{counts:?}");
    }
}
