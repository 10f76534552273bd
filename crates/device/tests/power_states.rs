//! NVMe power states: the exit latency of the first command after an idle time, and the power drawn while idle.

use crate::support::plain::{FAST_LINK, Flash, link_ns};
use crate::support::{closed_loop, host, near, one, profile, read, rest, sound, write};
use nandscope_device::profile::power_state::{ApstSection, PowerStateSection};
use nandscope_device::profile::{HostProfile, Profile};
use nandscope_device::{AttachError, Device, DeviceError, Fill};
use nandscope_units::Nanos;

const HOUR: Nanos = Nanos::from_secs(3600);
/// Time of array read and channel of the plain drive, for 4 KiB, ns.
const READ_NS: u64 = 50_000 + 4_096;

/// PS0 and PS1 with budgets, PS2 of 40 mW (1 ms and 2 ms), PS3 of 5 mW (20 ms and 30 ms).
fn plain() -> Profile {
    let flash = Flash {
        channels: 2,
        dies_per_channel: 4,
        planes: 1,
        blocks: 40,
        pages_per_block: 64,
        page_kib: 16,
        mt_per_s: 4000.0,
        read_us: 50.0,
        program_us: 400.0,
    };
    let mut p = flash.profile(6);
    p.interface[0].idle_mw = 500.0;
    p.nand.bus_mt_per_s = 1000.0;
    let budget = p.interface[0].active_mw + 3.0 * p.nand.energy.program_mw;
    p.power_state = [
        (9000.0, true, 0.0, 0.0),
        (budget, true, 0.0, 0.0),
        (40.0, false, 1_000.0, 2_000.0),
        (5.0, false, 20_000.0, 30_000.0),
    ]
    .map(
        |(max_mw, operational, entry_us, exit_us)| PowerStateSection {
            max_mw,
            operational,
            entry_us,
            exit_us,
        },
    )
    .to_vec();
    p
}

/// Enters PS2 after 100 ms and PS3 after 2 s.
fn sleepy() -> HostProfile {
    let mut host = host("direct");
    host.apst = [(15_000.0, 100.0), (100_000.0, 2_000.0)]
        .map(|(tolerance_us, after_ms)| ApstSection {
            tolerance_us,
            after_ms,
        })
        .to_vec();
    host
}

fn device(host: &HostProfile) -> Device {
    let mut d = Device::new(&plain(), host, 1).expect("attaches");
    assert!(d.precondition(0.5, Fill::Sequential));
    d
}

#[test]
fn the_first_read_after_an_idle_time_pays_for_the_exit() {
    let base = READ_NS + link_ns(FAST_LINK, 4096);
    let micros = |us: u64| Nanos(us * 1000);
    for (idle, state, wait) in [
        (micros(99_000), 0, micros(0)),
        // While the device enters PS2: 0.6 ms of the entry are left.
        (micros(100_400), 0, micros(600 + 2_000)),
        (micros(101_000), 2, micros(2_000)),
        (micros(1_999_000), 2, micros(2_000)),
        // While the device enters PS3 from PS2.
        (micros(2_005_000), 2, micros(15_000 + 30_000)),
        (micros(2_020_000), 3, micros(30_000)),
        (HOUR, 3, micros(30_000)),
    ] {
        let mut d = device(&sleepy());
        one(&mut d, read(1, 0, 4096));
        rest(&mut d, idle);
        assert_eq!(d.telemetry().power_state, state, "after {idle}");
        sound(&d);
        // A saved and loaded device stays in its power state.
        let mut d = Device::load(&d.save().expect("saves")).expect("loads");
        let first = one(&mut d, read(2, 0, 4096));
        assert_eq!(first.latency(), Nanos(base) + wait, "after {idle}");
        assert_eq!(d.telemetry().power_state, 0);
        let second = one(&mut d, read(3, 0, 4096));
        assert_eq!(second.latency(), Nanos(base));
    }
}

#[test]
fn what_comes_during_the_exit_waits_for_it() {
    let mut d = device(&sleepy());
    rest(&mut d, HOUR);
    let mut done = Vec::new();
    d.submit(read(1, 0, 4096), d.now()).expect("in order");
    d.advance(d.now() + Nanos::from_millis(10), &mut done);
    d.submit(read(2, 16_384, 4096), d.now()).expect("in order");
    while done.len() < 2 {
        d.advance(Nanos::MAX, &mut done);
    }
    let base = Nanos(READ_NS + link_ns(FAST_LINK, 4096));
    assert_eq!(done[0].latency(), base + Nanos::from_millis(30));
    // The second read uses another die and channel; the link carries the first read before it.
    let second = done[1].completed - done[0].completed;
    assert_eq!(second, Nanos(link_ns(FAST_LINK, 4096)));
}

