//! Cost of a probe on library devices: for a card of 32 GB at most 4 GB written and 20 minutes of device time, for a
//! drive at most 3 % of its capacity beyond its SLC cache. And the results of a larger budget: whether the cache
//! depends on the fullness of the device, and the throttling temperature.

use nandscope_device::Device;
use nandscope_device::profile::schema::SlcCacheSection;
use nandscope_device::profile::{Profile, library};
use nandscope_infer::probe::{Options, Question, Report, Value, probe};
use nandscope_measure::sim::SimTarget;
use nandscope_result::StopReason;
use nandscope_suite::blind::{Disturbance, Disturbed};
use nandscope_units::{Bytes, Nanos};

fn probed(profile: &Profile, change: impl FnOnce(&mut Options)) -> Report {
    let host = library::host("direct").unwrap().host_profile().unwrap();
    let device = Device::new(profile, &host, 1).unwrap();
    let mut options = Options::for_capacity(Bytes(profile.device.capacity_bytes));
    change(&mut options);
    probe(SimTarget::new(device), &options, &|| false, &mut |_, _| {}).unwrap()
}

#[test]
fn cards_cost_four_gigabytes_and_twenty_minutes_at_most() {
    let mut cards = 0;
    for entry in library::DEVICES {
        let profile = entry.profile().unwrap();
        if profile.card.is_none() {
            continue;
        }
        cards += 1;
        let report = probed(&profile, |_| ());
        println!(
            "{}: {:.2} GB, {:.0} s, {:?}",
            entry.name,
            report.written as f64 / 1e9,
            report.elapsed_s,
            report.cut_short
        );
        assert!(report.written <= 4_000_000_000, "{}", entry.name);
        assert!(report.elapsed_s <= 1200.0, "{}", entry.name);
        assert_eq!(report.cut_short, None, "{}", entry.name);
    }
    assert!(cards >= 20, "{cards}");
}

#[test]
fn a_small_budget_is_kept_and_what_it_forbids_is_not_told() {
    let profile = library::device("talk-mmcblk1-8gb")
        .unwrap()
        .profile()
        .unwrap();
    for budget in [0, 1_000, 30_000_000, 300_000_000] {
        let report = probed(&profile, |o| o.writes = Bytes(budget));
        assert!(report.written <= budget, "{} of {budget}", report.written);
        assert!(
            report.finding(Question::Overhead).is_some(),
            "{budget}: {report:?}"
        );
        if budget < 200_000_000 {
            assert_eq!(report.count(Question::OpenLinear), None);
        }
    }
}

#[test]
fn time_is_a_hard_limit_and_what_it_cut_short_is_said() {
    let host = library::host("direct").unwrap().host_profile().unwrap();
    for (name, time_s, stall_s) in [
        ("talk-mmcblk1-8gb", 5, 0),
        ("talk-mmcblk1-8gb", 60, 0),
        ("kingston-class10-32gb", 300, 10),
        ("kingston-class10-32gb", 1200, 20),
        ("reference-nvme-64gb", 1, 0),
    ] {
        let profile = library::device(name).unwrap().profile().unwrap();
        let device = Device::new(&profile, &host, 1).unwrap();
        let disturbance = Disturbance {
            between_stalls: 60 * u64::from(stall_s > 0),
            stall: Nanos::from_secs(stall_s),
            ..Disturbance::default()
        };
        let target = Disturbed::new(SimTarget::new(device), disturbance, 7);
        let mut options = Options::for_capacity(Bytes(profile.device.capacity_bytes));
        options.time = Nanos::from_secs(time_s);
        let report = probe(target, &options, &|| false, &mut |_, _| {}).unwrap();
        let what = format!("{name} in {time_s} s: {} s", report.elapsed_s);
        assert!(report.elapsed_s <= 1.02 * time_s as f64, "{what}");
        assert_eq!(report.cut_short, Some(StopReason::TimeSpent), "{what}");
        for question in Question::ALL {
            assert!(
                report.finding(question).is_some(),
                "{what}: nothing on {question:?}"
            );
        }
        let last = report.finding(Question::MapSpan).unwrap();
        assert!(
            last.value.is_none() && last.evidence.contains("time is spent"),
            "{last:?}"
        );
    }
}

