//! How the flash is divided: dies, planes, superblocks, program units, mapping units; and the
//! arithmetic between a physical unit number and the die, word line and page that hold it.
//!
//! A **superblock** is one erase block of every plane of every die: the grain in which the log
//! allocates, collects and erases. A **program unit** is what one die programs at once: a page on
//! each plane, times the pages of a word line where they are programmed together. Consecutive
//! program units of a superblock lie on consecutive dies. With parity across dies, all sizes and numbers here are of
//! data; [`ParityRows`] says which dies are left out. A **mapping unit** (usually 4 KiB) is
//! what the logical-to-physical map points to; its physical number is
//! `superblock × native units per superblock + offset`, in the order of programming.

use super::parity_rows::ParityRows;
use super::ppn::Ppn;
use crate::convert::{Narrow, Whole};
use crate::divisor::Divisor;
use crate::flash::superblock_id::SuperblockId;
use crate::flash::{Die, Plane};
use crate::mapping::page::program_id::ProgramId;
use crate::profile::schema::{ArraySection, Cell, FtlSection, MapLocation, Profile};
use serde::{Deserialize, Serialize};

/// Pages of one cell mode: sizes in mapping units, times in ns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeGeometry {
    /// Bits per cell.
    pub bits: u32,
    /// Mapping units that a die programs at once.
    pub program_units: u32,
    /// Program units of data in a superblock.
    pub programs: u32,
    /// Mapping units of data in a superblock of this mode.
    pub superblock_units: u32,
    /// Array read time of each page of a word line, ns.
    pub read_ns: Vec<u32>,
    /// Program time of each program unit within a word line, ns.
    pub program_ns: Vec<u32>,
    /// Erase time, ns.
    pub erase_ns: u32,
    /// Rated program/erase cycles.
    pub cycles: u32,
    by_program_units: Divisor,
    /// Whether a program fills all pages of a word line (one-shot programming).
    one_shot: bool,
}

impl ModeGeometry {
    /// Program operations that fill a word line: one with one-shot programming.
    pub fn programs_per_word_line(&self) -> u32 {
        // At most one per bit of a cell.
        self.program_ns.len().narrow()
    }
}

/// The division of the flash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Buses between controller and dies.
    pub channels: u32,
    /// Number of dies on all channels.
    pub dies: u32,
    /// Planes per die.
    pub planes: u32,
    /// Blocks per plane, good and bad.
    pub blocks_per_plane: u32,
    /// Size of a mapping unit, bytes.
    pub unit_bytes: u32,
    /// Mapping units per page of one plane.
    pub units_per_page: u32,
    /// Mapping units per stripe: a page on every plane of a die.
    pub stripe_units: u32,
    /// Logical mapping units of the host.
    pub user_units: u32,
    /// Blocks in SLC mode.
    pub slc: ModeGeometry,
    /// Blocks in the native mode.
    pub native: ModeGeometry,
    by_superblock_units: Divisor,
    by_stripe_units: Divisor,
    by_units_per_page: Divisor,
    rows: ParityRows,
}

/// Location of a mapping unit within a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Superblock of the unit.
    pub superblock: SuperblockId,
    /// Program unit within the superblock.
    pub program: ProgramId,
    /// Die of the program unit.
    pub die: Die,
    /// Stripe (a page on every plane) within the program unit.
    pub stripe: u32,
}

