//! How fast the model runs, in operations per second of wall time, on one core.
//!
//! `cargo bench -p nandscope-device` measures everything; `-- read` only what has `read` in its
//! name. Each figure is the median of several repetitions, with the least and the greatest beside
//! it, because machines are shared. What the figures mean is in docs/performance.md.

use nandscope_device::profile::{Profile, library};
use nandscope_device::{Command, CommandKind, Completion, Device, Fill};
use nandscope_units::random::Lcg64;
use nandscope_units::{Lba, Nanos};
use std::collections::VecDeque;
use std::time::Instant;

/// Sectors of 4 KiB and of 128 KiB.
const SMALL: u32 = 8;
const LARGE: u32 = 256;
/// Commands of look-ahead with which the device prefetches, as in the runner.
const AHEAD: u64 = 4;
const WRITE: CommandKind = CommandKind::Write { fua: false };

/// A measurement; takes the name under which it prints its results.
type Case = fn(&str);

fn main() {
    let filter: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let wanted = |name: &str| filter.is_empty() || filter.iter().any(|f| name.contains(f.as_str()));
    println!("machine: {}", machine());
    let cases: [(&str, Case); 8] = [
        ("random read", random_reads),
        ("random write, 12.5 % spare", random_writes),
        ("random write, 28 % spare", random_writes_enterprise),
        ("sequential, sm2708-250gb", sequential),
        ("card sequential write", cards),
        ("fill, reference-nvme-64gb", fills),
        ("fork, reference-nvme-64gb", forks),
        ("memory", memory),
    ];
    for (name, run) in cases {
        if wanted(name) {
            run(name);
        }
    }
}

/// 4 KiB reads of a full device at queue depth 32.
fn random_reads(name: &str) {
    let mut device = filled("reference-nvme-64gb");
    let mut draw = Lcg64(1);
    let units = device.capacity().0 >> 12;
    repeat(name, "million/s", 5, || {
        let count = 2_000_000;
        let seconds = closed_loop(&mut device, 32, count, |_| {
            (CommandKind::Read, draw.below(units) << 3, SMALL)
        });
        count as f64 / 1e6 / seconds
    });
}

/// 4 KiB writes at the steady state of uniform random writes, with the profile's 12.5 % of spare area.
fn random_writes(name: &str) {
    steady_writes(name, device_of(&named("reference-nvme-64gb")));
}

/// 4 KiB writes at the steady state with the spare area of an enterprise drive: 220 blocks a plane are 28.9 % more than
/// the capacity.
fn random_writes_enterprise(name: &str) {
    let mut profile = named("reference-nvme-64gb");
    profile.nand.blocks_per_plane = 220;
    steady_writes(name, device_of(&profile));
}

fn steady_writes(name: &str, mut device: Device) {
    let units = device.capacity().0 >> 12;
    device.precondition(1.0, Fill::Random { seed: 1 });
    let start = Instant::now();
    let count = 2 * units;
    device.overwrite_randomly(count, 3);
    let rate = count as f64 / 1e6 / start.elapsed().as_secs_f64();
    println!("{name}: overwriting without time: {rate:.2} million/s");
    let mut draw = Lcg64(2);
    let before = device.counters();
    repeat(name, "million/s", 5, || {
        let count = 1_000_000;
        let seconds = closed_loop(&mut device, 32, count, |_| {
            (WRITE, draw.below(units) << 3, SMALL)
        });
        count as f64 / 1e6 / seconds
    });
    let after = device.counters();
    let programmed = after.flash_programmed.0 - before.flash_programmed.0;
    let written = after.host_written.0 - before.host_written.0;
    println!(
        "{name}: write amplification {:.2}",
        programmed as f64 / written as f64
    );
}

/// 250 GB written, then read, in 128 KiB at queue depth 1: seconds for the whole card.
fn sequential(name: &str) {
    let mut device = device_of(&named("sm2708-250gb"));
    let count = device.capacity().0 / 512 / u64::from(LARGE);
    for (kind, what) in [(WRITE, "write"), (CommandKind::Read, "read")] {
        repeat(&format!("{name} {what}"), "s for 250 GB", 3, || {
            closed_loop(&mut device, 1, count, |i| {
                (kind, i * u64::from(LARGE), LARGE)
            })
        });
    }
}

