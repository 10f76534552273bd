//! Devices on which a probe stated a wrong answer with near certainty. An answer may be missing; it must not be wrong.

use nandscope_device::Device;
use nandscope_device::profile::card::{FatSection, OutOfOrder};
use nandscope_device::profile::{Profile, library};
use nandscope_infer::probe::{Options, Question, Report, Value, probe};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target as _;

/// Hosts of most of these devices.
const READERS: [&str; 3] = ["direct", "recorded-usb-reader", "recorded-laptop-slot"];

fn profile_of(name: &str) -> Profile {
    library::device(name).unwrap().profile().unwrap()
}

fn probed(profile: &Profile, host: &str, seed: u64) -> Report {
    let host = library::host(host).unwrap().host_profile().unwrap();
    let target = SimTarget::new(Device::new(profile, &host, seed).unwrap());
    let options = Options {
        seed,
        ..Options::for_capacity(target.capacity())
    };
    probe(target, &options, &|| false, &mut |_, _| {}).unwrap()
}

#[test]
fn a_reader_that_delays_data_after_any_small_write_hides_no_fat_area() {
    let mut profile = profile_of("recorded-phison-sd-4gb");
    let card = profile.card.as_mut().unwrap();
    card.au_kib = 10 << 10;
    card.page_kib = Some(32);
    card.log_kib = Some(2560);
    card.open_aus = 4;
    card.states_in_ram = 4;
    card.switch_us = 342.0;
    card.small_writes = None;
    card.controller.au_lookup_us = 0.0;
    card.controller.read_us = 256.0;
    card.controller.write_us = 2127.0;
    card.fat = Some(FatSection {
        first_au: 0,
        aus: 2,
        apart_aus: 1,
        open_aus: 1,
        out_of_order: OutOfOrder::Rewrite,
        log_kib: None,
        log_first: false,
        slc: false,
    });
    for (host, seed, report) in probes(&profile, &READERS) {
        let finding = report.finding(Question::Fat).unwrap();
        let right = finding.value == Some(Value::Flag(true));
        let untold = finding.value.is_none() && host != "direct";
        assert!(right || untold, "{host}, seed {seed}: {finding:?}");
    }
}

/// Probes of a device on several hosts, with three seeds each, and what tells them apart.
fn probes<'a>(
    profile: &'a Profile,
    hosts: &'a [&'a str],
) -> impl Iterator<Item = (&'a str, u64, Report)> {
    let pairs = hosts
        .iter()
        .flat_map(|host| (1..=3).map(move |seed| (*host, seed)));
    pairs.map(|(host, seed)| (host, seed, probed(profile, host, seed)))
}

/// The finding is `truth` or missing.
fn holds(report: &Report, question: Question, truth: Value) {
    let finding = report.finding(question).unwrap();
    assert!(
        finding.value.is_none_or(|value| value == truth),
        "{finding:?}"
    );
}

#[test]
fn a_beat_of_writes_and_pages_is_no_au() {
    // AUs of 24 MiB and pages of 24 KiB: a write of 32 KiB completes one page or two.
    let mut profile = profile_of("tlc-card-3mib-au");
    let card = profile.card.as_mut().unwrap();
    card.au_kib = 24 << 10;
    card.page_kib = Some(24);
    card.log_kib = Some(6 << 10);
    card.open_aus = 5;
    card.states_in_ram = 5;
    card.switch_us = 6070.0;
    card.controller.au_lookup_us = 31.0;
    card.controller.buffer_kib = 1024;
    card.controller.read_us = 769.0;
    card.controller.write_us = 438.0;
    for (_, _, report) in probes(&profile, &READERS) {
        holds(&report, Question::Unit, Value::Bytes(24 << 20));
        holds(&report, Question::Offset, Value::Bytes(0));
        holds(&report, Question::Fat, Value::Flag(false));
    }
}

#[test]
fn transfers_that_a_reader_cuts_make_no_au() {
    let mut profile = profile_of("samsung-evo-16gb");
    let card = profile.card.as_mut().unwrap();
    card.au_kib = 12 << 10;
    card.page_kib = Some(128);
    card.open_aus = 5;
    card.states_in_ram = 1;
    card.switch_us = 177.0;
    card.deferred_merges = 0;
    card.merge_after_ms = 0.0;
    card.controller.au_lookup_us = 0.0;
    card.controller.buffer_kib = 128;
    card.controller.read_ahead_kib = 64;
    card.controller.read_us = 139.0;
    card.controller.write_us = 585.0;
    card.fat = Some(FatSection {
        first_au: 0,
        aus: 1,
        apart_aus: 1,
        open_aus: 1,
        out_of_order: OutOfOrder::Log,
        log_kib: Some(12 << 10),
        log_first: false,
        slc: false,
    });
    for (_, _, report) in probes(&profile, &READERS[..2]) {
        holds(&report, Question::Unit, Value::Bytes(12 << 20));
        holds(&report, Question::Fat, Value::Flag(true));
    }
}

#[test]
fn no_rate_is_above_what_the_link_carries() {
    for name in ["reference-nvme-64gb", "samsung-emmc51-64gb"] {
        let profile = profile_of(name);
        let links: Vec<&str> = profile.interface.iter().map(|i| i.link.as_str()).collect();
        let hosts = library::HOSTS.iter().filter_map(|h| {
            let (_, chain) = h.host_profile().ok()?.attach(&links).ok()?;
            Some((h.name, chain.rate.as_mb_per_s() * 1e6))
        });
        for (host, carried) in hosts {
            let report = probed(&profile, host, 1);
            for finding in &report.findings {
                if let Some(Value::BytesPerS(rate)) = finding.value {
                    assert!(rate <= 1.01 * carried, "{host}, {carried}: {finding:?}");
                }
            }
        }
    }
}
