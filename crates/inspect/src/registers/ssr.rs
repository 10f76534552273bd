//! SSR, the SD status: allocation unit, erase times, and what speed the card promises.

use super::{Register, RegisterError};
use nandscope_units::Bytes;
use serde::Serialize;

/// Codes of `AU_SIZE`, in KiB; those above 9 exist from version 3.00 on.
const AU_KIB: [u64; 16] = [
    0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384, 24576, 32768, 65536,
];
/// Codes of `UHS_AU_SIZE`, in MiB; below 7 none.
const UHS_AU_MIB: [u64; 16] = [0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 12, 16, 24, 32, 64];

/// The SD status register.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ssr {
    /// Lines of the bus in use.
    pub bus_width: Option<u8>,
    /// Speed class as the minimum rate in MB/s (2, 4, 6, 10), if any.
    pub speed_class: Option<u8>,
    /// UHS speed grade: 1 (10 MB/s) or 3 (30 MB/s).
    pub uhs_grade: Option<u8>,
    /// Video speed class as the minimum rate in MB/s (6, 10, 30, 60, 90), if any.
    pub video_class: Option<u8>,
    /// Application performance class: 1 or 2.
    pub application_class: Option<u8>,
    /// Size of an AU (`AU_SIZE`), if the card states one.
    pub allocation_unit: Option<Bytes>,
    /// Allocation unit in UHS modes, if different.
    pub uhs_allocation_unit: Option<Bytes>,
    /// Time to erase one allocation unit after the first, milliseconds.
    pub erase_unit_ms: Option<f64>,
    /// Time that is added to every erasure, seconds.
    pub erase_offset_s: u8,
    /// Speed of moving data, MB/s, as an old card states it.
    pub move_mb_per_s: u8,
    /// Bytes of the protected area.
    pub protected_area: u32,
    /// Discard is supported.
    pub discard: bool,
    /// Full user area logical erase is supported.
    pub full_erase: bool,
}

impl Ssr {
    /// Decodes 128 hexadecimal digits.
    ///
    /// # Errors
    /// [`RegisterError`] if the text does not have 128 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self, RegisterError> {
        let r = Register::<64>::from_hex(text)?;
        let bytes = |n: u64| (n > 0).then_some(Bytes(n));
        let class = |n: u64| (n > 0).then_some(n as u8);
        let (units, seconds) = (r.bits(423, 408), r.bits(407, 402));
        Ok(Ssr {
            bus_width: match r.bits(511, 510) {
                0 => Some(1),
                2 => Some(4),
                _ => None,
            },
            speed_class: match r.bits(447, 440) {
                code @ 1..=3 => Some(code as u8 * 2),
                4 => Some(10),
                _ => None,
            },
            uhs_grade: class(r.bits(399, 396)),
            video_class: class(r.bits(391, 384)),
            application_class: class(r.bits(339, 336)),
            allocation_unit: bytes(AU_KIB[r.bits(431, 428) as usize] << 10),
            uhs_allocation_unit: bytes(UHS_AU_MIB[r.bits(395, 392) as usize] << 20),
            erase_unit_ms: (units > 0).then(|| seconds as f64 * 1000.0 / units as f64),
            erase_offset_s: r.bits(401, 400) as u8,
            move_mb_per_s: r.bits(439, 432) as u8,
            protected_area: r.bits(479, 448) as u32,
            discard: r.bit(313),
            full_erase: r.bit(312),
        })
    }

    /// The classes as they are printed on a card: `C10 U3 V30 A2`.
    pub fn classes(&self) -> String {
        let parts = [
            ("C", self.speed_class),
            ("U", self.uhs_grade),
            ("V", self.video_class),
            ("A", self.application_class),
        ];
        let parts = parts
            .iter()
            .filter_map(|(letter, n)| n.map(|n| format!("{letter}{n}")));
        parts.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes at their places in the status: bit 511 is the first bit of byte 0.
    #[test]
    fn classes_and_units() {
        let mut bytes = [0u8; 64];
        bytes[0] = 0x80; // four lines
        bytes[8] = 4; // class 10
        bytes[10] = 0x90; // AU 4 MiB
        bytes[12] = 8; // ERASE_SIZE 8, in bits 423 to 408
        bytes[13] = 2 << 2 | 1; // 2 s for them, offset 1 s
        bytes[14] = 3 << 4 | 9; // U3, 4 MiB
        bytes[15] = 30; // V30
        bytes[21] = 2; // A2
        bytes[24] = 2; // discard
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let ssr = Ssr::from_hex(&hex).unwrap();
        assert_eq!(ssr.classes(), "C10 U3 V30 A2");
        assert_eq!(ssr.bus_width, Some(4));
        assert_eq!(ssr.allocation_unit, Some(Bytes::mib(4)));
        assert_eq!(ssr.uhs_allocation_unit, Some(Bytes::mib(4)));
        assert_eq!(ssr.erase_unit_ms, Some(250.0));
        assert_eq!(ssr.erase_offset_s, 1);
        assert!(ssr.discard && !ssr.full_erase);
    }
}