/// Drives that are always probed; `BUDGET_ALL` probes all of the library, which takes minutes.
const DRIVES: [&str; 2] = ["reference-nvme-64gb", "sm2708-250gb"];

#[test]
fn drives_cost_three_percent_beyond_the_cache_at_most() {
    let all = std::env::var_os("BUDGET_ALL").is_some();
    let mut drives = 0;
    for entry in library::DEVICES {
        let profile = entry.profile().unwrap();
        let chosen = all || DRIVES.contains(&entry.name);
        if profile.card.is_some() || !chosen {
            continue;
        }
        drives += 1;
        let report = probed(&profile, |_| ());
        let cache = report.bytes(Question::Slc).unwrap_or(0);
        let beyond = report.written.saturating_sub(cache);
        println!(
            "{}: {:.2} GB, cache {:.2} GB, {:.0} s, {:?}",
            entry.name,
            report.written as f64 / 1e9,
            cache as f64 / 1e9,
            report.elapsed_s,
            report.cut_short
        );
        assert!(
            beyond <= profile.device.capacity_bytes / 100 * 3,
            "{}: {beyond}",
            entry.name
        );
        assert!(report.elapsed_s <= 1200.0, "{}", entry.name);
    }
    assert!(drives >= DRIVES.len(), "{drives}");
}

/// A drive of 40 GB with sixteen dies and an SLC cache.
fn drive(static_gb: f64, dynamic_gb: f64) -> Profile {
    let mut profile = library::device("reference-nvme-64gb")
        .unwrap()
        .profile()
        .unwrap();
    profile.device.capacity_bytes = 40_000_000_000;
    (profile.nand.channels, profile.nand.dies_per_channel) = (4, 4);
    let superblock = f64::from(16 * profile.nand.planes) * 3.0 * f64::from(1 << 20);
    let needed = 1.12 * 40e9 + 3.2 * static_gb * 1e9;
    profile.nand.blocks_per_plane = (needed / superblock) as u32 + 16;
    for interface in &mut profile.interface {
        interface.active_dies = 16;
    }
    profile.ftl.as_mut().unwrap().slc_cache = Some(SlcCacheSection {
        static_gb,
        dynamic_gb,
        lends_spare_percent: 0.0,
        reserve_gb: 0.0,
        fold_after_ms: 500.0,
        fold_blocks_host: false,
    });
    profile
}

#[test]
fn a_larger_budget_tells_whether_a_cache_depends_on_how_full_the_device_is() {
    for (static_gb, dynamic_gb) in [(0.5, 0.0), (0.0, 13.0)] {
        let profile = drive(static_gb, dynamic_gb);
        let small = probed(&profile, |_| ());
        assert_eq!(small.finding(Question::SlcKind).unwrap().value, None);
        let report = probed(&profile, |o| {
            o.writes = Bytes(60_000_000_000);
            o.time = Nanos::from_secs(4000);
        });
        let kind = report.finding(Question::SlcKind).unwrap();
        let fixed = Some(Value::Flag(dynamic_gb == 0.0));
        assert_eq!(
            kind.value,
            fixed,
            "{kind:?} {:?}",
            report.finding(Question::Slc)
        );
    }
}

#[test]
fn a_drive_that_throttles_is_heated_until_it_does() {
    let mut profile = library::device("samsung-970-pro-512gb")
        .unwrap()
        .profile()
        .unwrap();
    profile.thermal.ambient_c = 60.0;
    let report = probed(&profile, |o| o.heat = Nanos::from_secs(120));
    let found = report.finding(Question::Throttling).unwrap();
    let Some(Value::Celsius(at)) = found.value else {
        panic!("{found:?}");
    };
    // The clock falls from the start of throttling on; the rate falls when the clock becomes the limit.
    let throttled = profile.thermal.throttle_start_c..profile.thermal.throttle_full_c;
    assert!(throttled.contains(&at), "{throttled:?}: {found:?}");
    let cool = probed(&profile, |_| ());
    assert_eq!(cool.finding(Question::Throttling).unwrap().value, None);
}
