//! How a card is divided: AUs, pages, sectors, superblocks.

use crate::convert::{Narrow, Whole};
use crate::profile::card::CardSection;
use crate::profile::schema::{ArraySection, Profile};
use nandscope_units::SECTOR_BYTES;
use serde::{Deserialize, Serialize};

/// The division of a card. A **program unit** is what a die programs at once: a page on every
/// plane, times the pages of a word line where they are programmed together. A **page** is what
/// the firmware handles as one, a whole number of program units on consecutive dies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CardGeometry {
    pub(crate) au_sectors: u32,
    pub(crate) page_sectors: u32,
    pub(crate) unit_sectors: u32,
    pub(crate) au_pages: u32,
    /// Program units of a page.
    pub(crate) page_units: u32,
    /// Bytes that one array read brings: a page on every plane.
    pub(crate) stripe_bytes: u32,
    /// Logical AUs; the last one may be cut off by the capacity.
    pub(crate) logical_aus: u32,
    /// AUs that the flash's good blocks form.
    pub(crate) physical_aus: u32,
    /// Superblocks (an erase block on every plane of every die) of an AU, rounded up.
    pub(crate) au_superblocks: u32,
    pub(crate) dies: u32,
    pub(crate) channels: u32,
}

impl CardGeometry {
    /// The geometry of a profile that may be invalid: products saturate, and divisors are at least 1.
    pub(crate) fn new(profile: &Profile, card: &CardSection) -> Self {
        let nand = &profile.nand;
        let array = native(profile);
        let bits = nand.cell.bits();
        let pages_per_program = array.pages_per_program(nand.cell);
        let sectors = |kib: u32| u64::from(kib) * 1024 / SECTOR_BYTES;
        let stripe = sectors(nand.page_kib) * u64::from(nand.planes);
        let unit = (stripe * u64::from(pages_per_program)).max(1);
        let page = card.page_kib.map_or(unit, |kib| sectors(kib).max(1));
        let au = sectors(card.au_kib).max(1);
        let dies = u64::from(nand.channels) * u64::from(nand.dies_per_channel);
        let superblock = (stripe * u64::from(nand.word_lines) * u64::from(bits) * dies).max(1);
        let bad = (f64::from(nand.blocks_per_plane) * nand.factory_bad_percent / 100.0).floor_u64();
        let good = u64::from(nand.blocks_per_plane).saturating_sub(bad);
        let capacity = profile.device.capacity_bytes / SECTOR_BYTES;
        CardGeometry {
            au_sectors: au.clamp_u32(),
            page_sectors: page.clamp_u32(),
            unit_sectors: unit.clamp_u32(),
            au_pages: (au / page).clamp_u32(),
            page_units: (page / unit).max(1).clamp_u32(),
            stripe_bytes: (stripe * SECTOR_BYTES).clamp_u32(),
            logical_aus: capacity.div_ceil(au).clamp_u32(),
            physical_aus: (u64::from(good.clamp_u32()).saturating_mul(superblock) / au).clamp_u32(),
            au_superblocks: au.div_ceil(superblock).clamp_u32(),
            dies: dies.clamp_u32(),
            channels: nand.channels,
        }
    }

    /// Rows of an AU's blocks: those on the planes of one die, in one superblock.
    pub(crate) fn au_rows(&self) -> u32 {
        self.au_superblocks.saturating_mul(self.dies)
    }

    /// The row that holds a sector of an AU in page order: program units lie on the dies in turn, and fill one
    /// superblock after the other.
    pub(crate) fn row_of(&self, sector: u32) -> u32 {
        let unit = u64::from(sector / self.unit_sectors);
        let units = u64::from(self.au_sectors.div_ceil(self.unit_sectors)).max(1);
        let superblock = unit * u64::from(self.au_superblocks) / units;
        superblock.narrow() * self.dies + (unit % u64::from(self.dies)).narrow()
    }

    /// Bytes of a program unit; exact if a page is a whole number of program units.
    pub(crate) fn unit_bytes(&self) -> u64 {
        u64::from(self.unit_sectors) * SECTOR_BYTES
    }

    /// Bytes of a page.
    pub(crate) fn page_bytes(&self) -> u64 {
        u64::from(self.page_sectors) * SECTOR_BYTES
    }
}

/// Array times of the cell mode in which the card's blocks are used.
pub(crate) fn native(profile: &Profile) -> &ArraySection {
    profile.nand.native.as_ref().unwrap_or(&profile.nand.slc)
}