impl Geometry {
    /// The geometry of a page-mapped device. The profile has been checked, so that products do not overflow; one that
    /// would saturates, and the capacity check refuses the profile.
    pub fn new(profile: &Profile, ftl: &FtlSection) -> Self {
        let nand = &profile.nand;
        let units_per_page = nand.page_kib * 1024 / ftl.mapping_unit_bytes.max(1);
        let stripe_units = units_per_page.saturating_mul(nand.planes);
        let dies = nand.channels * nand.dies_per_channel;
        let rows = ParityRows::new(dies, ftl.parity_dies);
        let mode = |array: &ArraySection, cell: Cell| {
            let pages_per_program = array.pages_per_program(cell);
            let program_units = stripe_units.saturating_mul(pages_per_program);
            let programs = nand
                .word_lines
                .saturating_mul(rows.data_dies())
                .saturating_mul(cell.bits() / pages_per_program);
            ModeGeometry {
                bits: cell.bits(),
                program_units,
                programs,
                superblock_units: programs.saturating_mul(program_units),
                read_ns: array.read_us.iter().map(|us| ns(*us)).collect(),
                program_ns: array.program_us.iter().map(|us| ns(*us)).collect(),
                erase_ns: ns(array.erase_us),
                cycles: array.cycles,
                by_program_units: Divisor::new(program_units),
                one_shot: pages_per_program as usize == array.read_us.len(),
            }
        };
        let slc = mode(&nand.slc, Cell::Slc);
        let native = nand
            .native
            .as_ref()
            .map_or_else(|| slc.clone(), |array| mode(array, nand.cell));
        let units = profile.device.capacity_bytes / u64::from(ftl.mapping_unit_bytes.max(1));
        Geometry {
            channels: nand.channels,
            dies,
            planes: nand.planes,
            blocks_per_plane: nand.blocks_per_plane,
            unit_bytes: ftl.mapping_unit_bytes,
            units_per_page,
            stripe_units,
            user_units: units.min(u64::from(u32::MAX - 1)).narrow(),
            by_superblock_units: Divisor::new(native.superblock_units),
            by_stripe_units: Divisor::new(stripe_units),
            by_units_per_page: Divisor::new(units_per_page),
            rows,
            slc,
            native,
        }
    }

    /// The mode of a superblock.
    pub fn mode(&self, slc: bool) -> &ModeGeometry {
        if slc { &self.slc } else { &self.native }
    }

    /// Average number of good superblocks if every plane has its share of bad blocks, less 0.5 % because planes differ.
    pub fn expected_good_superblocks(&self, bad_percent: f64) -> u32 {
        let bad = (f64::from(self.blocks_per_plane) * bad_percent / 100.0).floor_u32();
        let uneven = if bad > 0 { 3 * isqrt(bad) } else { 0 };
        self.blocks_per_plane.saturating_sub(bad + uneven)
    }

    /// Logical units after the host's: map pages (if the map is in flash) and journal pages.
    pub fn metadata_units(&self, ftl: &FtlSection) -> u32 {
        let map = if ftl.map.location != MapLocation::Dram || checkpoints(ftl) {
            self.map_units()
        } else {
            0
        };
        map + self.journal_units(ftl)
    }

    /// Map entries (4 bytes each) per mapping unit.
    #[inline]
    pub fn entries_per_unit(&self) -> u32 {
        self.unit_bytes / 4
    }

    /// Size of the whole map, mapping units.
    pub fn map_units(&self) -> u32 {
        self.user_units.div_ceil(self.entries_per_unit())
    }

    /// Size of the map's journal, mapping units; 0 without a journal.
    pub fn journal_units(&self, ftl: &FtlSection) -> u32 {
        if ftl.journal_entries == 0 {
            return 0;
        }
        let pages = ftl.journal_pages.unwrap_or(JOURNAL_UNITS);
        pages.min(self.native.superblock_units)
    }

    /// Superblocks required for the profile's capacity, including those for collection, open blocks and the static SLC
    /// cache.
    pub fn needed_superblocks(&self, ftl: &FtlSection) -> u64 {
        let logical = u64::from(self.user_units) + u64::from(self.metadata_units(ftl));
        let static_gb = ftl.slc_cache.as_ref().map_or(0.0, |s| s.static_gb);
        logical.div_ceil(u64::from(self.native.superblock_units.max(1)))
            + u64::from(self.collection_start(ftl))
            + u64::from(open_superblocks(ftl))
            + u64::from(self.map_reserve(ftl))
            + u64::from(self.slc_superblocks_for(static_gb))
    }

    /// Number of free superblocks at which collection starts, including those that each stream of separated data may
    /// open before it frees one.
    pub fn collection_start(&self, ftl: &FtlSection) -> u32 {
        if has_map_blocks(ftl) {
            return ftl.collection_start.max(open_superblocks(ftl));
        }
        let more = open_superblocks(ftl) - OPEN_SUPERBLOCKS + self.checkpoint_burst(ftl);
        ftl.collection_start.saturating_add(more)
    }

