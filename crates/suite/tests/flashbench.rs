//! The flashbench procedures on a card with known answers, and their conclusions on recorded runs of real cards.

use crate::support::card::Card;
use crate::support::recorded::recorded;
use nandscope_measure::target::Target;
use nandscope_suite::flashbench::recorded::RunId;
use nandscope_suite::flashbench::{
    AlignPlan, AlignRow, Care, Certainty, Knee, OpenAu, Order, Pinned, align, allocation_unit,
    boundaries, fat_and_data, find_fat, knee, open_units, page_size, search, treatments,
};
use nandscope_suite::probe::{Probe, ProbeError};
use nandscope_units::{Bytes, Nanos};

const MIB: u64 = 1 << 20;

fn probed<T: Target, R>(
    target: &mut T,
    measure: impl FnOnce(&mut Probe<'_, T>) -> Result<R, ProbeError>,
) -> R {
    let mut tell = |_: f64, _: Nanos| {};
    measure(&mut Probe::new(target, &|| false, &mut tell)).unwrap()
}

fn tables(card: &Card, factors: &[u64]) -> Vec<Vec<AlignRow>> {
    let mut card = card.clone();
    let plan = |factor: &u64| AlignPlan {
        factor: *factor,
        ..AlignPlan::default()
    };
    let one = |factor| probed(&mut card, |p| align(p, &plan(factor)));
    factors.iter().map(one).collect()
}

#[test]
fn align_reads_before_across_and_behind_as_flashbench_does() {
    let mut card = Card::new(Bytes::gib(4));
    let rows = probed(&mut card, |p| align(p, &AlignPlan::default()));
    // The first power of two of at least a seventh of the capacity, down to two blocks.
    assert_eq!(rows.first().unwrap().align, 1 << 30);
    assert_eq!(rows.last().unwrap().align, 2048);
    assert_eq!(card.reads, rows.len() as u64 * 3 * 7 * 8);
    // The capacity is a power of two: wrapped reads fall on boundaries again, except at the start.
    assert!(rows[0].off_boundary > 0);
    // A read costs 700 µs, 60 µs more across a page, 150 µs more across a unit. Below a page none of
    // the seven places, which lie a power of two apart, is a boundary.
    for row in &rows[1..] {
        assert_eq!(row.off_boundary, 0);
        assert_eq!((row.pre_us, row.post_us), (700.0, 700.0), "{row:?}");
        let across = match row.align {
            a if a >= 4 * MIB => 210.0,
            a if a >= 16 << 10 => 60.0,
            _ => 0.0,
        };
        assert!((row.diff_us - across).abs() < 1e-9, "{row:?}");
    }
}

#[test]
fn places_that_wrap_off_their_boundary_are_counted_and_not_believed() {
    // No multiple of 8 MiB.
    let rows = tables(&Card::new(Bytes::mib(3796)), &[1]).remove(0);
    let off = |align: u64| {
        let row = rows.iter().find(|r| r.align == align);
        row.unwrap().off_boundary
    };
    assert!(off(1 << 30) > 0);
    assert_eq!(off(4 * MIB), 0);
    assert_eq!(allocation_unit(&rows).unwrap().at, 4 * MIB);
}

#[test]
fn without_wrapping_every_place_lies_on_its_boundary() {
    // No multiple of 1 MiB, as cards of decimal capacities are.
    let mut card = Card::new(Bytes(15_931_539_456));
    let plan = AlignPlan {
        wrap: false,
        ..AlignPlan::default()
    };
    let wrapping = probed(&mut card, |p| align(p, &AlignPlan::default()));
    assert!(wrapping.iter().filter(|r| r.off_boundary > 0).count() > 8);
    let rows = probed(&mut card, |p| align(p, &plan));
    assert!(rows.iter().all(|r| r.off_boundary == 0));
    let odd = tables(&card, &[3, 5, 7, 9]);
    let families: Vec<_> = std::iter::once(rows).chain(odd).collect();
    assert_eq!(boundaries(&families).unit.unwrap().at, 4 * MIB);
}

#[test]
fn align_finds_page_and_unit_of_a_card() {
    for (page, unit) in [
        (8 << 10, 4 * MIB),
        (16 << 10, 128 << 10),
        (64 << 10, 16 * MIB),
        (128 << 10, 4 * MIB),
        (64 << 10, 128 * MIB),
        (16 << 10, 3 * MIB),
        (16 << 10, 3 * MIB / 2),
        (32 << 10, 24 * MIB),
        (16 << 10, 6 * MIB),
    ] {
        let mut card = Card::new(Bytes::gib(8));
        (card.page, card.unit) = (page, unit);
        let found = boundaries(&tables(&card, &[1, 3, 5, 7, 9]));
        assert_eq!(found.page.unwrap().at, page, "page {page}, unit {unit}");
        let step = found.unit.unwrap();
        // A page of 128 KiB has a boundary at 384 KiB too.
        assert_eq!(step.at, unit, "page {page}, unit {unit}: {step:?}");
        assert_eq!(step.certainty(), Certainty::Clear);
    }
}

#[test]
fn a_card_without_boundaries_is_not_given_any() {
    let mut card = Card::new(Bytes::gib(8));
    (card.page_us, card.unit_us) = (0, 0);
    let found = boundaries(&tables(&card, &[1, 3, 5]));
    for step in [found.page, found.unit] {
        assert!(
            step.is_none_or(|s| s.certainty() == Certainty::None),
            "{step:?}"
        );
    }
}

fn plan(unit: u64, order: Order) -> OpenAu {
    OpenAu {
        unit,
        order,
        seed: 3,
        budget: None,
        care: Care::default(),
    }
}

#[test]
fn open_au_finds_how_many_units_a_card_keeps_open() {
    for open in [1, 2, 3, 5, 6, 7, 9, 16, 24, 31] {
        let mut card = Card::new(Bytes::gib(8));
        card.open = open;
        let plan = plan(4 * MIB, Order::Linear);
        let rates = probed(&mut card, |p| search(p, &plan, 64 << 10, 32));
        assert!(rates.len() <= 11, "{} measurements", rates.len());
        let rates: Vec<_> = rates.iter().map(|r| (r.units, r.bytes_per_s)).collect();
        let Knee::At { units, drop, .. } = knee(&rates) else {
            panic!("open {open}: {rates:?}");
        };
        assert_eq!(units as usize, open);
        assert!(drop > 5.0);
    }
}

#[test]
fn a_card_that_keeps_all_open_is_told_so_much() {
    let mut card = Card::new(Bytes::gib(8));
    card.open = 100;
    let plan = plan(4 * MIB, Order::Linear);
    let rates = probed(&mut card, |p| search(p, &plan, 64 << 10, 32));
    let rates: Vec<_> = rates.iter().map(|r| (r.units, r.bytes_per_s)).collect();
    assert_eq!(knee(&rates), Knee::AtLeast(32));
}

#[test]
fn a_card_that_is_open_for_linear_writes_only_is_slow_at_random() {
    let mut card = Card::new(Bytes::gib(8));
    card.linear_only = true;
    let rate = |card: &mut Card, order| {
        let plan = plan(4 * MIB, order);
        probed(card, |p| plan.rate(p, 2, 64 << 10)).bytes_per_s
    };
    let linear = rate(&mut card, Order::Linear);
    assert!(linear > 5.0 * rate(&mut card, Order::Random));
}

#[test]
fn every_piece_is_written_once_in_either_order() {
    for order in [Order::Linear, Order::Random] {
        let mut card = Card::new(Bytes::gib(2));
        card.log = Some(Vec::new());
        let plan = plan(MIB, order);
        let rate = probed(&mut card, |p| plan.rate(p, 3, 64 << 10));
        assert!(rate.whole);
        let mut written = card.log.take().unwrap();
        let in_order = written.clone();
        written.sort_unstable();
        let expected =
            (0..3).flat_map(|u| (0..16).map(move |i| 16 * MIB + u * 12 * MIB + (i << 16)));
        assert_eq!(written, expected.collect::<Vec<_>>());
        // Interleaved: the first three pieces go to three units.
        let mut units: Vec<u64> = in_order[..3].iter().map(|o| o / (12 * MIB)).collect();
        units.sort_unstable();
        units.dedup();
        assert_eq!(units.len(), 3);
        // Bytes over time.
        let seconds = 3.0 * MIB as f64 / rate.bytes_per_s;
        assert!((seconds - card.now().as_secs_f64()).abs() < 1e-6);
    }
}

#[test]
fn a_budget_ends_a_rate_early_without_bending_it() {
    let mut card = Card::new(Bytes::gib(8));
    card.open = 1;
    let mut plan = plan(4 * MIB, Order::Linear);
    let whole = probed(&mut card, |p| plan.rate(p, 4, 16 << 10));
    plan.budget = Some(Nanos::from_secs(1));
    let began = card.now();
    let part = probed(&mut card, |p| plan.rate(p, 4, 16 << 10));
    assert!(!part.whole && whole.whole);
    assert!((card.now() - began).as_secs_f64() < 10.0);
    assert!((part.bytes_per_s / whole.bytes_per_s - 1.0).abs() < 0.1);
}

#[test]
fn find_fat_sees_units_that_are_treated_otherwise() {
    let mut card = Card::new(Bytes::gib(4));
    card.slow_units = 2;
    let lengths = [4 * MIB, MIB, 64 << 10];
    let rates = probed(&mut card, |p| {
        find_fat(p, 4 * MIB, &lengths, 8, Order::Linear, 1)
    });
    let found = treatments(&rates).unwrap();
    let units: Vec<u32> = found.iter().map(|t| t.unit).collect();
    assert_eq!(units, [0, 1]);
    assert!(found.iter().all(|t| t.ratio < 0.67), "{found:?}");
}

#[test]
fn a_unit_pinned_to_the_fat_is_told_from_one_that_takes_a_place() {
    for open in [1, 2, 3] {
        for pinned in [true, false] {
            let mut card = Card::new(Bytes::gib(4));
            (card.open, card.pinned) = (open, pinned);
            let plan = plan(4 * MIB, Order::Linear);
            let rounds = probed(&mut card, |p| {
                fat_and_data(p, &plan, open as u32, 64 << 10, 0)
            });
            let expected = if pinned { Pinned::Yes } else { Pinned::No };
            assert_eq!(rounds.pinned(), expected, "{open} open, {rounds:?}");
            // One data unit too many is slow in any case.
            assert!(rounds.fat_more_s > 2.0 * (rounds.data_s + rounds.small_s));
        }
    }
    let mut card = Card::new(Bytes::gib(4));
    card.open = 50;
    let plan = plan(4 * MIB, Order::Linear);
    let rounds = probed(&mut card, |p| fat_and_data(p, &plan, 2, 64 << 10, 0));
    assert_eq!(rounds.pinned(), Pinned::CannotTell);
}

#[test]
fn what_cannot_be_measured_says_why() {
    let mut card = Card::new(Bytes::mib(32));
    let mut tell = |_: f64, _: Nanos| {};
    let mut probe = Probe::new(&mut card, &|| false, &mut tell);
    let odd = AlignPlan {
        block: Bytes(512),
        ..AlignPlan::default()
    };
    for problem in [
        align(&mut probe, &odd).unwrap_err(),
        plan(4 * MIB, Order::Linear)
            .rate(&mut probe, 2, 4096)
            .unwrap_err(),
        plan(4 * MIB, Order::Linear)
            .rate(&mut probe, 1, 1000)
            .unwrap_err(),
        find_fat(&mut probe, 16 * MIB, &[4096], 8, Order::Linear, 1).unwrap_err(),
    ] {
        assert!(matches!(problem, ProbeError::Failed(_)), "{problem:?}");
    }
    let mut probe = Probe::new(&mut card, &|| true, &mut tell);
    let stopped = align(&mut probe, &AlignPlan::default());
    assert_eq!(stopped.unwrap_err(), ProbeError::Stopped);
}

/// Lines of a file of derived facts: fields by heading.
fn derived(text: &str) -> Vec<std::collections::HashMap<&str, &str>> {
    let mut lines = text.lines();
    let headings: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|l| headings.iter().copied().zip(l.split(',')).collect())
        .collect()
}

