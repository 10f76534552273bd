//! Cost of closing an allocation unit: when pages are copied, and when the merge is deferred.

use super::{exactly, full, link_us, write_us};
use crate::support::card::*;
use crate::support::{discard, near, one, rest, sound};
use nandscope_device::Status;
use nandscope_device::profile::Profile;
use nandscope_device::profile::card::OutOfOrder;
use nandscope_units::Nanos;

#[test]
fn closing_an_au_copies_the_pages_that_were_not_written() {
    let mut d = full(&plain());
    for au in 0..3 {
        let opened = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
        exactly("a new AU", write_us(&mut d, au * AU, PAGE), opened);
    }
    // A fourth AU closes the first: a partial merge of the 15 pages after the one written.
    let merged = link_us(PAGE) + WRITE_PAGE_US + ERASE_US + (PAGES - 1) as f64 * MOVE_PAGE_US;
    exactly("a merge", write_us(&mut d, 3 * AU, PAGE), merged);
    assert_eq!(d.counters().gc_writes.0, (PAGES - 1) * PAGE);
    sound(&d);
}

#[test]
fn copyback_spares_both_transfers() {
    let mut p = plain();
    section(&mut p).controller.copyback = true;
    let mut d = full(&p);
    for au in 0..3 {
        write_us(&mut d, au * AU, PAGE);
    }
    let merged =
        link_us(PAGE) + WRITE_PAGE_US + ERASE_US + (PAGES - 1) as f64 * (READ_US + PROGRAM_US);
    exactly("a merge", write_us(&mut d, 3 * AU, PAGE), merged);
}

#[test]
fn pages_out_of_order_go_to_the_log_until_a_full_merge() {
    let mut d = full(&plain());
    let page = |i: u64| i * PAGE;
    // Eight pages fill the log. The first of them opens the AU.
    write_us(&mut d, page(15), PAGE);
    for i in 1..8 {
        let logged = link_us(PAGE) + WRITE_PAGE_US;
        exactly(
            "a page to the log",
            write_us(&mut d, page(15 - i), PAGE),
            logged,
        );
    }
    // The ninth page waits for the merge of all 16 pages: those of the old block and the log go into the new block.
    // Then log and new block are erased for further pages.
    let merge = PAGES as f64 * MOVE_PAGE_US + 2.0 * ERASE_US;
    let expected = link_us(PAGE) + WRITE_PAGE_US + merge;
    exactly(
        "a page to a full log",
        write_us(&mut d, page(7), PAGE),
        expected,
    );
    sound(&d);
}

/// Mean time of a page, µs, if `aus` AUs are written in turn, one page of each at a time.
fn in_turn(p: &Profile, aus: u64) -> f64 {
    let mut sum = 0.0;
    let mut d = full(p);
    for page in 0..PAGES {
        for au in 0..aus {
            sum += write_us(&mut d, 2 * au * AU + page * PAGE, PAGE);
        }
    }
    sound(&d);
    sum / (PAGES * aus) as f64
}

#[test]
fn one_au_more_than_can_be_open_costs_a_merge_for_every_page() {
    let p = plain();
    let free = link_us(PAGE) + WRITE_PAGE_US + ERASE_US / PAGES as f64;
    for aus in 1..=3 {
        exactly("AUs up to the limit", in_turn(&p, aus), free);
    }
    // With more AUs than can be open, each page reopens its AU, goes to the log there (except page 0), and causes a
    // merge of another AU: all pages except the one in place, and the log's block if there is one.
    for aus in 4..=6 {
        let merges = PAGES * aus - 3;
        let without_log = aus;
        let moved = merges * PAGES - without_log;
        let erases = PAGES * aus + merges - without_log;
        let expected = link_us(PAGE)
            + WRITE_PAGE_US
            + (moved as f64 * MOVE_PAGE_US + erases as f64 * ERASE_US) / (PAGES * aus) as f64;
        exactly("AUs beyond the limit", in_turn(&p, aus), expected);
    }
}

#[test]
fn whole_aus_cost_nothing_however_many_there_are() {
    let mut d = full(&plain());
    for round in 0..3 {
        for au in 0..20 {
            let expected = link_us(PAGE) + PAGES as f64 * WRITE_PAGE_US + ERASE_US;
            let au = (au * 7 + round) % 20;
            exactly("a switch merge", write_us(&mut d, au * AU, AU), expected);
        }
    }
    assert_eq!(d.counters().gc_writes.0, 0);
}

