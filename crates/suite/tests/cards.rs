//! Comparison of simulated with recorded cards: its runs, its numbers, and its page.

use crate::support::card::Card;
use crate::support::recorded::recorded;
use nandscope_device::profile::library;
use nandscope_infer::flashbench::median;
use nandscope_suite::cards::{self, Cards, compare, page, unexplained};
use nandscope_suite::flashbench::recorded::Recorded;
use nandscope_suite::flashbench::{Knee, Order};
use nandscope_units::Bytes;
use std::fmt::Write;

const REQUEST: Bytes = Bytes::kib(512);

#[test]
fn what_was_recorded_is_measured_cell_by_cell() {
    let mut card = Card::new(Bytes(7_902_068_736));
    card.open = 6;
    let c = compare(
        &mut card,
        &recorded(),
        "wb-card03",
        &[2, 3],
        REQUEST,
        &|| false,
    )
    .unwrap();
    // 7 numbers of units, 11 lengths, two orders (the second in run 3 only); 13 lengths, 8 units.
    assert_eq!(c.open_au.len(), 2 * 77);
    assert_eq!(c.find_fat.len(), 13 * 8);
    assert_eq!(c.align_recorded.len(), 21);
    let cell = c.open_au[&(Order::Random, 7, 65_536)];
    assert_eq!(cell.recorded, 83_800.0);
    // The median of two runs: 301 and 312 kB/s.
    assert_eq!(c.open_au[&(Order::Linear, 7, 262_144)].recorded, 306_500.0);
    let (measured, simulated) = c.open_units(Order::Linear).unwrap();
    for found in [measured, simulated] {
        assert!(matches!(found.knee, Knee::At { units: 6, .. }), "{found:?}");
    }
    let (measured, simulated) = c.boundaries();
    assert_eq!(measured.unit.unwrap().at, simulated.unit.unwrap().at);
    assert_eq!(measured.page.unwrap().at, simulated.page.unwrap().at);
    // This mock is not a model of that card.
    assert!(c.median_errors().0.unwrap() > 0.1);
}

/// A recorded table with the results of the mock, times a factor.
fn own_record(factor: f64) -> Recorded {
    let mut all = Recorded::default();
    let first = compare(
        &mut Card::new(Bytes::gib(4)),
        &recorded(),
        "wb-card06",
        &[2],
        REQUEST,
        &|| false,
    )
    .unwrap();
    let mut open_au = "card,run,mode,open_aus,erasesize,block_bytes,bytes_per_s\n".to_string();
    for ((order, n, length), cell) in &first.open_au {
        let rate = cell.simulated * factor;
        writeln!(
            open_au,
            "own,1,{},{n},4194304,{length},{rate}",
            order.name()
        )
        .unwrap();
    }
    let mut fat = "card,run,trial,block_bytes,erase_block_index,bytes_per_s\n".to_string();
    for ((length, unit), cell) in &first.find_fat {
        writeln!(fat, "own,1,1,{length},{unit},{}", cell.simulated * factor).unwrap();
    }
    all.read_open_au("o", &open_au).unwrap();
    all.read_find_fat("f", &fat).unwrap();
    all
}

#[test]
fn the_error_is_that_of_the_cells() {
    for (factor, expected) in [(1.0, 0.0), (0.8, 0.25), (1.25, 0.2)] {
        let record = own_record(factor);
        let mut card = Card::new(Bytes::gib(4));
        let c = compare(&mut card, &record, "own", &[1], REQUEST, &|| false).unwrap();
        let (open_au, find_fat) = c.median_errors();
        for error in [open_au.unwrap(), find_fat.unwrap()] {
            assert!((error - expected).abs() < 0.02, "{factor}: {error}");
        }
    }
}

