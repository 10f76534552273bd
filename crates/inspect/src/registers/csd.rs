//! CSD: how large a card is and what it can do, in the part of it that is of use for a
//! measurement.

use super::{Family, Register, RegisterError};
use nandscope_units::Bytes;
use serde::Serialize;

/// A tenth of each unit of the transfer rate, bits per second.
const RATE_UNITS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
/// Multipliers of the transfer rate, times ten.
const RATE_TIMES_TEN: [u64; 16] = [
    0, 10, 12, 13, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 70, 80,
];
/// `C_SIZE` of version 1 of an eMMC that is too large for the field; EXT_CSD has its size.
const SEE_EXT_CSD: u64 = 0xfff;

/// The card-specific data register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Csd {
    /// Version of the structure: for SD cards 1 (up to 2 GB), 2 (SDHC, SDXC) or 3 (SDUC); for eMMC the
    /// value of the field.
    pub version: u8,
    /// Capacity; `None` for an eMMC that says it in EXT_CSD.
    pub capacity: Option<Bytes>,
    /// Highest transfer rate per line in the mode after power-up, bits per second.
    pub bits_per_second: u64,
    /// Command classes that are supported, a bit for each.
    pub command_classes: u16,
    /// Unit of erasure, as the register claims; of SDHC and larger always 64 KiB, whatever the
    /// card does (SSR has the allocation unit).
    pub erase_unit: Bytes,
    /// Duration of writes relative to reads, as the register claims.
    pub write_factor: u32,
    /// The contents are write-protected, for good or for the time being.
    pub write_protected: bool,
}

impl Csd {
    /// Decodes 32 hexadecimal digits.
    ///
    /// # Errors
    /// [`RegisterError`] if the text does not have 32 hexadecimal digits; `RegisterError::Structure` if its version is
    /// unknown.
    pub fn from_hex(text: &str, family: Family) -> Result<Self, RegisterError> {
        let register = Register::<16>::from_hex(text)?;
        let structure = register.bits(127, 126);
        let (version, capacity) = match (family, structure) {
            (Family::Sd, 0) => (1, Some(small(&register))),
            (Family::Sd, 1) => (2, Some(large(register.bits(69, 48)))),
            (Family::Sd, 2) => (3, Some(large(register.bits(75, 48)))),
            (Family::Sd, other) => return Err(RegisterError::Structure(other)),
            (Family::Mmc, other) => (other as u8, emmc(&register)),
        };
        Ok(Self::common(&register, family, version, capacity))
    }

    fn common(r: &Register<16>, family: Family, version: u8, capacity: Option<Bytes>) -> Self {
        let unit = RATE_UNITS.get(r.bits(98, 96) as usize).copied();
        let times = RATE_TIMES_TEN[r.bits(102, 99) as usize];
        let block = 1u64 << r.bits(25, 22);
        let erase_blocks = match family {
            Family::Sd if r.bit(46) && version == 1 => 1,
            Family::Sd => r.bits(45, 39) + 1,
            Family::Mmc => (r.bits(46, 42) + 1) * (r.bits(41, 37) + 1),
        };
        Csd {
            version,
            capacity,
            bits_per_second: unit.unwrap_or(0) * times,
            command_classes: r.bits(95, 84) as u16,
            erase_unit: Bytes(erase_blocks * block),
            write_factor: 1 << r.bits(28, 26),
            write_protected: r.bit(13) || r.bit(12),
        }
    }
}

/// Version 1: number of blocks times a power of two.
fn small(r: &Register<16>) -> Bytes {
    let blocks = (r.bits(73, 62) + 1) << (r.bits(49, 47) + 2);
    Bytes(blocks << r.bits(83, 80))
}

/// Later versions: units of 512 KiB.
fn large(units: u64) -> Bytes {
    Bytes((units + 1) << 19)
}

fn emmc(r: &Register<16>) -> Option<Bytes> {
    (r.bits(73, 62) != SEE_EXT_CSD).then(|| small(r))
}
