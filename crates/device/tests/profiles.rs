//! Profiles: the library is sound and explains its numbers; invalid profiles are refused with the line, the key and the
//! error; no text makes the parser panic.

use crate::support;
use nandscope_device::profile::{
    Explained, Provenance, explain, library, parse_host, parse_profile,
};
use nandscope_device::{Device, Fill};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const TEXT: &str = include_str!("../profiles/reference-nvme-64gb.toml");

#[test]
fn every_profile_of_the_library_is_valid_and_attaches() {
    for entry in library::DEVICES {
        let p = entry.profile().unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(p.device.name, entry.name);
        for mode in &p.review {
            let host = library::host(&mode.host).expect(&mode.host);
            let host = host.host_profile().unwrap_or_else(|e| panic!("{e:?}"));
            let d = Device::new(&p, &host, 1).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(d.capacity().0, p.device.capacity_bytes);
        }
    }
    for entry in library::HOSTS {
        let h = entry.host_profile().unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(h.host.name, entry.name);
    }
}

#[test]
fn every_number_of_the_library_has_a_provenance() {
    for entry in library::DEVICES.iter().chain(library::HOSTS) {
        let rows = explain(entry.text);
        assert!(rows.len() > 8, "{}", entry.name);
        for row in rows {
            if row.key != "format" && !row.numbers().is_empty() {
                let place = format!("{}:{}: {}.{}", entry.file, row.line, row.table, row.key);
                if let Err(what) = sound(&row) {
                    panic!("{place}: `{}`: {what}", row.remark);
                }
            }
        }
    }
}

/// Returns an error if a remark lacks a provenance, words, the formula of a derived value or the range of an assumed one.
fn sound(row: &Explained) -> Result<(), &'static str> {
    let (provenance, rest) = row.provenance().ok_or("no provenance")?;
    if !explains(rest) {
        return Err("no reasoning");
    }
    match provenance {
        Provenance::Derived => {
            let formula = rest.contains(|c: char| c.is_ascii_digit() || c == '=');
            (formula || rest.starts_with("not used"))
                .then_some(())
                .ok_or("no formula")
        }
        Provenance::Assumed { low, high } => {
            let numbers = row.numbers();
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            (low <= mean && mean <= high && low < high)
                .then_some(())
                .ok_or("no range around it")
        }
        _ => Ok(()),
    }
}

#[test]
fn what_a_remark_lacks_is_found() {
    for (remark, lacks) in [
        ("assumed 20..30: as cards of its class", None),
        ("derived: 2 planes x 16 KiB", None),
        ("derived: not used, there is no cache", None),
        ("review: fitted to S0-041", None),
        ("", Some("no provenance")),
        ("HP white paper: 25 µs", Some("no provenance")),
        ("paper: 25 µs", Some("no reasoning")),
        ("datasheet: TODO", Some("no reasoning")),
        ("derived: as the other", Some("no formula")),
        (
            "assumed 26..30: as cards of its class",
            Some("no range around it"),
        ),
        (
            "assumed 25..25: as cards of its class",
            Some("no range around it"),
        ),
    ] {
        let rows = explain(&format!("[nand]\nread_us = [20.0, 30.0] # {remark}\n"));
        assert_eq!(sound(&rows[0]).err(), lacks, "{remark}");
    }
    for none in ["", "?", "MB/s", "5 ms", "TODO", "tbd: source", "12 KiB"] {
        assert!(!explains(none), "{none}");
    }
}

/// No profile contains words that show that a remark was copied from another part.
#[test]
fn remarks_are_about_the_part_they_stand_beside() {
    for (name, part, foreign) in [
        ("kingston-a2000-1tb", "96-layer", "64 layers"),
        ("hp-ex900-pro-1tb", "96-layer", "64 layers"),
        ("adata-atom-50-1tb", "176-layer", "64 layers"),
        (
            "adata-atom-50-1tb",
            "replacement gate",
            "floating gate holds",
        ),
        ("adata-atom-50-1tb", "replacement gate", "movement in 28 nm"),
        ("samsung-860-pro-512gb", "V-NAND", "floating gate holds"),
        ("samsung-970-pro-512gb", "V-NAND", "floating gate holds"),
        ("samsung-970-pro-512gb", "MLC", "fresh 3D TLC, Cai"),
        ("samsung-860-pro-512gb", "V-NAND", "NANDXtend"),
    ] {
        let text = library::device(name).unwrap().text;
        assert!(text.contains(part), "{name}: {part}");
        assert!(!text.contains(foreign), "{name}: {foreign}");
    }
}