#[test]
fn a_page_in_order_that_was_written_again_asks_for_a_full_merge() {
    let mut p = plain();
    section(&mut p).open_aus = 1;
    let mut d = full(&p);
    for page in [0, 1, 2, 3, 0] {
        write_us(&mut d, page * PAGE, PAGE);
    }
    // All pages are copied to a third AU; new block and log are erased.
    let merge = PAGES as f64 * MOVE_PAGE_US + 2.0 * ERASE_US;
    let expected = link_us(PAGE) + WRITE_PAGE_US + ERASE_US + merge;
    exactly("a full merge", write_us(&mut d, AU, PAGE), expected);
    // A page ahead of the sequence goes from the log after the pages in order, and only the log is erased.
    for page in [1, 2, 8] {
        write_us(&mut d, AU + page * PAGE, PAGE);
    }
    let merge = (PAGES - 3) as f64 * MOVE_PAGE_US + ERASE_US;
    let expected = link_us(PAGE) + WRITE_PAGE_US + ERASE_US + merge;
    exactly("a partial merge", write_us(&mut d, 2 * AU, PAGE), expected);
    sound(&d);
}

#[test]
fn a_linear_open_au_is_written_anew_when_it_goes_back() {
    let mut p = plain();
    let card = section(&mut p);
    card.out_of_order = OutOfOrder::Rewrite;
    card.log_kib = None;
    let mut d = full(&p);
    write_us(&mut d, 0, 8 * PAGE);
    // Forward: the pages in between are copied.
    let forward = link_us(PAGE) + WRITE_PAGE_US + 2.0 * MOVE_PAGE_US;
    exactly("forward", write_us(&mut d, 10 * PAGE, PAGE), forward);
    // Backward: the rest of the AU is copied, and the new block begins with the pages before.
    let back = link_us(PAGE) + WRITE_PAGE_US + 5.0 * MOVE_PAGE_US + 2.0 * MOVE_PAGE_US + ERASE_US;
    exactly("back", write_us(&mut d, 2 * PAGE, PAGE), back);
}

#[test]
fn merges_that_were_put_off_stall_all_at_once() {
    let mut p = plain();
    section(&mut p).deferred_merges = 2;
    let mut d = full(&p);
    let opened = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
    for au in 0..5 {
        exactly("put off", write_us(&mut d, au * AU, PAGE), opened);
    }
    let merge = (PAGES - 1) as f64 * MOVE_PAGE_US;
    exactly(
        "the third",
        write_us(&mut d, 5 * AU, PAGE),
        opened + 3.0 * merge,
    );
    // No deferred merge is left: the sequence starts over.
    exactly("the next", write_us(&mut d, 6 * AU, PAGE), opened);
    sound(&d);
}

#[test]
fn merges_that_were_put_off_are_done_in_idle_time() {
    let mut p = plain();
    let card = section(&mut p);
    card.deferred_merges = 2;
    card.merge_after_ms = 100.0;
    let mut d = full(&p);
    for au in 0..5 {
        write_us(&mut d, au * AU, PAGE);
    }
    let merge = (PAGES - 1) as f64 * MOVE_PAGE_US;
    rest(&mut d, Nanos::from_micros_f64(100e3 - 1.0));
    assert_eq!(d.counters().gc_writes.0, 0, "not yet");
    rest(&mut d, Nanos::from_micros_f64(1.0 + merge / 2.0));
    // A command that arrives during the first merge waits for its end.
    let opened = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
    let got = write_us(&mut d, 5 * AU, PAGE);
    near("after a merge", got, merge / 2.0 + opened, 0.001);
    rest(&mut d, Nanos::from_micros_f64(100e3 + 3.0 * merge));
    assert_eq!(d.counters().gc_writes.0, 3 * (PAGES - 1) * PAGE);
    for au in 6..8 {
        exactly("room again", write_us(&mut d, au * AU, PAGE), opened);
    }
    sound(&d);
}

#[test]
fn a_discarded_au_has_nothing_to_copy() {
    // AUs 10 and 11 lie entirely in the range, 9 and 12 do not.
    for (au, moved) in [(10, 0), (11, 0), (9, PAGES - 1), (12, PAGES - 1)] {
        let mut d = full(&plain());
        let done = one(&mut d, discard(0, 10 * AU - PAGE, 2 * AU + PAGE));
        assert_eq!(done.status, Status::Ok);
        for opened in [au, 20, 22] {
            write_us(&mut d, opened * AU, PAGE);
        }
        let expected = link_us(PAGE) + WRITE_PAGE_US + ERASE_US + moved as f64 * MOVE_PAGE_US;
        exactly("closing it", write_us(&mut d, 24 * AU, PAGE), expected);
        sound(&d);
    }
}
