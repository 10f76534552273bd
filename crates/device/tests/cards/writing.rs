//! Cost of writes that cause no copies: sequential writes, parts of pages, and writes that the host path keeps open.

use super::{exactly, full, link_us, read_us, write_us};
use crate::support::card::*;
use crate::support::plain::{FAST_LINK, attach, link_ns};
use crate::support::{bare, device_on, discard, host, near, one, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::{Command, CommandKind, Device, Fill};

#[test]
fn linear_writing_runs_at_the_rate_of_programs() {
    let mut d = full(&plain());
    for i in 0..8 {
        // An AU written in order: one page after another following the transfer of the first, an erase, and nothing to
        // copy at the end.
        let expected = link_us(PAGE) + PAGES as f64 * WRITE_PAGE_US + ERASE_US;
        exactly("an AU", write_us(&mut d, i * AU, AU), expected);
    }
    assert_eq!(d.counters().gc_writes.0, 0);
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
    // With a single program per page, the second part goes to the log, together with the old contents of the page; so
    // do the other parts, and the complete page is moved to its place.
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
fn a_page_of_several_program_units_is_programmed_and_filled_up_as_one() {
    let mut p = plain();
    section(&mut p).page_kib = Some(4 * 16);
    section(&mut p).controller.buffer_kib = 128;
    let mut d = full(&p);
    // Four program units, one after another on one die.
    let whole = link_us(4 * PAGE) + 4.0 * WRITE_PAGE_US + ERASE_US;
    exactly("a page", write_us(&mut d, 0, 4 * PAGE), whole);
    // A quarter of the next unit: the missing part is read, and the whole unit is programmed.
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

/// A full card at a host that keeps writes of up to 64 KiB open.
fn kept_open(p: &Profile) -> Device {
    let mut host = host("direct");
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
    let flush = one(&mut d, bare(0, CommandKind::Flush));
    exactly("a flush", flush.latency().as_micros_f64(), 0.0);
    sound(&d);
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
    // After a write to another place, the card first programs the data it holds, then accepts the command.
    let mut waited = write_us(&mut d, 8 * AU, part);
    let expected = WRITE_PAGE_US + ERASE_US + 2000.0;
    near("elsewhere", waited, expected, 0.001);
    // Longer than a write that the host path keeps open.
    write_us(&mut d, 0, AU);
    waited = write_us(&mut d, AU, AU);
    let alone = 2000.0 + link_us(PAGE) + PAGES as f64 * WRITE_PAGE_US + ERASE_US;
    exactly("a long one", waited, alone);
    sound(&d);
}
