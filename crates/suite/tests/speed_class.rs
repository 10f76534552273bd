//! Recording as for speed classes on a card with known costs, and the verdicts on simulated devices.

use crate::support::card::Card;
use nandscope_measure::target::Target;
use nandscope_result::json::to_json;
use nandscope_result::{Conclusion, ResultDocument};
use nandscope_suite::probe::{Probe, ProbeError};
use nandscope_suite::speed_class::{Areas, fragmented, unfragmented, update_times};
use nandscope_suite::{Procedure, ReviewOptions, SimSpec};
use nandscope_units::{Bytes, Nanos};

fn probed<T: Target, R>(
    target: &mut T,
    measure: impl FnOnce(&mut Probe<'_, T>) -> Result<R, ProbeError>,
) -> R {
    let mut tell = |_: f64, _: Nanos| {};
    measure(&mut Probe::new(target, &|| false, &mut tell)).unwrap()
}

fn near(value: f64, expected: f64) {
    assert!(
        (value / expected - 1.0).abs() < 1e-6,
        "{value}, not {expected}"
    );
}

#[test]
fn areas_are_those_of_the_specification() {
    for (mib, unit_kib) in [
        (60, 512),
        (200, 1024),
        (500, 2048),
        (3_800, 4096),
        (30_500, 4096),
        (60_000, 65_536),
    ] {
        let areas = Areas::of_capacity(Bytes::mib(mib), 8);
        assert_eq!(areas.unit, unit_kib << 10, "{mib} MiB");
        assert!(areas.start.is_multiple_of(areas.unit));
        assert!(areas.start + u64::from(areas.count) * areas.unit <= mib << 20);
    }
    assert_eq!(Areas::of_capacity(Bytes::mib(16), 8).count, 0);
}

#[test]
fn recording_into_empty_areas_has_the_rate_of_the_card() {
    let mut card = Card::new(Bytes::gib(4));
    let areas = Areas::of_capacity(card.capacity(), 4);
    let found = probed(&mut card, |p| unfragmented(p, &areas, 512 << 10));
    // 300 µs and 0.1 µs per byte for each recording unit.
    let unit_s = 300e-6 + f64::from(512 << 10) / 10e6;
    assert_eq!(found.areas.len(), 4);
    near(found.least(), f64::from(512 << 10) / unit_s);
    assert!((found.busy_s - unit_s).abs() < 1e-6);
    // Eight recording units of each area, in the second of two passes.
    let samples = &found.time_line.0;
    assert_eq!(samples.len(), 4 * 8);
    assert!(samples.iter().all(|s| (s.1 - unit_s).abs() < 1e-6));
    assert!((samples[31].0 - 64.0 * unit_s).abs() < 1e-3);
}

#[test]
fn an_area_in_use_costs_what_must_be_moved() {
    // A card that closes a unit unless it is continued at its last position: each gap costs a merge of 200 ms.
    let mut card = Card::new(Bytes::gib(4));
    card.linear_only = true;
    card.log = Some(Vec::new());
    let areas = Areas::of_capacity(card.capacity(), 2);
    let unit: u64 = 64 << 10;
    let found = probed(&mut card, |p| fragmented(p, &areas, unit));
    let written = card.log.take().unwrap();
    // Twice three areas whole, then 32, 48 and 16 of 64 recording units.
    assert_eq!(written.len(), 2 * (3 * 64 + 32 + 48 + 16));
    let write_s = 300e-6 + unit as f64 / 10e6;
    near(found.write, unit as f64 / write_s);
    let half = found.rates.iter().find(|r| r.quarters == 2).unwrap();
    near(half.least, unit as f64 / (write_s + 0.2));
    // The recordings with half in use only, 32 units in each of two areas.
    let samples = &found.time_line.0;
    assert_eq!(samples.len(), 2 * 32);
    let bytes: u64 = samples.iter().map(|s| s.2).sum();
    assert_eq!(bytes, 64 * unit);
    assert!(samples.iter().all(|s| (s.1 - write_s - 0.2).abs() < 1e-6));
    near(found.half(), half.least);
    // The formula is exact for the case from which Pm is taken: 32 moved and 32 written.
    near(half.formula.unwrap(), half.mean);
    let moving = found.moving.unwrap();
    near(moving, unit as f64 / 0.2);
    assert!((found.busy_s - 0.2 - write_s).abs() < 1e-6);
    // A quarter in use: after each used unit three are written, the first of them after a gap.
    let quarter = found.rates.iter().find(|r| r.quarters == 1).unwrap();
    near(quarter.least, 3.0 * unit as f64 / (3.0 * write_s + 0.2));
    near(quarter.formula.unwrap(), quarter.mean);
}

#[test]
fn a_card_that_moves_nothing_has_no_rate_of_moving() {
    let mut card = Card::new(Bytes::gib(4));
    let areas = Areas::of_capacity(card.capacity(), 2);
    let found = probed(&mut card, |p| fragmented(p, &areas, 16 << 10));
    assert_eq!(found.moving, None);
    near(found.half(), found.write);
    // 128 writes of each area become 64 samples.
    assert_eq!(found.time_line.0.len(), 2 * 64);
}

#[test]
fn updates_of_the_file_system_take_a_place_among_the_open_units() {
    let update_s = 3.0 * (300e-6 + 409.6e-6);
    // Tables, directory and data in three units of 4 MiB: both tables are in the second.
    for (open, slow) in [(3, false), (2, true)] {
        let mut card = Card::new(Bytes::gib(4));
        card.open = open;
        let areas = Areas::of_capacity(card.capacity(), 8);
        let times = probed(&mut card, |p| update_times(p, &areas, 64 << 10));
        assert!(times.mean_s <= times.longest_s + 1e-9);
        if slow {
            assert!(times.mean_s > 0.2, "{times:?}");
        } else {
            near(times.mean_s, update_s);
        }
    }
}

fn run(procedure: Procedure, device: &str) -> ResultDocument {
    let options = ReviewOptions {
        seed: 1,
        quick: true,
        ..ReviewOptions::default()
    };
    let spec = SimSpec::library(device).unwrap();
    procedure.run(&spec, &options, &mut (), &|| false).unwrap()
}

#[track_caller]
fn conclusion<'a>(document: &'a ResultDocument, id: &str) -> &'a Conclusion {
    let mut all = document.steps.iter().flat_map(|s| &s.conclusions);
    all.find(|c| c.id == id)
        .unwrap_or_else(|| panic!("no conclusion {id}"))
}