/// Whether a remark contains a word that is not a unit, and no placeholder such as `todo`.
fn explains(remark: &str) -> bool {
    const UNITS: [&str; 14] = [
        "KiB", "MiB", "GiB", "kB", "MB", "GB", "ns", "µs", "ms", "MHz", "Hz", "mA", "mW", "IOPS",
    ];
    let words = || remark.split(|c: char| !c.is_alphabetic());
    let later = ["todo", "tbd", "fixme", "xxx"];
    !words().any(|w| later.contains(&w.to_ascii_lowercase().as_str()))
        && words().any(|w| w.chars().count() > 1 && !UNITS.contains(&w))
}

/// A text to find, its replacement, and the expected error: key (empty for syntax errors), and a part of the message.
/// The expected line is that of the replacement.
type Broken = (&'static str, &'static str, &'static str, &'static str);

const BROKEN: &[Broken] = &[
    ("planes = 2", "plains = 2", "", "unknown field `plains`"),
    (
        "[controller]",
        "[contoller]",
        "",
        "unknown field `contoller`",
    ),
    ("planes = 2", "planes = ", "", ""),
    ("planes = 2", "planes = \"two\"", "", "invalid type"),
    ("planes = 2", "planes = -2", "", "invalid value"),
    (
        "planes = 2",
        "planes = 0",
        "nand.planes",
        "0 is out of range",
    ),
    (
        "channels = 8",
        "channels = 65",
        "nand.channels",
        "65 is out of range",
    ),
    (
        "channels = 8",
        "channels = 99999999999",
        "",
        "invalid value",
    ),
    (
        "word_lines = 64",
        "word_lines = 0",
        "nand.word_lines",
        "out of range",
    ),
    (
        "cell = \"tlc\"",
        "cell = \"plc\"",
        "",
        "unknown variant `plc`",
    ),
    (
        "cell = \"tlc\"",
        "cell = \"slc\"",
        "nand.native",
        "no other mode",
    ),
    (
        "bus_mt_per_s = 800.0",
        "bus_mt_per_s = nan",
        "nand.bus_mt_per_s",
        "NaN is out of range",
    ),
    (
        "read_us = [50.0, 60.0, 70.0]",
        "read_us = [50.0, 60.0]",
        "nand.native.read_us",
        "2 times for 3 pages",
    ),
    (
        "program_us = [1500.0]",
        "program_us = [1500.0, 1.0]",
        "nand.native.program_us",
        "2 times for 3 pages",
    ),
    (
        "capacity_bytes = 68719476736",
        "capacity_bytes = 78719479808",
        "device.capacity_bytes",
        "do not fit",
    ),
    (
        "capacity_bytes = 68719476736",
        "capacity_bytes = 0",
        "device.capacity_bytes",
        "not a whole number",
    ),
    (
        "capacity_bytes = 68719476736",
        "capacity_bytes = 4097",
        "device.capacity_bytes",
        "not a whole number",
    ),
    (
        "blocks_per_plane = 192",
        "blocks_per_plane = 1000000",
        "nand.blocks_per_plane",
        "more than the map can number",
    ),
    (
        "mapping_unit_bytes = 4096",
        "mapping_unit_bytes = 6000",
        "ftl.mapping_unit_bytes",
        "do not divide",
    ),
    (
        "mapping_unit_bytes = 4096",
        "mapping_unit_bytes = 32768",
        "ftl.mapping_unit_bytes",
        "do not divide",
    ),
    (
        "collection = \"greedy\"",
        "collection = \"gredy\"",
        "",
        "unknown policy `gredy`",
    ),
    (
        "collection_start = 6",
        "collection_start = 1",
        "ftl.collection_start",
        "out of range",
    ),
    (
        "location = \"dram\"",
        "location = \"dram\"\nwindow_kib = 64",
        "ftl.map.window_kib",
        "no window",
    ),
    (
        "location = \"dram\"",
        "location = \"window\"",
        "ftl.map",
        "size of the window is missing",
    ),
    (
        "location = \"dram\"",
        "location = \"host-memory\"\nwindow_kib = 64",
        "ftl.map",
        "time of a fetch is missing",
    ),
    (
        "write_buffer_kib = 12288",
        "write_buffer_kib = 64",
        "controller.write_buffer_kib",
        "cannot hold",
    ),
    (
        "throttle_full_c = 90.0",
        "throttle_full_c = 70.0",
        "thermal.throttle_full_c",
        "is not above",
    ),
    (
        "link = \"pcie-3.0-x4\"",
        "link = \"pcie-3.0-x3\"",
        "interface.0.link",
        "unknown link mode",
    ),
    (
        "active_dies = 64",
        "active_dies = 0",
        "interface.0.active_dies",
        "out of range",
    ),
    (
        "format = 1",
        "format = 2",
        "format",
        "format 2 is not known",
    ),
    (
        "rber_rated = 1e-3",
        "rber_rated = 1e-9",
        "nand.reliability.rber_rated",
        "out of range",
    ),
];

