//! The drives of the SM2262EN page, compared with the ratios printed there.

use nandscope_result::ResultDocument;
use nandscope_suite::{Procedure, ReviewOptions, SimSpec};

fn figure(document: &ResultDocument, id: &str) -> f64 {
    let figures = document.steps.iter().flat_map(|s| &s.figures);
    let found = figures.chain(&document.figures).find(|f| f.id == id);
    found.unwrap_or_else(|| panic!("no figure {id}")).value
}

/// Latencies and powers do not depend on the duration of the measurement, so the quick form is enough.
#[test]
fn the_printed_ratios_hold() {
    let spec = SimSpec::library("sm2262en-2tb").unwrap();
    let options = ReviewOptions {
        seed: 1,
        quick: true,
        ..ReviewOptions::default()
    };
    let document = Procedure::SsdPeers
        .run(&spec, &options, &mut (), &|| false)
        .unwrap();
    assert!(document.complete);
    let over = |id: &str, drive: &str| figure(&document, &format!("{id}.over-{drive}"));
    // S3-178: 10 % more.
    let read = over("burst.read", "hp-ex920-1tb");
    assert!((7.0..=13.0).contains(&read), "burst read {read} %");
    // S3-189: 25 to 30 % more.
    let write = over("burst.write", "hp-ex920-1tb");
    assert!((25.0..=30.0).contains(&write), "burst write {write} %");
    // S3-179: ahead of the 970 PRO.
    assert!(over("sustained.read.score", "samsung-970-pro-512gb") > 0.0);
    // S3-196: slightly less power.
    let power = over("sustained.write.power", "hp-ex920-1tb");
    assert!((-10.0..0.0).contains(&power), "power {power} %");
}