/// 4 KiB writes in order over a whole card with allocation units, again and again: with linear, logged and page-mapped
/// open AUs.
fn cards(name: &str) {
    for profile in [
        "recorded-sandisk-sl08g",
        "recorded-kingston-sd-8gb",
        "recorded-samsung-sd-16gb",
    ] {
        let mut device = device_of(&named(profile));
        let units = device.capacity().0 >> 12;
        device.precondition(1.0, Fill::Sequential);
        let mut next = 0;
        repeat(&format!("{name}, {profile}"), "million/s", 5, || {
            let count = 2_000_000;
            let seconds = closed_loop(&mut device, 1, count, |_| {
                next = (next + 1) % units;
                (WRITE, next << 3, SMALL)
            });
            count as f64 / 1e6 / seconds
        });
    }
}

/// Fills a 64 GiB device without timing.
fn fills(name: &str) {
    let profile = named("reference-nvme-64gb");
    for (fill, what) in [
        (Fill::Sequential, "sequential"),
        (Fill::Random { seed: 1 }, "random"),
    ] {
        repeat(&format!("{name} {what}"), "s", 3, || {
            let start = Instant::now();
            let mut device = device_of(&profile);
            device.precondition(1.0, fill);
            start.elapsed().as_secs_f64()
        });
    }
}

/// Resident bytes per mapped 4 KiB of a full device.
fn memory(name: &str) {
    for profile in ["reference-nvme-64gb", "sm2708-250gb"] {
        let before = resident();
        let device = filled(profile);
        let (Some(before), Some(after)) = (before, resident()) else {
            return println!("{name}: this system tells nothing of resident memory");
        };
        let bytes = after.saturating_sub(before) as f64;
        println!(
            "{name} {profile}: {:.0} MB, {:.2} bytes per 4 KiB",
            bytes / 1e6,
            bytes / (device.capacity().0 >> 12) as f64
        );
    }
}

/// Clones of a full device that share its memory.
fn forks(name: &str) {
    let mut device = filled("reference-nvme-64gb");
    device.share();
    repeat(name, "us", 9, || {
        let start = Instant::now();
        let clone = device.clone();
        let seconds = start.elapsed().as_secs_f64();
        drop(clone);
        seconds * 1e6
    });
}

/// Keeps `depth` commands outstanding until `count` are done; returns the seconds of wall time.
fn closed_loop(
    device: &mut Device,
    depth: u64,
    count: u64,
    mut next: impl FnMut(u64) -> (CommandKind, u64, u32),
) -> f64 {
    let start = Instant::now();
    let mut issued = 0;
    let mut done = 0;
    let mut completions: Vec<Completion> = Vec::new();
    let mut ahead: VecDeque<_> = (0..AHEAD).map(&mut next).collect();
    while done < count {
        while issued < count && issued - done < depth {
            ahead.push_back(next(issued + AHEAD));
            device.prefetch(Lba(ahead[AHEAD as usize].1));
            let Some((kind, sector, sectors)) = ahead.pop_front() else {
                break;
            };
            let command = Command {
                tag: issued,
                kind,
                lba: Lba(sector),
                sectors,
            };
            if let Err(error) = device.submit(command, device.now()) {
                panic!("{error}");
            }
            issued += 1;
        }
        completions.clear();
        device.advance(Nanos::MAX, &mut completions);
        assert!(!completions.is_empty(), "the device stopped");
        done += completions.len() as u64;
    }
    start.elapsed().as_secs_f64()
}

fn repeat(name: &str, unit: &str, times: usize, mut run: impl FnMut() -> f64) {
    let mut figures: Vec<f64> = (0..times).map(|_| run()).collect();
    figures.sort_by(f64::total_cmp);
    println!(
        "{name}: {:.2} {unit} ({:.2} to {:.2})",
        figures[times / 2],
        figures[0],
        figures[times - 1]
    );
}

fn named(name: &str) -> Profile {
    match library::device(name).map(|e| e.profile()) {
        Some(Ok(profile)) => profile,
        Some(Err(errors)) => panic!("{errors:?}"),
        None => panic!("the library has no {name}"),
    }
}

fn device_of(profile: &Profile) -> Device {
    let host = if profile.device.name.starts_with("sm2708") {
        "rtl9211ds"
    } else {
        "direct"
    };
    let host = library::host(host).map(|e| e.host_profile());
    match host {
        Some(Ok(host)) => match Device::new(profile, &host, 1) {
            Ok(device) => device,
            Err(error) => panic!("{error}"),
        },
        _ => panic!("the library has no usable host"),
    }
}

fn filled(name: &str) -> Device {
    let mut device = device_of(&named(name));
    device.precondition(1.0, Fill::Random { seed: 1 });
    device
}

/// Resident memory of this process, bytes; `None` on systems other than Linux.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

fn machine() -> String {
    let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let model = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|l| l.starts_with("model name"))?;
            Some(line.split(':').nth(1)?.trim().to_string())
        });
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_string());
    format!("{model}, {cpus} cores")
}
