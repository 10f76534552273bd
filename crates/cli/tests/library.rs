//! The tables of the library's results, among which a report ranks a drive without a shelf: they name every device, and the
//! model still gives their numbers.

use nandscope_device::Device;
use nandscope_device::profile::library::{self, DEVICES};
use nandscope_report::shelf::{LIBRARY_TESTS, LibraryTest, fastest_mode, library_table};
use nandscope_result::ResultDocument;
use nandscope_suite::{Procedure, ReviewOptions, SimSpec, at_once};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Results that are measured to check the tables: cards, a host with a bridge, SSDs.
const CHECKED: [(Procedure, bool, &str); 12] = [
    (Procedure::Card, false, "kingston-8gb"),
    (Procedure::Card, true, "samsung-evo-16gb"),
    (Procedure::Card, true, "samsung-emmc51-64gb"),
    (Procedure::Card, true, "reference-nvme-64gb"),
    (Procedure::Card, true, "ocz-vertex-450-256gb"),
    (Procedure::Fill, false, "samsung-pro-32gb"),
    (Procedure::Fill, true, "reference-nvme-64gb"),
    (Procedure::Iometer, false, "samsung-emmc51-64gb"),
    (Procedure::Iometer, true, "hp-ex920-1tb"),
    (Procedure::Plain, false, "sm2708-250gb"),
    (Procedure::SpeedClass, false, "samsung-evo-16gb"),
    (Procedure::Ssd, true, "reference-nvme-64gb"),
];

/// The procedure of a test: how its results call it, and how the program does.
fn procedure(test: &LibraryTest) -> Procedure {
    match test.procedure {
        "card review" => Procedure::Card,
        "solid-state drive" => Procedure::Ssd,
        name => Procedure::find(name).unwrap(),
    }
}

fn test_of(procedure: Procedure) -> &'static LibraryTest {
    let is_it = |t: &&LibraryTest| self::procedure(t) == procedure;
    LIBRARY_TESTS.iter().find(is_it).unwrap()
}

fn place(test: &LibraryTest) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/src/shelf/library");
    PathBuf::from(folder).join(format!("{}.tsv", test.procedure.replace(' ', "-")))
}

/// Whether a test applies to a device: the test of solid-state drives writes more than a small card holds.
fn takes(procedure: Procedure, entry: &library::Entry) -> bool {
    let links = entry.profile().unwrap().interface;
    procedure != Procedure::Ssd
        || links
            .iter()
            .all(|i| i.link.starts_with("pcie-") || i.link.starts_with("sata-"))
}

/// The fastest mode of a device.
fn fastest(spec: &SimSpec) -> String {
    let infos = spec.modes.iter().map(|mode| {
        let device = Device::new(&spec.profile, &mode.host, 1).unwrap();
        SimSpec::mode_info(mode, device.path())
    });
    let infos: Vec<_> = infos.collect();
    fastest_mode(&infos).unwrap().name.clone()
}

fn measured((procedure, quick, name): (Procedure, bool, &str)) -> ResultDocument {
    let spec = SimSpec::library(name).unwrap();
    let mut options = ReviewOptions {
        seed: 1,
        quick,
        ..ReviewOptions::default()
    };
    // The speed class test measures in the first mode only.
    if procedure == Procedure::SpeedClass {
        options.modes = vec![fastest(&spec)];
    }
    procedure.run(&spec, &options, &mut (), &|| false).unwrap()
}

/// Lines of the results of one test, each quick or whole, with the heading.
fn table(test: &LibraryTest, runs: &[(bool, &str)]) -> String {
    let procedure = procedure(test);
    // A line at a time: whole documents of all devices take gigabytes.
    let line = |i: usize| {
        let (quick, name) = runs[i];
        library_table(test, &[measured((procedure, quick, name))])
    };
    let threads = at_once::threads(None);
    let tables = at_once::run(runs.len(), threads, &|| false, line, |_| {});
    let mut whole = library_table(test, &[]);
    for table in tables.into_iter().flatten() {
        whole.extend(table.lines().skip(1).flat_map(|line| [line, "\n"]));
    }
    whole
}

