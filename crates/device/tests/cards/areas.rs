//! Special areas: the FAT area and the area for small writes.

use super::{exactly, full, link_us, write_us};
use crate::support::card::*;
use crate::support::{near, sound};
use nandscope_device::profile::Profile;
use nandscope_device::profile::card::{FatSection, OutOfOrder, SmallWritesSection};
use nandscope_device::profile::schema::Cell;

fn with_fat(p: &mut Profile) {
    let card = section(p);
    card.open_aus += 1;
    card.fat = Some(FatSection {
        first_au: 0,
        aus: 1,
        apart_aus: 1,
        open_aus: 1,
        out_of_order: OutOfOrder::Map,
        log_kib: None,
        log_first: false,
        slc: false,
    });
}

/// Bytes moved while three files grow, with a FAT write after each of their pages.
fn moved_by_files(p: &Profile) -> u64 {
    let mut d = full(p);
    for page in 0..PAGES {
        for file in 1..=3 {
            write_us(&mut d, file * AU + page * PAGE, PAGE);
            write_us(&mut d, (page * 3 + file) % PAGES * PAGE, PAGE);
        }
    }
    sound(&d);
    d.counters().gc_writes.0
}

#[test]
fn a_pinned_fat_au_leaves_the_open_aus_to_files() {
    let mut p = plain();
    let without = moved_by_files(&p);
    // The FAT's AU is always the most recently written, so that three files share two open AUs: every page except the
    // first ones closes an AU, which is merged.
    let merges = (PAGES - 1) * 3;
    assert!(without > merges * (PAGES - 1) * PAGE, "{without}");
    with_fat(&mut p);
    assert_eq!(moved_by_files(&p), 0);
}

#[test]
fn the_fat_area_has_open_aus_of_its_own_and_no_more() {
    let mut p = plain();
    with_fat(&mut p);
    section(&mut p).fat.as_mut().unwrap().aus = 2;
    let mut d = full(&p);
    let opens = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
    exactly("the first", write_us(&mut d, 0, PAGE), opens);
    // Another AU of the FAT area closes it, though no data AU is open.
    let merge = (PAGES - 1) as f64 * MOVE_PAGE_US;
    exactly("the second", write_us(&mut d, AU, PAGE), opens + merge);
    for au in 2..5 {
        exactly("data", write_us(&mut d, au * AU, PAGE), opens);
    }
    exactly("data", write_us(&mut d, 5 * AU, PAGE), opens + merge);
    sound(&d);
}

#[test]
fn the_aus_of_a_fat_area_may_lie_apart() {
    let mut p = plain();
    with_fat(&mut p);
    let fat = section(&mut p).fat.as_mut().unwrap();
    (fat.aus, fat.apart_aus) = (2, 3);
    let mut d = full(&p);
    let opens = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
    let merge = (PAGES - 1) as f64 * MOVE_PAGE_US;
    exactly("the first", write_us(&mut d, 0, PAGE), opens);
    for au in [1, 2, 4] {
        exactly("data", write_us(&mut d, au * AU, PAGE), opens);
    }
    exactly("the second", write_us(&mut d, 3 * AU, PAGE), opens + merge);
    exactly("data", write_us(&mut d, 6 * AU, PAGE), opens + merge);
    sound(&d);
}

#[test]
fn a_fat_area_in_slc_programs_as_slc_does() {
    let mut p = plain();
    with_fat(&mut p);
    section(&mut p).fat.as_mut().unwrap().slc = true;
    p.nand.cell = Cell::Mlc;
    p.nand.word_lines = PAGES as u32 / 2;
    let mut slower = p.nand.slc.clone();
    slower.read_us = vec![READ_US; 2];
    slower.program_us = vec![3.0 * PROGRAM_US; 2];
    p.nand.native = Some(slower);
    let mut d = full(&p);
    let opens = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
    exactly("the FAT", write_us(&mut d, 0, PAGE), opens);
    let data = opens + 2.0 * PROGRAM_US;
    exactly("data", write_us(&mut d, AU, PAGE), data);
}

#[test]
fn a_fat_area_that_goes_to_the_log_first_is_written_twice() {
    let mut p = plain();
    with_fat(&mut p);
    let fat = section(&mut p).fat.as_mut().unwrap();
    fat.out_of_order = OutOfOrder::Log;
    fat.log_kib = Some((AU / KIB) as u32);
    fat.log_first = true;
    let mut d = full(&p);
    write_us(&mut d, 0, AU);
    let twice = PAGES as f64 * (WRITE_PAGE_US + MOVE_PAGE_US);
    let got = write_us(&mut d, 0, AU);
    near(
        "an AU of the FAT",
        got,
        link_us(PAGE) + twice + 2.0 * ERASE_US,
        0.001,
    );
}

#[test]
fn small_writes_go_elsewhere_unless_they_follow_each_other() {
    let mut p = plain();
    let card = section(&mut p);
    card.partial_programs = 4;
    card.small_writes = Some(SmallWritesSection {
        up_to_kib: 4,
        cluster_kib: 64,
    });
    let mut d = full(&p);
    write_us(&mut d, 5 * AU, 4 * KIB);
    let follows = link_us(4 * KIB) + WRITE_PAGE_US + ERASE_US + READ_PAGE_US;
    exactly(
        "the next 4 KiB",
        write_us(&mut d, 5 * AU + 4 * KIB, 4 * KIB),
        follows,
    );
    let alone = link_us(4 * KIB) + 4.0 * MOVE_PAGE_US;
    // An AU holds four clusters, one of them written above; the first of each four erases it.
    for (au, erase_us) in [(20, 0.0), (3, 0.0), (11, 0.0), (30, ERASE_US), (20, 0.0)] {
        let took = write_us(&mut d, au * AU, 4 * KIB);
        exactly("4 KiB alone", took, alone + erase_us);
    }
    sound(&d);
}
