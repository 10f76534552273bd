//! The library device `sm2708-250gb` beside the published review it was taken from: the figures of
//! `facts/published.toml` with the tolerances of `facts/checks.toml`, as docs/validation.csv has them, and the shapes of its
//! curves. `make test-long` measures the rows of docs/validation.csv again.

use nandscope_result::ResultDocument;
use nandscope_suite::{ReviewObserver, ReviewOptions, SimSpec, facts, review};
use std::cell::Cell;

const DEVICE: &str = "sm2708-250gb";

/// The rows of the device in docs/validation.csv.
fn rows() -> Vec<&'static str> {
    let table = include_str!("../../../docs/validation.csv");
    let of_device = |row: &&str| row.starts_with(DEVICE);
    table.lines().filter(of_device).collect()
}

fn is_about(row: &str, mode: &str, fact: &str) -> bool {
    row.starts_with(&format!("{DEVICE},{mode},{fact},"))
}

#[test]
fn every_published_figure_is_met_or_its_miss_is_explained() {
    let rows = rows();
    for fact in [
        "S1-035", "S1-036", "S1-037", "S0-039", "S0-040", "S0-041", "S0-042", "S0-043", "S0-044",
        "S0-046", "S0-047", "S0-048", "S0-072", "S0-073", "S0-074", "S0-079", "S0-080", "S0-081",
        "S0-082", "S0-083", "S0-084",
    ] {
        let is_there = rows.iter().any(|row| row.split(',').nth(2) == Some(fact));
        assert!(is_there, "{fact} has no figure");
    }
    let missed: Vec<_> = rows.iter().filter(|row| row.contains(",no,")).collect();
    for row in &missed {
        assert!(!row.ends_with(','), "no reason: {row}");
    }
    // These misses are known; another one is a regression.
    let known = [
        ("SD Express", "S0-040"),
        ("SD Express", "S0-043"),
        ("UHS-I", "S0-046"),
    ];
    assert_eq!(missed.len(), known.len(), "{missed:#?}");
    for (mode, fact) in known {
        assert!(missed.iter().any(|row| is_about(row, mode, fact)), "{fact}");
    }
}

/// Without its cache, the drive still programs when a run has ended and writes without simulated time follow.
#[test]
#[ignore = "slow: 40 GB of random writes to a drive of 512 GB"]
fn slow_every_row_of_a_series_with_writes_between_its_runs_has_a_figure() {
    let all = facts::validations().unwrap();
    let series = all.iter().find(|v| v.host == "hp-p420i-cache-off").unwrap();
    let spec = series.spec().unwrap();
    let comparison = series.measure(&spec, &|| false).unwrap();
    assert_eq!(comparison.missing, []);
    assert_eq!(comparison.rows.len(), 32);
}

/// Formatting restores performance only where discards are passed on.
#[test]
fn formatting_restores_performance_in_sd_express_mode_alone() {
    let rows = rows();
    let met = |mode: &str, fact: &str| {
        let row = rows.iter().find(|row| is_about(row, mode, fact));
        row.unwrap_or_else(|| panic!("{fact} has no row"))
            .contains(",yes,")
    };
    // Sequential reads and writes after formatting; in UHS-I mode the published answer is no.
    assert!(met("SD Express", "S0-072") && met("SD Express", "S0-073") && met("UHS-I", "S0-074"));
}

#[test]
fn the_curves_of_a_quick_review_have_the_published_shapes() {
    let spec = SimSpec::library(DEVICE).unwrap();
    let options = ReviewOptions {
        seed: 1,
        quick: true,
        ..ReviewOptions::default()
    };
    let document = review(&spec, &options, &mut (), &|| false).unwrap();
    let figure = |id: &str| {
        let steps = document.steps.iter().flat_map(|s| &s.figures);
        let mut figures = steps.chain(&document.figures);
        let found = figures.find(|f| f.id == id);
        found.unwrap_or_else(|| panic!("no figure {id}")).value
    };
    // Random operations become faster with the queue depth in SD Express mode, but not in UHS-I mode.
    let gain = |mode: &str| {
        figure(&format!("{mode}.cdm.fresh.rnd4k-q32t1.read"))
            / figure(&format!("{mode}.cdm.fresh.rnd4k-q1t1.read"))
    };
    let (express, uhs_i) = (gain("sd-express"), gain("uhs-i"));
    assert!(
        express > 3.0 && (uhs_i - 1.0).abs() < 0.05,
        "{express} {uhs_i}"
    );
    // The review says that the cache is harder to see in UHS-I mode: the step after it was less than half as high.
    // Known to be missed: a write is acknowledged there when all of its data is programmed, and the model pads the TLC
    // program unit (96 KiB) that holds the end of a write of 128 KiB. That costs a third of the rate after the cache. A
    // card that stores such an end in an SLC page and leaves the unit open would not pay it.
    let step_down = |mode: &str| {
        figure(&format!("{mode}.fio.fresh.write.plateau-1"))
            / figure(&format!("{mode}.fio.fresh.write.plateau-2"))
    };
    let (express, uhs_i) = (step_down("sd-express"), step_down("uhs-i"));
    assert!(
        express <= 2.0 * uhs_i,
        "no longer missed, say so: {express} and {uhs_i}"
    );
}

/// Ends a review after the step with this id.
struct EndAfter<'a>(&'a str, &'a Cell<bool>);

impl ReviewObserver for EndAfter<'_> {
    fn step_done(&mut self, document: &ResultDocument) {
        let Some(last) = document.steps.last() else {
            return;
        };
        self.1.set(self.1.get() || last.id == self.0);
    }
}

/// By minutes, within a percent.
#[test]
fn a_read_after_the_first_write_becomes_faster_and_never_slower_again() {
    let spec = SimSpec::library(DEVICE).unwrap();
    let options = ReviewOptions {
        seed: 1,
        ..ReviewOptions::default()
    };
    let id = "sd-express-fio-read-fresh";
    let ended = Cell::new(false);
    let document = review(&spec, &options, &mut EndAfter(id, &ended), &|| ended.get()).unwrap();
    let read = document.steps.iter().find(|s| s.id == id).unwrap();
    let mut series = read.series.iter();
    let bandwidth = series.find(|s| s.name == "read bandwidth").unwrap();
    let minutes: Vec<f64> = bandwidth.v[..bandwidth.v.len() - 1]
        .chunks(60)
        .map(|c| c.iter().sum::<f64>() / c.len() as f64)
        .collect();
    assert!(
        minutes.windows(2).all(|w| w[1] >= w[0] * 0.99),
        "{minutes:?}"
    );
}