    /// Number of closed map superblocks above which they are collected, for a map in flash: about twice the size of the
    /// map, so that a victim is mostly invalid. 0 for a map in DRAM.
    pub fn map_superblocks(&self, ftl: &FtlSection) -> u32 {
        if !has_map_blocks(ftl) {
            return 0;
        }
        let twice = self.map_units().saturating_mul(2);
        twice.div_ceil(self.native.superblock_units.max(1)) + 1
    }

    /// Part of [`Geometry::map_superblocks`] beyond the valid map pages, superblocks.
    pub fn map_reserve(&self, ftl: &FtlSection) -> u32 {
        let valid = self.map_units() / self.native.superblock_units.max(1);
        self.map_superblocks(ftl).saturating_sub(valid)
    }

    /// Largest number of superblocks that journal and checkpoint of a map in DRAM fill at once, after the host has
    /// written all that is admitted together.
    pub fn checkpoint_burst(&self, ftl: &FtlSection) -> u32 {
        if !checkpoints(ftl) {
            return 0;
        }
        let journal_pages = self.stripe_units.div_ceil(ftl.journal_entries.max(1));
        let due = self.map_units().div_ceil(self.journal_units(ftl).max(1));
        let units = u64::from(journal_pages) * (1 + u64::from(due));
        units
            .div_ceil(u64::from(self.native.superblock_units.max(1)))
            .clamp_u32()
    }

    /// Number of whole native-mode superblocks in `gb` GB.
    pub fn native_superblocks_in(&self, gb: f64) -> u32 {
        let bytes = f64::from(self.native.superblock_units) * f64::from(self.unit_bytes);
        if bytes <= 0.0 {
            0
        } else {
            (gb * 1e9 / bytes).floor_u32()
        }
    }

    /// Number of SLC superblocks needed for `gb` GB.
    pub fn slc_superblocks_for(&self, gb: f64) -> u32 {
        let bytes = f64::from(self.slc.superblock_units) * f64::from(self.unit_bytes);
        if bytes <= 0.0 {
            0
        } else {
            (gb * 1e9 / bytes + 0.999_999).floor_u32()
        }
    }

    /// Physical number of the mapping unit at `offset` of a superblock.
    pub fn ppn(&self, superblock: SuperblockId, offset: u32) -> Ppn {
        Ppn(superblock.0 * self.native.superblock_units + offset)
    }

    /// The superblock of a mapping unit.
    #[inline]
    pub fn superblock_of(&self, ppn: Ppn) -> SuperblockId {
        SuperblockId(self.by_superblock_units.quotient(ppn.0))
    }

    /// Die of a program unit of data: consecutive ones are on consecutive dies.
    #[inline]
    pub fn die_of(&self, slc: bool, program: ProgramId) -> Die {
        self.rows.die_of(program, self.passes(slc))
    }

    /// Row of a program unit: its index on its die, in program units.
    #[inline]
    pub fn row_of(&self, program: ProgramId) -> u32 {
        self.rows.row_of(program)
    }

    /// Number of rows in a superblock.
    pub fn rows(&self, slc: bool) -> u32 {
        self.row_of(ProgramId(self.mode(slc).programs))
    }

    /// The dies that program parity after a program unit of data.
    pub fn parity_dies_after(
        &self,
        slc: bool,
        program: ProgramId,
    ) -> impl Iterator<Item = Die> + use<> {
        self.rows.parity_dies_after(program, self.passes(slc))
    }

    /// Mapping units of parity for the first `programs` program units of a superblock.
    pub fn parity_units(&self, slc: bool, programs: u32) -> u32 {
        self.row_of(ProgramId(programs)) * self.rows.parity_dies() * self.mode(slc).program_units
    }

    fn passes(&self, slc: bool) -> u32 {
        self.mode(slc).programs_per_word_line()
    }

    /// Number of erase blocks in a superblock.
    pub fn blocks_per_superblock(&self) -> u32 {
        self.dies * self.planes
    }

    /// Index of a die's and plane's erase block in its superblock.
    pub fn block_of(&self, die: Die, plane: Plane) -> u32 {
        die.0 * self.planes + plane.0
    }

