//! Recordings of real cards with flashbench, from the facts.

use nandscope_suite::flashbench::recorded::Recorded;

/// All recorded tables.
pub fn recorded() -> Recorded {
    let mut all = Recorded::default();
    all.read_align(
        "align.csv",
        include_str!("../../../../facts/flashbench/align.csv"),
    )
    .unwrap();
    all.read_open_au(
        "openau.csv",
        include_str!("../../../../facts/flashbench/openau.csv"),
    )
    .unwrap();
    all.read_find_fat(
        "findfat.csv",
        include_str!("../../../../facts/flashbench/findfat.csv"),
    )
    .unwrap();
    all
}
