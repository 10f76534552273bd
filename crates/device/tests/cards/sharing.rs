//! A log that several AUs share: the cost of a page by the number of AUs in the log and the number of its blocks.

use super::{exactly, full, link_us, write_us};
use crate::support::card::*;
use crate::support::{device_on, discard, one, plain::FAST_LINK, sound};
use nandscope_device::profile::Profile;
use nandscope_device::profile::card::{OutOfOrder, SharedLogSection};
use nandscope_device::{Device, Status};

/// Pages of an AU: more than in other tests, so that many write lengths lie between a page and an AU.
const PAGES: u64 = 64;
const AU: u64 = PAGES * PAGE;

/// Three open AUs, and a log of `blocks` blocks shared by up to `aus` other AUs.
fn shared(blocks: u32, aus: u32) -> Profile {
    let mut p = plain();
    p.nand.word_lines = PAGES as u32;
    p.device.capacity_bytes = 40 * AU;
    let card = section(&mut p);
    card.au_kib = (AU / KIB) as u32;
    card.log_kib = Some((AU / KIB / 2) as u32);
    card.shared_log = Some(SharedLogSection { blocks, aus });
    p
}

/// Writes `aus` AUs in turn, each in order in pieces of `piece` pages, and repeats that `passes` times.
fn in_turn(d: &mut Device, aus: u64, piece: u64, passes: u64) {
    for _ in 0..passes {
        for page in (0..PAGES).step_by(piece as usize) {
            for au in 0..aus {
                write_us(d, 2 * au * AU + page * PAGE, piece * PAGE);
            }
        }
    }
    sound(d);
}

/// Number of pages moved by merges.
fn moved(d: &Device) -> u64 {
    d.counters().gc_writes.0 / PAGE
}

#[test]
fn a_page_costs_the_aus_in_the_log_over_its_blocks_at_any_length() {
    const PASSES: u64 = 12;
    for sharing in 1..=5 {
        for blocks in 1..=3 {
            for piece in [1, 2, 4, 8] {
                // In longer rounds some AUs are not in the log when the open ones become complete, and replace them.
                if 2 * sharing * piece >= PAGES {
                    continue;
                }
                let mut d = full(&shared(blocks, 8));
                in_turn(&mut d, 3 + sharing, piece, PASSES);
                let logged = sharing * PAGES * PASSES;
                // The page that finds the log full causes a reclaim, which merges all AUs in it.
                let reclaims = logged.div_ceil(u64::from(blocks) * PAGES) - 1;
                assert_eq!(
                    moved(&d),
                    reclaims * sharing * PAGES,
                    "{sharing} AUs in {blocks} blocks, pieces of {piece} pages"
                );
            }
        }
    }
}

#[test]
fn beyond_four_open_aus_a_byte_costs_four_times_as_much() {
    // Three AUs more in a log of one block: each of their pages is programmed once by the host, three times by merges.
    let mut p = shared(1, 3);
    section(&mut p).open_aus = 4;
    let mut costs = Vec::new();
    for piece in [1, 2, 4, 8] {
        let mut d = full(&p);
        in_turn(&mut d, 7, piece, 20);
        let logged = 3 * PAGES * 20;
        costs.push((logged + moved(&d)) as f64 / logged as f64);
    }
    assert!(costs.iter().all(|c| (c - 4.0).abs() < 0.1), "{costs:?}");
}

#[test]
fn nothing_is_shared_up_to_the_open_aus_and_by_whole_aus() {
    let mut d = full(&shared(1, 8));
    in_turn(&mut d, 3, 1, 4);
    assert_eq!(moved(&d), 0);
    in_turn(&mut d, 9, PAGES, 4);
    assert_eq!(moved(&d), 0);
}

#[test]
fn a_reclaim_takes_its_merges_and_erases_at_once() {
    let mut d = full(&shared(1, 8));
    for au in 0..3 {
        write_us(&mut d, au * AU, PAGE);
    }
    let page = link_us(PAGE) + WRITE_PAGE_US;
    // The first page takes a physical AU for the log.
    let got = write_us(&mut d, 3 * AU, PAGE);
    exactly("the first", got, page + ERASE_US);
    for i in 1..PAGES {
        let au = 3 + i % 2;
        let got = write_us(&mut d, au * AU + i * PAGE, PAGE);
        exactly("a page of the log", got, page);
    }
    // Two AUs go to fresh blocks, and the log to another.
    let merges = 2.0 * (PAGES as f64 * MOVE_PAGE_US + ERASE_US);
    let got = write_us(&mut d, 3 * AU, PAGE);
    let expected = page + merges + ERASE_US;
    exactly("the page after them", got, expected);
    sound(&d);
}