/// The table of a test with new lines for these devices of the library, separated by commas, or for all.
fn updated(test: &LibraryTest, devices: Option<&str>) -> String {
    let Some(devices) = devices else {
        return table(test, &runs(test));
    };
    let devices: Vec<&str> = devices.split(", ").collect();
    for device in &devices {
        assert!(
            library::device(device).is_some(),
            "{device} is not a device of the library"
        );
    }
    let mut wanted = runs(test);
    wanted.retain(|(_, name)| devices.contains(name));
    let new = table(test, &wanted);
    let key = |line: &str| -> Vec<String> { line.split('\t').take(2).map(String::from).collect() };
    let mut new_lines = new.lines().skip(1);
    let lines = test.table.lines().map(|line| {
        let is_wanted = |run: &(bool, &str)| {
            key(line) == [if run.0 { "quick" } else { "whole" }, run.1].map(String::from)
        };
        if wanted.iter().any(is_wanted) {
            new_lines.next().unwrap()
        } else {
            line
        }
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Runs of all devices that a test applies to, whole and then quick; the plain test has no quick form.
fn runs(test: &LibraryTest) -> Vec<(bool, &'static str)> {
    let procedure = procedure(test);
    let devices = DEVICES.iter().filter(|e| takes(procedure, e));
    let all = |quick| devices.clone().map(move |e| (quick, e.name));
    let quick = all(true).filter(|_| procedure != Procedure::Plain);
    all(false).chain(quick).collect()
}

#[test]
fn the_tables_of_ranks_have_each_library_device_whole_and_quick() {
    for test in &LIBRARY_TESTS {
        let heading = library_table(test, &[]);
        assert_eq!(test.table.lines().next(), heading.lines().next());
        let columns = heading.split('\t').count();
        let named: Vec<(bool, &str)> = test
            .table
            .lines()
            .skip(1)
            .map(|line| {
                let cells: Vec<&str> = line.split('\t').collect();
                assert_eq!(cells.len(), columns, "{line}");
                let spec = SimSpec::library(cells[1]).unwrap();
                assert_eq!(fastest(&spec), cells[3], "{line}");
                assert_eq!(spec.profile.device.title, cells[4]);
                (cells[0] == "quick", cells[1])
            })
            .collect();
        assert_eq!(
            named,
            runs(test),
            "UPDATE=\"{}\" cargo test --release -p nandscope --test it library:: -- --ignored writes the table",
            test.procedure
        );
        // A misspelled identifier would be missing in every line.
        for column in 5..columns {
            let mut cells = test
                .table
                .lines()
                .skip(1)
                .filter_map(|l| l.split('\t').nth(column));
            assert!(cells.any(|cell| cell != "-"), "{heading}: column {column}");
        }
    }
    // Titles must be unique, since tables name devices by their title.
    let titles = DEVICES.iter().map(|e| e.profile().unwrap().device.title);
    assert_eq!(titles.collect::<BTreeSet<_>>().len(), DEVICES.len());
}

#[test]
#[ignore = "slow: twelve results; UPDATE=1 writes all tables, UPDATE=\"fill, iometer\" those of these tests, \
            DEVICES=\"sm2708-250gb\" the lines of this device only"]
fn slow_the_tables_of_ranks_follow_from_the_model() {
    if let Ok(wanted) = std::env::var("UPDATE") {
        let is_wanted =
            |t: &&LibraryTest| wanted == "1" || wanted.split(", ").any(|w| w == t.procedure);
        let devices = std::env::var("DEVICES").ok();
        for test in LIBRARY_TESTS.iter().filter(is_wanted) {
            std::fs::write(place(test), updated(test, devices.as_deref())).unwrap();
        }
        return;
    }
    for (procedure, quick, name) in CHECKED {
        let test = test_of(procedure);
        for line in table(test, &[(quick, name)]).lines() {
            assert!(
                test.table.lines().any(|kept| kept == line),
                "the table of {} has another line; UPDATE=1 writes it\n{line}",
                test.procedure
            );
        }
    }
}
