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
    /// Grain of the map, KiB; a whole number of pages, not always a power of two.
    pub au_kib: u32,
    /// What the firmware reads and programs as one, KiB: a whole number of program units (what a
    /// die programs at once). Left out where it is one program unit.
    pub page_kib: Option<u32>,
    /// AUs that can be written to at once, those of the FAT area included. Writing to one more
    /// closes the one that was written to longest ago.
    pub open_aus: u32,
    /// What an open AU does with a page that is not the next one.
    pub out_of_order: OutOfOrder,
    /// Pages out of order that an open AU can hold, KiB; only for `log`.
    pub log_kib: Option<u32>,
    /// Times a page may be programmed in parts before it must be erased (NOP in data sheets).
    pub partial_programs: u32,
    /// Time to save the state of one open AU and load that of another, µs.
    pub switch_us: f64,
    /// Open AUs whose state is in RAM, so that no time goes into going from one to another.
    pub states_in_ram: u32,
    /// Merges that may be put off; when there are more, all of them are done at once.
    pub deferred_merges: u32,
    /// Idle time after which merges that were put off are done in the background, ms; 0 is never.
    pub merge_after_ms: f64,
    /// The least worn AU is moved when it lags the most worn one by this many erases; 0 is off.
    pub wear_spread_cycles: u32,
    /// AUs that are moved at a time by this static wear levelling.
    pub wear_batch_aus: u32,
    /// An AU is rewritten after this many page reads of one of its blocks; 0 is off.
    pub refresh_reads: u32,
    /// AUs that are treated specially because file allocation tables lie there.
    pub fat: Option<FatSection>,
    /// Writes that are too small for an open AU.
    pub small_writes: Option<SmallWritesSection>,
    /// Log for data AUs that find no open AU free; left out where such an AU takes the place of an open one.
    pub shared_log: Option<SharedLogSection>,
    /// Times of its firmware and of decoding.
    pub controller: CardControllerSection,
}

impl CardSection {
    /// Physical AUs that the shared log takes up when it is full; 0 without one.
    pub(crate) fn shared_log_aus(&self) -> u32 {
        self.shared_log.as_ref().map_or(0, |log| log.blocks)
    }
}

/// What an open AU does with a page that is not the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfOrder {
    /// The open AU is linear: going forward copies what lies between, going back closes the AU and
    /// reopens it.
    Rewrite,
    /// The page goes to a log of the open AU. When the log is full, or the AU is closed, log and
    /// AU are merged into page order.
    Log,
    /// Pages lie in any order in the AU, and a map of them stays with it: closing copies only the
    /// pages that were not written.
    Map,
}

/// AUs that are treated specially because file allocation tables lie there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FatSection {
    /// First of them.
    pub first_au: u32,
    /// Number of them.
    pub aus: u32,
    /// Distance from one to the next, AUs: 1 where they lie side by side.
    #[serde(default = "one")]
    pub apart_aus: u32,
    /// Open AUs that are kept for them, out of `open_aus`.
    pub open_aus: u32,
    /// What an open one does with a page that is not the next one.
    pub out_of_order: OutOfOrder,
    /// Pages out of order that an open one can hold, KiB; only for `log`.
    pub log_kib: Option<u32>,
    /// Pages in order go to the log as well, so that everything is written twice; only for `log`.
    #[serde(default)]
    pub log_first: bool,
    /// Their blocks are used as SLC: faster and more durable.
    pub slc: bool,
}

/// Writes that are too small for an open AU: unless they continue the write before, the cluster
/// around them is read, changed and written to an AU of its own, which is erased when it is full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallWritesSection {
    /// Largest such write, KiB.
    pub up_to_kib: u32,
    /// Cluster that is rewritten, KiB.
    pub cluster_kib: u32,
}

/// A log that several AUs share: pages of data AUs that find no open AU free go there in the order in which they
/// come. When it is full, or one more AU needs it, each AU of which it holds data is merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLogSection {
    /// Log blocks: as many physical AUs.
    pub blocks: u32,
    /// AUs whose data it may hold at once.
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
    /// Pages are moved within a die without crossing the bus.
    pub copyback: bool,
    /// RAM for data, KiB. With room for two pages, the link and the flash work at once.
    pub buffer_kib: u32,
    /// Read-ahead of sequential reads, KiB; 0 is off.
    pub read_ahead_kib: u32,
    /// Sequential reads beside one another that are read ahead.
    #[serde(default = "one")]
    pub read_ahead_streams: u32,
}

/// The default of what most cards have one of.
fn one() -> u32 {
    1
}
