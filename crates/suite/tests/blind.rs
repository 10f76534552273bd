//! The blind test with a fixed seed. The quick one draws a few devices; the whole one, `blind_200`, takes minutes
//! and is run by name: `cargo test --release -p nandscope-suite --test blind -- --ignored`.

#![allow(clippy::unwrap_used, reason = "a failed test should panic")]

use nandscope_suite::blind::{Outcome, run};

/// Another series by `BLIND_SEED`.
fn seed() -> u64 {
    let given = std::env::var("BLIND_SEED").ok();
    given.and_then(|s| s.parse().ok()).unwrap_or(1)
}

fn table(count: u64) -> nandscope_suite::blind::Table {
    let verbose = std::env::var_os("BLIND_VERBOSE").is_some();
    let tell = &mut |number: u64,
                     drawn: &nandscope_suite::blind::Drawn,
                     report: &nandscope_infer::probe::Report,
                     judged: &[nandscope_suite::blind::Judged]| {
        for j in judged
            .iter()
            .filter(|j| verbose && j.outcome != Outcome::Right)
        {
            let finding = report.finding(j.id);
            println!(
                "{number} {} {:?}: {:?} {finding:?}",
                j.id, j.outcome, drawn.truth
            );
        }
        if verbose {
            println!(
                "{number}: {:.2} GB, {:.0} s {:?}",
                report.written as f64 / 1e9,
                report.elapsed_s,
                report.cut_short
            );
        }
    };
    run(count, seed(), &|| false, tell).unwrap().unwrap()
}

#[test]
fn the_first_devices_of_the_blind_test() {
    let table = table(10);
    println!("{}", table.markdown());
    let unit = table.rows["unit"];
    assert_eq!((unit.asked, unit.wrong), (10, 0));
    assert!(table.rows["open-linear"].right >= 8);
    assert!(table.most_written <= 4_000_000_000 && table.longest_s <= 1200.0);
}

#[test]
#[ignore = "two hundred devices take a minute; run by name, and to make the table of docs/inference.md"]
fn blind_200() {
    let table = table(200);
    println!("{}", table.markdown());
    let unit = table.rows["unit"];
    assert!(unit.wrong * 100 <= unit.asked);
    let open = table.rows["open-linear"];
    assert!(open.right * 10 >= open.asked * 9 && open.wrong * 50 <= open.asked);
    for id in ["page", "slc"] {
        let row = table.rows[id];
        assert!(row.right * 10 >= row.asked * 9, "{id}: {row:?}");
    }
    assert!(table.most_written <= 4_000_000_000 && table.longest_s <= 1200.0);
}