#[test]
fn boundaries_of_recorded_cards_agree_with_what_people_saw() {
    let all = recorded();
    let mut clear = 0;
    let mut none = 0;
    for fact in derived(include_str!("../../../facts/flashbench/align_jumps.csv")) {
        let run = RunId {
            card: fact["card"].to_string(),
            run: fact["run"].parse().unwrap(),
        };
        let rows = all.median_align(std::slice::from_ref(&run)).unwrap();
        let unit = allocation_unit(&rows).unwrap();
        let ratio: f64 = fact["ratio"].parse().unwrap();
        if ratio >= 1.5 {
            clear += 1;
            let expected: u64 = fact["largest_jump_128K_16M"].parse().unwrap();
            assert_eq!(unit.at, expected, "{run:?}: {unit:?}");
            assert_eq!(unit.certainty(), Certainty::Clear, "{run:?}: {unit:?}");
        } else if ratio < 1.2 {
            none += 1;
            assert_eq!(unit.certainty(), Certainty::None, "{run:?}: {unit:?}");
        }
        if let Ok(expected) = fact["largest_jump_4K_64K"].parse::<u64>() {
            let page = page_size(&rows).unwrap();
            // If the row below shows 0.009 µs, any ratio to it is large: 52 µs at 4 KiB are little compared with 349 µs
            // at 8 KiB.
            let expected = match fact["group"] {
                "fb:SanDisk4G-MELP" => 8192,
                _ => expected,
            };
            assert_eq!(page.at, expected, "{run:?}: {page:?}");
        }
    }
    assert!(clear >= 15 && none >= 5, "{clear} clear, {none} none");
}

