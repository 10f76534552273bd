//! The text form of a card with allocation units: the table `[card]` of a device profile, which
//! replaces `[ftl]` and `[controller]`. It is the translation layer of SD cards, eMMC
//! and USB sticks as P. Chubb ("Which SD card?", 2015) and A. Bergmann (flashbench, 2011) found it
//! from outside, in the terms of the literature on block-mapped and log-block translation (Kim et
//! al., "A space-efficient flash translation layer for CompactFlash systems", 2002).

use serde::{Deserialize, Serialize};

/// Translation and controller of a card with allocation units (AUs).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardSection {
    /// Allocation unit, the granularity of the map, KiB; a whole number of pages, not always a power of two.
    pub au_kib: u32,
    /// Page that the firmware reads and programs as a whole, KiB: a whole number of program units. Left out, one
    /// program unit.
    pub page_kib: Option<u32>,
    /// Number of AUs that can be open at once, including those of the FAT area. Opening another one closes the AU
    /// written longest ago.
    pub open_aus: u32,
    /// Open-AU policy: how an open AU takes a page that is not the next one.
    pub out_of_order: OutOfOrder,
    /// Log of an open AU for pages out of order, KiB; only for `log`.
    pub log_kib: Option<u32>,
    /// Number of times a page may be programmed in parts before it must be erased (NOP in data sheets).
    pub partial_programs: u32,
    /// Time to save the state of one open AU and load that of another, µs.
    pub switch_us: f64,
    /// Number of open AUs whose state is in RAM, so that switching between them takes no time.
    pub states_in_ram: u32,
    /// Maximum number of deferred merges; when there are more, all of them are done at once.
    pub deferred_merges: u32,
    /// Idle time after which deferred merges are done in the background, ms; 0 for never.
    pub merge_after_ms: f64,
    /// Number of erases by which the least worn AU may lag behind the most worn one before it is moved; 0 for no limit.
    pub wear_spread_cycles: u32,
    /// Number of AUs moved together by static wear levelling.
    pub wear_batch_aus: u32,
    /// Number of page reads of one block after which its AU is rewritten; 0 for never.
    pub refresh_reads: u32,
    /// FAT area: AUs treated specially, for file allocation tables.
    pub fat: Option<FatSection>,
    /// Writes that are too small for an open AU.
    pub small_writes: Option<SmallWritesSection>,
    /// Log for data AUs that find no free open AU; left out, an open AU is closed instead.
    pub shared_log: Option<SharedLogSection>,
    /// Times of the firmware and of decoding.
    pub controller: CardControllerSection,
}

impl CardSection {
    /// Physical AUs that the shared log takes up when it is full; 0 without one.
    pub(crate) fn shared_log_aus(&self) -> u32 {
        self.shared_log.as_ref().map_or(0, |log| log.blocks)
    }
}

/// Open-AU policy: how an open AU takes a page that is not the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfOrder {
    /// The open AU is linear: going forward copies the pages in between, going back closes the AU and reopens it.
    Rewrite,
    /// The page goes to a log of the open AU. When the log is full, or the AU is closed, log and
    /// AU are merged into page order.
    Log,
    /// Pages are stored in any order in the AU, with a map of their places: closing copies only the pages that were not
    /// written.
    Map,
}

/// FAT area: AUs treated specially, for file allocation tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FatSection {
    /// Number of the first special AU.
    pub first_au: u32,
    /// Number of special AUs.
    pub aus: u32,
    /// Distance between two special AUs, AUs: 1 if they are adjacent.
    #[serde(default = "one")]
    pub apart_aus: u32,
    /// Number of open AUs reserved for the FAT area, out of `open_aus`.
    pub open_aus: u32,
    /// Open-AU policy of the FAT area.
    pub out_of_order: OutOfOrder,
    /// Log of an open AU of the FAT area for pages out of order, KiB; only for `log`.
    pub log_kib: Option<u32>,
    /// Whether sequential pages go to the log as well, so that all data is written twice; only for `log`.
    #[serde(default)]
    pub log_first: bool,
    /// Whether blocks of the FAT area are used as SLC: faster and more durable.
    pub slc: bool,
}

/// Writes that are too small for an open AU: unless a write continues the one before, the cluster around it is read,
/// changed and written to a separate AU, which is erased when it is full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallWritesSection {
    /// Largest small write, KiB.
    pub up_to_kib: u32,
    /// Cluster that is rewritten, KiB.
    pub cluster_kib: u32,
}

/// A log that several AUs share: pages of data AUs that find no free open AU are appended to it. When it is full, or
/// one more AU needs it, each AU with data in it is merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLogSection {
    /// Number of log blocks; each is a physical AU.
    pub blocks: u32,
    /// Maximum number of AUs with data in the log.
    pub aus: u32,
}

/// Controller of a card with allocation units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardControllerSection {
    /// Firmware time of a read command, µs.
    pub read_us: f64,
    /// Firmware time of a write command, map records included, µs.
    pub write_us: f64,
    /// Firmware time to find each AU that a read command touches after the first, µs.
    pub au_lookup_us: f64,
    /// Firmware time of each page that is read or written for the host, µs.
    pub page_us: f64,
    /// Firmware time to find each page of a read, µs, if it differs from `page_us`; after the
    /// first page it overlaps with the transfer of the page before.
    pub read_page_us: Option<f64>,
    /// Firmware time of each page that is moved, µs.
    pub move_us: f64,
    /// ECC decoding time of a page after its transfer, µs.
    pub decode_us: f64,
    /// Whether pages can be moved within a die without a transfer over the bus.
    pub copyback: bool,
    /// RAM for data, KiB. With room for two pages, link and flash work at the same time.
    pub buffer_kib: u32,
    /// Read-ahead of sequential reads, KiB; 0 is off.
    pub read_ahead_kib: u32,
    /// Maximum number of interleaved sequential reads that are read ahead.
    #[serde(default = "one")]
    pub read_ahead_streams: u32,
}

/// Default of keys that are 1 for most cards.
fn one() -> u32 {
    1
}
