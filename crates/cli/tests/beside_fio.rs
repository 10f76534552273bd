//! Runs the job files in `jobs/` with nandscope and with fio on the same loop device, and compares their logs of single
//! operations. Times and sizes are shortened in the same way for both.

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::loops::{Loop, skipped, tool};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const MIB: u64 = 1 << 20;
const DEVICE_MIB: u64 = 64;
/// Largest difference of shares, and largest relative difference of times.
const TOLERANCE: f64 = 0.02;
/// Largest relative difference of the numbers of operations at a given rate: a busy disk may delay only one of the two
/// programs.
const BUSY_TOLERANCE: f64 = 0.05;

/// One thread's operations: direction (0 read, 1 write, 2 trim), length, offset.
type Log = Vec<(u8, u64, u64)>;

/// A job file with sizes and times that a test can wait for.
fn shortened(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match line.split_once('=') {
            Some(("runtime", _)) => "runtime=2",
            Some(("ramp_time", _)) => "ramp_time=0",
            Some(("size", "1g")) => "size=16m",
            // fio 3.33 ends a job whose sequential part runs over the end of a region that is
            // smaller than the target.
            Some(("size", "256m")) => "size=100%",
            // Both programs get the device as the file of all jobs.
            Some(("log_avg_msec" | "filename", _)) => continue,
            _ => line,
        };
        if line == "write_bw_log" || line == "write_iops_log" {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        if line.starts_with('[') && line != "[global]" {
            out.push_str("write_lat_log=ops\nlog_offset=1\n");
        }
    }
    out
}

/// The logs of all threads in a folder, by number.
fn logs(folder: &Path) -> BTreeMap<usize, Log> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let number = name
            .strip_prefix("ops_lat.")
            .and_then(|n| n.strip_suffix(".log"));
        let Some(number) = number else { continue };
        let text = std::fs::read_to_string(&path).unwrap();
        let operation = |line: &str| {
            let fields: Vec<u64> = line.split(',').map(|f| f.trim().parse().unwrap()).collect();
            (fields[2] as u8, fields[3], fields[4])
        };
        all.insert(
            number.parse().unwrap(),
            text.lines().map(operation).collect(),
        );
    }
    all
}

fn by_fio(folder: &Folder, text: &str, device: &str) -> BTreeMap<usize, Log> {
    let place = folder.0.join("fio");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("job.fio"), text).unwrap();
    let done = Command::new("fio")
        .args([
            "--output=out.txt",
            &format!("--filename={device}"),
            "job.fio",
        ])
        .current_dir(&place)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    logs(&place)
}

fn by_us(folder: &Folder, text: &str, device: &Loop) -> BTreeMap<usize, Log> {
    folder.file("job.fio", text);
    std::fs::create_dir_all(folder.0.join("ours")).unwrap();
    let named = format!("--destroy-data={}", device.name());
    let run = [
        "run",
        "job.fio",
        &device.device,
        &named,
        "--yes",
        device.name(),
        "--log-dir",
        "ours",
        "--job",
        "filename=all",
    ];
    folder.run(&run).succeeds();
    logs(&folder.0.join("ours"))
}

/// Number of operations of each direction and length.
fn shapes(log: &Log) -> BTreeMap<(u8, u64), u64> {
    let mut all = BTreeMap::new();
    for (direction, length, _) in log {
        *all.entry((*direction, *length)).or_default() += 1;
    }
    all
}

fn bytes(log: &Log) -> u64 {
    log.iter().map(|(_, length, _)| length).sum()
}

/// Direction and number of every 4 KiB block that a log covers, each once.
fn covered(log: &Log) -> BTreeSet<(u8, u64)> {
    let blocks = |(direction, length, offset): &(u8, u64, u64)| {
        let direction = *direction;
        (*offset / 4096..(*offset + *length).div_ceil(4096)).map(move |b| (direction, b))
    };
    log.iter().flat_map(blocks).collect()
}

