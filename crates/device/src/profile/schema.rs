//! The text form of a device profile (`profiles/*.toml`), key by key (the table of cards with
//! allocation units is in [`super::card`]). Every quantity carries its unit in its name. What the numbers must satisfy together is checked in `check`, not here.

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
    /// Who the device is.
    pub device: DeviceSection,
    /// Flash chips.
    pub nand: NandSection,
    /// Flash translation layer of a device with a page-mapped log.
    pub ftl: Option<FtlSection>,
    /// Controller of a device with a page-mapped log.
    pub controller: Option<ControllerSection>,
    /// Translation and controller of a card with allocation units, instead of the two before.
    pub card: Option<CardSection>,
    /// Power of the device itself (flash operations apart).
    pub power: PowerSection,
    /// NVMe power states, PS0 first; none where they are not known.
    #[serde(default)]
    pub power_state: Vec<PowerStateSection>,
    /// Thermal network and throttling.
    pub thermal: ThermalSection,
    /// Ways to attach it, the best first.
    pub interface: Vec<InterfaceSection>,
    /// What the registers of an SD card or eMMC state.
    pub registers: Option<RegistersSection>,
    /// How a review attaches it.
    #[serde(default)]
    pub review: Vec<ReviewMode>,
}

/// Who the device is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSection {
    /// Short name, equal to the file's name.
    pub name: String,
    /// For people.
    pub title: String,
    /// A paragraph: what it is and what the profile can and cannot show.
    pub description: String,
    /// Model name as the device reports it.
    pub model: String,
    /// Firmware revision as the device reports it.
    pub firmware: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Documents that the numbers come from.
    pub sources: Vec<String>,
}

/// Number of bits in a cell as a block is used.
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
    /// The next page is read from the array while the previous one is on the bus.
    pub cache_read: bool,
    /// Each plane of a die reads a page of its own at its own time; left out, all planes take part in one command.
    #[serde(default)]
    pub independent_plane_reads: bool,
    /// The next page goes to the die while the previous one is being programmed.
    pub cache_program: bool,
    /// A read may suspend a program or an erase.
    pub suspend: bool,
    /// Time to suspend, and again to resume, µs.
    pub suspend_us: f64,
    /// A program or erase that ends sooner than this is not suspended, µs; left out, all are.
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
    /// Program time (tPROG), µs: one number where all pages of a word line are programmed in
    /// one go, one per bit where page by page.
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
    /// Exponent of the growth with cycles.
    pub wear_exponent: f64,
    /// Factor on the error rate after one year at 40 °C, at any wear.
    pub retention_factor_year: f64,
    /// Activation energy of the loss of charge, eV: data ages faster above 40 °C, and slower below (Arrhenius). Left out,
    /// it ages as at 40 °C.
    pub activation_ev: Option<f64>,
    /// Raw bit error rate of each page of a word line in the native mode, relative to their mean: one number per bit of
    /// the cell, in the order of programming. Left out, they are alike.
    pub page_rber: Option<Vec<f64>>,
    /// Raw bit error rate added by 100,000 reads of a block.
    pub disturb_per_100k_reads: f64,
    /// Codeword of the ECC, bytes of data.
    pub codeword_bytes: u32,
    /// Raw bit errors that can be corrected in a codeword.
    pub correctable_bits: u32,
    /// Read retries before a page is given up; each halves the raw bit error rate.
    pub retries: u32,
    /// A read retry also transfers and decodes the page again; left out, it takes array time alone.
    #[serde(default)]
    pub retry_transfers: bool,
}

/// Flash translation layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FtlSection {
    /// Grain of the logical-to-physical map, bytes.
    pub mapping_unit_bytes: u32,
    /// How garbage collection picks its victim.
    pub collection: VictimPolicyName,
    /// Free superblocks at which garbage collection begins, at least: with the map in flash, there is always room for a copy of it.
    pub collection_start: u32,
    /// Free superblocks up to which garbage collection goes on in idle time, with superblocks of which at most half
    /// is valid; 0 is off. eMMC calls this background operations (BKOPS).
    #[serde(default)]
    pub idle_collection: u32,
    /// Units that garbage collection and folding move at once (buffers set aside for it).
    pub relocation_units: u32,
    /// Relocation takes its buffers out of the write buffer.
    pub relocation_shares_buffer: bool,
    /// Wear levelling moves the least worn block when it lags the mean by this many cycles; 0 is off.
    pub wear_spread_cycles: u32,
    /// A block is rewritten after this many reads; 0 is off.
    pub refresh_reads: u32,
    /// Dies that hold parity in each row of program units across all dies; 0 is off. Micron calls this RAIN.
    #[serde(default)]
    pub parity_dies: u32,
    /// Data that is written often is kept in superblocks of its own. Left out, it is not.
    #[serde(default)]
    pub separate_by_heat: bool,
    /// Host map entries per page of the mapping journal; 0 keeps no journal.
    pub journal_entries: u32,
    /// Pages of the journal, in which it goes round; left out, 256. With a map in DRAM, a round also writes each page of
    /// the map that has changed (a rolling checkpoint); left out, such a map is never written.
    pub journal_pages: Option<u32>,
    /// A flush, and a forced write, also program the journal page that is being filled: after a power cut, the journal names
    /// everything that they made durable. Left out, they do not, and the tags beside the pages tell the rest.
    #[serde(default)]
    pub journal_on_flush: bool,
    /// Where the mapping table is.
    pub map: MapSection,
    /// SLC cache; left out where there is none.
    pub slc_cache: Option<SlcCacheSection>,
}

