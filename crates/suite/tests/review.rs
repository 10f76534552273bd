//! The whole review: it ends, returns the same document twice, keeps its measurements when stopped, and reports skipped
//! tests.

use nandscope_device::profile::{library, parse_profile};
use nandscope_result::json::to_json;
use nandscope_result::{Operation, ResultDocument, StepResult, StopReason};
use nandscope_suite::{ReviewObserver, ReviewOptions, SimSpec, SuiteError, review};
use nandscope_units::Nanos;
use std::cell::Cell;

fn quick(spec: &SimSpec, modes: &[&str], seed: u64) -> ResultDocument {
    let options = ReviewOptions {
        modes: modes.iter().map(|m| m.to_string()).collect(),
        seed,
        quick: true,
        ..ReviewOptions::default()
    };
    review(spec, &options, &mut (), &|| false).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_document_and_another_seed_another() {
    let spec = SimSpec::library("sm2708-250gb").unwrap();
    let first = to_json(&quick(&spec, &["SD Express"], 3)).unwrap();
    assert_eq!(first, to_json(&quick(&spec, &["sd express"], 3)).unwrap());
    assert_ne!(first, to_json(&quick(&spec, &["SD Express"], 4)).unwrap());
}

#[test]
fn every_step_is_there_in_the_published_order_and_in_both_modes() {
    let spec = SimSpec::library("sm2708-250gb").unwrap();
    let document = quick(&spec, &[], 1);
    assert!(document.complete);
    let order = [
        "cdm-fresh",
        "fio-write-fresh",
        "fio-read-fresh",
        "format-before-copying",
        "folder-av",
        "folder-home",
        "folder-br",
        "folder-isos",
        "prepare-traces",
        "trace-",
        "trace-",
        "trace-",
        "trace-",
        "trace-",
        "fio-write-used",
        "fio-read-used",
        "cdm-used",
        "format",
        "cdm-refreshed",
    ];
    for (mode, slug) in [("SD Express", "sd-express-"), ("UHS-I", "uhs-i-")] {
        let ids: Vec<_> = document
            .steps
            .iter()
            .filter(|s| s.mode.as_deref() == Some(mode))
            .map(|s| s.id.as_str())
            .collect();
        assert_eq!(ids.len(), order.len(), "{ids:?}");
        for (id, expected) in ids.iter().zip(order) {
            assert!(
                id.starts_with(&format!("{slug}{expected}")),
                "{id} for {expected}"
            );
        }
    }
    for pair in document.steps.windows(2) {
        assert!(
            pair[0].end_s <= pair[1].start_s && pair[0].start_s < pair[0].end_s,
            "{} and {}",
            pair[0].id,
            pair[1].id
        );
    }
}

/// Rate, bytes per second, and mean latency, µs, of the counted runs of a row of CrystalDiskMark.
fn runs(step: &StepResult, row: &str) -> Vec<(f64, f64)> {
    let jobs = step.jobs.iter();
    let jobs = jobs.filter(|j| j.name.starts_with(&format!("{row}, run ")));
    jobs.filter_map(|j| j.directions.first())
        .map(|d| (d.bandwidth_bytes_per_s, d.latency.mean_ns / 1e3))
        .collect()
}

#[test]
fn the_latency_of_a_test_is_that_of_its_fastest_run() {
    let spec = SimSpec::library("kingston-8gb").unwrap();
    let document = quick(&spec, &[], 1);
    let (mut seen, mut differ) = (0, 0);
    for step in &document.steps {
        for figure in step
            .figures
            .iter()
            .filter(|f| f.id.contains("cdm.") && f.id.ends_with(".latency"))
        {
            // "RND4K Q1T1 read, fresh, mean latency"
            let row = figure.title.split(", ").next().unwrap();
            let runs = runs(step, row);
            let fastest = runs.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
            assert_eq!(Some(figure.value), fastest.map(|run| run.1), "{row}");
            seen += 1;
            let slowest = runs.iter().map(|run| run.1).fold(0.0, f64::max);
            differ += u32::from(slowest > 1.01 * figure.value);
        }
    }
    assert!(
        seen > 0 && differ > 0,
        "{seen} rows, {differ} with runs that differ"
    );
}

#[test]
fn bytes_of_the_jobs_are_the_bytes_that_the_device_counted() {
    let document = quick(
        &SimSpec::library("sm2708-250gb").unwrap(),
        &["SD Express"],
        1,
    );
    for step in &document.steps {
        for (kind, counter) in [
            (Operation::Read, "host_read_bytes"),
            (Operation::Write, "host_written_bytes"),
        ] {
            let directions = step
                .jobs
                .iter()
                .flat_map(|j| &j.directions)
                .filter(|d| d.kind == kind);
            let bytes: u64 = directions.map(|d| d.bytes).sum();
            assert_eq!(step.counters[counter] as u64, bytes, "{} {kind}", step.id);
        }
        for series in &step.series {
            assert_eq!(series.t_s.len(), series.v.len());
            assert!(
                !series.unit.is_empty(),
                "{} of {} has no unit",
                series.name,
                step.id
            );
        }
    }
}

#[test]
fn a_review_that_is_stopped_keeps_what_it_has_and_says_so() {
    struct Watch<'a>(&'a Cell<bool>);
    impl ReviewObserver for Watch<'_> {
        fn progress(&mut self, fraction: f64, _: &str, _: &str, _: Nanos) {
            if fraction > 0.1 {
                self.0.set(true);
            }
        }
    }
    let stopped = Cell::new(false);
    let spec = SimSpec::library("sm2708-250gb").unwrap();
    let options = ReviewOptions {
        quick: true,
        ..ReviewOptions::default()
    };
    let document = review(&spec, &options, &mut Watch(&stopped), &|| stopped.get()).unwrap();
    assert!(!document.complete);
    let last = document.steps.last().unwrap();
    assert_eq!(last.incomplete, Some(StopReason::Interrupted));
    assert!(
        document.steps.len() > 1 && document.steps.len() < 10,
        "{}",
        document.steps.len()
    );
}