#[test]
fn broken_profiles_are_refused_with_line_key_and_remedy() {
    assert!(parse_profile("p.toml", TEXT).is_ok());
    for (find, replacement, key, part) in BROKEN {
        let at = TEXT
            .find(find)
            .unwrap_or_else(|| panic!("`{find}` is gone"));
        let line = TEXT[..at].matches('\n').count() + 1;
        let text = TEXT.replacen(find, replacement, 1);
        let errors = parse_profile("p.toml", &text).expect_err(replacement);
        let found = errors
            .iter()
            .find(|e| e.key == *key && e.message.contains(part))
            .unwrap_or_else(|| panic!("{replacement}: {errors:?}"));
        if *key == "nand.native" {
            // The error is reported at the table, not at the key that conflicts with it.
            let table = 1 + TEXT[..TEXT.find("[nand.native]").unwrap_or(0)]
                .matches('\n')
                .count();
            assert_eq!(found.line, table);
            continue;
        }
        let lines = line..=line + replacement.matches('\n').count();
        // A missing key is reported at its table, which begins above.
        let missing = part.contains("is missing");
        assert!(
            lines.contains(&found.line) || missing && found.line <= line,
            "{replacement}: line {} instead of {line}",
            found.line
        );
        assert!(!found.remedy.is_empty(), "{replacement}");
        assert!(
            found
                .to_string()
                .starts_with(&format!("p.toml:{}: ", found.line))
        );
    }
}

#[test]
fn a_missing_key_is_named() {
    for line in TEXT
        .lines()
        .filter(|l| l.contains(" = ") && !l.starts_with('#'))
    {
        let key = line.split(" = ").next().unwrap_or_default();
        if key == "format" {
            continue;
        }
        let text = TEXT.replacen(&format!("{line}\n"), "", 1);
        let errors = parse_profile("p.toml", &text).expect_err(key);
        assert!(
            errors[0]
                .message
                .contains(&format!("missing field `{key}`")),
            "{key}: {errors:?}"
        );
    }
}

#[test]
fn all_faults_are_told_not_only_the_first() {
    let text = TEXT
        .replace("planes = 2", "planes = 0")
        .replace("cores = 4", "cores = 0");
    let errors = parse_profile("p.toml", &text).expect_err("two faults");
    let keys: Vec<&str> = errors.iter().map(|e| e.key.as_str()).collect();
    assert_eq!(keys, ["nand.planes", "controller.cores"]);
}

#[test]
fn host_and_device_without_a_common_link_are_told_apart() {
    let p = support::profile("reference-nvme-64gb");
    let error = Device::new(&p, &support::host("lexar-sr2"), 1).expect_err("SD against NVMe");
    let error = error.to_string();
    assert!(
        error.contains("no link in common") && error.contains("pcie-3.0-x4"),
        "{error}"
    );
}

