//! A small card with allocation units and simple times: all times except those given here are zero.

use nandscope_device::profile::Profile;
use nandscope_device::profile::card::{CardSection, OutOfOrder};
use nandscope_device::profile::schema::{Acknowledge, Cell};

pub const KIB: u64 = 1024;
pub const PAGE: u64 = 16 * KIB;
pub const PAGES: u64 = 16;
pub const AU: u64 = PAGES * PAGE;

/// Times of a page, µs: bus transfer, array read, array program.
pub const BUS_US: f64 = 100.0;
pub const READ_US: f64 = 50.0;
pub const PROGRAM_US: f64 = 1000.0;
pub const ERASE_US: f64 = 500.0;
/// Times, µs: to write a page, to read a page, to move a page over the bus.
pub const WRITE_PAGE_US: f64 = BUS_US + PROGRAM_US;
pub const READ_PAGE_US: f64 = READ_US + BUS_US;
pub const MOVE_PAGE_US: f64 = READ_US + PROGRAM_US + 2.0 * BUS_US;

/// Three open AUs of 16 pages of 16 KiB, each with a log of half an AU; 40 AUs on one die of 64.
pub fn plain() -> Profile {
    let mut p = super::profile("recorded-kingston-sd-8gb");
    p.nand.cell = Cell::Slc;
    p.nand.native = None;
    p.nand.channels = 1;
    p.nand.dies_per_channel = 1;
    p.nand.planes = 1;
    p.nand.blocks_per_plane = 64;
    p.nand.word_lines = PAGES as u32;
    p.nand.page_kib = 16;
    p.nand.bus_mt_per_s = PAGE as f64 / BUS_US;
    p.nand.bus_overhead_ns = 0;
    p.nand.factory_bad_percent = 0.0;
    p.nand.slc.read_us = vec![READ_US];
    p.nand.slc.program_us = vec![PROGRAM_US];
    p.nand.slc.erase_us = ERASE_US;
    p.nand.slc.cycles = 1_000_000;
    super::plain::no_errors(&mut p);
    p.device.capacity_bytes = 40 * AU;
    let card = section(&mut p);
    card.au_kib = (AU / KIB) as u32;
    card.open_aus = 3;
    card.out_of_order = OutOfOrder::Log;
    card.log_kib = Some((AU / KIB / 2) as u32);
    card.partial_programs = 1;
    card.switch_us = 0.0;
    card.wear_spread_cycles = 0;
    card.refresh_reads = 0;
    let c = &mut card.controller;
    c.read_us = 0.0;
    c.write_us = 0.0;
    c.au_lookup_us = 0.0;
    c.page_us = 0.0;
    c.read_page_us = None;
    c.move_us = 0.0;
    c.decode_us = 0.0;
    c.copyback = false;
    c.buffer_kib = 64;
    c.read_ahead_kib = 0;
    super::plain::attach(&mut p, super::plain::FAST_LINK);
    p.interface[0].acknowledge = Acknowledge::Programmed;
    p
}

pub fn section(profile: &mut Profile) -> &mut CardSection {
    profile.card.as_mut().expect("a card")
}
