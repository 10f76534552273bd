//! A closed loop around a device: a fixed number of outstanding commands, the next one at each completion. Also plain
//! profiles in which every time but the one under test is zero.

#![allow(dead_code)]

pub mod any_card;
pub mod any_paged;
pub mod card;
pub mod plain;

use nandscope_device::profile::{HostProfile, Profile, library};
use nandscope_device::{Command, CommandKind, Completion, Device, Status};
use nandscope_units::{Bytes, Lba, Nanos};

/// Results of a closed loop.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub operations: u64,
    pub bytes: u64,
    pub elapsed: Nanos,
    pub latency_sum: Nanos,
    pub latency_max: Nanos,
    pub latency_min: Nanos,
}

impl Run {
    pub fn iops(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }
    pub fn mb_per_s(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.elapsed.as_secs_f64()
    }
    pub fn mean_latency_us(&self) -> f64 {
        self.latency_sum.as_micros_f64() / self.operations as f64
    }
}

pub fn profile(name: &str) -> Profile {
    library::device(name)
        .expect("in the library")
        .profile()
        .expect("valid")
}

pub fn host(name: &str) -> HostProfile {
    library::host(name)
        .expect("in the library")
        .host_profile()
        .expect("valid")
}

pub fn device(profile: &Profile, host_name: &str) -> Device {
    Device::new(profile, &host(host_name), 1).expect("attaches")
}

/// A device on a host with only this link, which packs writes of an eMMC and adds no latency.
pub fn device_on(profile: &Profile, link: &str) -> Device {
    let mut host = host("direct");
    host.host.links = vec![link.to_string()];
    host.host.packed_writes = true;
    Device::new(profile, &host, 1).expect("attaches")
}

pub fn read(tag: u64, offset: u64, length: u32) -> Command {
    Command {
        tag,
        kind: CommandKind::Read,
        lba: Lba::containing(Bytes(offset)),
        sectors: length / 512,
    }
}

pub fn write(tag: u64, offset: u64, length: u32) -> Command {
    Command {
        tag,
        kind: CommandKind::Write { fua: false },
        lba: Lba::containing(Bytes(offset)),
        sectors: length / 512,
    }
}

/// A command without a range of sectors.
pub fn bare(tag: u64, kind: CommandKind) -> Command {
    Command {
        tag,
        kind,
        lba: Lba(0),
        sectors: 0,
    }
}

pub fn discard(tag: u64, offset: u64, length: u64) -> Command {
    Command {
        tag,
        kind: CommandKind::Discard,
        lba: Lba::containing(Bytes(offset)),
        sectors: (length / 512) as u32,
    }
}

/// Runs one command alone; returns its completion, whatever its status.
pub fn one(device: &mut Device, command: Command) -> Completion {
    let now = device.now();
    device.submit(command, now).expect("in order");
    let mut completions = Vec::new();
    device.advance(Nanos::MAX, &mut completions);
    assert_eq!(completions.len(), 1, "{command:?}");
    assert_eq!(completions[0].tag, command.tag);
    completions.remove(0)
}

/// Lets time pass without commands; background work continues.
pub fn rest(device: &mut Device, time: Nanos) {
    let until = device.now() + time;
    let mut completions = Vec::new();
    while device.now() < until {
        device.advance(until, &mut completions);
    }
    assert!(completions.is_empty(), "nothing was asked for");
}

/// Asserts the invariants of the bookkeeping.
pub fn sound(device: &Device) {
    if let Err(fault) = device.audit() {
        panic!("at {}: {fault}", device.now());
    }
}

/// Asserts that `got` differs from `expected` by at most the share `share`.
#[track_caller]
pub fn near(what: &str, got: f64, expected: f64, share: f64) {
    assert!(
        (got / expected - 1.0).abs() <= share,
        "{what}: got {got}, expected {expected} within {:.2} %",
        share * 100.0
    );
}

/// Keeps `depth` commands outstanding until `next` returns none, then waits for the rest. Checks Little's law exactly:
/// the sum of the latencies is the integral of the number outstanding.
pub fn closed_loop(
    device: &mut Device,
    depth: u32,
    mut next: impl FnMut(u64) -> Option<Command>,
) -> Run {
    let start = device.now();
    let mut run = Run {
        operations: 0,
        bytes: 0,
        elapsed: Nanos::ZERO,
        latency_sum: Nanos::ZERO,
        latency_max: Nanos::ZERO,
        latency_min: Nanos::MAX,
    };
    let mut issued = 0;
    let mut outstanding = 0u32;
    let mut sizes = std::collections::HashMap::new();
    let mut completions: Vec<Completion> = Vec::new();
    let mut outstanding_ns: u128 = 0;
    loop {
        while outstanding < depth {
            let Some(mut command) = next(issued) else {
                break;
            };
            command.tag = issued;
            sizes.insert(issued, command.bytes().0);
            let now = device.now();
            device.submit(command, now).expect("in order");
            issued += 1;
            outstanding += 1;
        }
        if outstanding == 0 {
            break;
        }
        completions.clear();
        let before = device.now();
        device.advance(Nanos::MAX, &mut completions);
        outstanding_ns += u128::from(outstanding) * u128::from((device.now() - before).0);
        assert!(
            !completions.is_empty(),
            "the device stopped with {outstanding} commands outstanding at {}",
            device.now()
        );
        for c in &completions {
            assert_eq!(c.status, Status::Ok);
            outstanding -= 1;
            run.operations += 1;
            run.bytes += sizes.remove(&c.tag).expect("each command completes once");
            run.latency_sum += c.latency();
            run.latency_max = run.latency_max.max(c.latency());
            run.latency_min = run.latency_min.min(c.latency());
        }
    }
    run.elapsed = device.now() - start;
    assert_eq!(
        outstanding_ns,
        u128::from(run.latency_sum.0),
        "Little's law: the integral of the number outstanding is the sum of the latencies"
    );
    assert!(
        sizes.is_empty() && run.operations == issued,
        "every command completes once"
    );
    run
}

pub use nandscope_units::random::Lcg64 as Draw;