#[test]
fn open_units_of_recorded_cards_agree_with_what_people_saw() {
    let all = recorded();
    let (mut clear, mut none, mut at_least) = (0, 0, 0);
    for fact in derived(include_str!("../../../facts/flashbench/openau_knees.csv")) {
        let run = RunId {
            card: fact["card"].to_string(),
            run: fact["run"].parse().unwrap(),
        };
        let length: u64 = fact["block_bytes"].parse().unwrap();
        let rates = all.open_au[&run].iter();
        let rates: Vec<_> = rates
            .filter(|r| r.mode == fact["mode"] && r.length == length)
            .map(|r| (r.units, r.bytes_per_s))
            .collect();
        let found = knee(&rates);
        match (fact["knee_last_fast_n"].strip_prefix(">="), found) {
            (Some(most), Knee::AtLeast(units)) => {
                at_least += 1;
                assert_eq!(units.to_string(), most, "{run:?}");
            }
            (None, Knee::At { units, step, .. }) if step >= 1.5 => {
                clear += 1;
                assert_eq!(units.to_string(), fact["knee_last_fast_n"], "{run:?}");
            }
            (None, Knee::At { step, .. }) => {
                if step < 1.2 {
                    none += 1;
                    assert_eq!(found.certainty(), Certainty::None);
                }
            }
            (expected, found) => panic!("{run:?} {length}: {expected:?}, {found:?}"),
        }
    }
    assert!(
        clear >= 25 && none >= 5 && at_least >= 25,
        "{clear}, {none}, {at_least}"
    );
}

