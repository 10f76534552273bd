//! How long flash work takes on a card. Consecutive pages lie on consecutive dies, so that their
//! array times overlap; transfers share the channels; the firmware handles one page after another.
//! The mean of the program times of a word line's pages is used, because runs meet them in turn.

use super::geometry::{CardGeometry, native};
use super::work::Work;
use crate::profile::card::{CardControllerSection, CardSection};
use crate::profile::schema::Profile;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Times of one page, and of one more page in a run, ns; energies of both, J.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Cost {
    first: f64,
    next: f64,
    energy_j: f64,
    bus_bytes: u64,
}

impl Cost {
    fn of(&self, pages: u32) -> f64 {
        if pages == 0 {
            return 0.0;
        }
        self.first + f64::from(pages - 1) * self.next
    }
}

/// Times of a card on its present interface at its present clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Times {
    write: Cost,
    read: Cost,
    moving: Cost,
    slc_write: Cost,
    slc_moving: Cost,
    erase_ns: f64,
    erase_j: f64,
    switch_ns: f64,
    pub(super) read_command: Nanos,
    pub(super) write_command: Nanos,
    pub(super) au_lookup: Nanos,
}

/// Time, energy and bus traffic of some work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effort {
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
        let bus = |bytes: u64| {
            (bytes as f64 * 1e3 / nand.bus_mt_per_s
                + f64::from(nand.planes) * nand.bus_overhead_ns as f64)
                / clock
        };
        let mean_ns = |us: &[f64]| us.iter().sum::<f64>() * 1e3 / us.len().max(1) as f64;
        let (read_ns, program_ns) = (mean_ns(&array.read_us), mean_ns(&array.program_us));
        let page_of = |read_ns: f64, program_ns: f64| Page {
            bytes: geometry.page_bytes(),
            bus_ns: bus(geometry.page_bytes()),
            stripes: (geometry.page_bytes() / u64::from(geometry.stripe_bytes.max(1))) as f64,
            read_ns,
            program_ns,
            channels: f64::from(geometry.channels),
            dies: f64::from(geometry.dies.min(active_dies)),
            read_j: read_ns * 1e-9 * nand.energy.read_mw * 1e-3,
            program_j: program_ns * 1e-9 * nand.energy.program_mw * 1e-3,
            bus_j: geometry.page_bytes() as f64 * nand.energy.bus_pj_per_byte * 1e-12,
        };
        let page = page_of(read_ns, program_ns);
        let slc = page_of(mean_ns(&nand.slc.read_us), mean_ns(&nand.slc.program_us));
        let stripe = u64::from(geometry.stripe_bytes);
        let stripe_ns = bus(stripe);
        let read_period = if nand.cache_read {
            (stripe_ns / page.channels).max(read_ns / f64::from(geometry.dies))
        } else {
            (stripe_ns / page.channels).max((read_ns + stripe_ns) / f64::from(geometry.dies))
        };
        Times {
            write: page.write(fw(c.page_us), nand.cache_program),
            read: Cost {
                first: fw(c.page_us) + read_ns + stripe_ns + fw(c.decode_us),
                next: fw(c.page_us) + read_period,
                energy_j: page.read_j + stripe as f64 * nand.energy.bus_pj_per_byte * 1e-12,
                bus_bytes: stripe,
            },
            moving: page.moving(c, fw(c.move_us), fw(c.decode_us)),
            slc_write: slc.write(fw(c.page_us), nand.cache_program),
            slc_moving: slc.moving(c, fw(c.move_us), fw(c.decode_us)),
            erase_ns: array.erase_us * 1e3 * (f64::from(geometry.dies) / page.dies),
            erase_j: array.erase_us * 1e-6 * nand.energy.erase_mw * 1e-3 * f64::from(geometry.dies),
            switch_ns: fw(card.switch_us),
            read_command: Nanos(fw(c.read_us) as u64),
            write_command: Nanos(fw(c.write_us) as u64),
            au_lookup: Nanos(fw(c.au_lookup_us) as u64),
        }
    }

    /// Flash work behind a write.
    pub(super) fn work(&self, work: &Work) -> Effort {
        let parts = [
            (&self.write, work.programs - work.slc_programs),
            (&self.slc_write, work.slc_programs),
            (&self.moving, work.moved() - work.slc_merged),
            (&self.slc_moving, work.slc_merged),
            (&self.moving, work.clusters),
        ];
        let mut ns = f64::from(work.fills) * self.read.first
            + f64::from(work.erases) * self.erase_ns
            + f64::from(work.switches) * self.switch_ns;
        let mut energy_j =
            f64::from(work.fills) * self.read.energy_j + f64::from(work.erases) * self.erase_j;
        let mut bus_bytes = u64::from(work.fills) * self.read.bus_bytes;
        for (cost, pages) in parts {
            ns += cost.of(pages);
            energy_j += f64::from(pages) * cost.energy_j;
            bus_bytes += u64::from(pages) * cost.bus_bytes;
        }
        Effort {
            time: Nanos(ns as u64),
            energy_j,
            bus_bytes,
        }
    }

    /// Reading so many stripes in a run; `streaming` where the first one follows another read.
    pub(super) fn reading(&self, stripes: u32, streaming: bool) -> Effort {
        let ns = if streaming {
            f64::from(stripes) * self.read.next
        } else {
            self.read.of(stripes)
        };
        Effort {
            time: Nanos(ns as u64),
            energy_j: f64::from(stripes) * self.read.energy_j,
            bus_bytes: u64::from(stripes) * self.read.bus_bytes,
        }
    }

    /// Programming one more page in a run.
    pub(super) fn page_period(&self) -> Nanos {
        Nanos(self.write.next as u64)
    }
}

/// One page (program unit), times in ns.
struct Page {
    bytes: u64,
    bus_ns: f64,
    stripes: f64,
    read_ns: f64,
    program_ns: f64,
    channels: f64,
    dies: f64,
    read_j: f64,
    program_j: f64,
    bus_j: f64,
}

impl Page {
    fn write(&self, firmware_ns: f64, cache_program: bool) -> Cost {
        let on_die = if cache_program {
            self.program_ns
        } else {
            self.bus_ns + self.program_ns
        };
        Cost {
            first: firmware_ns + self.bus_ns + self.program_ns,
            next: firmware_ns + (self.bus_ns / self.channels).max(on_die / self.dies),
            energy_j: self.program_j + self.bus_j,
            bus_bytes: self.bytes,
        }
    }

    fn moving(&self, controller: &CardControllerSection, firmware_ns: f64, decode_ns: f64) -> Cost {
        let array_ns = self.stripes * self.read_ns + self.program_ns;
        let array_j = self.stripes * self.read_j + self.program_j;
        if controller.copyback {
            return Cost {
                first: firmware_ns + array_ns,
                next: firmware_ns + array_ns / self.dies,
                energy_j: array_j,
                bus_bytes: 0,
            };
        }
        let all_ns = array_ns + 2.0 * self.bus_ns + decode_ns;
        Cost {
            first: firmware_ns + all_ns,
            next: firmware_ns + (2.0 * self.bus_ns / self.channels).max(all_ns / self.dies),
            energy_j: array_j + 2.0 * self.bus_j,
            bus_bytes: 2 * self.bytes,
        }
    }
}
