//! Text form of a device profile (`profiles/*.toml`), key by key (the table of cards with allocation units is in
//! [`super::card`]). The unit of a quantity is part of its name. Conditions between values are in `check`.

use super::card::CardSection;
use super::power_state::PowerStateSection;
use super::registers::RegistersSection;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A device profile as written in its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Version of this format; 1.
    pub format: u32,
    /// Identity of the device.
    pub device: DeviceSection,
    /// Flash chips.
    pub nand: NandSection,
    /// Flash translation layer of a device with a page-mapped log.
    pub ftl: Option<FtlSection>,
    /// Controller of a device with a page-mapped log.
    pub controller: Option<ControllerSection>,
    /// Translation layer and controller of a card with allocation units, instead of `ftl` and `controller`.
    pub card: Option<CardSection>,
    /// Power of the device without its flash operations.
    pub power: PowerSection,
    /// NVMe power states, PS0 first; empty if unknown.
    #[serde(default)]
    pub power_state: Vec<PowerStateSection>,
    /// Thermal network and throttling.
    pub thermal: ThermalSection,
    /// Interfaces of the device, the best first.
    pub interface: Vec<InterfaceSection>,
    /// Contents of the registers of an SD card or eMMC.
    pub registers: Option<RegistersSection>,
    /// Modes in which a review attaches the device.
    #[serde(default)]
    pub review: Vec<ReviewMode>,
}

/// Identity of the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSection {
    /// Short name, equal to the file's name.
    pub name: String,
    /// Title of the device for reports.
    pub title: String,
    /// Description, one paragraph: the device, and the scope of the profile.
    pub description: String,
    /// Model name as the device reports it.
    pub model: String,
    /// Firmware revision as the device reports it.
    pub firmware: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Documents from which the numbers are taken.
    pub sources: Vec<String>,
}

/// Cell mode of a block: bits per cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// One bit.
    Slc,
    /// Two bits.
    Mlc,
    /// Three bits.
    Tlc,
    /// Four bits.
    Qlc,
}

impl Cell {
    /// Bits per cell, 1 to 4.
    pub const fn bits(self) -> u32 {
        match self {
            Cell::Slc => 1,
            Cell::Mlc => 2,
            Cell::Tlc => 3,
            Cell::Qlc => 4,
        }
    }
}

/// Flash chips and the buses to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NandSection {
    /// Part or generation.
    pub part: String,
    /// Cell mode of blocks that are not used as SLC.
    pub cell: Cell,
    /// Buses between controller and chips.
    pub channels: u32,
    /// Dies on each bus.
    pub dies_per_channel: u32,
    /// Planes of a die, which work together on one command.
    pub planes: u32,
    /// Erase blocks of a plane.
    pub blocks_per_plane: u32,
    /// Word lines of an erase block: pages per block is this times bits per cell.
    pub word_lines: u32,
    /// Data bytes of a page on one plane, in KiB.
    pub page_kib: u32,
    /// Transfers per second on a channel, in MT/s; a transfer is one byte.
    pub bus_mt_per_s: f64,
    /// Command and address cycles before each page transfer, ns.
    pub bus_overhead_ns: u64,
    /// Whether the next page is read from the array while the previous one is on the bus.
    pub cache_read: bool,
    /// Whether each plane of a die reads its own page at its own time; left out, all planes execute one command.
    #[serde(default)]
    pub independent_plane_reads: bool,
    /// Whether the next page is transferred to the die while the previous one is being programmed.
    pub cache_program: bool,
    /// Whether a read may suspend a program or an erase.
    pub suspend: bool,
    /// Time to suspend, and again to resume, µs.
    pub suspend_us: f64,
    /// Remaining time below which a program or erase is not suspended, µs; left out, there is no such limit.
    pub suspend_threshold_us: Option<f64>,
    /// Share of blocks that leave the factory bad, percent.
    pub factory_bad_percent: f64,
    /// Array times of blocks used as SLC.
    pub slc: ArraySection,
    /// Array times of blocks in the native cell mode (left out where that is SLC).
    pub native: Option<ArraySection>,
    /// Power of array operations and energy of transfers.
    pub energy: EnergySection,
    /// Errors and their correction.
    pub reliability: ReliabilitySection,
}

/// Times of one cell mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArraySection {
    /// Array read time (tR) of each page of a word line, µs: one number per bit of the cell.
    pub read_us: Vec<f64>,
    /// Program time (tPROG), µs: one number if all pages of a word line are programmed in one operation, one per bit if
    /// page by page.
    pub program_us: Vec<f64>,
    /// Erase time (tBERS), µs.
    pub erase_us: f64,
    /// Program/erase cycles for which the part is rated.
    pub cycles: u32,
}

