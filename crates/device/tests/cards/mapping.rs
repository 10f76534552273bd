//! Open allocation units with the page-mapped policy.

use super::{exactly, full, link_us, write_us};
use crate::support::card::*;
use crate::support::sound;
use nandscope_device::profile::Profile;
use nandscope_device::profile::card::OutOfOrder;

/// The card with page-mapped AUs instead of a log.
fn mapped(mut p: Profile) -> Profile {
    let card = section(&mut p);
    card.out_of_order = OutOfOrder::Map;
    card.log_kib = None;
    p
}

#[test]
fn a_mapped_au_takes_pages_in_any_order() {
    let mut d = full(&mapped(plain()));
    for round in 0..3 {
        for i in 0..PAGES {
            let page = (i * 5 + round) % PAGES;
            let erase = if i == 0 { ERASE_US } else { 0.0 };
            let expected = link_us(PAGE) + WRITE_PAGE_US + erase;
            exactly("a page", write_us(&mut d, AU + page * PAGE, PAGE), expected);
        }
    }
    assert_eq!(d.counters().gc_writes.0, 0);
    sound(&d);
}

#[test]
fn a_merge_that_is_put_off_empties_the_block_that_waits() {
    let mut p = mapped(plain());
    let card = section(&mut p);
    card.open_aus = 1;
    card.deferred_merges = 2;
    let mut d = full(&p);
    // Fills a block with twelve pages, four of them twice; then writes the first page once more.
    for page in (0..12).chain(0..4).chain(0..1) {
        write_us(&mut d, AU + page * PAGE, PAGE);
    }
    let opens = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
    let empties = opens + 4.0 * MOVE_PAGE_US;
    exactly("put off", write_us(&mut d, 2 * AU, PAGE), empties);
    // The other eleven pages of the full block are moved only when the AU is opened again.
    let late = opens + 11.0 * MOVE_PAGE_US;
    exactly("done", write_us(&mut d, AU, PAGE), late);
    sound(&d);
}

/// Time of a write to the first page of a page-mapped AU after writes to `pages` of it.
fn mapped_after(pages: impl Iterator<Item = u64>) -> f64 {
    mapped_with(plain(), pages)
}

fn mapped_with(p: Profile, pages: impl Iterator<Item = u64>) -> f64 {
    let mut d = full(&mapped(p));
    for page in pages {
        write_us(&mut d, AU + page * PAGE, PAGE);
        sound(&d);
    }
    write_us(&mut d, AU, PAGE)
}

#[test]
fn a_full_block_of_a_mapped_au_waits_until_little_of_it_is_left() {
    let page = link_us(PAGE) + WRITE_PAGE_US;
    // Twelve pages, and four of them again, fill a block; nothing has to be moved yet.
    let first = || (0..12).chain(0..4);
    exactly("a full block", mapped_after(first()), page + ERASE_US);
    // One block later, the four pages that were not overwritten are moved.
    let second = first().chain(0..12).chain(0..4);
    let moved = page + ERASE_US + 4.0 * MOVE_PAGE_US;
    exactly("two full blocks", mapped_after(second), moved);
    // If those four pages were overwritten meanwhile, no page is moved.
    let second = first().chain(4..16).chain(4..8);
    exactly("two others", mapped_after(second), page + ERASE_US);
    // After a single page most of the old block is still valid, so the whole block is merged.
    let merged = page + 2.0 * ERASE_US + PAGES as f64 * MOVE_PAGE_US;
    let same = (0..2 * PAGES).map(|_| 0);
    exactly("one page", mapped_after(same), merged);
    // With only one spare AU per open AU and two more, no full block can be kept.
    let mut tight = plain();
    tight.nand.blocks_per_plane = 40 + 5;
    let moved = page + ERASE_US + 4.0 * MOVE_PAGE_US;
    exactly("no room to wait", mapped_with(tight, first()), moved);
}
