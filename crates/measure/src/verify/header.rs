//! The header of fio 3.33 in each verified part of a block: its kind, its length, the seed of its data, and its offset.
//! All numbers have the lowest byte first.
//!
//! The times of the write are zero; they are not compared.

use super::checksum;
use nandscope_workload::job::{VERIFY_HEADER, VerifyMethod};

const MAGIC: u16 = 0xacca;
/// Number of bytes before the header's own checksum.
const SUMMED: usize = VERIFY_HEADER as usize - 4;

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Number of the method.
    pub(super) method: u16,
    /// Bytes of the part.
    pub(super) length: u32,
    /// Seed of the random data of the write.
    pub(super) seed: u64,
    /// Place on the target.
    pub(super) offset: u64,
    /// Thread that wrote, from 0.
    pub(super) thread: u32,
    /// Number of the write, from 0; only its lower half is stored.
    pub(super) number: u32,
}

impl Header {
    /// Writes the header to the beginning of `bytes`.
    pub(super) fn put(&self, bytes: &mut [u8]) {
        bytes[..2].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.method.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.seed.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..32].fill(0);
        bytes[32..34].copy_from_slice(&(self.thread.wrapping_add(1) as u16).to_le_bytes());
        bytes[34..36].copy_from_slice(&(self.number as u16).to_le_bytes());
        let sum = checksum::of_header(&bytes[..SUMMED]);
        bytes[SUMMED..SUMMED + 4].copy_from_slice(&sum.to_le_bytes());
    }

    /// Parses the header at the beginning of `bytes`; `None` if the magic number or the header's own checksum is
    /// wrong.
    pub(super) fn read(bytes: &[u8]) -> Option<Header> {
        let header = bytes.get(..VERIFY_HEADER as usize)?;
        let short = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let is_right = short(0) == MAGIC && word(SUMMED) == checksum::of_header(&header[..SUMMED]);
        is_right.then(|| Header {
            method: short(2),
            length: word(4),
            seed: long(8),
            offset: long(16),
            thread: u32::from(short(32)).wrapping_sub(1),
            number: short(34).into(),
        })
    }

    /// fio's name of the method.
    pub(super) fn method_name(&self) -> &'static str {
        VerifyMethod::of_number(self.method).map_or("an unknown method", VerifyMethod::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of the second block of a job `rw=write bs=4k size=16k verify=md5` of fio 3.33.
    const OF_FIO: [u8; 40] = [
        0xca, 0xac, 0x02, 0x00, 0x00, 0x10, 0x00, 0x00, 0x2e, 0x56, 0xdb, 0xf6, 0x8c, 0x0a, 0xbb,
        0x88, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x18, 0xac,
        0xff, 0x06, 0x01, 0x00, 0x01, 0x00, 0xeb, 0x90, 0x23, 0x3b,
    ];

    #[test]
    fn a_header_of_fio_is_read() {
        let header = Header::read(&OF_FIO).unwrap();
        let expected = Header {
            method: VerifyMethod::Md5 as u16,
            length: 4096,
            seed: 0x88bb_0a8c_f6db_562e,
            offset: 4096,
            thread: 0,
            number: 1,
        };
        assert_eq!(header, expected);
        for at in 0..40 {
            let mut wrong = OF_FIO;
            wrong[at] ^= 4;
            assert_eq!(Header::read(&wrong), None, "byte {at}");
        }
    }

    #[test]
    fn a_header_is_read_as_it_was_put() {
        let header = Header {
            method: 5,
            length: 512,
            seed: 7,
            offset: 1 << 40,
            thread: 3,
            number: 9,
        };
        let mut bytes = [9; 40];
        header.put(&mut bytes);
        assert_eq!(Header::read(&bytes), Some(header));
    }
}
