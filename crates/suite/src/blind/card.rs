//! Random changes of a card with allocation units, far beyond the cards of the library.

use super::dice::Dice;
use super::truth::program_unit;
use nandscope_device::profile::Profile;
use nandscope_device::profile::card::{CardSection, FatSection, OutOfOrder, SharedLogSection};

/// Changes every parameter that a probe infers. The result may be inconsistent.
pub(super) fn change(profile: &mut Profile, dice: &mut Dice) {
    super::throttle(profile, 45.0, dice);
    let times = dice.between(0.5, 2.0);
    if let Some(native) = &mut profile.nand.native {
        native.read_us.iter_mut().for_each(|t| *t *= times);
        native.program_us.iter_mut().for_each(|t| *t *= times);
    }
    let unit = program_unit(profile);
    if let Some(card) = &mut profile.card {
        structure(card, unit, dice);
        controller(card, dice);
    }
}

fn structure(card: &mut CardSection, program_unit: u64, dice: &mut Dice) {
    // At most sixteen program units and 512 KiB.
    let most = (512 << 10) / program_unit.max(1);
    let page = program_unit * dice.power(0, 4).min(most.max(1));
    card.page_kib = Some((page >> 10) as u32);
    // 128 KiB to 512 MiB; one in four is not a power of two.
    let mut au = dice.power(17, 29);
    if dice.below(4) == 0 {
        au = au / 4 * [3, 5, 6, 7][dice.below(4) as usize];
    }
    card.au_kib = (au.next_multiple_of(page) >> 10) as u32;
    card.open_aus = dice.between(1.0, 64.99) as u32;
    card.states_in_ram = match dice.below(3) {
        0 => 1 + dice.below(u64::from(card.open_aus)) as u32,
        _ => card.open_aus,
    };
    card.switch_us = dice.between(10.0, 20_000.0);
    card.deferred_merges = [0, 0, 0, 1, 4][dice.below(5) as usize];
    card.out_of_order = out_of_order(dice);
    card.log_kib = log(card.out_of_order, card, page, dice);
    if dice.below(2) == 0 {
        card.small_writes = None;
    }
    card.fat = match card.open_aus > 1 && dice.below(2) == 0 {
        true => Some(fat(card, page, dice)),
        false => None,
    };
    // One card in six has a log for AUs that find no free open AU.
    card.shared_log = (dice.below(6) == 0).then(|| SharedLogSection {
        blocks: 1 + dice.below(6) as u32,
        aus: 1 + dice.below(16) as u32,
    });
}

fn out_of_order(dice: &mut Dice) -> OutOfOrder {
    [OutOfOrder::Rewrite, OutOfOrder::Log, OutOfOrder::Map][dice.below(3) as usize]
}

/// Size of an open AU's log: from one page to the whole AU.
fn log(kind: OutOfOrder, card: &CardSection, page: u64, dice: &mut Dice) -> Option<u32> {
    let pages = (u64::from(card.au_kib) << 10) / page.max(1);
    let pages = dice.between(1.0, pages.max(1) as f64 + 0.99) as u64;
    (kind == OutOfOrder::Log).then_some(((pages * page) >> 10) as u32)
}

fn fat(card: &CardSection, page: u64, dice: &mut Dice) -> FatSection {
    let kind = out_of_order(dice);
    FatSection {
        first_au: dice.below(16) as u32,
        aus: dice.power(0, 2) as u32,
        // Adjacent AUs, or a distance of two or five.
        apart_aus: [1, 1, 2, 5][dice.below(4) as usize],
        open_aus: 1 + dice.below(u64::from(card.open_aus - 1).min(2)) as u32,
        out_of_order: kind,
        log_kib: log(kind, card, page, dice),
        log_first: false,
        slc: dice.below(2) == 0,
    }
}

fn controller(card: &mut CardSection, dice: &mut Dice) {
    let controller = &mut card.controller;
    controller.read_us = dice.between(50.0, 1500.0);
    controller.write_us = dice.between(100.0, 4000.0);
    controller.au_lookup_us = dice.between(1.0, 1000.0);
    controller.page_us = dice.between(5.0, 800.0);
    controller.move_us = dice.between(20.0, 600.0);
    controller.buffer_kib = dice.power(5, 15) as u32;
    controller.read_ahead_kib = [0, 0, 64, 128, 512][dice.below(5) as usize];
    controller.read_ahead_streams = [1, 1, 4][dice.below(3) as usize];
}