/// Order in which the pages of a word line are programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programming {
    /// All pages in one operation.
    OneShot,
    /// One page per operation.
    PageByPage,
}

impl ArraySection {
    /// One program time means one-shot programming, several mean page by page.
    pub fn programming(&self) -> Programming {
        if self.program_us.len() == 1 {
            Programming::OneShot
        } else {
            Programming::PageByPage
        }
    }

    /// Pages of a word line that one operation programs on each plane, in blocks of `cell`.
    pub fn pages_per_program(&self, cell: Cell) -> u32 {
        match self.programming() {
            Programming::OneShot => cell.bits(),
            Programming::PageByPage => 1,
        }
    }
}

/// Energy of flash operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergySection {
    /// Power of a die while its array reads, mW.
    pub read_mw: f64,
    /// Power of a die while its array programs, mW.
    pub program_mw: f64,
    /// Power of a die while its array erases, mW.
    pub erase_mw: f64,
    /// Energy of a byte on a channel, both ends, pJ.
    pub bus_pj_per_byte: f64,
}

/// Raw bit errors and what corrects them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReliabilitySection {
    /// Raw bit error rate of a fresh block in its native mode.
    pub rber_fresh: f64,
    /// Raw bit error rate at the rated number of cycles, without retention.
    pub rber_rated: f64,
    /// Exponent of the growth of the error rate with cycles.
    pub wear_exponent: f64,
    /// Factor on the error rate after one year at 40 °C, at any wear.
    pub retention_factor_year: f64,
    /// Activation energy of charge loss, eV: data ages faster above 40 °C, and slower below (Arrhenius). Left out, it
    /// ages as at 40 °C.
    pub activation_ev: Option<f64>,
    /// Raw bit error rate of each page of a word line in the native mode, relative to their mean: one number per bit of
    /// the cell, in programming order. Left out, all are equal.
    pub page_rber: Option<Vec<f64>>,
    /// Raw bit error rate added by 100,000 reads of a block.
    pub disturb_per_100k_reads: f64,
    /// Codeword of the ECC, bytes of data.
    pub codeword_bytes: u32,
    /// Raw bit errors that can be corrected in a codeword.
    pub correctable_bits: u32,
    /// Number of read retries before a page is given up; each halves the raw bit error rate.
    pub retries: u32,
    /// Whether a read retry also transfers and decodes the page again; left out, it takes array time only.
    #[serde(default)]
    pub retry_transfers: bool,
}

/// Flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FtlSection {
    /// Grain of the logical-to-physical map, bytes.
    pub mapping_unit_bytes: u32,
    /// Victim policy of garbage collection.
    pub collection: VictimPolicyName,
    /// Number of free superblocks at which garbage collection begins; raised if necessary, so that a copy of a map in
    /// flash always fits.
    pub collection_start: u32,
    /// Number of free superblocks up to which garbage collection continues in idle time, with victims that are at most
    /// half valid; 0 for off. eMMC calls this background operations (BKOPS).
    #[serde(default)]
    pub idle_collection: u32,
    /// Number of units that garbage collection and folding move at once (size of their buffers).
    pub relocation_units: u32,
    /// Whether relocation takes its buffers from the write buffer.
    pub relocation_shares_buffer: bool,
    /// Free space that garbage collection makes at a time while writes of the host wait, KiB, at most a superblock. Left
    /// out, a write waits only for its own share of collection.
    #[serde(default)]
    pub collection_burst_kib: Option<u32>,
    /// Number of cycles by which the least worn block may lag behind the mean before wear levelling moves it; 0 for no
    /// limit.
    pub wear_spread_cycles: u32,
    /// Number of reads after which a block is rewritten; 0 for never.
    pub refresh_reads: u32,
    /// Number of dies with parity in each row of program units across all dies; 0 for none. Micron calls this RAIN.
    #[serde(default)]
    pub parity_dies: u32,
    /// Whether frequently written data has its own superblocks; left out, false.
    #[serde(default)]
    pub separate_by_heat: bool,
    /// Host map entries per page of the mapping journal; 0 for no journal.
    pub journal_entries: u32,
    /// Number of journal pages, written in rotation; left out, 256. With a map in DRAM, each rotation also writes every
    /// map page that has changed (a rolling checkpoint); left out, such a map is never written.
    pub journal_pages: Option<u32>,
    /// Whether a flush, or a forced write, also programs the partly filled journal page, so that after a power cut the
    /// journal names everything made durable. Left out, false: the tags next to the pages have the rest.
    #[serde(default)]
    pub journal_on_flush: bool,
    /// Location of the mapping table.
    pub map: MapSection,
    /// SLC cache; left out, the device has no SLC cache.
    pub slc_cache: Option<SlcCacheSection>,
}

