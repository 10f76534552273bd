//! SCR: which version of the specification an SD card follows, and what it supports of it.

use super::{Register, RegisterError};
use serde::Serialize;

/// The SD configuration register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scr {
    /// Version of the physical layer specification; `None` if the fields contradict each other.
    pub version: Option<&'static str>,
    /// Value of erased bytes.
    pub erased_byte: u8,
    /// Supported numbers of data lines: 1 and 4.
    pub bus_widths: Vec<u8>,
    /// Speed class control (CMD20).
    pub speed_class_control: bool,
    /// Set block count (CMD23).
    pub set_block_count: bool,
    /// Extension registers (CMD48 and CMD49), which command queueing and the cache need.
    pub extension_registers: bool,
}

impl Scr {
    /// Decodes 16 hexadecimal digits.
    ///
    /// # Errors
    /// [`RegisterError`] if the text does not have 16 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self, RegisterError> {
        let r = Register::<8>::from_hex(text)?;
        let structure = r.bits(63, 60);
        if structure != 0 {
            return Err(RegisterError::Structure(structure));
        }
        let widths = [(48, 1), (50, 4)];
        Ok(Scr {
            version: version(r.bits(59, 56), r.bit(47), r.bit(42), r.bits(41, 38)),
            erased_byte: if r.bit(55) { 0xff } else { 0 },
            bus_widths: widths.iter().filter(|w| r.bit(w.0)).map(|w| w.1).collect(),
            speed_class_control: r.bit(32),
            set_block_count: r.bit(33),
            extension_registers: r.bit(34),
        })
    }
}

/// Table of SD_SPEC, SD_SPEC3, SD_SPEC4 and SD_SPECX in the specification.
fn version(spec: u64, spec3: bool, spec4: bool, specx: u64) -> Option<&'static str> {
    Some(match (spec, spec3, spec4, specx) {
        (0, false, false, 0) => "1.01",
        (1, false, false, 0) => "1.10",
        (2, false, false, 0) => "2.00",
        (2, true, false, 0) => "3.0X",
        (2, true, true, 0) => "4.XX",
        (2, true, _, 1) => "5.XX",
        (2, true, _, 2) => "6.XX",
        (2, true, _, 3) => "7.XX",
        (2, true, _, 4) => "8.XX",
        (2, true, _, 5) => "9.XX",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_widths() {
        let scr = Scr::from_hex("0235800201000000").unwrap();
        assert_eq!(scr.version, Some("3.0X"));
        assert_eq!(scr.bus_widths, [1, 4]);
        assert!(scr.set_block_count && !scr.speed_class_control);
        assert_eq!(scr.erased_byte, 0);
        let scr = Scr::from_hex("0225800000000000").unwrap();
        assert_eq!(scr.version, Some("3.0X"));
        let scr = Scr::from_hex("0225000000000000").unwrap();
        assert_eq!(scr.version, Some("2.00"));
        let scr = Scr::from_hex("02b5848700000000").unwrap();
        assert_eq!((scr.version, scr.erased_byte), (Some("6.XX"), 0xff));
        assert!(scr.extension_registers);
        assert!(Scr::from_hex("1225000000000000").is_err());
    }
}
