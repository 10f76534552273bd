//! The registers of an SD card or eMMC as the card sends them: CID and CSD, SCR and SD status of SD
//! cards, EXT_CSD of eMMC. Bit positions are those of the SD Physical Layer Simplified Specification
//! 6.00 (section 5 and 4.10.2) and of JESD84-B51 (section 7). What the profile does not state is zero, as in
//! a card whose maker left it out.

use crate::convert::Narrow;
use crate::health::HealthLog;
use crate::host::attachment::Attachment;
use crate::link::{Protocol, link_mode};
use crate::profile::registers::RegistersSection;
use crate::profile::schema::{Acknowledge, InterfaceSection, Profile};
use nandscope_units::{SECTOR_BYTES, crc7};

/// Registers in the byte order in which the card sends them, the most significant bit first; EXT_CSD from
/// byte 0 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardRegisters {
    /// An SD card.
    Sd {
        /// Card identification.
        cid: [u8; 16],
        /// Card-specific data.
        csd: [u8; 16],
        /// SD configuration.
        scr: [u8; 8],
        /// SD status.
        ssr: Box<[u8; 64]>,
    },
    /// An eMMC.
    Mmc {
        /// Card identification.
        cid: [u8; 16],
        /// Card-specific data.
        csd: [u8; 16],
        /// Extended card-specific data.
        ext_csd: Box<[u8; 512]>,
    },
}

/// Values of the `AU_SIZE` codes of the SD status, KiB, from code 1 on.
const AU_KIB: [u32; 15] = [
    16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 12_288, 16_384, 24_576, 32_768, 65_536,
];
/// First code of `UHS_AU_SIZE`, 1 MiB; from here on, codes are those of `AU_SIZE`.
const FIRST_UHS_AU: u32 = 7;

impl CardRegisters {
    /// The registers that a device shows over this attachment; none over NVMe, AHCI and USB.
    pub(crate) fn of(
        profile: &Profile,
        attachment: &Attachment,
        serial: &str,
        health: &HealthLog,
    ) -> Option<Self> {
        let stated = profile.registers.clone().unwrap_or_default();
        let serial = serial_number(serial);
        match attachment.chain.link.protocol {
            Protocol::Sd => Some(CardRegisters::Sd {
                cid: sd_cid(&stated, serial),
                csd: sd_csd(profile, health),
                scr: scr(profile, attachment).to_be_bytes(),
                ssr: Box::new(ssr(profile, &stated, attachment)),
            }),
            Protocol::Mmc => Some(CardRegisters::Mmc {
                cid: mmc_cid(&stated, serial),
                csd: mmc_csd(health),
                ext_csd: Box::new(ext_csd(profile, attachment, health)),
            }),
            Protocol::Nvme | Protocol::Ahci | Protocol::UsbUas | Protocol::UsbBot => None,
        }
    }
}

/// Version 3.0X of the specification, one and four lines.
const SCR_3_0X: u64 = 0x0205_8000_0000_0000;
/// `CMD_SUPPORT`: SET_BLOCK_COUNT.
const SCR_CMD23: u64 = 1 << 33;

fn scr(profile: &Profile, attachment: &Attachment) -> u64 {
    let interface = interface(profile, attachment);
    let knows = interface.is_none_or(|interface| interface.set_block_count);
    SCR_3_0X | if knows { SCR_CMD23 } else { 0 }
}

/// The interface in use.
fn interface<'a>(profile: &'a Profile, attachment: &Attachment) -> Option<&'a InterfaceSection> {
    let name = &attachment.chain.link.name;
    profile.interface.iter().find(|i| i.link == *name)
}

/// Queue depth of the interface in use, minus one; 0 without a command queue.
fn queue_code(profile: &Profile, attachment: &Attachment) -> u8 {
    let depth = interface(profile, attachment).and_then(|i| i.command_queue);
    depth.map_or(0, |depth| depth.saturating_sub(1).min(31) as u8)
}

/// The last 32 bits of the serial number, read from its last hexadecimal digits.
fn serial_number(serial: &str) -> u32 {
    let digits = serial.len().saturating_sub(8);
    let last = serial.get(digits..).unwrap_or_default();
    u32::from_str_radix(last, 16).unwrap_or(0)
}

