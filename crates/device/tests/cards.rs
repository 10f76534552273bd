//! Cards with allocation units against closed forms.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use nandscope_device::profile::Profile;
use nandscope_device::profile::card::{FatSection, OutOfOrder, SmallWritesSection};
use nandscope_device::profile::schema::Cell;
use nandscope_device::{Command, CommandKind, Device, Fill, Status};
use nandscope_units::Nanos;
use support::card::*;
use support::plain::{FAST_LINK, attach, link_ns};
use support::{device_on, discard, near, one, read, rest, sound, write};

/// A full card at rest.
fn full(p: &Profile) -> Device {
    let mut d = device_on(p, FAST_LINK);
    assert!(d.precondition(1.0, Fill::Sequential));
    d
}

/// Time of one write, µs.
fn write_us(d: &mut Device, offset: u64, length: u64) -> f64 {
    let done = one(d, write(0, offset, length as u32));
    assert_eq!(done.status, Status::Ok);
    done.latency().as_micros_f64()
}

/// Time of one read, µs.
fn read_us(d: &mut Device, offset: u64, length: u64) -> f64 {
    let done = one(d, read(0, offset, length as u32));
    assert_eq!(done.status, Status::Ok);
    done.latency().as_micros_f64()
}

fn link_us(bytes: u64) -> f64 {
    link_ns(FAST_LINK, bytes) as f64 / 1e3
}

/// Exactly, but for what is lost where times become whole nanoseconds.
#[track_caller]
fn exactly(what: &str, got: f64, expected: f64) {
    assert!(
        (got - expected).abs() < 0.01,
        "{what}: {got} instead of {expected} µs"
    );
}

#[test]
fn linear_writing_runs_at_the_rate_of_programs() {
    let mut d = full(&plain());
    for i in 0..8 {
        // An AU in order: its pages one after another behind the first one's transfer, an erase,
        // and nothing to copy at the end.
        let expected = link_us(PAGE) + PAGES as f64 * WRITE_PAGE_US + ERASE_US;
        exactly("an AU", write_us(&mut d, i * AU, AU), expected);
    }
    assert_eq!(d.counters().collected.0, 0);
    sound(&d);
}

#[test]
fn linear_writing_runs_at_the_rate_of_the_link_where_that_is_lower() {
    let mut p = plain();
    p.nand.slc.program_us = vec![1.0];
    p.nand.slc.erase_us = 1.0;
    let link = "sd-default";
    attach(&mut p, link);
    let mut d = device_on(&p, link);
    for i in 0..8 {
        let expected = link_ns(link, AU) as f64 / 1e3;
        exactly("an AU", write_us(&mut d, i * AU, AU), expected);
    }
}

#[test]
fn a_buffer_of_one_page_lets_link_and_flash_take_turns() {
    let mut p = plain();
    section(&mut p).controller.buffer_kib = 16;
    let link = "sd-default";
    attach(&mut p, link);
    let mut d = device_on(&p, link);
    let expected = link_ns(link, AU) as f64 / 1e3 + PAGES as f64 * WRITE_PAGE_US + ERASE_US;
    exactly("an AU", write_us(&mut d, 0, AU), expected);
}

#[test]
fn closing_an_au_copies_the_pages_that_were_not_written() {
    let mut d = full(&plain());
    for au in 0..3 {
        let opened = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
        exactly("a new AU", write_us(&mut d, au * AU, PAGE), opened);
    }
    // A fourth AU closes the first: a partial merge of the 15 pages behind the one written.
    let merged = link_us(PAGE) + WRITE_PAGE_US + ERASE_US + (PAGES - 1) as f64 * MOVE_PAGE_US;
    exactly("a merge", write_us(&mut d, 3 * AU, PAGE), merged);
    assert_eq!(d.counters().collected.0, (PAGES - 1) * PAGE);
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
    // Eight pages fill the log. The AU is opened with the first.
    write_us(&mut d, page(15), PAGE);
    for i in 1..8 {
        let logged = link_us(PAGE) + WRITE_PAGE_US;
        exactly(
            "a page to the log",
            write_us(&mut d, page(15 - i), PAGE),
            logged,
        );
    }
    // The ninth waits for all 16 pages: those of the log go behind those of the old block into the
    // new one. Then log and new block are erased for what follows.
    let merge = PAGES as f64 * MOVE_PAGE_US + 2.0 * ERASE_US;
    let expected = link_us(PAGE) + WRITE_PAGE_US + merge;
    exactly(
        "a page to a full log",
        write_us(&mut d, page(7), PAGE),
        expected,
    );
    sound(&d);
}