    /// The program unit that holds the unit at `offset` of a superblock.
    #[inline]
    pub fn program_of(&self, slc: bool, offset: u32) -> ProgramId {
        ProgramId(self.mode(slc).by_program_units.quotient(offset))
    }

    /// The erase block, within its superblock, that holds the unit at `offset`.
    pub fn erase_block(&self, offset: u32, slc: bool) -> u32 {
        let program = self.program_of(slc, offset);
        self.block_of(self.die_of(slc, program), self.plane_of(offset))
    }

    /// Position in its stripe of the unit at `offset` of a superblock.
    #[inline]
    pub fn place_in_stripe(&self, offset: u32) -> u32 {
        self.by_stripe_units.remainder(offset)
    }

    /// The plane at a position in a stripe.
    #[inline]
    pub fn plane_in_stripe(&self, place: u32) -> Plane {
        Plane(self.by_units_per_page.quotient(place))
    }

    /// The plane that holds the unit at `offset` of a superblock.
    #[inline]
    pub fn plane_of(&self, offset: u32) -> Plane {
        self.plane_in_stripe(self.place_in_stripe(offset))
    }

    /// Location of a mapping unit, given the mode of its superblock.
    #[inline]
    pub fn place(&self, superblock: SuperblockId, offset: u32, slc: bool) -> Place {
        let mode = self.mode(slc);
        let program = self.program_of(slc, offset);
        let stripe = self
            .by_stripe_units
            .quotient(offset - program.0 * mode.program_units);
        Place {
            superblock,
            program,
            die: self.die_of(slc, program),
            stripe,
        }
    }

    /// Array read time of one page, ns: `stripe` within program unit `program`.
    #[inline]
    pub fn read_ns(&self, slc: bool, program: ProgramId, stripe: u32) -> u32 {
        self.mode(slc).read_ns[self.page_type(slc, program, stripe) as usize]
    }

    /// Shortest array read time of any page, ns.
    pub fn shortest_read_ns(&self) -> u32 {
        let times = self.slc.read_ns.iter().chain(&self.native.read_ns);
        times.copied().min().unwrap_or(0)
    }

    /// Number of a page in its word line, from 0: `stripe` within program unit `program`.
    #[inline]
    pub fn page_type(&self, slc: bool, program: ProgramId, stripe: u32) -> u32 {
        let mode = self.mode(slc);
        let pages = mode.read_ns.len().narrow();
        match pages {
            1 => 0,
            _ if mode.one_shot => stripe,
            _ => self.row_of(program) % pages,
        }
    }

    /// Array program time of one program unit, ns.
    pub fn program_ns(&self, slc: bool, program: ProgramId) -> u32 {
        let times = &self.mode(slc).program_ns;
        times[self.row_of(program) as usize % times.len()]
    }
}

/// Superblocks open for writing (host, relocation), and one more so that relocation always has a target.
pub const OPEN_SUPERBLOCKS: u32 = 3;

/// Maximum number of open superblocks plus one; two more for each separated kind of data (hot data, map pages).
pub fn open_superblocks(ftl: &FtlSection) -> u32 {
    let apart = u32::from(ftl.separate_by_heat) + u32::from(has_map_blocks(ftl));
    OPEN_SUPERBLOCKS + 2 * apart
}

/// Whether map pages have their own superblocks: for maps that are only partly loaded.
pub fn has_map_blocks(ftl: &FtlSection) -> bool {
    ftl.map.location != MapLocation::Dram
}

/// Whether checkpoints of a map in DRAM are written to flash.
pub fn checkpoints(ftl: &FtlSection) -> bool {
    ftl.map.location == MapLocation::Dram && ftl.journal_entries > 0 && ftl.journal_pages.is_some()
}

/// Default size of the map's journal, mapping units.
const JOURNAL_UNITS: u32 = 256;

fn ns(us: f64) -> u32 {
    (us * 1e3).round_u32()
}

fn isqrt(n: u32) -> u32 {
    let mut root = 0u32;
    while (u64::from(root) + 1) * (u64::from(root) + 1) <= u64::from(n) {
        root += 1;
    }
    root
}
