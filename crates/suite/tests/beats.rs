//! Cards on which a probe was almost certain of a wrong answer: AUs that beat with pages and writes, and a reader on which every
//! small write delays the data. An answer may be missing; it must not be wrong.

use nandscope_device::Device;
use nandscope_device::profile::card::{FatSection, OutOfOrder};
use nandscope_device::profile::{Profile, library};
use nandscope_infer::probe::{Options, Report, Value, probe};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target as _;

const MIB: u64 = 1 << 20;

fn card(name: &str) -> Profile {
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

/// No stated answer is another one; where `told`, it is given.
fn holds(report: &Report, id: &str, truth: Value, told: bool) {
    let finding = report.finding(id).unwrap();
    let value = finding.value;
    assert!(
        value == Some(truth) || value.is_none() && !told,
        "{finding:?}"
    );
}

/// AUs of 24 MiB and pages of 24 KiB: writes of 32 KiB complete one page or two.
fn of_24_mib() -> Profile {
    let mut profile = card("tlc-card-3mib-au");
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
    profile
}

#[test]
fn a_beat_of_writes_and_pages_is_no_allocation_unit() {
    for host in ["direct", "recorded-usb-reader", "recorded-laptop-slot"] {
        for seed in 1..=3 {
            let report = probed(&of_24_mib(), host, seed);
            holds(&report, "unit", Value::Bytes(24 * MIB), false);
            // Boundaries of flash pages hide those of controller pages.
            let page = report.finding("page").unwrap();
            assert!(
                page.value == Some(Value::Bytes(24 << 10)) || page.confidence < 0.95,
                "{page:?}"
            );
            holds(&report, "offset", Value::Bytes(0), false);
            holds(&report, "fat", Value::Flag(false), false);
        }
    }
}

#[test]
fn transfers_that_a_reader_cuts_make_no_allocation_unit() {
    let mut profile = card("samsung-evo-16gb");
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
    for host in ["recorded-usb-reader", "direct"] {
        for seed in 1..=3 {
            let report = probed(&profile, host, seed);
            holds(&report, "unit", Value::Bytes(12 * MIB), false);
            holds(&report, "fat", Value::Flag(true), false);
        }
    }
}

#[test]
fn a_reader_that_delays_data_after_every_small_write_hides_no_fat_area() {
    let mut profile = card("recorded-phison-sd-4gb");
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
    for host in ["direct", "recorded-usb-reader", "recorded-laptop-slot"] {
        for seed in 1..=3 {
            let report = probed(&profile, host, seed);
            holds(&report, "fat", Value::Flag(true), host == "direct");
        }
    }
}

#[test]
fn no_rate_is_above_what_the_link_carries() {
    for name in ["reference-nvme-64gb", "samsung-emmc51-64gb"] {
        let profile = card(name);
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
