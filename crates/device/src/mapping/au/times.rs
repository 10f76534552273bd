//! Cost of flash operations on a card. Consecutive program units are on consecutive dies, so their array
//! times overlap; transfers share the channels; the firmware handles one page after another. A read
//! transfers only the requested sectors. The program times of a word line's pages are averaged, because
//! sequential writes program all of them.

use super::geometry::{CardGeometry, native};
use super::op_counts::OpCounts;
use crate::convert::{ToF64, Whole};
use crate::profile::card::{CardControllerSection, CardSection};
use crate::profile::schema::Profile;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Times of the first page and of each further page of a run, ns; then the energies of both, J.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct PageCost {
    first: f64,
    next: f64,
    energy_j: f64,
    bus_bytes: u64,
}

impl PageCost {
    fn of(&self, pages: u32) -> f64 {
        if pages == 0 {
            return 0.0;
        }
        self.first + f64::from(pages - 1) * self.next
    }
}

/// Times, ns, and energies, J, of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ReadTimes {
    page_ns: f64,
    array_ns: f64,
    /// Array time of each further round in which every die reads once.
    round_ns: f64,
    dies: u32,
    command_ns: f64,
    byte_ns: f64,
    decode_ns: f64,
    stripe_j: f64,
    byte_j: f64,
}

/// Flash units touched by a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Pages that the firmware must look up.
    pub(super) pages: u32,
    /// Array reads: pages across the planes of a die.
    pub(super) stripes: u32,
    /// Bytes transferred from the flash.
    pub(super) bytes: u64,
}

/// Times of a card on its present interface at its present clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Times {
    write: PageCost,
    moving: PageCost,
    slc_write: PageCost,
    slc_moving: PageCost,
    read: ReadTimes,
    page_bytes: u64,
    page_stripes: u32,
    erase_ns: f64,
    erase_j: f64,
    switch_ns: f64,
    pub(super) read_command: Nanos,
    pub(super) write_command: Nanos,
    pub(super) au_lookup: Nanos,
}

/// Flash operation cost: time, energy and bus traffic.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlashCost {
    pub(super) time: Nanos,
    pub(super) energy_j: f64,
    pub(super) bus_bytes: u64,
}

impl Times {
    /// `active_dies` may program at once; `clock` (0 to 1) is the share of the full clock that
    /// firmware, ECC and flash bus have.
    pub(super) fn new(
        profile: &Profile,
        card: &CardSection,
        geometry: &CardGeometry,
        active_dies: u32,
        clock: f64,
    ) -> Self {
        let nand = &profile.nand;
        let c = &card.controller;
        let array = native(profile);
        let clock = clock.max(0.001);
        let fw = |us: f64| us * 1e3 / clock;
        let bus = |bytes: f64| bytes * 1e3 / nand.bus_mt_per_s / clock;
        let overhead_ns = f64::from(nand.planes) * nand.bus_overhead_ns.to_f64() / clock;
        let mean_ns = |us: &[f64]| us.iter().sum::<f64>() * 1e3 / us.len().max(1).to_f64();
        let page_of = |read_ns: f64, program_ns: f64| Page {
            units: f64::from(geometry.page_units),
            unit_bytes: geometry.unit_bytes(),
            bus_ns: bus(geometry.unit_bytes().to_f64()) + overhead_ns,
            reads: geometry.unit_bytes().to_f64() / f64::from(geometry.stripe_bytes.max(1)),
            read_ns,
            program_ns,
            channels: f64::from(geometry.channels),
            dies: f64::from(geometry.dies.min(active_dies)),
            read_j: read_ns * 1e-9 * nand.energy.read_mw * 1e-3,
            program_j: program_ns * 1e-9 * nand.energy.program_mw * 1e-3,
            bus_j: geometry.unit_bytes().to_f64() * nand.energy.bus_pj_per_byte * 1e-12,
        };
        let read_ns = mean_ns(&array.read_us);
        let page = page_of(read_ns, mean_ns(&array.program_us));
        let slc = page_of(mean_ns(&nand.slc.read_us), mean_ns(&nand.slc.program_us));
        let dies = f64::from(geometry.dies);
        Times {
            write: page.write(fw(c.page_us), nand.cache_program),
            moving: page.moving(c, fw(c.move_us), fw(c.decode_us)),
            slc_write: slc.write(fw(c.page_us), nand.cache_program),
            slc_moving: slc.moving(c, fw(c.move_us), fw(c.decode_us)),
            read: ReadTimes {
                page_ns: fw(c.read_page_us.unwrap_or(c.page_us)),
                array_ns: read_ns,
                // With cache reads, all array times but the first overlap with transfers.
                round_ns: if nand.cache_read { 0.0 } else { read_ns },
                dies: geometry.dies.max(1),
                command_ns: overhead_ns,
                byte_ns: bus(1.0) / f64::from(geometry.channels),
                decode_ns: fw(c.decode_us),
                stripe_j: page.read_j,
                byte_j: nand.energy.bus_pj_per_byte * 1e-12,
            },
            page_bytes: geometry.page_bytes(),
            page_stripes: geometry.page_units * page.reads.floor_u32(),
            erase_ns: array.erase_us * 1e3 * (dies / page.dies),
            erase_j: array.erase_us * 1e-6 * nand.energy.erase_mw * 1e-3 * dies,
            switch_ns: fw(card.switch_us),
            read_command: Nanos(fw(c.read_us).floor_u64()),
            write_command: Nanos(fw(c.write_us).floor_u64()),
            au_lookup: Nanos(fw(c.au_lookup_us).floor_u64()),
        }
    }