/// How garbage collection picks its victim: `greedy`, `fifo`, `cost-benefit`, or `program:NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum VictimPolicyName {
    /// The superblock with the least valid data.
    Greedy,
    /// The superblock written longest ago.
    Fifo,
    /// Most (1 − u)·age / 2u, u being the share of valid data (Rosenblum and Ousterhout 1992).
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

/// Where the mapping table is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapSection {
    /// `dram`, `host-memory` or `window`.
    pub location: MapLocation,
    /// Bytes of map held near the controller, KiB (not for `dram`): a look-up of any other page of it reads the flash.
    pub window_kib: Option<u32>,
    /// Time to fetch a page of the map from host memory, µs, for every look-up of one that is there and not in the
    /// controller's own memory (only `host-memory`).
    pub host_memory_us: Option<f64>,
    /// Bytes of map that the controller keeps in its own memory of what is in host memory, KiB (only `host-memory`); left
    /// out, none: every look-up fetches.
    pub sram_kib: Option<u32>,
    /// Changed map entries of moved units that the controller keeps in RAM, to update pages of the map that are not
    /// loaded with several at once (not for `dram`); left out, each is entered in its page at once.
    pub update_entries: Option<u32>,
}

/// Where the mapping table is.
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

/// A part of the blocks that is programmed in SLC mode first (`[ftl.slc_cache]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlcCacheSection {
    /// Bytes that are always there (taken from the over-provisioning), GB.
    pub static_gb: f64,
    /// Bytes that come on top while there is unmapped capacity to borrow, at most, GB.
    pub dynamic_gb: f64,
    /// Share of the over-provisioning that cached data may take up, percent, before folding is
    /// forced in the foreground. New SLC blocks are opened only while none of it is taken.
    pub lends_spare_percent: f64,
    /// Unmapped capacity that cached data does not take up, GB: firmware that begins to fold before
    /// all of it is in use. 0 where left out.
    #[serde(default)]
    pub reserve_gb: f64,
    /// Folding in the background begins this long after the last host write, ms; reads do not stop it.
    pub fold_after_ms: f64,
    /// In the foreground, folding and host writes share the controller in turns instead of overlapping.
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
    /// Firmware time of each further mapping unit of a command, ns.
    pub per_unit_ns: u64,
    /// Firmware time to check and update the map for each unit that relocation moves, µs.
    pub relocate_unit_us: f64,
    /// ECC decoding time of a page after its transfer, µs.
    pub decode_us: f64,
    /// Pages that the ECC decodes at once, for the host, the map and relocation alike; left out, any number, and only
    /// the host waits for decoding.
    pub ecc_engines: Option<u32>,
    /// Write buffer, KiB.
    pub write_buffer_kib: u32,
    /// When a place in the write buffer is free again.
    pub buffer_release: BufferRelease,
    /// Capacitors keep the write buffer alive when power fails: flush needs no program.
    pub power_fail_hold_up: bool,
    /// Read-ahead of sequential reads, KiB; 0 is off.
    pub read_ahead_kib: u32,
    /// Time to become ready after power-on, ms.
    pub boot_ms: f64,
}

/// When a place in the write buffer is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferRelease {
    /// When the page is programmed: the data can be written elsewhere if the program fails.
    Programmed,
    /// When the page register of the die has it.
    Transferred,
}

/// Power of the device itself.
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
    /// Temperature at which it is strongest, °C.
    pub throttle_full_c: f64,
    /// Share of the clock that is left at the strongest throttling, 0 to 1.
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
    /// Write commands are acknowledged when the data is in the buffer, or when it is programmed.
    pub acknowledge: Acknowledge,
    /// Commands that an SD card or eMMC queues (SD 6.0, eMMC 5.1), on a host that does so as well; left out, it takes one
    /// at a time.
    pub command_queue: Option<u32>,
    /// An SD card or eMMC is told the length of a transfer before (SET_BLOCK_COUNT, CMD23), so that no stop command
    /// follows.
    #[serde(default = "yes")]
    pub set_block_count: bool,
    /// Most writes in one packed command of an eMMC (EXT_CSD `MAX_PACKED_WRITES`), on a host that packs and does not
    /// queue commands; left out, each write is a command.
    pub packed_writes: Option<u32>,
    /// Dies that may program or erase at once within the power this interface allows.
    pub active_dies: u32,
    /// Share of the full clock of firmware, ECC and flash buses within that power, 0 to 1.
    pub clock_share: f64,
    /// Power while commands are outstanding or background work runs, flash operations apart, mW.
    pub active_mw: f64,
    /// Power while idle, mW.
    pub idle_mw: f64,
    /// Energy of a byte on the link, device side, pJ.
    pub link_pj_per_byte: f64,
}

/// The default of what nearly every device has.
fn yes() -> bool {
    true
}

/// When a write command is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// When its data is in the write buffer.
    Buffered,
    /// When all of its data is programmed. A program unit that it fills in part is padded, unless data of other
    /// writes that fills it further is on the link.
    Programmed,
}

/// How a review attaches the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewMode {
    /// Name for the report, such as `SD Express`.
    pub mode: String,
    /// Host profile, such as `rtl9211ds`.
    pub host: String,
}
