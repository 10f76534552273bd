//! CID: who made a card, when, and which one it is.

use super::{Family, Register, RegisterError};
use nandscope_units::crc7;
use serde::Serialize;

/// From this EXT_CSD revision on, years of manufacture before 2010 count from 2013 (JESD84-B51, MDT;
/// Linux does the same).
const LATER_YEARS_FROM: u8 = 5;

/// Makers of SD cards by manufacturer and OEM identifier: pairs seen on genuine cards. The SD
/// Association does not publish its list.
const SD_MAKERS: [(u8, u16, &str); 10] = [
    (0x02, 0x544d, "Toshiba"),
    (0x03, 0x5344, "SanDisk"),
    (0x03, 0x5054, "SanDisk"),
    (0x1b, 0x534d, "Samsung"),
    (0x1d, 0x4144, "ADATA"),
    (0x27, 0x5048, "Phison"),
    (0x41, 0x3432, "Kingston"),
    (0x74, 0x4a45, "Transcend"),
    (0x74, 0x4a60, "Transcend"),
    (0x09, 0x4150, "ATP"),
];

/// Makers of eMMC by manufacturer identifier, as in Linux' `drivers/mmc/core/quirks.h` and
/// `card.h`.
const MMC_MAKERS: [(u8, &str); 7] = [
    (0x02, "SanDisk"),
    (0x11, "Toshiba"),
    (0x13, "Micron"),
    (0x15, "Samsung"),
    (0x45, "SanDisk"),
    (0x70, "Kingston"),
    (0x90, "SK hynix"),
];

/// State of the checksum at the end of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checksum {
    /// It fits.
    Right,
    /// It does not: a transmission fault, or a register put together by hand.
    Wrong,
    /// The host controller does not pass it on.
    NotGiven,
}

/// The card identification register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cid {
    /// Manufacturer identifier (MID).
    pub manufacturer: u8,
    /// OEM identifier (OID): two characters of an SD card, a number of an eMMC.
    pub oem: u16,
    /// Whose these are, where known.
    pub maker: Option<&'static str>,
    /// Product name (PNM).
    pub product: String,
    /// Product revision (PRV), its two halves.
    pub revision: (u8, u8),
    /// Serial number (PSN).
    pub serial: u32,
    /// Year of manufacture.
    pub year: u16,
    /// Month of manufacture, 1 to 12 if the card reports a valid one.
    pub month: u8,
    /// The checksum (CRC7).
    pub checksum: Checksum,
}

impl Cid {
    /// Decodes 32 hexadecimal digits. `ext_csd_revision` is needed for the year of an eMMC.
    ///
    /// # Errors
    /// [`RegisterError`] if the text does not have 32 hexadecimal digits.
    pub fn from_hex(
        text: &str,
        family: Family,
        ext_csd_revision: Option<u8>,
    ) -> Result<Self, RegisterError> {
        let register = Register::<16>::from_hex(text)?;
        Ok(match family {
            Family::Sd => Self::sd(&register),
            Family::Mmc => Self::mmc(&register, ext_csd_revision),
        })
    }

    /// Whose identifiers these are, where known.
    pub(super) fn maker_of(family: Family, manufacturer: u8, oem: u16) -> Option<&'static str> {
        match family {
            Family::Sd => {
                let pair = |m: &&(u8, u16, &str)| (m.0, m.1) == (manufacturer, oem);
                SD_MAKERS.iter().find(pair).map(|m| m.2)
            }
            Family::Mmc => {
                let maker = MMC_MAKERS.iter().find(|m| m.0 == manufacturer);
                maker.map(|m| m.1)
            }
        }
    }

    fn sd(r: &Register<16>) -> Self {
        let (manufacturer, oem) = (r.bits(127, 120) as u8, r.bits(119, 104) as u16);
        Cid {
            manufacturer,
            oem,
            maker: Self::maker_of(Family::Sd, manufacturer, oem),
            product: r.characters(64, 5),
            revision: (r.bits(63, 60) as u8, r.bits(59, 56) as u8),
            serial: r.bits(55, 24) as u32,
            year: 2000 + r.bits(19, 12) as u16,
            month: r.bits(11, 8) as u8,
            checksum: checksum(r),
        }
    }

    fn mmc(r: &Register<16>, ext_csd_revision: Option<u8>) -> Self {
        let manufacturer = r.bits(127, 120) as u8;
        let oem = r.bits(119, 104) as u16;
        let later = ext_csd_revision.is_some_and(|rev| rev >= LATER_YEARS_FROM);
        let year = 1997 + r.bits(11, 8) as u16;
        Cid {
            manufacturer,
            oem,
            maker: Self::maker_of(Family::Mmc, manufacturer, oem),
            product: r.characters(56, 6),
            revision: (r.bits(55, 52) as u8, r.bits(51, 48) as u8),
            serial: r.bits(47, 16) as u32,
            year: if later && year < 2010 {
                year + 16
            } else {
                year
            },
            month: r.bits(15, 12) as u8,
            checksum: checksum(r),
        }
    }
}

/// CRC7 over the first 15 bytes (x^7 + x^3 + 1), followed by a one. Many host controllers leave
/// the last byte out; the kernel then shows what the host's registers hold in its place, 0x00 or 0x08 as a rule.
fn checksum(register: &Register<16>) -> Checksum {
    let (data, last) = register.0.split_at(15);
    match last {
        [byte] if byte >> 1 == crc7(data) && *byte != 0 => Checksum::Right,
        // Without the checksum, with the end bit alone.
        [1] => Checksum::NotGiven,
        // A card ends its register with a one: an even byte is the host's.
        [byte] if byte.is_multiple_of(2) => Checksum::NotGiven,
        _ => Checksum::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_byte_that_is_the_hosts_is_no_checksum() {
        let checksum_of = |last: u8| {
            let hex = format!("035054534c31364730da0a5d930101{last:02x}");
            Cid::from_hex(&hex, Family::Sd, None).unwrap().checksum
        };
        for last in [0x00, 0x01, 0x08] {
            assert_eq!(checksum_of(last), Checksum::NotGiven, "{last:#04x}");
        }
        // Given, and right for exactly one value of its seven bits.
        let odd = (3..=255).step_by(2).map(checksum_of);
        let given: Vec<Checksum> = odd.collect();
        assert!(!given.contains(&Checksum::NotGiven));
        assert!(given.iter().filter(|c| **c == Checksum::Right).count() <= 1);
    }

    #[test]
    fn an_emmc() {
        // MID 15h, OID 0100h, 8GTF4R, revision 0.6, serial 12345678h, December, 1997 + 2.
        let hex = format!("150100{}0612345678c200", "384754463452");
        let cid = Cid::from_hex(&hex, Family::Mmc, Some(8)).unwrap();
        assert_eq!((cid.manufacturer, cid.maker), (0x15, Some("Samsung")));
        assert_eq!(cid.product, "8GTF4R");
        assert_eq!((cid.revision, cid.serial), ((0, 6), 0x1234_5678));
        assert_eq!((cid.year, cid.month), (2015, 12));
        let old = Cid::from_hex(&hex, Family::Mmc, None).unwrap();
        assert_eq!(old.year, 1999);
    }
}
