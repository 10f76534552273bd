//! The library's cards measured by the flashbench procedure alone: its conclusions agree with publications about the
//! real cards, without knowledge of the profile.

use nandscope_result::ResultDocument;
use nandscope_suite::{Procedure, ReviewOptions, SimSpec};

fn run(device: &str) -> ResultDocument {
    let options = ReviewOptions {
        seed: 1,
        ..ReviewOptions::default()
    };
    let spec = SimSpec::library(device).unwrap();
    Procedure::Flashbench
        .run(&spec, &options, &mut (), &|| false)
        .unwrap()
}

fn answer<'a>(document: &'a ResultDocument, ending: &str) -> &'a str {
    let mut all = document.steps.iter().flat_map(|s| &s.conclusions);
    &all.find(|c| c.id.ends_with(ending)).unwrap().answer
}

#[test]
fn units_and_open_units_of_the_talk_come_out_of_the_measurement() {
    for (device, unit, open) in [
        ("toshiba-class10-16gb", "8 MiB", "2"),
        ("sandisk-extreme-16gb", "8 MiB", "9"),
        ("sandisk-extreme-pro-16gb", "4 MiB", "9"),
        ("samsung-evo-16gb", "4 MiB", "7"),
        ("sandisk-ultra-16gb", "2 MiB", "4"),
        ("kingston-8gb", "4 MiB", "6"),
        ("toshiba-exceria-32gb", "128 MiB", "8"),
        ("samsung-pro-32gb", "4 MiB", "24"),
        ("talk-mmcblk1-8gb", "4 MiB", "3"),
    ] {
        let document = run(device);
        assert_eq!(answer(&document, "align.allocation-unit"), unit, "{device}");
        assert_eq!(answer(&document, "open-au.linear"), open, "{device}");
        assert_eq!(answer(&document, "find-fat.pinned"), "none", "{device}");
    }
}

#[test]
fn one_of_two_units_is_found_pinned_to_the_fat() {
    // Published in the talk: two open units, one of them for the FAT area; pages of 128 KiB.
    let document = run("kingston-class10-32gb");
    assert_eq!(answer(&document, "align.page"), "128 KiB");
    assert_eq!(answer(&document, "align.allocation-unit"), "4 MiB");
    assert_eq!(answer(&document, "open-au.linear"), "1");
    assert_eq!(answer(&document, "find-fat.random"), "unit 1 faster");
    assert_eq!(answer(&document, "find-fat.pinned"), "unit 1");
}

#[test]
fn the_printed_table_comes_out_row_by_row() {
    let facts: toml::Table = toml::from_str(include_str!("../../../facts/published.toml")).unwrap();
    let facts = facts["fact"].as_array().unwrap();
    let document = run("talk-mmcblk1-8gb");
    let tables = document.steps.iter().flat_map(|s| &s.tables);
    let table = tables
        .into_iter()
        .find(|t| t.title == "Reads at boundaries")
        .unwrap();
    let mut compared = 0;
    for fact in facts {
        let quantity = fact["quantity"].as_str().unwrap();
        let Some(align) = quantity.strip_prefix("flashbench -a align ") else {
            continue;
        };
        let align: u64 = align.parse().unwrap();
        let label = nandscope_units::Bytes(align).to_string();
        let row = table.rows.iter().find(|r| r.label == label).unwrap();
        for (cell, (key, unit)) in row.cells.iter().zip([
            ("pre_ms", 1e3),
            ("on_ms", 1e3),
            ("post_ms", 1e3),
            ("diff_us", 1.0),
        ]) {
            let value = &fact["value"][key];
            let printed = value
                .as_float()
                .or(value.as_integer().map(|n| n as f64))
                .unwrap();
            let error = cell.unwrap() / (printed * unit) - 1.0;
            assert!(error.abs() < 0.05, "{label} {key}: {:+.1} %", error * 100.0);
            compared += 1;
        }
    }
    assert_eq!(compared, 48);
}
