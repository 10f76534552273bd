//! The checksums of fio 3.33 over the data of a verified block, byte for byte as its headers hold them.
//!
//! Two of them are weaker than their names. fio's `sha256` has 64 bits of a hash, and the last bytes of the data. Its
//! `sha512` has no hash at all: it stores what is left in the buffer, the first and last bytes of the data.

use crc::{Algorithm, CRC_16_ARC, CRC_64_REDIS, Crc, Table};
use md5::Digest;
use nandscope_units::crc7;
use nandscope_workload::job::VerifyMethod;
use sha2::compress256;
use sha2::digest::generic_array::GenericArray;

/// Most bytes that a checksum has.
pub(super) const LONGEST: usize = 128;

/// Castagnoli's polynomial; the sum is not inverted at the end.
const CASTAGNOLI: Algorithm<u32> = Algorithm {
    xorout: 0,
    ..crc::CRC_32_ISCSI
};
/// As the program `cksum`, without the length and the inversion.
const POSIX: Algorithm<u32> = Algorithm {
    xorout: 0,
    ..crc::CRC_32_CKSUM
};
static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CASTAGNOLI);
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&POSIX);
static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);
const XXHASH_SEED: u32 = 1;

/// The sum of a header.
pub(super) fn of_header(bytes: &[u8]) -> u32 {
    CRC32C.checksum(bytes)
}

/// The checksum of data, in the first bytes of the array; [`VerifyMethod::checksum_length`] is their number.
pub(super) fn of_data(method: VerifyMethod, data: &[u8]) -> [u8; LONGEST] {
    use VerifyMethod::*;
    let mut sum = [0; LONGEST];
    let mut put = |bytes: &[u8]| sum[..bytes.len()].copy_from_slice(bytes);
    match method {
        Meta | Pattern | Null => {}
        Md5 => put(&md5::Md5::digest(data)),
        Crc64 => put(&CRC64.checksum(data).to_le_bytes()),
        Crc32 => put(&CRC32.checksum(data).to_le_bytes()),
        Crc32c | Crc32cIntel => put(&CRC32C.checksum(data).to_le_bytes()),
        Crc16 => put(&CRC16.checksum(data).to_le_bytes()),
        Crc7 => put(&[crc7(data)]),
        XxHash => put(&twox_hash::XxHash32::oneshot(XXHASH_SEED, data).to_le_bytes()),
        Sha3_224 => put(&sha3::Sha3_224::digest(data)),
        Sha3_256 => put(&sha3::Sha3_256::digest(data)),
        Sha3_384 => put(&sha3::Sha3_384::digest(data)),
        Sha3_512 => put(&sha3::Sha3_512::digest(data)),
        Sha1 => {
            // Words of the machine instead of bytes, the lowest byte first.
            let mut hash = sha1::Sha1::digest(data);
            hash.chunks_exact_mut(4).for_each(<[u8]>::reverse);
            put(&hash);
        }
        Sha256 => put(&buffer_of_sha256(data)),
        Sha512 => put(&buffer_of_sha512(data)),
    }
    sum
}

/// Whether the checksum follows from all of the data.
pub(super) fn covers(method: VerifyMethod) -> bool {
    use VerifyMethod::*;
    !matches!(method, Meta | Pattern | Null | Sha512)
}

/// The last block of the hash (the rest of the data, the padding, and the length in bits, lowest byte first),
/// overwritten at its start by the low bytes of the eight words of the hash.
fn buffer_of_sha256(data: &[u8]) -> [u8; 64] {
    const BLOCK: usize = 64;
    const LENGTH: usize = 56;
    let mut state = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let mut take = |block: &[u8]| {
        compress256(&mut state, &[*GenericArray::from_slice(block)]);
        state
    };
    let blocks = data.chunks_exact(BLOCK);
    let rest = blocks.remainder();
    for block in blocks {
        take(block);
    }
    let mut buffer = [0; BLOCK];
    buffer[..rest.len()].copy_from_slice(rest);
    buffer[rest.len()] = 0x80;
    if rest.len() >= LENGTH {
        take(&buffer);
        buffer = [0; BLOCK];
    }
    buffer[LENGTH..].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    let hash = take(&buffer);
    for (byte, word) in buffer.iter_mut().zip(hash) {
        *byte = word as u8;
    }
    buffer
}

/// The first 128 bytes of the data under the rest that makes no whole block; this hash is not finished at all.
fn buffer_of_sha512(data: &[u8]) -> [u8; 128] {
    let mut buffer = [0; 128];
    let first = data.len().min(128);
    buffer[..first].copy_from_slice(&data[..first]);
    let rest = data.len() % 128;
    buffer[..rest].copy_from_slice(&data[data.len() - rest..]);
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::random;

    /// The first block of a job `rw=write bs=4k size=16k verify=…`, as fio 3.33 wrote it.
    const SEED: u64 = 0x00a4_cc01_c509_543c;
    const OF_FIO: &[(&str, &str)] = &[
        ("md5", "cc27ca0bffe70ffbf9f6cae16ff23b2b"),
        ("crc64", "f9371ab35f4ac765"),
        ("crc32", "28874a4f"),
        ("crc32c", "f4a2efa3"),
        ("crc32c-intel", "f4a2efa3"),
        ("crc16", "ddcf"),
        ("crc7", "13"),
        ("sha1", "8dad2fdc2b494824c8e4a0019eb2c839d7f8103f"),
        (
            "sha256",
            "099714fd9f195b801c1501ba9d310a358478ace006a8bbad8000000000000000000000000000000000000000000000000000000000000000c07c000000000000",
        ),
        (
            "sha512",
            "a892adf26f23f5affc5b04ec27b5ef07a4eeb1de97d8e4b71ccc14a4779c10b838982948ef38217054643eec66d531288cfc6734560e5398b4b1559334bb58bc6863ab266976b1781c1501ba9d310a358478ace006a8bbadbc4ad519e68284f57895aa33cc0509eb34e07f4db2888de0ac752a817e8e96cb94cef5b205a98b1d",
        ),
        (
            "sha3-224",
            "e35bd2d9c26711fc6394c3dba43f4e57ad12ce8775bab70eb0c465e8",
        ),
        (
            "sha3-256",
            "feb399da7b0ad9a13e023d22277a3ed4d6d7f87f0873cca66e1ae7f04d3fb3d8",
        ),
        (
            "sha3-384",
            "62176e496f5d8af8dbeffa0aaf156ab3cfad94144b7ce1f37cfd63150a35525f6bbb2faf7f96551bca6839b1dd133788",
        ),
        (
            "sha3-512",
            "ce469521bad95e05ee1ad68ded6a18baf2c70ede03466ed29ef7914ed70b83ce3fa7512d2668e776014c57f5ba70193ba806b56ea188f8c6042038df10aea7e0",
        ),
        ("xxhash", "3164bbab"),
    ];

    #[test]
    fn checksums_are_those_of_fio() {
        let mut block = vec![0; 4096];
        random::fill(&mut block, SEED, 0);
        for (name, expected) in OF_FIO {
            let method = VerifyMethod::all().find(|m| m.name() == *name).unwrap();
            let data = &block[method.overhead() as usize..];
            let sum = of_data(method, data);
            let sum = &sum[..method.checksum_length() as usize];
            let text: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(&text, expected, "{name}");
        }
        assert_eq!(
            OF_FIO.len() + 3,
            VerifyMethod::all().count(),
            "meta, pattern, null have none"
        );
    }
}