#[test]
fn one_au_more_than_the_log_takes_costs_merges_for_every_piece() {
    let mut d = full(&shared(2, 2));
    // Without the last pages: the open AUs would be complete with them.
    for page in 0..PAGES - 1 {
        for au in 0..6 {
            write_us(&mut d, 2 * au * AU + page * PAGE, PAGE);
        }
    }
    sound(&d);
    // Every second piece finds two other AUs in the log. The log had one page of each for most of the time, yet all of
    // their pages are moved.
    let pieces = 3 * (PAGES - 1);
    let reclaims = pieces.div_ceil(2) - 1;
    assert_eq!(moved(&d), reclaims * 2 * PAGES);
}

#[test]
fn open_aus_that_rest_make_room_after_two_logs() {
    let mut d = full(&shared(1, 8));
    for au in 0..3 {
        write_us(&mut d, au * AU, PAGE);
    }
    in_turn_elsewhere(&mut d, 2 * PAGES);
    assert_eq!(moved(&d), PAGES, "the log was reclaimed once");
    in_turn_elsewhere(&mut d, 1);
    // The second reclaim closes all three: their other pages are moved.
    assert_eq!(moved(&d), 2 * PAGES + 3 * (PAGES - 1));
    // The AU is in the log now. Another AU is opened.
    let opened = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
    exactly("opened", write_us(&mut d, 20 * AU, PAGE), opened);
    sound(&d);
}

/// Writes `pages` pages of another AU in order.
fn in_turn_elsewhere(d: &mut Device, pages: u64) {
    for i in 0..pages {
        write_us(d, 10 * AU + i % PAGES * PAGE, PAGE);
    }
}

#[test]
fn parts_of_pages_join_only_at_the_end_of_the_log() {
    let mut p = shared(1, 8);
    section(&mut p).partial_programs = 4;
    let half = PAGE / 2;
    let programmed = |turns: &[(u64, u64)]| {
        let mut d = full(&p);
        for au in 0..3 {
            write_us(&mut d, au * AU, PAGE);
        }
        let before = d.counters();
        for (au, part) in turns {
            write_us(&mut d, au * AU + part * half, half);
        }
        sound(&d);
        let after = d.counters();
        let fills = after.page_reads - before.page_reads;
        (
            (after.flash_programmed.0 - before.flash_programmed.0) / PAGE,
            fills,
        )
    };
    // Both halves of a page in succession: two programs of one page. Alternating with another AU: a page each, the
    // second including the first half read back.
    assert_eq!(programmed(&[(3, 0), (3, 1), (4, 0), (4, 1)]), (4, 0));
    assert_eq!(programmed(&[(3, 0), (4, 0), (3, 1), (4, 1)]), (4, 2));
    let mut d = full(&p);
    for au in 0..3 {
        write_us(&mut d, au * AU, PAGE);
    }
    for i in 0..2 * PAGES {
        write_us(&mut d, 3 * AU + i * half, half);
    }
    assert_eq!(moved(&d), 0, "a log holds twice as many halves in a row");
    for i in 0..2 {
        write_us(&mut d, 3 * AU + i * half, half);
    }
    assert_eq!(moved(&d), PAGES);
}

#[test]
fn a_discarded_au_leaves_the_log() {
    let mut d = full(&shared(1, 8));
    for au in 0..3 {
        write_us(&mut d, au * AU, PAGE);
    }
    for i in 0..PAGES {
        write_us(&mut d, (3 + i % 2) * AU + i * PAGE, PAGE);
    }
    let done = one(&mut d, discard(0, 3 * AU, AU));
    assert_eq!(done.status, Status::Ok);
    sound(&d);
    write_us(&mut d, 5 * AU, PAGE);
    assert_eq!(moved(&d), PAGES, "AU 4 alone is merged");
    sound(&d);
}

#[test]
fn an_au_that_held_nothing_is_merged_from_the_log_alone() {
    let mut d = device_on(&shared(1, 8), FAST_LINK);
    for au in 0..3 {
        write_us(&mut d, au * AU, PAGE);
    }
    for i in 0..=PAGES {
        write_us(&mut d, 3 * AU + i % 5 * PAGE, PAGE);
    }
    assert_eq!(moved(&d), 5);
    sound(&d);
}

#[test]
fn fat_units_do_not_share_the_log() {
    let mut p = shared(1, 1);
    let card = section(&mut p);
    card.fat = Some(nandscope_device::profile::card::FatSection {
        first_au: 0,
        aus: 3,
        apart_aus: 1,
        open_aus: 1,
        out_of_order: OutOfOrder::Log,
        log_kib: card.log_kib,
        log_first: false,
        slc: false,
    });
    let mut d = full(&p);
    // Three AUs of the FAT area in turn with one open AU: each piece causes a merge of another AU.
    for au in 0..3 {
        write_us(&mut d, au * AU, PAGE);
    }
    assert_eq!(moved(&d), 2 * (PAGES - 1));
    sound(&d);
}
