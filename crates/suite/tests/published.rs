//! The model meets the published figures of the SM2708 review: the whole review in both modes, compared with
//! `facts/published.toml` with the tolerances of `facts/checks.toml`.

use nandscope_suite::{Procedure, ReviewOptions, SimSpec, facts, review};

#[test]
fn every_published_figure_is_met_or_its_miss_is_explained() {
    let spec = SimSpec::library("sm2708-250gb").unwrap();
    let options = ReviewOptions {
        seed: 1,
        ..ReviewOptions::default()
    };
    let document = review(&spec, &options, &mut (), &|| false).unwrap();
    assert!(document.complete);
    let validation = facts::validation("sm2708-250gb", Procedure::Card);
    let comparison = facts::compare(&document, &validation).unwrap();
    assert_eq!(comparison.missing, []);
    let rows = comparison.rows;
    let facts_checked: std::collections::BTreeSet<_> =
        rows.iter().map(|r| r.published.fact.as_str()).collect();
    for fact in [
        "S1-035", "S1-036", "S1-037", "S0-039", "S0-040", "S0-041", "S0-042", "S0-043", "S0-044",
        "S0-046", "S0-047", "S0-048", "S0-072", "S0-073", "S0-074", "S0-079", "S0-080", "S0-081",
        "S0-082", "S0-083", "S0-084",
    ] {
        assert!(facts_checked.contains(fact), "{fact} has no figure");
    }
    let missed: Vec<_> = rows.iter().filter(|r| !r.published.met).collect();
    for row in &missed {
        assert!(
            !row.published.why.is_empty(),
            "{}: {} against {}",
            row.figure.id,
            row.figure.value,
            row.published.value
        );
    }
    // These misses are known; another one is a regression.
    let ids: Vec<_> = missed.iter().map(|r| r.figure.id.as_str()).collect();
    let known = [
        "sd-express.fio.fresh.write.plateau-1",
        "sd-express.fio.fresh.read.start",
        "uhs-i.fio.write.low",
    ];
    assert_eq!(ids, known);
    shapes(&document);
}

/// Statements of the review on shapes of curves.
fn shapes(document: &nandscope_result::ResultDocument) {
    let figure = |id: &str| {
        let steps = document
            .steps
            .iter()
            .flat_map(|s| &s.figures)
            .chain(&document.figures);
        steps
            .into_iter()
            .find(|f| f.id == id)
            .unwrap_or_else(|| panic!("no figure {id}"))
            .value
    };
    // Formatting restores performance only where discards are passed on.
    assert_eq!(figure("sd-express.format.restores"), 1.0);
    assert_eq!(figure("uhs-i.format.restores"), 0.0);
    // Random operations become faster with the queue depth in SD Express mode, but not in UHS-I mode.
    let gain = |mode: &str| {
        figure(&format!("{mode}.cdm.fresh.rnd4k-q32t1.read"))
            / figure(&format!("{mode}.cdm.fresh.rnd4k-q1t1.read"))
    };
    assert!(
        gain("sd-express") > 3.0 && (gain("uhs-i") - 1.0).abs() < 0.05,
        "{} {}",
        gain("sd-express"),
        gain("uhs-i")
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
    // The read after the write becomes faster and never slower again (by minutes, within a percent).
    let read = document
        .steps
        .iter()
        .find(|s| s.id == "sd-express-fio-read-fresh")
        .unwrap();
    let bandwidth = read
        .series
        .iter()
        .find(|s| s.name == "read bandwidth")
        .unwrap();
    let minutes: Vec<f64> = bandwidth.v[..bandwidth.v.len() - 1]
        .chunks(60)
        .map(|c| c.iter().sum::<f64>() / c.len() as f64)
        .collect();
    assert!(
        minutes.windows(2).all(|w| w[1] >= w[0] * 0.99),
        "{minutes:?}"
    );
}