/// Victim policy of garbage collection: `greedy`, `fifo`, `cost-benefit`, or `program:NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum VictimPolicyName {
    /// The superblock with the least valid data.
    Greedy,
    /// The superblock written longest ago.
    Fifo,
    /// The superblock with the largest (1 − u)·age / 2u, where u is the share of valid data (Rosenblum and Ousterhout
    /// 1992).
    CostBenefit,
    /// A policy of this name that the program supplies ([`crate::policy::VictimPolicy`]).
    Supplied(String),
}

/// Text before the name of a policy that the program supplies.
const SUPPLIED: &str = "program:";

impl TryFrom<String> for VictimPolicyName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "greedy" => Ok(VictimPolicyName::Greedy),
            "fifo" => Ok(VictimPolicyName::Fifo),
            "cost-benefit" => Ok(VictimPolicyName::CostBenefit),
            other => match other.strip_prefix(SUPPLIED) {
                Some(name) if !name.is_empty() => Ok(VictimPolicyName::Supplied(name.to_string())),
                _ => Err(format!(
                    "unknown policy `{text}`, expected `greedy`, `fifo`, `cost-benefit`, or `{SUPPLIED}NAME` for one that a program supplies"
                )),
            },
        }
    }
}

impl From<VictimPolicyName> for String {
    fn from(name: VictimPolicyName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for VictimPolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VictimPolicyName::Greedy => f.write_str("greedy"),
            VictimPolicyName::Fifo => f.write_str("fifo"),
            VictimPolicyName::CostBenefit => f.write_str("cost-benefit"),
            VictimPolicyName::Supplied(name) => write!(f, "{SUPPLIED}{name}"),
        }
    }
}

/// Location and caches of the mapping table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapSection {
    /// `dram`, `host-memory` or `window`.
    pub location: MapLocation,
    /// Size of the window, the part of the map near the controller, KiB (not for `dram`): a look-up of a page outside
    /// it reads the flash.
    pub window_kib: Option<u32>,
    /// Time to fetch a map page from host memory, µs, for each look-up of a page that is there and not in the
    /// controller's own memory (only `host-memory`).
    pub host_memory_us: Option<f64>,
    /// Size of the controller's own cache of map pages in host memory, KiB (only `host-memory`); left out, every
    /// look-up fetches.
    pub sram_kib: Option<u32>,
    /// Number of changed map entries of moved units that the controller gathers in RAM, so that an update of an absent
    /// map page covers several (not for `dram`); left out, each entry is written to its page at once.
    pub update_entries: Option<u32>,
}

/// Location of the mapping table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MapLocation {
    /// All of it in DRAM of the device.
    Dram,
    /// In flash, a window of it in memory lent by the host.
    HostMemory,
    /// In flash, a window of it in the controller's own memory.
    Window,
}

/// SLC cache: blocks that are programmed in SLC mode first (`[ftl.slc_cache]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlcCacheSection {
    /// Size of the static cache (taken from the over-provisioning), GB.
    pub static_gb: f64,
    /// Maximum size of the dynamic cache, which borrows unmapped capacity in addition to the static one, GB.
    pub dynamic_gb: f64,
    /// Share of the over-provisioning that cached data may use before folding is forced in the foreground, percent. New
    /// SLC blocks are opened only while none of it is used.
    pub lends_spare_percent: f64,
    /// Unmapped capacity that cached data does not use, GB: firmware that begins to fold before all of it is in use.
    /// Left out, 0.
    #[serde(default)]
    pub reserve_gb: f64,
    /// Time from the last host write until folding begins in the background, ms; reads do not stop it.
    pub fold_after_ms: f64,
    /// Whether folding in the foreground and host writes alternate instead of overlapping.
    pub fold_blocks_host: bool,
}

