//! Time of reads on cards with allocation units.

use super::{exactly, full, link_us, read_us};
use crate::support::card::*;

#[test]
fn reads_across_a_page_and_across_an_au_cost_what_they_say() {
    let mut p = plain();
    section(&mut p).controller.au_lookup_us = 30.0;
    let mut d = full(&p);
    let sector = 512;
    // Only the requested sectors are transferred.
    let bus_us = |bytes: u64| BUS_US * bytes as f64 / PAGE as f64;
    let within = READ_US + bus_us(2 * sector) + link_us(2 * sector);
    exactly(
        "within a page",
        read_us(&mut d, 3 * PAGE, 2 * sector),
        within,
    );
    exactly(
        "to the end of a page",
        read_us(&mut d, 3 * PAGE - 2 * sector, 2 * sector),
        within,
    );
    // The second page waits for the first; then only its sector must cross the link.
    let across = 2.0 * READ_US + bus_us(2 * sector) + link_us(sector);
    exactly(
        "across a page",
        read_us(&mut d, 5 * PAGE - sector, 2 * sector),
        across,
    );
    exactly(
        "across an AU",
        read_us(&mut d, 2 * AU - sector, 2 * sector),
        across + 30.0,
    );
}

#[test]
fn array_times_of_a_read_overlap_on_different_dies_only() {
    let read = 4 * PAGE;
    let rest = 4.0 * BUS_US + link_us(512);
    for (dies, rounds) in [(1, 4.0), (2, 2.0), (4, 1.0)] {
        let mut p = plain();
        p.nand.dies_per_channel = dies;
        p.nand.blocks_per_plane = 64 / dies;
        section(&mut p).au_kib = (AU / KIB) as u32 * dies;
        let mut d = full(&p);
        let expected = rounds * READ_US + rest;
        exactly(&format!("{dies} dies"), read_us(&mut d, 0, read), expected);
    }
}

#[test]
fn reads_in_turn_are_read_ahead_if_the_controller_follows_as_many() {
    let in_turn_us = |streams: u32| {
        let mut p = plain();
        let controller = &mut section(&mut p).controller;
        controller.read_ahead_kib = 8 * (PAGE / KIB) as u32;
        controller.read_ahead_streams = streams;
        let mut d = full(&p);
        let mut last = [0.0; 2];
        for page in 1..8 {
            for (place, last) in (0..2).zip(&mut last) {
                *last = read_us(&mut d, 2 * place * AU + page * PAGE, PAGE);
            }
        }
        last[0].max(last[1])
    };
    // A single read waits for the flash.
    exactly(
        "one is followed",
        in_turn_us(1),
        READ_US + BUS_US + link_us(PAGE),
    );
    let followed = in_turn_us(2);
    assert!(followed < in_turn_us(1), "{followed}");
    exactly("more than there are", in_turn_us(4), followed);
}