/// Puts `value` at bits `low` and up of a register whose last bit is bit 0.
fn put(register: &mut [u8], low: usize, bits: usize, value: u64) {
    for bit in (0..bits).filter(|bit| value >> bit & 1 == 1) {
        let at = low + bit;
        let byte = register.len() - 1 - at / 8;
        register[byte] |= 1 << (at % 8);
    }
}

/// Writes characters at bits `low` and up, the first one highest, padded with spaces.
fn put_text(register: &mut [u8], low: usize, text: &str, most: usize) {
    let padded = text.bytes().chain(std::iter::repeat(b' ')).take(most);
    for (place, byte) in padded.enumerate() {
        put(register, low + 8 * (most - 1 - place), 8, byte.into());
    }
}

/// Sets the last byte of a CID or CSD: the CRC7 of the 15 bytes before, and a 1 bit.
fn seal(mut register: [u8; 16]) -> [u8; 16] {
    register[15] = crc7(&register[..15]) << 1 | 1;
    register
}

fn sd_cid(stated: &RegistersSection, serial: u32) -> [u8; 16] {
    let mut r = [0; 16];
    put(&mut r, 120, 8, stated.manufacturer.into());
    put(&mut r, 104, 16, stated.oem.into());
    put_text(&mut r, 64, &stated.product, 5);
    put(&mut r, 56, 8, stated.revision.into());
    put(&mut r, 24, 32, serial.into());
    put(&mut r, 12, 8, u64::from(stated.year.saturating_sub(2000)));
    put(&mut r, 8, 4, stated.month.into());
    seal(r)
}

fn mmc_cid(stated: &RegistersSection, serial: u32) -> [u8; 16] {
    let mut r = [0; 16];
    put(&mut r, 120, 8, stated.manufacturer.into());
    // CBX: the device is soldered to a board (BGA).
    put(&mut r, 112, 2, 1);
    put(&mut r, 104, 8, u64::from(stated.oem & 0xff));
    put_text(&mut r, 56, &stated.product, 6);
    put(&mut r, 48, 8, stated.revision.into());
    put(&mut r, 16, 32, serial.into());
    put(&mut r, 12, 4, stated.month.into());
    // From EXT_CSD revision 5 on, the year counts from 2013.
    put(&mut r, 8, 4, u64::from(stated.year.saturating_sub(2013)));
    seal(r)
}

/// Bits at the same positions in the CSDs of SD and eMMC: 25 or 26 MHz after power-up, command classes, blocks of 512
/// bytes.
fn csd_of_both(register: &mut [u8; 16], classes: u64, health: &HealthLog) {
    put(register, 96, 8, 0x32);
    put(register, 84, 12, classes);
    put(register, 80, 4, 9);
    put(register, 26, 3, 2);
    put(register, 22, 4, 9);
    // TMP_WRITE_PROTECT.
    put(register, 12, 1, health.is_read_only().into());
}

/// Version 2, or 3 beyond 2 TB: capacity in units of 512 KiB.
fn sd_csd(profile: &Profile, health: &HealthLog) -> [u8; 16] {
    let units = (profile.device.capacity_bytes >> 19).saturating_sub(1);
    let (structure, bits) = if units >> 22 == 0 { (1, 22) } else { (2, 28) };
    let mut r = [0; 16];
    put(&mut r, 126, 2, structure);
    put(&mut r, 112, 8, 0x0e);
    csd_of_both(&mut r, 0x5b5, health);
    put(&mut r, 48, bits, units);
    // Erase unit as the specification fixes it: ERASE_BLK_EN, 128 blocks.
    put(&mut r, 46, 1, 1);
    put(&mut r, 39, 7, 0x7f);
    seal(r)
}

/// An eMMC's CSD, whose capacity field says that EXT_CSD has the capacity.
fn mmc_csd(health: &HealthLog) -> [u8; 16] {
    let mut r = [0; 16];
    put(&mut r, 126, 2, 3);
    put(&mut r, 122, 4, 4);
    csd_of_both(&mut r, 0x0f5, health);
    put(&mut r, 62, 12, 0xfff);
    put(&mut r, 47, 3, 7);
    put(&mut r, 42, 5, 0x1f);
    put(&mut r, 37, 5, 0x1f);
    seal(r)
}