#[test]
fn each_state_draws_its_own_power() {
    for (seconds, expected_j) in [
        (0.05, 0.05 * 0.5),
        (1.0, 0.101 * 0.5 + 0.899 * 0.04),
        (10.0, 0.101 * 0.5 + 1.919 * 0.04 + 7.98 * 0.005),
        (3600.0, 0.101 * 0.5 + 1.919 * 0.04 + 3597.98 * 0.005),
    ] {
        let mut d = Device::new(&plain(), &sleepy(), 1).expect("attaches");
        rest(&mut d, Nanos::from_secs_f64(seconds));
        near("energy", d.telemetry().energy_j, expected_j, 1e-9);
    }
    // Idle times on both sides of a command within one step of the meter.
    let mut d = Device::new(&plain(), &sleepy(), 1).expect("attaches");
    rest(&mut d, Nanos::from_millis(1_950));
    let before_j = 0.101 * 0.5 + 1.849 * 0.04;
    near("energy", d.telemetry().energy_j, before_j, 1e-9);
    let busy = one(&mut d, read(1, 0, 4096)).latency();
    rest(&mut d, Nanos::from_secs(5));
    let p = plain();
    let per_byte = p.interface[0].link_pj_per_byte * 1e-12;
    let active_j = busy.as_secs_f64() * p.interface[0].active_mw / 1e3 + 4096.0 * per_byte;
    let after_j = 0.101 * 0.5 + 1.919 * 0.04 + 2.98 * 0.005;
    let sum_j = before_j + active_j + after_j;
    near("energy", d.telemetry().energy_j, sum_j, 1e-9);
}

#[test]
fn the_host_decides_which_states_are_entered() {
    let latency = |host: &HostProfile| {
        let mut d = device(host);
        rest(&mut d, HOUR);
        let state = d.telemetry().power_state;
        (state, one(&mut d, read(1, 0, 4096)).latency())
    };
    let base = Nanos(READ_NS + link_ns(FAST_LINK, 4096));
    assert_eq!(latency(&host("direct")), (0, base));
    let mut impatient = sleepy();
    impatient.apst.truncate(1);
    assert_eq!(latency(&impatient), (2, base + Nanos::from_millis(2)));
    impatient.apst[0].tolerance_us = 2_999.0;
    assert_eq!(latency(&impatient), (0, base));
}

#[test]
fn the_budget_of_an_operational_state_limits_the_dies_that_program() {
    let mut p = plain();
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = 1024;
    let speed = |host: &HostProfile| {
        let mut d = Device::new(&p, host, 1).expect("attaches");
        assert_eq!(
            d.telemetry().power_state,
            host.host.power_state.unwrap_or(0)
        );
        closed_loop(&mut d, 64, |i| {
            (i < 256).then(|| write(i, i * 65_536, 65_536))
        });
        let run = closed_loop(&mut d, 64, |i| {
            (i < 256).then(|| write(i, (256 + i) * 65_536, 65_536))
        });
        run.mb_per_s()
    };
    let mut frugal = host("direct");
    frugal.host.power_state = Some(1);
    // Three dies program at a time; the transfers of other dies overlap with this.
    near("PS1", speed(&frugal), 3.0 * 16_384.0 / 400.0, 0.02);
    let all = 8.0 * 16_384.0 / (400.0 + 16.384);
    near("PS0", speed(&host("direct")), all, 0.02);
    frugal.host.power_state = Some(2);
    let refused = Device::new(&p, &frugal, 1).expect_err("is not operational");
    assert!(
        matches!(
            refused,
            DeviceError::Attach(AttachError::NoPowerState {
                number: 2,
                operational: 2,
                ..
            })
        ),
        "{refused}"
    );
}

/// The identify data of the library's drives, on a laptop and on the reviews' desktop.
#[test]
fn drives_of_the_library_sleep_on_a_laptop_alone() {
    for (name, exit) in [
        ("sm2262en-2tb", Nanos::from_millis(8)),
        ("hp-ex920-1tb", Nanos::from_millis(8)),
        ("samsung-970-pro-512gb", Nanos::from_millis(8)),
    ] {
        let after_an_hour = |on: &str| {
            let mut d = Device::new(&profile(name), &host(on), 1).expect("attaches");
            rest(&mut d, HOUR);
            assert_eq!(d.identity().power_states.len(), 5);
            let state = d.telemetry().power_state;
            (
                state,
                d.telemetry().energy_j,
                one(&mut d, read(1, 0, 4096)).latency(),
            )
        };
        let (awake, asleep) = (after_an_hour("nvme-desktop"), after_an_hour("nvme-laptop"));
        assert_eq!((awake.0, asleep.0), (0, 4), "{name}");
        assert_eq!(asleep.2, awake.2 + exit, "{name}");
        assert!(asleep.1 < 0.1 * awake.1, "{name}: {} J", asleep.1);
    }
}