#[test]
fn progress_rises_from_nothing_to_the_whole() {
    struct Rising(f64);
    impl ReviewObserver for Rising {
        fn progress(&mut self, fraction: f64, mode: &str, step: &str, _: Nanos) {
            assert!(
                fraction >= self.0 - 1e-9 && fraction <= 1.0,
                "{} after {} in {mode}: {step}",
                fraction,
                self.0
            );
            self.0 = fraction;
        }
    }
    let mut rising = Rising(0.0);
    let options = ReviewOptions {
        quick: true,
        ..ReviewOptions::default()
    };
    review(
        &SimSpec::library("sm2708-250gb").unwrap(),
        &options,
        &mut rising,
        &|| false,
    )
    .unwrap();
    assert!(rising.0 > 0.99, "{}", rising.0);
}

#[test]
fn a_device_without_modes_of_its_own_is_attached_directly() {
    let spec = SimSpec::library("reference-nvme-64gb").unwrap();
    let document = quick(&spec, &[], 1);
    assert!(document.complete);
    assert_eq!(document.target.modes[0].name, "Direct");
}

#[test]
fn an_unknown_mode_is_refused_with_the_known_ones() {
    let spec = SimSpec::library("sm2708-250gb").unwrap();
    let options = ReviewOptions {
        modes: vec!["SPI".to_string()],
        ..ReviewOptions::default()
    };
    let error = review(&spec, &options, &mut (), &|| false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown mode `SPI` of sim:sm2708-250gb; it has `SD Express`, `UHS-I`"
    );
    assert!(matches!(
        SimSpec::library("no-such-card"),
        Err(SuiteError::Target(_))
    ));
}

#[test]
fn a_card_that_is_too_small_for_the_procedure_says_so() {
    let entry = library::device("sm2708-250gb").unwrap();
    let small = entry.text.replace(
        "capacity_bytes = 250059350016",
        "capacity_bytes = 268435456",
    );
    let profile = parse_profile("small.toml", &small).unwrap();
    let spec = SimSpec::new("sim:small.toml", &small, profile).unwrap();
    let options = ReviewOptions {
        quick: true,
        ..ReviewOptions::default()
    };
    // Tests that fit are run; notices name the others.
    let document = review(&spec, &options, &mut (), &|| false).unwrap();
    assert!(document.complete, "{:?}", document.notices);
    let left_out = document.notices.iter().filter(|n| {
        n.text
            .contains("left out, since it touches more than the device holds")
    });
    let replayed = document.steps.iter().filter(|s| s.id.contains("-trace-"));
    let traces = nandscope_workload::trace::library().len();
    // Two modes; equal notices are stated once.
    assert_eq!(2 * left_out.count() + replayed.count(), 2 * traces);
}
