//! Adapters between driver and drive: a limit of commands a second, and completions that share interrupts.

use crate::support::{self, closed_loop, near, one, read, sound};
use nandscope_device::Device;
use nandscope_device::profile::{HostProfile, parse_host};
use nandscope_units::Nanos;

const HOLD: Nanos = Nanos::from_micros(100);

/// A host of SATA drives whose only stage has these keys: commands a second; completions a second above which they are
/// held, and the length of a period in ms.
fn adapter(per_s: Option<f64>, held: Option<(f64, f64)>) -> HostProfile {
    let mut host = support::host("lsi-sas2008");
    let stage = &mut host.stage[0];
    stage.commands_per_s = per_s;
    stage.hold_us = held.map(|_| HOLD.as_micros_f64());
    stage.hold_above_per_s = held.map(|(above, _)| above);
    stage.hold_period_ms = held.map(|(_, period_ms)| period_ms);
    host
}

fn drive(host: &HostProfile) -> Device {
    Device::new(&support::profile("samsung-860-pro-512gb"), host, 1).expect("attaches")
}

/// Reads of unmapped data, whose time is the same for all.
fn run(device: &mut Device, depth: u32, count: u64) -> support::Run {
    closed_loop(device, depth, |n| {
        (n < count).then(|| read(n, (1 << 30) + n * 7919 % 65_536 * 4096, 4096))
    })
}

#[test]
fn the_firmware_bounds_the_rate_and_delays_no_single_command() {
    let alone = one(&mut drive(&adapter(None, None)), read(1, 1 << 30, 4096)).latency();
    let mut limited = drive(&adapter(Some(20_000.0), None));
    assert_eq!(one(&mut limited, read(1, 1 << 30, 4096)).latency(), alone);
    near("IOPS", run(&mut limited, 32, 20_000).iops(), 20_000.0, 0.01);
    sound(&limited);
}

/// Above the limit, a round of any depth takes as long as one command and the hold; a rate between that of held and that
/// of other rounds is held in every second period.
#[test]
fn held_completions_lengthen_a_round() {
    let alone = one(&mut drive(&adapter(None, None)), read(1, 1 << 30, 4096)).latency();
    let rate = |latency: Nanos| 1e6 / latency.as_micros_f64();
    let iops = |above: f64, depth: u32| {
        let mut device = drive(&adapter(None, Some((above, 1.0))));
        run(&mut device, depth, 1_000);
        let run = run(&mut device, depth, 20_000);
        sound(&device);
        run.iops()
    };
    near("never held", iops(1e6, 1), rate(alone), 0.001);
    near("held, depth 1", iops(0.0, 1), rate(alone + HOLD), 0.001);
    near(
        "held, depth 4",
        iops(0.0, 4),
        4.0 * rate(alone + HOLD),
        0.001,
    );
    let (least, most) = (rate(alone + HOLD), rate(alone));
    near(
        "held in turns",
        iops((least + most) / 2.0, 1),
        (least + most) / 2.0,
        0.05,
    );
}

#[test]
fn a_device_moves_on_and_is_saved_while_completions_are_held() {
    let mut device = drive(&adapter(None, Some((0.0, 1.0))));
    run(&mut device, 4, 1_000);
    for tag in 0..4 {
        let now = device.now();
        device
            .submit(read(tag, 1 << 30, 4096), now)
            .expect("in order");
    }
    let mut done = Vec::new();
    let held_since = device.now() + HOLD;
    device.advance(held_since, &mut done);
    assert!(done.is_empty(), "all four wait for the interrupt");
    sound(&device);
    let mut copy = Device::load(&device.save().expect("saved")).expect("loaded");
    device.advance(Nanos::MAX, &mut done);
    assert_eq!(done.len(), 4);
    let mut same = Vec::new();
    copy.advance(Nanos::MAX, &mut same);
    assert_eq!(same, done);
}

#[test]
fn adapters_with_part_of_the_keys_or_wild_values_are_refused() {
    let text = include_str!("../profiles/hosts/lsi-sas2008.toml");
    let cases = [
        ("hold_us = 100.0", "stage.0.hold_us", "together"),
        (
            "hold_us = 0.0\nhold_above_per_s = 1.0\nhold_period_ms = 1.0",
            "stage.0.hold_us",
            "out of range",
        ),
        (
            "commands_per_s = 0.0",
            "stage.0.commands_per_s",
            "out of range",
        ),
    ];
    for (keys, key, part) in cases {
        let faults = parse_host("h.toml", &format!("{text}{keys}\n")).expect_err(keys);
        let fault = faults.iter().find(|f| f.key == key).expect(keys);
        assert!(fault.message.contains(part), "{fault}");
    }
}