/// Cores, buffers and times of the controller (`[controller]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerSection {
    /// Processor cores that handle host commands.
    pub cores: u32,
    /// Firmware time of a read command, µs.
    pub read_us: f64,
    /// Firmware time of a write command, µs.
    pub write_us: f64,
    /// Firmware time of each mapping unit of a command after the first, ns.
    pub per_unit_ns: u64,
    /// Number of mapping units at the beginning of a command that the firmware handles one by one, before it streams the
    /// rest; left out, all units are alike.
    pub single_units: Option<u32>,
    /// Firmware time of each of them after the first, of a read, ns.
    pub single_read_ns: Option<u32>,
    /// Firmware time of each of them after the first, of a write, ns.
    pub single_write_ns: Option<u32>,
    /// Firmware time to check and update the map for each unit that relocation moves, µs.
    pub relocate_unit_us: f64,
    /// ECC decoding time of a page after its transfer, µs.
    pub decode_us: f64,
    /// Number of pages that the ECC decodes at once, for the host, the map and relocation together; left out, there is
    /// no limit, and only the host waits for decoding.
    pub ecc_engines: Option<u32>,
    /// Write buffer, KiB.
    pub write_buffer_kib: u32,
    /// Time at which a place in the write buffer becomes free again.
    pub buffer_release: BufferRelease,
    /// Whether capacitors keep the write buffer alive when power fails (power-loss protection): a flush needs no
    /// program.
    pub power_fail_hold_up: bool,
    /// Read-ahead of sequential reads, KiB; 0 is off.
    pub read_ahead_kib: u32,
    /// Time to become ready after power-on, ms.
    pub boot_ms: f64,
}

/// Time at which a place in the write buffer becomes free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferRelease {
    /// After the program of the page, so that data can be written elsewhere if the program fails.
    Programmed,
    /// After the transfer to the page register of the die.
    Transferred,
}

/// Power of the device without its flash operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSection {
    /// Share of the device's heat that arises in the controller (the rest is in the flash), 0 to 1.
    pub controller_share: f64,
    /// Energy of error correction and data movement in the controller, pJ per byte over the flash bus.
    pub data_path_pj_per_byte: f64,
}

/// Lumped thermal network: controller – case – ambient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThermalSection {
    /// Ambient temperature, °C.
    pub ambient_c: f64,
    /// Resistance from the controller (where SMART measures) to the case, K/W.
    pub controller_to_case_k_per_w: f64,
    /// Resistance from the case to the ambient, K/W.
    pub case_to_ambient_k_per_w: f64,
    /// Heat capacity of the controller and its package, J/K.
    pub controller_j_per_k: f64,
    /// Heat capacity of the rest of the device, J/K.
    pub case_j_per_k: f64,
    /// Temperature at which throttling begins, °C.
    pub throttle_start_c: f64,
    /// Temperature at which throttling is strongest, °C.
    pub throttle_full_c: f64,
    /// Share of the clock left at the strongest throttling, 0 to 1.
    pub throttle_clock: f64,
    /// NVMe warning composite temperature, °C.
    pub warning_c: f64,
    /// NVMe critical composite temperature, °C.
    pub critical_c: f64,
}

/// One way to attach the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterfaceSection {
    /// Name of the link mode, such as `pcie-3.0-x1` or `sd-sdr104`.
    pub link: String,
    /// Whether a write command is acknowledged when its data is in the buffer, or when it is programmed.
    pub acknowledge: Acknowledge,
    /// Command queue depth of an SD card or eMMC (SD 6.0, eMMC 5.1), used with a host that has a command queue too;
    /// left out, the device takes one command at a time.
    pub command_queue: Option<u32>,
    /// Whether an SD card or eMMC supports SET_BLOCK_COUNT (CMD23), which states the length of a transfer in advance,
    /// so that no stop command follows.
    #[serde(default = "yes")]
    pub set_block_count: bool,
    /// Maximum number of writes in one packed command of an eMMC (EXT_CSD `MAX_PACKED_WRITES`), with a host that packs
    /// and does not queue commands; left out, each write is a command.
    pub packed_writes: Option<u32>,
    /// Dies that may program or erase at once within the power this interface allows.
    pub active_dies: u32,
    /// Share of the full clock of firmware, ECC and flash buses within that power, 0 to 1.
    pub clock_share: f64,
    /// Power while commands are outstanding or background work runs, without flash operations, mW.
    pub active_mw: f64,
    /// Power while idle, mW.
    pub idle_mw: f64,
    /// Energy of a byte on the link, device side, pJ.
    pub link_pj_per_byte: f64,
}

/// Default of keys that are true for nearly every device.
fn yes() -> bool {
    true
}

/// Time at which a write command is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// When its data is in the write buffer.
    Buffered,
    /// When all of its data is programmed. A partly filled program unit is padded, unless data of other writes for it
    /// is on the link.
    Programmed,
}

/// A mode in which a review attaches the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewMode {
    /// Name for the report, such as `SD Express`.
    pub mode: String,
    /// Host profile, such as `rtl9211ds`.
    pub host: String,
}