/// The share of the operations that go to each sixteenth of the device.
fn spread(log: &Log) -> [f64; 16] {
    let mut counts = [0.0; 16];
    for (_, _, offset) in log {
        counts[(offset * 16 / (DEVICE_MIB * MIB)) as usize] += 1.0 / log.len() as f64;
    }
    counts
}

/// The share of the operations that go to the 100 most visited places.
fn skew(log: &Log) -> f64 {
    let mut visits: BTreeMap<u64, u64> = BTreeMap::new();
    for (_, _, offset) in log {
        *visits.entry(*offset).or_default() += 1;
    }
    let mut counts: Vec<u64> = visits.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.iter().take(100).sum::<u64>() as f64 / log.len() as f64
}

/// How the operations of a thread are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Ends when its work is done: the same operations, possibly in another order.
    Whole,
    /// Ends when its work is done, and may access a block twice: equal numbers of operations of each direction and length.
    Repeating,
    /// Ends after a fixed time: the same distribution.
    Timed,
    /// Ends after a fixed time at a given rate: the same distribution and number of operations.
    Paced,
}

fn same(what: &str, ours: &Log, fios: &Log, kind: Kind) {
    assert!(!fios.is_empty(), "{what}: fio did nothing");
    if matches!(kind, Kind::Whole | Kind::Repeating) {
        assert_eq!(shapes(ours), shapes(fios), "{what}");
        assert_eq!(bytes(ours), bytes(fios), "{what}");
        return;
    }
    if kind == Kind::Paced {
        let [ours, fios] = [ours.len(), fios.len()].map(|operations| operations as f64);
        assert!(
            (ours / fios - 1.0).abs() <= BUSY_TOLERANCE,
            "{what}: {ours} operations, with fio {fios}"
        );
    }
    let (our_shapes, their_shapes) = (shapes(ours), shapes(fios));
    let all: BTreeSet<_> = our_shapes.keys().chain(their_shapes.keys()).collect();
    for shape in all {
        let share = |s: &BTreeMap<(u8, u64), u64>, n: usize| {
            s.get(shape).copied().unwrap_or(0) as f64 / n as f64
        };
        let (a, b) = (
            share(&our_shapes, ours.len()),
            share(&their_shapes, fios.len()),
        );
        assert!(
            (a - b).abs() <= TOLERANCE,
            "{what}: {shape:?} is {a}, with fio {b}"
        );
    }
}

/// Runs a job file with both programs and compares thread by thread.
fn compare(name: &str, text: &str, kinds: &[Kind]) {
    let folder = Folder::new(&format!("beside-fio-{name}"));
    if tool("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    let Some(device) = Loop::new(&folder, DEVICE_MIB as usize) else {
        return;
    };
    let fios = by_fio(&folder, text, &device.device);
    let ours = by_us(&folder, text, &device);
    assert_eq!(ours.len(), fios.len(), "{name}: threads");
    assert_eq!(ours.len(), kinds.len(), "{name}: threads");
    for ((number, ours), kind) in ours.iter().zip(kinds) {
        let what = format!("{name}, thread {number}");
        let fios = &fios[number];
        same(&what, ours, fios, *kind);
        if matches!(kind, Kind::Whole | Kind::Repeating) {
            continue;
        }
        for (i, (a, b)) in spread(ours).iter().zip(spread(fios)).enumerate() {
            let differs = (a - b).abs();
            assert!(
                differs <= 0.03,
                "{what}: sixteenth {i} has {a}, with fio {b}"
            );
        }
    }
    for (number, ours) in &ours {
        if kinds[number - 1] == Kind::Whole {
            let what = format!("{name}, thread {number}");
            assert!(
                covered(ours) == covered(&fios[number]),
                "{what}: other places"
            );
        }
    }
}

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../jobs")
        .join(name);
    shortened(&std::fs::read_to_string(path).unwrap())
}

use Kind::{Paced, Repeating, Timed, Whole};

