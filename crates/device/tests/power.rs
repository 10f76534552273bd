//! Energy as the sum of its parts, temperatures as the network's steady state, throttling.

use crate::support::plain::Flash;
use crate::support::{bare, closed_loop, device, near, one, read, rest, write};
use nandscope_device::profile::Profile;
use nandscope_device::{CommandKind, Fill};
use nandscope_units::Nanos;

fn plain() -> Profile {
    Flash {
        channels: 1,
        dies_per_channel: 2,
        planes: 1,
        blocks: 60,
        pages_per_block: 256,
        page_kib: 4,
        mt_per_s: 1000.0,
        read_us: 50.0,
        program_us: 400.0,
    }
    .profile(10)
}

/// Joules of an idle and of a busy second, computed from the profile's keys.
fn watts(p: &Profile) -> (f64, f64) {
    let i = &p.interface[0];
    (i.idle_mw / 1e3, i.active_mw / 1e3)
}

#[test]
fn an_idle_device_draws_its_idle_power() {
    let p = plain();
    let mut d = device(&p, "direct");
    rest(&mut d, Nanos::from_secs(10));
    near("idle", d.telemetry().energy_j, 10.0 * watts(&p).0, 1e-9);
}

#[test]
fn energy_is_the_sum_of_its_parts() {
    for writing in [false, true] {
        let p = plain();
        let mut d = device(&p, "direct");
        assert!(d.precondition(0.5, Fill::Sequential));
        let count = 5_000u64;
        let run = closed_loop(&mut d, 1, |i| {
            // Addresses that were never written, so that nothing is erased.
            let offset = (if writing { 13_000 + i } else { i }) * 4096;
            (i < count).then(|| match writing {
                true => write(i, offset, 4096),
                false => read(i, offset, 4096),
            })
        });
        let flush = one(&mut d, bare(0, CommandKind::Flush)).latency();
        let busy_s = (run.elapsed + flush).as_secs_f64();
        let end = Nanos::from_secs(4);
        let left = Nanos(end.0 - d.now().0);
        rest(&mut d, left);
        let n = count as f64;
        let e = &p.nand.energy;
        let array_j = match writing {
            true => n * 400e-6 * e.program_mw / 1e3,
            false => n * 50e-6 * e.read_mw / 1e3,
        };
        let bytes = n * 4096.0;
        let per_byte =
            e.bus_pj_per_byte + p.power.data_path_pj_per_byte + p.interface[0].link_pj_per_byte;
        let (idle_w, active_w) = watts(&p);
        let expected =
            idle_w * (4.0 - busy_s) + active_w * busy_s + array_j + bytes * per_byte * 1e-12;
        near("energy", d.telemetry().energy_j, expected, 1e-4);
        assert!(
            array_j > 0.001 && bytes * per_byte * 1e-12 > 0.001,
            "parts that show"
        );
    }
}

#[test]
fn the_temperatures_settle_where_the_network_says() {
    let mut p = plain();
    p.interface[0].idle_mw = 1500.0;
    let mut d = device(&p, "direct");
    rest(&mut d, Nanos::from_secs(5_000));
    let t = &p.thermal;
    let case = t.ambient_c + 1.5 * t.case_to_ambient_k_per_w;
    let controller = case + 1.5 * p.power.controller_share * t.controller_to_case_k_per_w;
    let got = d.telemetry();
    near("case", got.surface_temperature_c, case, 1e-4);
    near("controller", got.smart_temperature_c, controller, 1e-4);
    assert_eq!(got.throttle, 1.0);
}

#[test]
fn heat_throttles_and_throttling_slows_down() {
    let mut p = plain();
    p.controller.as_mut().expect("page-mapped").read_us = 100.0;
    let speed = |p: &Profile| {
        let mut d = device(p, "direct");
        rest(&mut d, Nanos::from_secs(3_000));
        let run = closed_loop(&mut d, 1, |i| (i < 1_000).then(|| read(i, 0, 4096)));
        (d.telemetry().throttle, run.mean_latency_us())
    };
    let (cool_clock, cool_us) = speed(&p);
    p.interface[0].idle_mw = 20_000.0;
    let (hot_clock, hot_us) = speed(&p);
    assert_eq!((cool_clock, hot_clock), (1.0, p.thermal.throttle_clock));
    // A read of unmapped data takes firmware time only, which is inversely proportional to the clock.
    near(
        "slower",
        hot_us - 0.072,
        (cool_us - 0.072) / p.thermal.throttle_clock,
        1e-3,
    );
}

/// The warning of the health log follows the warning temperature, whether the device throttles or not.
#[test]
fn the_warning_is_that_of_the_warning_temperature() {
    let mut p = plain();
    p.interface[0].idle_mw = 1500.0;
    let mut d = device(&p, "direct");
    rest(&mut d, Nanos::from_secs(5_000));
    let reached_c = d.telemetry().smart_temperature_c;
    for (warning_k, throttle_k, expected) in [(-5.0, 50.0, 1), (5.0, -20.0, 0)] {
        p.thermal.warning_c = reached_c + warning_k;
        p.thermal.critical_c = reached_c + 100.0;
        p.thermal.throttle_start_c = reached_c + throttle_k;
        p.thermal.throttle_full_c = reached_c + throttle_k + 10.0;
        let mut d = device(&p, "direct");
        rest(&mut d, Nanos::from_secs(5_000));
        assert_eq!(d.telemetry().throttle < 1.0, expected == 0);
        assert_eq!(d.health().critical_warning >> 1 & 1, expected);
        assert_eq!(d.health().warning_temperature_minutes > 0, expected == 1);
    }
}