/// Mean time of a page, µs, where `aus` AUs are written in turn in order, a page of each.
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
    // Beyond it each page opens its AU anew, where it goes to the log (page 0 does not), and has
    // another AU merged: all pages but the one in place, and the log's block where there is one.
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
    assert_eq!(d.counters().collected.0, 0);
}

#[test]
fn parts_of_a_page_cost_a_program_each_as_often_as_the_page_allows() {
    let part = PAGE / 4;
    let mut p = plain();
    section(&mut p).partial_programs = 4;
    let mut d = full(&p);
    write_us(&mut d, 0, PAGE);
    for i in 4..12 {
        let expected = link_us(part) + WRITE_PAGE_US;
        exactly("a part", write_us(&mut d, i * part, part), expected);
    }
    // With a single program the second part goes to the log, together with what the page held; so
    // do the others, and the whole page is moved to its place.
    section(&mut p).partial_programs = 1;
    let mut d = full(&p);
    write_us(&mut d, 0, PAGE);
    for i in 4..12 {
        let first = i % 4 == 0;
        let last = i % 4 == 3;
        let expected = link_us(part)
            + WRITE_PAGE_US
            + if first { 0.0 } else { READ_PAGE_US }
            + if last { MOVE_PAGE_US } else { 0.0 };
        let got = write_us(&mut d, i * part, part);
        if i < 11 {
            exactly("a part through the log", got, expected);
        }
    }
    sound(&d);
}

#[test]
fn a_page_in_order_that_was_written_again_asks_for_a_full_merge() {
    let mut p = plain();
    section(&mut p).open_aus = 1;
    let mut d = full(&p);
    for page in [0, 1, 2, 3, 0] {
        write_us(&mut d, page * PAGE, PAGE);
    }
    // All pages go to a third AU; new block and log are erased.
    let merge = PAGES as f64 * MOVE_PAGE_US + 2.0 * ERASE_US;
    let expected = link_us(PAGE) + WRITE_PAGE_US + ERASE_US + merge;
    exactly("a full merge", write_us(&mut d, AU, PAGE), expected);
    // A page ahead in the log goes behind those in order, and the log alone is erased.
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
    // Forward: what lies between is copied.
    let forward = link_us(PAGE) + WRITE_PAGE_US + 2.0 * MOVE_PAGE_US;
    exactly("forward", write_us(&mut d, 10 * PAGE, PAGE), forward);
    // Back: the rest of the AU is copied, and the new block begins with what lies before.
    let back = link_us(PAGE) + WRITE_PAGE_US + 5.0 * MOVE_PAGE_US + 2.0 * MOVE_PAGE_US + ERASE_US;
    exactly("back", write_us(&mut d, 2 * PAGE, PAGE), back);
}

#[test]
fn a_mapped_au_takes_pages_in_any_order() {
    let mut p = plain();
    let card = section(&mut p);
    card.out_of_order = OutOfOrder::Map;
    card.log_kib = None;
    let mut d = full(&p);
    for round in 0..3 {
        for i in 0..PAGES {
            let page = (i * 5 + round) % PAGES;
            let erase = if i == 0 { ERASE_US } else { 0.0 };
            let expected = link_us(PAGE) + WRITE_PAGE_US + erase;
            exactly("a page", write_us(&mut d, AU + page * PAGE, PAGE), expected);
        }
    }
    assert_eq!(d.counters().collected.0, 0);
    sound(&d);
}

