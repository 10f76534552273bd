//! A closed loop around a device: so many commands outstanding, the next one at each completion.

#![allow(dead_code)]

use nandscope_device::profile::{HostProfile, Profile, library};
use nandscope_device::{Command, CommandKind, Completion, Device, Status};
use nandscope_units::{Bytes, Lba, Nanos};

/// What a closed loop measured.
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

/// Keeps `depth` commands outstanding until `next` has no more, then waits for the rest.
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
    let mut outstanding = 0;
    let mut sizes = std::collections::HashMap::new();
    let mut completions: Vec<Completion> = Vec::new();
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
        device.advance(Nanos::MAX, &mut completions);
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
    run
}

/// A small generator for tests, so that they depend on nothing else.
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0 >> 11) * u128::from(bound)) >> 53) as u64
    }
}
