//! The table of the library's reviews, among which a report ranks a drive without a shelf: it names every device, and the
//! model still gives its numbers.

use nandscope_device::profile::library::DEVICES;
use nandscope_report::shelf::library_table;
use nandscope_result::ResultDocument;
use nandscope_suite::{Procedure, ReviewOptions, SimSpec, Unobserved, at_once};
use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../report/src/shelf/library.tsv");
const PLACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../report/src/shelf/library.tsv"
);

/// Devices that are reviewed to check the table, and how: cards, a host with a bridge, an SSD.
const CHECKED: [(bool, &str); 5] = [
    (false, "kingston-8gb"),
    (true, "samsung-evo-16gb"),
    (true, "samsung-emmc51-64gb"),
    (true, "reference-nvme-64gb"),
    (true, "ocz-vertex-450-256gb"),
];

/// The lines of some reviews, each quick or whole, with the heading.
fn table(reviews: &[(bool, &str)]) -> String {
    let review = |i: usize| -> ResultDocument {
        let (quick, name) = reviews[i];
        let spec = SimSpec::library(name).unwrap();
        let options = ReviewOptions {
            seed: 1,
            quick,
            ..ReviewOptions::default()
        };
        Procedure::Card
            .run(&spec, &options, &mut Unobserved, &|| false)
            .unwrap()
    };
    // A line at a time: whole documents of all devices take gigabytes.
    let line = |i: usize| library_table(&[review(i)]);
    let threads = at_once::threads(None);
    let tables = at_once::run(reviews.len(), threads, &|| false, line, |_| {});
    let mut whole = library_table(&[]);
    for table in tables.into_iter().flatten() {
        whole.extend(table.lines().skip(1).flat_map(|line| [line, "\n"]));
    }
    whole
}

#[test]
fn the_table_of_ranks_has_each_library_device_whole_and_quick() {
    let heading = library_table(&[]);
    assert_eq!(TABLE.lines().next(), heading.lines().next());
    let columns = heading.split('\t').count();
    let named: Vec<(&str, &str)> = TABLE
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells.len(), columns, "{line}");
            let name = cells[1];
            let spec = SimSpec::library(name).unwrap();
            assert!(spec.modes.iter().any(|m| m.name == cells[3]), "{line}");
            assert_eq!(spec.profile.device.title, cells[4]);
            (cells[0], name)
        })
        .collect();
    let all = |run| DEVICES.iter().map(move |e| (run, e.name));
    let expected: Vec<_> = all("whole").chain(all("quick")).collect();
    assert_eq!(
        named, expected,
        "UPDATE=1 cargo test --release -p nandscope --test it library:: -- --ignored writes the table"
    );
    let titles: BTreeSet<&str> = TABLE.lines().filter_map(|l| l.split('\t').nth(4)).collect();
    // Two devices of one title could not be told apart; the heading is one more.
    assert_eq!(titles.len(), DEVICES.len() + 1);
}

#[test]
#[ignore = "slow: reviews five devices; with UPDATE=1 all, twice"]
fn slow_the_table_of_ranks_follows_from_the_model() {
    if std::env::var_os("UPDATE").is_some() {
        let all = |quick| DEVICES.iter().map(move |e| (quick, e.name));
        let reviews: Vec<_> = all(false).chain(all(true)).collect();
        std::fs::write(PLACE, table(&reviews)).unwrap();
        return;
    }
    for line in table(&CHECKED).lines() {
        assert!(
            TABLE.lines().any(|kept| kept == line),
            "the table has another line; UPDATE=1 writes it\n{line}"
        );
    }
}
