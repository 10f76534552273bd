//! EXT_CSD of an eMMC: size, modes, cache, command queue, and how worn it says it is. Byte
//! numbers are those of JESD84-B51, as in Linux' `include/linux/mmc/mmc.h`.

use super::{Register, RegisterError};
use nandscope_units::{Bytes, Lba};
use serde::Serialize;

/// Modes of `CARD_TYPE` with their bits.
const MODES: [(u8, &str); 5] = [
    (0b0000_0001, "26 MHz"),
    (0b0000_0010, "52 MHz"),
    (0b0000_1100, "DDR52"),
    (0b0011_0000, "HS200"),
    (0b1100_0000, "HS400"),
];
/// Versions of the standard by revision of the register.
const VERSIONS: [&str; 9] = [
    "4.0", "4.1", "4.2", "4.3", "obsolete", "4.41", "4.5", "5.0", "5.1",
];

/// The extended card-specific data register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtCsd {
    /// Revision of the register.
    pub revision: u8,
    /// Version of the standard.
    pub version: Option<&'static str>,
    /// Size of the user area (`SEC_COUNT`).
    pub capacity: Bytes,
    /// Modes that the device can work in.
    pub modes: Vec<&'static str>,
    /// Mode it works in now (`HS_TIMING`).
    pub timing: &'static str,
    /// Lines of the bus in use, and whether both edges are (`BUS_WIDTH`).
    pub bus: &'static str,
    /// Volatile cache (`CACHE_SIZE`).
    pub cache: Bytes,
    /// The cache is on (`CACHE_CTRL`).
    pub cache_on: bool,
    /// Depth of the command queue; `None` without one.
    pub queue_depth: Option<u8>,
    /// Command queueing is on.
    pub queue_on: bool,
    /// Most writes in one packed command (`MAX_PACKED_WRITES`); 0 without packed commands.
    pub packed_writes: u8,
    /// Erase group in high-capacity definition (`HC_ERASE_GRP_SIZE`).
    pub erase_group: Bytes,
    /// Value of erased bytes.
    pub erased_byte: u8,
    /// Firmware version, eight bytes as a number.
    pub firmware: u64,
    /// Wear of the SLC-like part in steps of 10 % (1: up to 10 %; 11: beyond its life).
    pub life_a: Option<u8>,
    /// Wear of the remainder, likewise.
    pub life_b: Option<u8>,
    /// Reserved blocks: `normal`, `warning` (80 % used), `urgent`.
    pub spare: Option<&'static str>,
    /// Background operations: supported, and started by the device itself.
    pub background_operations: (bool, bool),
}

impl ExtCsd {
    /// Decodes 1024 hexadecimal digits, byte 0 first.
    ///
    /// # Errors
    /// [`RegisterError`] if the text does not have 1024 hexadecimal digits.
    pub fn from_hex(text: &str) -> Result<Self, RegisterError> {
        let Register(b) = Register::<512>::from_hex(text)?;
        let queued = b[308] & 1 == 1;
        let present = |n: u8| (n > 0).then_some(n);
        Ok(ExtCsd {
            revision: b[192],
            version: VERSIONS.get(usize::from(b[192])).copied(),
            capacity: Lba(little(&b[212..216])).offset(),
            modes: modes(b[196]),
            timing: match b[185] & 0xf {
                0 => "backwards compatible",
                1 => "high speed",
                2 => "HS200",
                3 => "HS400",
                _ => "unknown",
            },
            bus: match b[183] & 0xf {
                0 => "1 bit",
                1 => "4 bit",
                2 => "8 bit",
                5 => "4 bit DDR",
                6 => "8 bit DDR",
                _ => "unknown",
            },
            // In kilobits.
            cache: Bytes(little(&b[249..253]) * 1024 / 8),
            cache_on: b[33] & 1 == 1,
            queue_depth: queued.then_some((b[307] & 0x1f) + 1),
            queue_on: b[15] & 1 == 1,
            packed_writes: b[500],
            erase_group: Bytes::kib(512 * u64::from(b[224])),
            erased_byte: if b[181] & 1 == 1 { 0xff } else { 0 },
            firmware: little(&b[254..262]),
            life_a: present(b[268]),
            life_b: present(b[269]),
            spare: match b[267] {
                1 => Some("normal"),
                2 => Some("warning"),
                3 => Some("urgent"),
                _ => None,
            },
            background_operations: (b[502] & 1 == 1, b[163] & 2 == 2),
        })
    }
}

fn modes(card_type: u8) -> Vec<&'static str> {
    let supported = MODES.iter().filter(|(bits, _)| card_type & bits != 0);
    supported.map(|(_, name)| *name).collect()
}

fn little(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emmc_of_version_5_1() {
        let mut bytes = [0u8; 512];
        let set = [
            (192, 8),
            (196, 0x57),
            (185, 3),
            (183, 6),
            (33, 1),
            (15, 1),
            (308, 1),
            (307, 31),
            (224, 1),
            (267, 1),
            (268, 2),
            (502, 1),
            (500, 63),
            (163, 2),
        ];
        for (at, value) in set {
            bytes[at] = value;
        }
        bytes[212..216].copy_from_slice(&15_269_888u32.to_le_bytes());
        bytes[249..253].copy_from_slice(&65_536u32.to_le_bytes());
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let ext = ExtCsd::from_hex(&hex).unwrap();
        assert_eq!(ext.version, Some("5.1"));
        assert_eq!(ext.capacity, Bytes(7_818_182_656));
        assert_eq!(ext.modes, ["26 MHz", "52 MHz", "DDR52", "HS200", "HS400"]);
        assert_eq!((ext.timing, ext.bus), ("HS400", "8 bit DDR"));
        assert_eq!(ext.cache, Bytes::mib(8));
        assert!(ext.cache_on && ext.queue_on);
        assert_eq!(ext.queue_depth, Some(32));
        assert_eq!(ext.packed_writes, 63);
        assert_eq!(ext.erase_group, Bytes::kib(512));
        assert_eq!((ext.life_a, ext.life_b), (Some(2), None));
        assert_eq!(ext.spare, Some("normal"));
        assert_eq!(ext.background_operations, (true, true));
    }
}
