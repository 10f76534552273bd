//! fio's nbd engine on a served drive, in real time, beside the same job file in virtual time. It takes
//! half a minute and wants the machine for itself: slow (feature `slow`).
//!
//! What else the machine does makes a served drive slower, never faster: a job that misses is run again,
//! up to `NANDSCOPE_FIO_ATTEMPTS` (6) times. Every attempt is written to standard error.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/serving.rs"]
mod serving;
mod support;

use serde_json::Value;
use serving::{Serving, have, run};
use support::Folder;

const DRIVE: &str = "sim:sm2708-250gb";
/// Both begin with a drive that holds what will be read.
const STATE: [&str; 2] = ["--precondition", "sequential:2"];

/// Name, access, block, depth. Faster ones than these a socket does not carry: this drive takes 13 µs for a
/// write of 4 KiB, and reads 128 KiB in the time of three or four copies of them.
const JOBS: [(&str, &str, &str, u32); 8] = [
    ("read-1m-1", "read", "1m", 1),
    ("read-128k-8", "read", "128k", 8),
    ("write-128k-1", "write", "128k", 1),
    ("write-128k-8", "write", "128k", 8),
    ("randread-4k-1", "randread", "4k", 1),
    ("randread-128k-8", "randread", "128k", 8),
    ("randwrite-128k-1", "randwrite", "128k", 1),
    ("randwrite-128k-8", "randwrite", "128k", 8),
];

#[derive(Debug)]
struct Seen {
    mb_per_s: f64,
    p50_us: f64,
    p99_us: f64,
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no {pointer} in {value}"))
}

fn virtually(folder: &Folder, job: &str) -> Seen {
    folder
        .run(&[&["run", job, DRIVE, "-o", "run.json"], &STATE[..]].concat())
        .succeeds();
    let document: Value = serde_json::from_str(&folder.read("run.json")).unwrap();
    let part = document.pointer("/steps/0/jobs/0/directions/0").unwrap();
    let points = part.pointer("/latency/percentiles").unwrap();
    Seen {
        mb_per_s: number(part, "/bandwidth_bytes_per_s") / 1e6,
        p50_us: number(points, "/0/1") / 1e3,
        p99_us: number(points, "/1/1") / 1e3,
    }
}

fn really(folder: &Folder, job: &str) -> Seen {
    let serving = Serving::start(folder, DRIVE, &STATE);
    let uri = format!("--uri={}", serving.uri());
    let arguments = [
        "--ioengine=nbd",
        &uri,
        "--lat_percentiles=1",
        "--clat_percentiles=0",
        "--output-format=json",
        job,
    ];
    let text = run(folder, "fio", &arguments);
    serving.finish();
    // The engine says that it is connected before the document begins.
    let document: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    let job = document.pointer("/jobs/0").unwrap();
    let direction = ["read", "write"]
        .into_iter()
        .find(|d| number(job, &format!("/{d}/total_ios")) > 0.0);
    let part = &job[direction.unwrap()];
    Seen {
        mb_per_s: number(part, "/bw_bytes") / 1e6,
        p50_us: number(part, "/lat_ns/percentile/50.000000") / 1e3,
        p99_us: number(part, "/lat_ns/percentile/99.000000") / 1e3,
    }
}

fn attempts() -> u32 {
    let set = std::env::var("NANDSCOPE_FIO_ATTEMPTS").ok();
    set.map_or(6, |n| n.parse().unwrap())
}

#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: seconds of real time for each job"
)]
fn slow_fio_on_a_served_drive_sees_what_virtual_time_says() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("serve-fio");
    let mut missed = Vec::new();
    for (name, access, block, depth) in JOBS {
        let file = format!("{name}.fio");
        let text = format!(
            "[{name}]\nrw={access}\nbs={block}\niodepth={depth}\nsize=2g\ntime_based\nruntime=2\n\
             norandommap\npercentile_list=50:99\n"
        );
        folder.file(&file, &text);
        let expected = virtually(&folder, &file);
        let hit = (0..attempts()).any(|_| {
            let seen = really(&folder, &file);
            let ratio = |part: fn(&Seen) -> f64| part(&seen) / part(&expected);
            let (speed, p50, p99) = (
                ratio(|s| s.mb_per_s),
                ratio(|s| s.p50_us),
                ratio(|s| s.p99_us),
            );
            eprintln!(
                "| {name} | {:.1} MB/s | {:.1} MB/s | {speed:.3} | {:.1} / {:.1} µs | {p50:.3} | {:.1} / {:.1} µs | {p99:.3} |",
                expected.mb_per_s, seen.mb_per_s, expected.p50_us, seen.p50_us, expected.p99_us, seen.p99_us
            );
            let within = |ratio: f64, tolerance: f64| (ratio - 1.0).abs() <= tolerance;
            within(speed, 0.03) && within(p50, 0.03) && within(p99, 0.1)
        });
        if !hit {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
