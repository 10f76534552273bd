use super::*;
use nandscope_device::link::link_mode;
use nandscope_device::profile::{explain, library};
use std::collections::BTreeSet;

/// The keys of a profile, such as `nand.slc.program_us`.
fn keys(text: &str) -> BTreeSet<String> {
    let rows = explain(text).into_iter();
    rows.map(|row| format!("{}.{}", row.table, row.key))
        .collect()
}

/// A device or host by its name, of the library or of the recorded series.
fn entry(folder: &str, name: &str) -> Option<&'static library::Entry> {
    let mut all = both();
    let found = all.find(|(place, entry)| *place == folder && entry.name == name);
    found.map(|(_, entry)| entry)
}

fn exists(device: &str, parameter: &str) -> bool {
    let of = |entry: Option<&library::Entry>, key: &str| {
        entry.is_some_and(|entry| keys(entry.text).contains(key))
    };
    if let Some(link) = parameter.strip_prefix("link:") {
        return link_mode(link).is_ok();
    }
    if let Some(key) = parameter.strip_prefix("series:") {
        return ["filled", "overwritten"].contains(&key);
    }
    match parameter.split_once(':') {
        None => of(entry("devices", device), parameter),
        Some((place, key)) => match place.split_once('/') {
            Some((folder, name)) => of(entry(folder, name), key),
            _ => false,
        },
    }
}

#[test]
fn every_check_fits_its_fact_and_says_what_was_chosen_by_it() {
    let facts = record::all().unwrap();
    for check in check::all().unwrap() {
        let fact = find(&facts, &check).unwrap();
        check.criterion(fact).unwrap();
        if let Basis::Calibrated(parameters) = check.basis().unwrap() {
            for parameter in parameters {
                let text = format!(
                    "{}: {}: no parameter `{parameter}`",
                    check.device, check.fact
                );
                assert!(exists(&check.device, &parameter), "{text}");
            }
        }
        if matches!(fact.value, toml::Value::String(_)) {
            assert!(
                !check.remark().is_empty(),
                "{}: how are words read?",
                check.fact
            );
        }
    }
}

#[test]
fn a_check_says_either_calibrated_or_predicted() {
    let basis = |tag: &str| {
        let text = format!("[[check]]\ndevice = \"d\"\nfact = \"f\"\nfigure = \"g\"\n{tag}\n");
        check::parse(&text).unwrap()[0].basis()
    };
    assert_eq!(basis("predicted = true").unwrap(), Basis::Predicted);
    let chosen = Basis::Calibrated(vec!["nand.planes".into()]);
    assert_eq!(basis("calibrated = [\"nand.planes\"]").unwrap(), chosen);
    for neither_or_both in ["", "predicted = true\ncalibrated = [\"a\"]"] {
        let message = basis(neither_or_both).unwrap_err().to_string();
        assert!(message.contains("either `calibrated`"), "{message}");
    }
}

/// A figure is not predicted if a parameter was fitted to it: a parameter whose remark names a fact makes that fact's
/// checks calibrated.
#[test]
fn a_parameter_whose_remark_names_a_fact_calibrates_it() {
    let checks = check::all().unwrap();
    for (folder, entry) in both() {
        for row in explain(entry.text) {
            let key = format!("{}.{}", row.table, row.key);
            let named = words(&row.remark);
            for check in &checks {
                if !named.contains(check.fact.as_str()) {
                    continue;
                }
                let parameters = match check.basis().unwrap() {
                    Basis::Calibrated(parameters) => parameters,
                    Basis::Predicted => Vec::new(),
                };
                let elsewhere = format!("{folder}/{}:{key}", entry.name);
                assert!(
                    parameters.contains(&elsewhere)
                        || check.device == entry.name && parameters.contains(&key),
                    "{}: {key} was chosen by {}, which is tagged otherwise",
                    entry.name,
                    check.fact
                );
            }
        }
    }
}

/// Devices and hosts, each with the folder by which a check names a parameter of its profile.
fn both() -> impl Iterator<Item = (&'static str, &'static library::Entry)> {
    let devices = library::DEVICES.iter().chain(measured::DEVICES);
    let hosts = library::HOSTS.iter().chain(measured::HOSTS);
    let devices = devices.map(|entry| ("devices", entry));
    devices.chain(hosts.map(|entry| ("hosts", entry)))
}

/// Words of a remark, among them the facts that it names.
fn words(remark: &str) -> BTreeSet<&str> {
    remark
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .collect()
}

#[test]
fn at_least_220_rows_are_predictions() {
    let checks = check::all().unwrap();
    let predicted = checks
        .iter()
        .filter(|c| c.basis().unwrap() == Basis::Predicted);
    assert!(predicted.count() >= 220);
}

#[test]
fn every_measured_fact_is_checked_or_listed_with_a_reason() {
    let coverage = coverage().unwrap();
    let listed: usize = coverage.unchecked.iter().map(|u| u.facts.len()).sum();
    assert_eq!(coverage.measured, coverage.measured_checked + listed);
    for group in &coverage.unchecked {
        assert!(group.reason.len() > 20, "{}", group.reason);
    }
}

#[test]
fn identifiers_of_facts_are_unique_across_the_files() {
    let facts = record::all().unwrap();
    let ids: BTreeSet<&str> = facts.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(ids.len(), facts.len());
}

#[test]
fn a_check_whose_figure_does_not_exist_is_missing() {
    let document = ResultDocument::begin("card review", String::new(), 1, Default::default());
    let all = validation("sm2708-250gb", Procedure::Card);
    let comparison = compare(&document, &all).unwrap();
    assert!(comparison.rows.is_empty());
    assert!(comparison.missing.iter().any(|(fact, _)| fact == "S0-040"));
}

#[test]
fn devices_and_hosts_of_series_state_where_their_numbers_come_from() {
    for (folder, entry) in both() {
        for row in explain(entry.text) {
            let is_number = !row.numbers().is_empty() && row.key != "format";
            let place = format!("{folder}/{}: {}.{}", entry.name, row.table, row.key);
            assert!(!is_number || row.provenance().is_some(), "{place}");
        }
    }
    for series in series::all().unwrap() {
        let spec = measured::spec(&series.device).unwrap();
        assert_eq!(spec.profile.device.name, series.device);
        let host = measured::host(&series.host).unwrap();
        assert_eq!(host.host.name, series.host);
    }
}

#[test]
fn rows_of_a_series_are_held_out_or_named_with_what_was_fitted() {
    for series in series::all().unwrap() {
        let held = series.rows.iter().filter(|row| row.held).count();
        let place = format!("{} behind {}", series.device, series.host);
        assert!(held > 0 || !series.fitted.is_empty(), "{place}");
        let runs = series.runs();
        let mut gb: Vec<f64> = runs.iter().map(|run| run.after_gb).collect();
        let in_order = gb.clone();
        gb.sort_by(f64::total_cmp);
        assert_eq!(gb, in_order, "{}: runs follow the recording", series.name);
    }
    let held: BTreeSet<String> = series::all()
        .unwrap()
        .iter()
        .flat_map(|s| s.rows.iter().filter(|r| r.held).map(|r| r.id.clone()))
        .collect();
    for check in check::all().unwrap() {
        let is_predicted = check.basis().unwrap() == Basis::Predicted;
        assert!(
            is_predicted || !held.contains(&check.fact),
            "{}",
            check.fact
        );
    }
}