#[test]
fn every_class_gets_a_verdict_with_its_numbers() {
    let document = run(Procedure::SpeedClass, "reference-nvme-64gb");
    assert!(document.complete);
    for class in [
        "class-2", "class-4", "class-6", "class-10", "u1", "u3", "v6", "v10", "v30", "v60", "v90",
        "a1-like", "a2-like",
    ] {
        let c = conclusion(&document, &format!("direct.speed-class.{class}"));
        // A drive of several hundred MB/s meets all classes.
        assert_eq!((c.passed, c.answer.as_str()), (Some(true), "pass"), "{c:?}");
        assert!(c.evidence.contains(" of "), "{c:?}");
    }
    assert_eq!(
        to_json(&document).unwrap(),
        to_json(&run(Procedure::SpeedClass, "reference-nvme-64gb")).unwrap()
    );
}

#[test]
fn flashbench_answers_every_question_about_any_device() {
    let document = run(Procedure::Flashbench, "reference-nvme-64gb");
    assert!(document.complete);
    for id in [
        "align.page",
        "align.allocation-unit",
        "open-au.linear",
        "open-au.random",
        "find-fat.linear",
        "find-fat.random",
        "find-fat.pinned",
    ] {
        let c = conclusion(&document, &format!("direct.{id}"));
        assert!(!c.answer.is_empty() && !c.evidence.is_empty());
    }
    // A log-structured drive has no units to keep open, and no special ones at its start.
    assert_eq!(
        conclusion(&document, "direct.open-au.linear").answer,
        "at least 32"
    );
    assert_eq!(
        conclusion(&document, "direct.find-fat.pinned").answer,
        "cannot tell"
    );
    let align = document
        .steps
        .iter()
        .find(|s| s.id == "direct-align")
        .unwrap();
    let names: Vec<&str> = align.tables[0]
        .columns
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(names[..4], ["pre", "on", "post", "diff"]);
    assert!(align.counters["host_read_bytes"] > 0.0);
    for row in &align.tables[0].rows {
        let v: Vec<f64> = row.cells.iter().map(|c| c.unwrap()).collect();
        assert!((v[1] - (v[0] + v[2]) / 2.0 - v[3]).abs() < 1e-6);
    }
}

#[test]
fn what_is_stopped_is_kept_and_marked() {
    let spec = SimSpec::library("reference-nvme-64gb").unwrap();
    for procedure in [Procedure::Flashbench, Procedure::SpeedClass] {
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 5
        };
        let options = ReviewOptions {
            quick: true,
            ..ReviewOptions::default()
        };
        let document = procedure.run(&spec, &options, &mut (), &stop).unwrap();
        assert!(!document.complete);
        assert!(document.steps.last().unwrap().incomplete.is_some());
    }
}
