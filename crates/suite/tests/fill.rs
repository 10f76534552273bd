//! Two fills of a whole device: the cache ends at its stated size, and every byte is written twice.

use nandscope_device::profile::parse_profile;
use nandscope_result::ResultDocument;
use nandscope_suite::{Procedure, ReviewOptions, SimSpec};

/// The Kingston A2000 with a 64th of the word lines, and all else in proportion.
fn small() -> SimSpec {
    let whole = include_str!("../../../profiles/kingston-a2000-1tb.toml");
    let mut text = String::new();
    for line in whole.lines() {
        let key = line.split(" = ").next().unwrap_or_default();
        text.push_str(match key {
            "name" => "name = \"small\"",
            "capacity_bytes" => "capacity_bytes = 15628201984 # 1/64",
            "word_lines" => "word_lines = 12 # 1/64",
            "dynamic_gb" => "dynamic_gb = 2.34375 # 1/64",
            "reserve_gb" => "reserve_gb = 2.09375 # 1/64",
            "erase_us" => "erase_us = 150.0 # 1/64",
            _ => line,
        });
        text.push('\n');
    }
    let profile = parse_profile("small.toml", &text).unwrap_or_else(|e| panic!("{e:?}"));
    SimSpec::new("sim:small", &text, profile).unwrap()
}

fn figure(document: &ResultDocument, id: &str) -> f64 {
    let mut figures = document.steps.iter().flat_map(|s| &s.figures);
    let found = figures.find(|f| f.id == format!("nvme.fill.{id}"));
    found.unwrap_or_else(|| panic!("no figure {id}")).value
}

fn fill(quick: bool) -> ResultDocument {
    let options = ReviewOptions {
        seed: 1,
        quick,
        ..ReviewOptions::default()
    };
    Procedure::Fill
        .run(&small(), &options, &mut (), &|| false)
        .unwrap()
}

#[test]
fn the_regions_of_a_drive_are_found_where_they_are() {
    let document = fill(false);
    assert!(document.complete);
    let written: Vec<f64> = document
        .steps
        .iter()
        .map(|s| s.counters["host_written_bytes"])
        .collect();
    // Whole blocks of 128 KiB.
    let blocks = 15_628_201_984_u64 / 131_072;
    assert_eq!(written, [(blocks * 131_072) as f64; 2]);
    // 150, 600 and 1000 GB, divided by 64.
    let end = figure(&document, "pass-1.plateau-1.end");
    assert!((end / 2.34375 - 1.0).abs() < 0.05, "{end}");
    let end = figure(&document, "pass-1.plateau-2.end");
    assert!((end / 9.375 - 1.0).abs() < 0.05, "{end}");
    let (first, second) = (
        figure(&document, "pass-1.plateau-1"),
        figure(&document, "pass-1.plateau-2"),
    );
    assert!((first / 2000.0 - 1.0).abs() < 0.05, "{first}");
    assert!((second / 500.0 - 1.0).abs() < 0.05, "{second}");
    // Folding during the host's writes is slower than writing alone.
    assert!(figure(&document, "pass-1.last-third") < 0.9 * second);
    // The second fill finds no free space to use as a cache.
    assert!(figure(&document, "pass-2.high") < 0.5 * first);
}

#[test]
fn a_quick_fill_says_so_and_stays_in_the_first_tenth() {
    let document = fill(true);
    assert!(
        document
            .notices
            .iter()
            .any(|n| n.text.contains("Quick run"))
    );
    let written = document.steps[0].counters["host_written_bytes"];
    assert!((written / 1_562_820_198.0 - 1.0).abs() < 0.01, "{written}");
}