/// Lines of the reference profile, some changed, dropped, doubled or swapped.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        0u8..7,
        any::<prop::sample::Index>(),
        "\\PC{0,12}",
    );
    prop::collection::vec(edit, 1..6).prop_map(|edits| {
        let mut lines: Vec<String> = TEXT.lines().map(String::from).collect();
        for (at, what, other, noise) in edits {
            let (i, j) = (at.index(lines.len()), other.index(lines.len()));
            match what {
                0 => drop(lines.remove(i)),
                1 => lines.swap(i, j),
                2 => lines.insert(i, noise),
                3 => {
                    let key = lines[i].split('=').next().unwrap_or_default().to_string();
                    lines[i] = format!("{key}= {noise}");
                }
                4 => lines[i] = lines[i].replace(['1', '5'], "0"),
                5 => lines[i] = lines[i].replace("0 ", "00000 ").replace(".0", "0.0"),
                _ => lines[i] = lines[j].clone(),
            }
        }
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in mutated()) {
        for e in parse_profile("p.toml", &text).err().unwrap_or_default() {
            prop_assert!(e.line >= 1 && e.line <= text.lines().count() + 1);
            prop_assert!(!e.message.is_empty());
        }
        let _ = parse_host("h.toml", &text);
        let _ = explain(&text);
    }

    #[test]
    fn noise_is_refused_without_panic(text in "\\PC*") {
        prop_assert!(parse_profile("p.toml", &text).is_err());
        prop_assert!(parse_host("h.toml", &text).is_err());
    }
}

#[test]
fn a_full_device_can_be_preconditioned_and_still_writes() {
    // Preconditioning ends at 100 % occupancy, and collection starts at its limit.
    let p = support::profile("reference-nvme-64gb");
    let mut d = support::device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 1 }));
    let units = d.capacity().0 / 4096;
    d.overwrite_randomly(units / 4, 2);
    let mut draw = support::Draw(3);
    let run = support::closed_loop(&mut d, 32, |i| {
        (i < 100_000).then(|| support::write(i, draw.below(units) * 4096, 4096))
    });
    assert_eq!(run.operations, 100_000);
    assert!(d.counters().gc_writes.0 > 0, "collection starts");
    support::sound(&d);
}

#[test]
fn values_that_are_no_numbers_are_refused_at_every_key() {
    let mut seen = std::collections::BTreeSet::new();
    let devices = library::DEVICES.iter().map(|e| (true, e));
    for (is_device, entry) in devices.chain(library::HOSTS.iter().map(|e| (false, e))) {
        let mut table = "";
        for (number, line) in entry.text.lines().enumerate() {
            if line.starts_with('[') {
                table = line;
            }
            let Some((key, value)) = line.split_once(" = ") else {
                continue;
            };
            let value = value.split('#').next().unwrap_or_default();
            let is_number = |t: &&str| t.contains('.') && t.parse::<f64>().is_ok();
            let mut words = value.split(['[', ']', ',', ' ']);
            let Some(found) = words.find(is_number) else {
                continue;
            };
            if value.contains('"') || !seen.insert((is_device, table, key)) {
                continue;
            }
            for wrong in ["nan", "-nan", "inf", "-inf"] {
                let changed = line.replacen(found, wrong, 1);
                let mut lines: Vec<&str> = entry.text.lines().collect();
                lines[number] = &changed;
                let text = lines.join("\n");
                let faults = if is_device {
                    parse_profile("file", &text).map(drop)
                } else {
                    parse_host("file", &text).map(drop)
                };
                let faults = faults.expect_err(&format!("{}: {changed}", entry.name));
                let own = faults.iter().find(|f| f.line == number + 1);
                let own = own.unwrap_or_else(|| panic!("{}: {changed}: {faults:?}", entry.name));
                assert!(own.key.contains(key.trim()), "{own}");
            }
        }
    }
    assert!(seen.len() > 60, "{}", seen.len());
}