#[test]
fn sequential_reading_and_writing() {
    compare("seq-read", &file("seq-read.fio"), &[Whole]);
    compare("seq-write", &file("seq-write.fio"), &[Whole]);
}

#[test]
fn random_writing_covers_every_block_once() {
    compare("rand-write", &file("rand-write.fio"), &[Whole]);
}

#[test]
fn random_reading_with_repetition() {
    compare("rand-read", &file("rand-read.fio"), &[Timed, Timed]);
}

#[test]
fn mixed_sizes_and_directions() {
    compare("mixed", &file("mixed.fio"), &[Timed]);
}

#[test]
fn discarding_and_refilling() {
    compare("trim", &file("trim.fio"), &[Whole, Whole]);
}

#[test]
fn limited_rates() {
    // Longer, so that one operation more or less at the end does not matter.
    let text = file("limited.fio").replace("runtime=2", "runtime=6");
    compare("limited", &text, &[Paced, Paced]);
}

#[test]
fn a_fill_before_the_steady_state() {
    compare("steady-state", &file("steady-state.fio"), &[Whole, Timed]);
}

/// Time from one burst of `length` operations to the next in a log, milliseconds: the mean of the lowest tenth, since a
/// busy machine delays the others.
fn period_ms(log: &Path, length: usize) -> f64 {
    let text = std::fs::read_to_string(log).unwrap();
    let time = |line: &str| line.split(',').next().unwrap().parse::<f64>().unwrap();
    let begins: Vec<f64> = text.lines().map(time).step_by(length).collect();
    let mut periods: Vec<f64> = begins.windows(2).map(|w| w[1] - w[0]).collect();
    periods.sort_by(f64::total_cmp);
    periods.truncate(periods.len().div_ceil(10));
    periods.iter().sum::<f64>() / periods.len() as f64
}

/// Compares the period of the bursts that started on time. The number of bursts would depend on how late a busy machine
/// wakes the thread.
#[test]
fn pauses_to_think() {
    let folder = Folder::new("beside-fio-thinktime");
    if tool("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    let Some(device) = Loop::new(&folder, DEVICE_MIB as usize) else {
        return;
    };
    for (pause, length) in [("25ms", 4), ("20ms", 1)] {
        let text = format!(
            "[think]\nwrite_lat_log=ops\nlog_offset=1\nrw=randread\nbs=4k\nnorandommap\nioengine=libaio\ndirect=1\n\
            thinktime={pause}\nthinktime_blocks={length}\ntime_based\nruntime=4\n"
        );
        // A machine that is busy during a whole run delays even the lowest tenth: the shortest of several runs counts.
        let (mut ours, mut fios) = (f64::INFINITY, f64::INFINITY);
        let agree = (0..6).any(|_| {
            by_fio(&folder, &text, &device.device);
            by_us(&folder, &text, &device);
            fios = fios.min(period_ms(&folder.0.join("fio/ops_lat.1.log"), length));
            ours = ours.min(period_ms(&folder.0.join("ours/ops_lat.1.log"), length));
            (ours / fios - 1.0).abs() <= TOLERANCE
        });
        assert!(agree, "{pause}: {ours} ms by us and {fios} ms by fio");
    }
}

/// The second thread accesses only part of its region; the third reads four blocks in order from each random offset. So the
/// blocks and their number of accesses are random in both.
#[test]
fn the_life_of_a_card() {
    compare(
        "sd-card",
        &file("sd-card.fio"),
        &[Whole, Repeating, Repeating],
    );
}

#[test]
fn skewed_places() {
    let folder = Folder::new("beside-fio-skew");
    if tool("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    let Some(device) = Loop::new(&folder, DEVICE_MIB as usize) else {
        return;
    };
    let text = file("zipf.fio");
    let fios = by_fio(&folder, &text, &device.device);
    let ours = by_us(&folder, &text, &device);
    same("zipf", &ours[&1], &fios[&1], Timed);
    let (a, b) = (skew(&ours[&1]), skew(&fios[&1]));
    assert!(
        (a - b).abs() <= TOLERANCE,
        "the 100 most visited have {a}, with fio {b}"
    );
}