/// The SD status.
fn ssr(profile: &Profile, stated: &RegistersSection, attachment: &Attachment) -> [u8; 64] {
    let mut r = [0; 64];
    let lines = if attachment.chain.link.name == "sd-spi" {
        0
    } else {
        2
    };
    put(&mut r, 510, 2, lines);
    let class = match stated.speed_class {
        class @ (2 | 4 | 6) => class / 2,
        10 => 4,
        _ => 0,
    };
    put(&mut r, 440, 8, class.into());
    if let Some(card) = &profile.card {
        // The card states the next larger AU size that has a code.
        let code = AU_KIB.iter().position(|kib| *kib >= card.au_kib);
        let code = code.map_or(0, |place| place.narrow() + 1);
        put(&mut r, 428, 4, code.into());
        let is_uhs = stated.uhs_grade > 0 && code >= FIRST_UHS_AU;
        put(&mut r, 392, 4, if is_uhs { code.into() } else { 0 });
    }
    put(&mut r, 396, 4, stated.uhs_grade.into());
    put(&mut r, 384, 8, stated.video_class.into());
    put(&mut r, 336, 4, stated.application_class.into());
    // PERFORMANCE_ENHANCE: depth of the queue, and a cache.
    let queue = queue_code(profile, attachment);
    put(&mut r, 331, 5, queue.into());
    let cache = queue > 0 && has_cache(profile, attachment);
    put(&mut r, 330, 1, cache.into());
    put(&mut r, 313, 1, attachment.chain.discard.into());
    r
}

/// Whether the interface has a volatile cache and the host has turned it on.
fn has_cache(profile: &Profile, attachment: &Attachment) -> bool {
    interface(profile, attachment).is_some_and(|i| i.acknowledge == Acknowledge::Buffered)
}

/// Version 5.1 of eMMC.
fn ext_csd(profile: &Profile, attachment: &Attachment, health: &HealthLog) -> [u8; 512] {
    let mut b = [0; 512];
    let sectors = profile.device.capacity_bytes / SECTOR_BYTES;
    b[192] = 8;
    b[194] = 2;
    b[212..216].copy_from_slice(&(sectors.clamp_u32()).to_le_bytes());
    b[196] = card_type(profile);
    (b[185], b[183]) = match attachment.chain.link.name.as_str() {
        "emmc-hs400" => (3, 6),
        "emmc-hs200" => (2, 2),
        "emmc-ddr52" => (1, 6),
        "emmc-hs" => (1, 2),
        _ => (0, 2),
    };
    if let Some(controller) = &profile.controller
        && has_cache(profile, attachment)
    {
        // CACHE_SIZE in kilobits; then CACHE_CTRL, on if writes are acknowledged from the cache.
        b[249..253].copy_from_slice(&(controller.write_buffer_kib * 8).to_le_bytes());
        b[33] = u8::from(attachment.acknowledge == Acknowledge::Buffered);
    }
    // CMDQ_DEPTH, CMDQ_SUPPORT and CMDQ_MODE_EN.
    b[307] = queue_code(profile, attachment);
    b[308] = u8::from(b[307] > 0);
    b[15] = u8::from(attachment.chain.queue_depth > 1);
    // MAX_PACKED_WRITES; packed reads are not supported.
    let packed = interface(profile, attachment).and_then(|i| i.packed_writes);
    b[500] = packed.map_or(0, |most| u8::try_from(most).unwrap_or(u8::MAX));
    b[224] = 1;
    let firmware = profile.device.firmware.bytes().take(8).enumerate();
    firmware.for_each(|(place, byte)| b[254 + place] = byte);
    // Steps of 10 % of the rated life, from 1; 0x0b means that it is exceeded.
    let life = 1 + health.percentage_used.min(100) / 10;
    b[268] = life;
    b[269] = life;
    b[267] = health.pre_eol_info();
    let collects = profile.ftl.as_ref().is_some_and(|f| f.idle_collection > 0);
    b[502] = collects.into();
    b[163] = if collects { 2 } else { 0 };
    b
}

/// Bits of `CARD_TYPE` of the modes among a profile's interfaces.
fn card_type(profile: &Profile) -> u8 {
    let bits = |link: &str| match link_mode(link).ok()?.name.as_str() {
        "emmc-legacy" => Some(0b0000_0001),
        "emmc-hs" => Some(0b0000_0010),
        "emmc-ddr52" => Some(0b0000_0100),
        "emmc-hs200" => Some(0b0001_0000),
        "emmc-hs400" => Some(0b0100_0000),
        _ => None,
    };
    let links = profile.interface.iter();
    links
        .filter_map(|i| bits(&i.link))
        .fold(0, |all, bit| all | bit)
}