#[test]
fn a_merge_that_is_put_off_empties_the_block_that_waits() {
    let mut p = plain();
    let card = section(&mut p);
    card.out_of_order = OutOfOrder::Map;
    card.log_kib = None;
    card.open_aus = 1;
    card.deferred_merges = 2;
    let mut d = full(&p);
    // A full block of twelve pages, four of them twice; then the first page once more.
    for page in (0..12).chain(0..4).chain(0..1) {
        write_us(&mut d, AU + page * PAGE, PAGE);
    }
    let opens = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
    let empties = opens + 4.0 * MOVE_PAGE_US;
    exactly("put off", write_us(&mut d, 2 * AU, PAGE), empties);
    // The other eleven pages of the full block wait, and are moved when the AU is opened again.
    let late = opens + 11.0 * MOVE_PAGE_US;
    exactly("done", write_us(&mut d, AU, PAGE), late);
    sound(&d);
}

/// The time of a write to the first page of a page-mapped AU after writes to `pages` of it.
fn mapped_after(pages: impl Iterator<Item = u64>) -> f64 {
    mapped_with(plain(), pages)
}

fn mapped_with(mut p: Profile, pages: impl Iterator<Item = u64>) -> f64 {
    let card = section(&mut p);
    card.out_of_order = OutOfOrder::Map;
    card.log_kib = None;
    let mut d = full(&p);
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
    // A block later the four that were not written are moved on.
    let second = first().chain(0..12).chain(0..4);
    let moved = page + ERASE_US + 4.0 * MOVE_PAGE_US;
    exactly("two full blocks", mapped_after(second), moved);
    // Where they were written meanwhile, nothing is.
    let second = first().chain(4..16).chain(4..8);
    exactly("two others", mapped_after(second), page + ERASE_US);
    // One page alone leaves so much behind that all is merged.
    let merged = page + 2.0 * ERASE_US + PAGES as f64 * MOVE_PAGE_US;
    let same = (0..2 * PAGES).map(|_| 0);
    exactly("one page", mapped_after(same), merged);
    // With a spare AU for each open one and two more, nothing can wait.
    let mut tight = plain();
    tight.nand.blocks_per_plane = 40 + 5;
    let moved = page + ERASE_US + 4.0 * MOVE_PAGE_US;
    exactly("no room to wait", mapped_with(tight, first()), moved);
}