#[test]
fn what_was_not_recorded_is_an_error_and_so_is_a_bad_entry() {
    let mut card = Card::new(Bytes::gib(4));
    let error = compare(&mut card, &recorded(), "wb-card99", &[0], REQUEST, &|| {
        false
    })
    .unwrap_err();
    assert!(error.to_string().contains("wb-card99"), "{error}");
    let stopped = compare(&mut card, &recorded(), "wb-card06", &[2], REQUEST, &|| true);
    assert!(stopped.is_err());
    let entry =
        "[[card]]\nprofile = \"p\"\nrecorded = \"wb-card03\"\nhost = \"usb-reader\"\nrun = [2]\n";
    assert_eq!(Cards::parse("c", entry).unwrap().card.len(), 1);
    for (text, expected) in [
        (format!("{entry}request = \"many\"\n"), "request = \"many\""),
        (format!("{entry}colour = \"blue\"\n"), "colour"),
        ("[[card]]\nprofile = \"p\"\n".to_string(), "recorded"),
    ] {
        let error = Cards::parse("c", &text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_device_of_the_library_is_filled_and_measured() {
    let entry = cards::Card {
        profile: "reference-nvme-64gb".to_string(),
        recorded: "flashbench README card".to_string(),
        host: "direct".to_string(),
        run: vec![0],
        request: None,
        why: None,
    };
    let profile = library::device("reference-nvme-64gb")
        .unwrap()
        .profile()
        .unwrap();
    let host = library::host("direct").unwrap().host_profile().unwrap();
    let c = entry.run(&profile, &host, &recorded(), &|| false).unwrap();
    assert_eq!(c.open_au.len(), 10);
    assert!(c.align_simulated.iter().all(|r| r.pre_us > 1.0));
}

#[test]
fn the_page_shows_both_of_every_number() {
    let text = page(&[], false);
    assert!(text.contains("No simulated card"));
    let mut card = Card::new(Bytes::gib(4));
    let c = compare(&mut card, &recorded(), "wb-card06", &[2], REQUEST, &|| {
        false
    })
    .unwrap();
    let entry = cards::Card {
        profile: "a-device".to_string(),
        recorded: "wb-card06".to_string(),
        host: "usb-reader".to_string(),
        run: vec![2],
        request: None,
        why: None,
    };
    let simulated = c.open_au[&(Order::Linear, 4, 65_536)].simulated / 1e6;
    let mut reasoned = entry.clone();
    reasoned.why = Some("its firmware is another one".to_string());
    let text = page(&[(reasoned.clone(), c.clone())], true);
    assert!(text.contains("`a-device` is not met: its firmware is another one."));
    // A card either meets its recording or states a reason, never both.
    let silent = unexplained(&[(entry.clone(), c.clone())]).len();
    let told = unexplained(&[(reasoned, c.clone())]).len();
    assert_eq!((silent, told), if c.met() { (0, 1) } else { (1, 0) });
    let text = page(&[(entry, c)], true);
    assert!(text.contains("| wb-card06 | `a-device` |"), "{text}");
    assert!(text.contains("| 4 MiB | 3 | 3 |"), "{text}");
    // Recorded: 135 kB/s with four interleaved AUs.
    assert!(text.contains(&format!("0.135 / {simulated:.3}")), "{text}");
}

/// Median error of the rates of wb-card16 with these numbers of interleaved AUs, in a laptop, on a simulated card.
fn error_of(profile: &str, units: &[u32]) -> f64 {
    let text = format!(
        "[[card]]\nprofile = \"{profile}\"\nrecorded = \"wb-card16\"\nhost = \"recorded-laptop-slot\"\nrun = [2]\n"
    );
    let cards = Cards::parse("cards.toml", &text).unwrap();
    let profile = library::device(profile).unwrap().profile().unwrap();
    let host = library::host("recorded-laptop-slot").unwrap();
    let host = host.host_profile().unwrap();
    let c = cards.card[0]
        .run(&profile, &host, &recorded(), &|| false)
        .unwrap();
    let cells = c.open_au.iter().filter(|((_, n, _), _)| units.contains(n));
    median(&cells.map(|(_, cell)| cell.error()).collect::<Vec<_>>())
}

#[test]
fn a_shared_log_predicts_the_rates_that_it_was_not_fitted_to() {
    // The shared log was fitted to odd numbers of interleaved AUs. With four AUs the log costs little yet.
    let predicted = error_of("recorded-ncard-sd-8gb-shared", &[6]);
    let without = error_of("recorded-ncard-sd-8gb", &[6]);
    assert!(
        predicted < 0.15 && predicted < 0.5 * without,
        "{predicted:.3}, and {without:.3} without a log"
    );
}
