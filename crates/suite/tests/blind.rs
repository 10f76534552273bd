//! The blind test with a fixed seed: the targets for what is inferred. `BLIND_SEED` draws other devices, and
//! `BLIND_VERBOSE` tells of every answer that is not right.

#![allow(clippy::unwrap_used, reason = "a failed test should panic")]

use nandscope_suite::blind::{Outcome, Table, Tried, run};

/// Another series by `BLIND_SEED`.
fn seed() -> u64 {
    let given = std::env::var("BLIND_SEED").ok();
    given.and_then(|s| s.parse().ok()).unwrap_or(1)
}

fn table(count: u64) -> Table {
    let verbose = std::env::var_os("BLIND_VERBOSE").is_some();
    let tell = &mut |number: u64, tried: &Tried| {
        let report = &tried.report;
        for j in tried
            .judged
            .iter()
            .filter(|j| verbose && j.outcome != Outcome::Right)
        {
            let (finding, truth) = (report.finding(j.id), &tried.drawn.truth);
            println!("{number} {} {:?}: {truth:?} {finding:?}", j.id, j.outcome);
        }
        if verbose {
            let gb = report.written as f64 / 1e9;
            println!(
                "{number}: {gb:.2} GB, {:.0} s {:?}",
                report.elapsed_s, report.cut_short
            );
        }
    };
    run(count, seed(), &|| false, tell).unwrap().unwrap()
}

#[test]
fn two_hundred_drawn_devices() {
    let table = table(200);
    println!("{}", table.markdown());
    let unit = table.rows["unit"];
    assert!(unit.wrong * 100 <= unit.asked);
    assert!((unit.right + unit.not_told) * 100 >= unit.asked * 95);
    // "Cannot tell" must not be the way out.
    assert!(unit.right * 10 >= unit.asked * 9);
    let open = table.rows["open-linear"];
    assert!(open.right * 10 >= open.asked * 9 && open.wrong * 50 <= open.asked);
    for id in ["page", "slc", "buffer", "fat"] {
        let row = table.rows[id];
        assert!(row.right * 10 >= row.asked * 9, "{id}: {row:?}");
    }
    for (id, row) in &table.rows {
        let (answers, right) = row.sure;
        assert!(right * 100 >= answers * 97, "{id}: {row:?}");
        let (answers, right) = row.likely;
        assert!(right * 100 >= answers * 90, "{id}: {row:?}");
    }
    // Stated confidence and what became of it.
    let buffer = table.rows["buffer"].fair;
    assert!(buffer.1 * 100 >= buffer.0 * 85, "{buffer:?}");
    assert!(table.most_written <= 4_000_000_000 && table.longest_s <= 1200.0);
}

/// Where the table stands.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/inference.md");
/// What stands before it.
const MARK: &str = "<!-- from here on written by the blind test, BLIND_WRITE=1 -->\n";

#[test]
fn the_table_in_the_documentation_is_that_of_this_version() {
    let table = format!(
        "{MARK}\nSeed 1, 200 devices:\n\n{}",
        run(200, 1, &|| false, &mut |_, _| {})
            .unwrap()
            .unwrap()
            .markdown()
    );
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (head, old) = page.split_at(page.find(MARK).unwrap());
    if std::env::var_os("BLIND_WRITE").is_some() {
        std::fs::write(PAGE, format!("{head}{table}")).unwrap();
    } else {
        assert!(
            old == table,
            "docs/inference.md is of another version; BLIND_WRITE=1 writes it:\n{table}"
        );
    }
}