/// The bytes that a job leaves in a file of 1 MiB, written by fio and by us.
fn left_by_both(folder: &Folder, options: &str) -> [Vec<u8>; 2] {
    let job = format!("[a]\nioengine=libaio\ndirect=1\nrw=write\nbs=4k\nsize=1m\n{options}\n");
    folder.file("job.fio", &job);
    let done = Command::new("fio")
        .args(["--output=out.txt", "--filename=fio.img", "job.fio"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    assert!(done.status.success(), "{options}: {done:?}");
    folder
        .run(&["run", "job.fio", "./ours.img", "--size", "1m"])
        .succeeds();
    ["fio.img", "ours.img"].map(|name| std::fs::read(folder.0.join(name)).unwrap())
}

#[test]
fn contents_are_those_of_fio() {
    if tool("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    let folder = Folder::new("beside-fio-contents");
    for options in [
        "zero_buffers",
        "buffer_pattern=0xdeadface\"abc\"-12",
        "buffer_compress_percentage=100",
        "buffer_compress_percentage=100\nbuffer_pattern=0x1234",
        "verify=pattern\nverify_pattern=0xdead",
        "verify=pattern\nverify_pattern=0xaa%o\"z\"",
    ] {
        let [fios, ours] = left_by_both(&folder, options);
        assert!(fios == ours, "{options}");
    }
    // Random data differs; its compressible and repeated shares are equal.
    for (options, compressible) in [
        ("", false),
        ("refill_buffers", false),
        ("scramble_buffers=0", false),
        (
            "buffer_compress_percentage=30\nbuffer_compress_chunk=1k",
            true,
        ),
        ("dedupe_percentage=100", false),
        ("dedupe_percentage=50\nbuffer_compress_percentage=50", true),
    ] {
        let [fios, ours] = left_by_both(&folder, options);
        let zeros = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == 0).count() as f64;
        let distinct = |bytes: &[u8]| bytes.chunks(4096).collect::<BTreeSet<_>>().len() as f64;
        let (a, b) = (distinct(&fios), distinct(&ours));
        assert!(
            (a - b).abs() <= 0.1 * a + 30.0,
            "{options}: {a} and {b} blocks"
        );
        let (a, b) = (zeros(&fios), zeros(&ours));
        let is_same = (a - b).abs() <= 0.02 * a;
        assert!(is_same || !compressible, "{options}: {a} and {b} zeros");
    }
}

/// fio verifies data written by nandscope, and vice versa.
#[test]
fn patterns_are_verified_across_programs() {
    if tool("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    let folder = Folder::new("beside-fio-verify");
    let pattern = "verify=pattern\nverify_pattern=0x11%o";
    left_by_both(&folder, pattern);
    let read = format!("[a]\nioengine=libaio\ndirect=1\nrw=read\nbs=4k\nsize=1m\n{pattern}\n");
    folder.file("read.fio", &read);
    let by_fio = |file: &str| {
        let name = format!("--filename={file}");
        let done = Command::new("fio")
            .args(["--output=out.txt", &name, "read.fio"])
            .current_dir(&folder.0)
            .output();
        done.unwrap().status.success()
    };
    assert!(by_fio("ours.img"));
    folder.run(&["run", "read.fio", "./fio.img"]).succeeds();
    for name in ["fio.img", "ours.img"] {
        let mut bytes = std::fs::read(folder.0.join(name)).unwrap();
        bytes[70_000] ^= 1;
        std::fs::write(folder.0.join(name), bytes).unwrap();
    }
    assert!(!by_fio("ours.img"));
    let damaged = folder.run(&["run", "read.fio", "./fio.img"]);
    damaged.fails(1, &["verify: wrong data"]);
    assert!(
        damaged.out.contains("byte 70000 is wrong"),
        "{}",
        damaged.out
    );
}