#[test]
fn reads_across_a_page_and_across_an_au_cost_what_they_say() {
    let mut p = plain();
    section(&mut p).controller.au_lookup_us = 30.0;
    let mut d = full(&p);
    let sector = 512;
    // Only what was asked for leaves the flash.
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
    // The second page waits for the first; its sector is all that then has to cross the link.
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
fn a_page_of_several_program_units_is_programmed_and_filled_up_as_one() {
    let mut p = plain();
    section(&mut p).page_kib = Some(4 * 16);
    section(&mut p).controller.buffer_kib = 128;
    let mut d = full(&p);
    // Four units, one after another on one die.
    let whole = link_us(4 * PAGE) + 4.0 * WRITE_PAGE_US + ERASE_US;
    exactly("a page", write_us(&mut d, 0, 4 * PAGE), whole);
    // A quarter of the next: what is missing is read, and all of it programmed.
    let fill = 4.0 * READ_PAGE_US;
    let part = link_us(PAGE) + fill + 4.0 * WRITE_PAGE_US;
    exactly("a part", write_us(&mut d, 5 * PAGE, PAGE), part);
    sound(&d);
}

#[test]
fn going_from_one_au_to_another_takes_the_time_of_a_switch() {
    let mut p = plain();
    let card = section(&mut p);
    card.switch_us = 700.0;
    card.states_in_ram = 1;
    let mut d = full(&p);
    write_us(&mut d, 0, PAGE);
    write_us(&mut d, AU, PAGE);
    let stays = link_us(PAGE) + WRITE_PAGE_US;
    exactly("the same AU", write_us(&mut d, AU + PAGE, PAGE), stays);
    exactly("the other AU", write_us(&mut d, PAGE, PAGE), stays + 700.0);
    section(&mut p).states_in_ram = 2;
    let mut d = full(&p);
    write_us(&mut d, 0, PAGE);
    write_us(&mut d, AU, PAGE);
    exactly("two in RAM", write_us(&mut d, PAGE, PAGE), stays);
}

fn with_fat(p: &mut Profile) {
    let card = section(p);
    card.open_aus += 1;
    card.fat = Some(FatSection {
        first_au: 0,
        aus: 1,
        open_aus: 1,
        out_of_order: OutOfOrder::Map,
        log_kib: None,
        log_first: false,
        slc: false,
    });
}

/// Bytes moved while three files grow, and the FAT is written after each page of them.
fn moved_by_files(p: &Profile) -> u64 {
    let mut d = full(p);
    for page in 0..PAGES {
        for file in 1..=3 {
            write_us(&mut d, file * AU + page * PAGE, PAGE);
            write_us(&mut d, (page * 3 + file) % PAGES * PAGE, PAGE);
        }
    }
    sound(&d);
    d.counters().collected.0
}

#[test]
fn a_pinned_fat_au_leaves_the_open_aus_to_files() {
    let mut p = plain();
    let without = moved_by_files(&p);
    // The FAT's AU is always the one written to last, so that three files share two open AUs:
    // all but the first pages close an AU and have it merged.
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
    // The other one of the area closes it, though none of the data AUs is open.
    let merge = (PAGES - 1) as f64 * MOVE_PAGE_US;
    exactly("the second", write_us(&mut d, AU, PAGE), opens + merge);
    for au in 2..5 {
        exactly("data", write_us(&mut d, au * AU, PAGE), opens);
    }
    exactly("data", write_us(&mut d, 5 * AU, PAGE), opens + merge);
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
    for au in [20, 3, 11, 30] {
        exactly("4 KiB alone", write_us(&mut d, au * AU, 4 * KIB), alone);
    }
    sound(&d);
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
    // None is left: it begins anew.
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
    assert_eq!(d.counters().collected.0, 0, "not yet");
    rest(&mut d, Nanos::from_micros_f64(1.0 + merge / 2.0));
    // In the middle of the first one a command waits for its end.
    let opened = link_us(PAGE) + WRITE_PAGE_US + ERASE_US;
    let got = write_us(&mut d, 5 * AU, PAGE);
    near("behind a merge", got, merge / 2.0 + opened, 0.001);
    rest(&mut d, Nanos::from_micros_f64(100e3 + 3.0 * merge));
    assert_eq!(d.counters().collected.0, 3 * (PAGES - 1) * PAGE);
    for au in 6..8 {
        exactly("room again", write_us(&mut d, au * AU, PAGE), opened);
    }
    sound(&d);
}

#[test]
fn a_discarded_au_has_nothing_to_copy() {
    // AUs 10 and 11 lie in the range as a whole, 9 and 12 do not.
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

#[test]
fn wear_levelling_moves_cold_data_and_costs_little() {
    let mut p = plain();
    let card = section(&mut p);
    card.wear_spread_cycles = 20;
    card.wear_batch_aus = 1;
    let mut d = full(&p);
    let hot = 3000;
    for i in 0..hot {
        write_us(&mut d, i % 2 * AU, AU);
    }
    let moved = d.counters().refreshed.0 / AU;
    // Without it the 24 spare AUs and two others take all 3000 erases, 125 each. Moving all others
    // once in 20 cycles takes 38 moves for each 20 x 64 erases.
    assert!(
        (30..=hot * 38 / (20 * 30)).contains(&moved),
        "{moved} AUs moved"
    );
    sound(&d);
    section(&mut p).wear_spread_cycles = 0;
    let mut d = full(&p);
    for i in 0..hot {
        write_us(&mut d, i % 2 * AU, AU);
    }
    assert_eq!(d.counters().refreshed.0, 0);
}

#[test]
fn a_card_whose_blocks_fail_ends_read_only() {
    let mut p = plain();
    p.nand.slc.cycles = 4;
    let mut d = full(&p);
    let mut spare = d.health().available_spare_percent;
    let mut written = 0;
    let refused = loop {
        let done = one(&mut d, write(0, written % 40 * AU, AU as u32));
        let now = d.health().available_spare_percent;
        assert!(now <= spare, "spare comes back");
        spare = now;
        if done.status != Status::Ok {
            break done.status;
        }
        written += 1;
        assert!(written < 100_000, "it never ends");
    };
    assert_eq!(refused, Status::ReadOnly);
    assert!(spare == 0 && written > 4 * 64, "{written} AUs were written");
    sound(&d);
    assert_eq!(one(&mut d, write(0, 0, 512)).status, Status::ReadOnly);
    assert_eq!(one(&mut d, read(0, 0, 512)).status, Status::Ok);
    assert_eq!(
        one(&mut d, support::bare(1, CommandKind::Flush)).status,
        Status::Ok
    );
}

/// A full card at a host that keeps writes of up to 64 KiB open.
fn kept_open(p: &Profile) -> Device {
    let mut host = support::host("direct");
    host.host.links = vec![FAST_LINK.to_string()];
    host.stage[0].keeps_writes_open = true;
    host.stage[0].open_write_kib = Some(64);
    let mut d = Device::new(p, &host, 1).unwrap();
    assert!(d.precondition(1.0, Fill::Sequential));
    d
}

#[test]
fn what_is_held_back_is_programmed_before_a_read_and_with_fua_and_forgotten_with_its_au() {
    let part = 4 * KIB;
    let program = WRITE_PAGE_US + ERASE_US;
    let mut d = kept_open(&plain());
    exactly("held back", write_us(&mut d, 0, part), link_us(part));
    let sector = READ_US + BUS_US * 512.0 / PAGE as f64 + link_us(512);
    exactly("a read", read_us(&mut d, 8 * AU, 512), program + sector);
    let fua = Command {
        kind: CommandKind::Write { fua: true },
        ..write(0, AU, part as u32)
    };
    let time = one(&mut d, fua).latency().as_micros_f64();
    exactly("FUA", time, link_us(part) + program);
    write_us(&mut d, 2 * AU, part);
    one(&mut d, discard(0, 2 * AU, AU));
    let flush = one(&mut d, support::bare(0, CommandKind::Flush));
    exactly("a flush", flush.latency().as_micros_f64(), 0.0);
    sound(&d);
}

#[test]
fn programs_overlap_on_as_many_dies_as_may_be_active() {
    for active in [1, 2] {
        let mut p = plain();
        p.nand.dies_per_channel = 2;
        p.nand.blocks_per_plane = 32;
        p.interface[0].active_dies = active;
        section(&mut p).au_kib = 2 * (AU / KIB) as u32;
        let mut d = full(&p);
        let share = f64::from(active);
        let expected =
            link_us(PAGE) + WRITE_PAGE_US + 3.0 * WRITE_PAGE_US / share + ERASE_US * 2.0 / share;
        let what = format!("{active} dies");
        exactly(&what, write_us(&mut d, 0, 4 * PAGE), expected);
    }
}

#[test]
fn a_write_kept_open_costs_one_command_and_programs_behind_the_link() {
    let mut p = plain();
    section(&mut p).controller.write_us = 2000.0;
    let mut d = kept_open(&p);
    let part = 4 * KIB;
    let first = write_us(&mut d, 0, part);
    exactly("the first", first, 2000.0 + link_us(part));
    for i in 1..4 {
        exactly("the next", write_us(&mut d, i * part, part), link_us(part));
    }
    // Elsewhere the card first programs what came, then takes a command.
    let mut waited = write_us(&mut d, 8 * AU, part);
    let expected = WRITE_PAGE_US + ERASE_US + 2000.0;
    near("elsewhere", waited, expected, 0.001);
    // Too long to be kept open.
    write_us(&mut d, 0, AU);
    waited = write_us(&mut d, AU, AU);
    let alone = 2000.0 + link_us(PAGE) + PAGES as f64 * WRITE_PAGE_US + ERASE_US;
    exactly("a long one", waited, alone);
    sound(&d);
}