#[test]
fn the_answer_over_all_lengths_is_that_of_the_clear_ones() {
    let all = recorded();
    for (card, run, mode, expected) in [
        ("wb-card03", 2, "linear", 6),
        ("wb-card03", 3, "random", 6),
        ("wb-card06", 2, "linear", 3),
        ("wb-card08", 0, "linear", 4),
        ("wb-card10", 0, "linear", 3),
        ("wb-card11", 0, "random", 3),
        ("wb-card21", 0, "linear", 3),
    ] {
        let run = RunId {
            card: card.to_string(),
            run,
        };
        let rates: Vec<_> = all.open_au[&run]
            .iter()
            .filter(|r| r.mode == mode)
            .map(|r| (r.units, r.length, r.bytes_per_s))
            .collect();
        let found = open_units(&rates).unwrap().knee;
        assert!(
            matches!(found, Knee::At { units, .. } if units == expected),
            "{run:?} {mode}: {found:?}"
        );
        assert_eq!(found.certainty(), Certainty::Clear);
    }
}

#[test]
fn recorded_first_units_are_judged_over_all_lengths() {
    let all = recorded();
    let treated = |card: &str, run| {
        let run = RunId {
            card: card.to_string(),
            run,
        };
        let rates = all.find_fat_rates(&run).unwrap();
        let found = treatments(&rates).unwrap();
        found.iter().map(|t| t.unit).collect::<Vec<_>>()
    };
    assert_eq!(treated("wb-card06", 2), [0, 1]);
    assert_eq!(treated("wb-card21", 0), [0, 1]);
    // One unit was slow in one trial at some lengths.
    assert_eq!(treated("wb-card03", 3), [] as [u32; 0]);
}