    /// Cost of the operations of a write.
    pub(super) fn ops(&self, ops: &OpCounts) -> FlashCost {
        let parts = [
            (&self.write, ops.programs - ops.slc_programs),
            (&self.slc_write, ops.slc_programs),
            (&self.moving, ops.moved() - ops.slc_merged),
            (&self.slc_moving, ops.slc_merged),
            (&self.moving, ops.clusters),
        ];
        let fill = self.reading(&self.whole_page(), false);
        let mut ns = f64::from(ops.fills) * fill.time.0.to_f64()
            + f64::from(ops.erases) * self.erase_ns
            + f64::from(ops.switches) * self.switch_ns;
        let mut energy_j =
            f64::from(ops.fills) * fill.energy_j + f64::from(ops.erases) * self.erase_j;
        let mut bus_bytes = u64::from(ops.fills) * fill.bus_bytes;
        for (cost, pages) in parts {
            ns += cost.of(pages);
            energy_j += f64::from(pages) * cost.energy_j;
            bus_bytes += u64::from(pages) * cost.bus_bytes;
        }
        FlashCost {
            time: Nanos(ns.floor_u64()),
            energy_j,
            bus_bytes,
        }
    }

    fn whole_page(&self) -> Extent {
        Extent {
            pages: 1,
            stripes: self.page_stripes,
            bytes: self.page_bytes,
        }
    }

    /// Cost of reading an extent; with `streaming`, the array has already started.
    pub(super) fn reading(&self, extent: &Extent, streaming: bool) -> FlashCost {
        if extent.stripes == 0 {
            return FlashCost::default();
        }
        let r = &self.read;
        let bytes = extent.bytes.to_f64();
        let stripes = f64::from(extent.stripes);
        let rounds = if streaming {
            stripes / f64::from(r.dies)
        } else {
            f64::from(extent.stripes.div_ceil(r.dies) - 1)
        };
        let first = if streaming {
            r.command_ns
        } else {
            r.array_ns + r.command_ns + r.decode_ns
        };
        // Firmware looks up the next page during the transfer of the page before.
        let transfer = rounds * r.round_ns + (stripes - 1.0) * r.command_ns + bytes * r.byte_ns;
        let finding = f64::from(extent.pages.saturating_sub(1)) * r.page_ns;
        let ns = f64::from(extent.pages.min(1)) * r.page_ns + first + transfer.max(finding);
        FlashCost {
            time: Nanos(ns.floor_u64()),
            energy_j: stripes * r.stripe_j + bytes * r.byte_j,
            bus_bytes: extent.bytes,
        }
    }

    /// Programming one more page in a run.
    pub(super) fn page_period(&self) -> Nanos {
        Nanos(self.write.next.floor_u64())
    }
}

/// A page of several program units, and the times of one program unit.
struct Page {
    units: f64,
    unit_bytes: u64,
    bus_ns: f64,
    /// Array reads of a program unit.
    reads: f64,
    read_ns: f64,
    program_ns: f64,
    channels: f64,
    dies: f64,
    read_j: f64,
    program_j: f64,
    bus_j: f64,
}

impl Page {
    fn write(&self, firmware_ns: f64, cache_program: bool) -> PageCost {
        let on_die = if cache_program {
            self.program_ns
        } else {
            self.bus_ns + self.program_ns
        };
        let period = (self.bus_ns / self.channels).max(on_die / self.dies);
        PageCost {
            first: firmware_ns + self.bus_ns + self.program_ns + (self.units - 1.0) * period,
            next: firmware_ns + self.units * period,
            energy_j: self.units * (self.program_j + self.bus_j),
            bus_bytes: self.units.floor_u64() * self.unit_bytes,
        }
    }

    fn moving(
        &self,
        controller: &CardControllerSection,
        firmware_ns: f64,
        decode_ns: f64,
    ) -> PageCost {
        let array_ns = self.reads * self.read_ns + self.program_ns;
        let array_j = self.units * (self.reads * self.read_j + self.program_j);
        if controller.copyback {
            let period = array_ns / self.dies;
            return PageCost {
                first: firmware_ns + array_ns + (self.units - 1.0) * period,
                next: firmware_ns + self.units * period,
                energy_j: array_j,
                bus_bytes: 0,
            };
        }
        let all_ns = array_ns + 2.0 * self.bus_ns + decode_ns;
        let period = (2.0 * self.bus_ns / self.channels).max(all_ns / self.dies);
        PageCost {
            first: firmware_ns + all_ns + (self.units - 1.0) * period,
            next: firmware_ns + self.units * period,
            energy_j: array_j + 2.0 * self.units * self.bus_j,
            bus_bytes: 2 * self.units.floor_u64() * self.unit_bytes,
        }
    }
}
