//! fio's nbd engine on a served drive, in real time, beside the same job file in virtual time.
//!
//! Other load on the machine makes a served drive slower, never faster: a drive that is faster than in virtual
//! time is a failure on any machine. With `NANDSCOPE_QUIET_MACHINE` set, a slower one is a failure too, if it is
//! so in `NANDSCOPE_FIO_ATTEMPTS` (3) attempts. Every attempt is written to standard error.

use crate::support::Folder;
use crate::support::serving::{Serving, have, run};
use serde_json::Value;

const DRIVE: &str = "sim:sm2708-250gb";
/// Both drives begin with the data that will be read.
const STATE: [&str; 2] = ["--precondition", "sequential:2"];

/// How the drive is attached, and how fast it is served: through the readers of its review. By SD Express
/// it moves more than a small machine carries through a socket, so it is served at a tenth of its speed
/// there; `NANDSCOPE_FIO_SPEED=1` asks for all of it.
#[derive(Clone, Copy)]
struct Way {
    host: &'static str,
    speed: f64,
}

const UHS_I: Way = Way {
    host: "lexar-sr2",
    speed: 1.0,
};
const SD_EXPRESS: Way = Way {
    host: "rtl9211ds",
    speed: 0.1,
};

impl Way {
    fn speed(self) -> f64 {
        let set = std::env::var("NANDSCOPE_FIO_SPEED").ok();
        set.map_or(self.speed, |n| n.parse().unwrap())
    }
}

/// Way, access, block, depth.
const JOBS: [(Way, &str, &str, u32); 18] = [
    (UHS_I, "read", "128k", 1),
    (UHS_I, "read", "128k", 8),
    (UHS_I, "write", "128k", 1),
    (UHS_I, "write", "128k", 8),
    (UHS_I, "randread", "4k", 1),
    (UHS_I, "randread", "4k", 8),
    (UHS_I, "randread", "128k", 8),
    (UHS_I, "randwrite", "4k", 1),
    (UHS_I, "randwrite", "4k", 8),
    (UHS_I, "randwrite", "128k", 8),
    (SD_EXPRESS, "read", "128k", 1),
    (SD_EXPRESS, "read", "128k", 8),
    (SD_EXPRESS, "write", "128k", 1),
    (SD_EXPRESS, "write", "128k", 8),
    (SD_EXPRESS, "randread", "4k", 1),
    (SD_EXPRESS, "randread", "4k", 8),
    (SD_EXPRESS, "randread", "128k", 8),
    (SD_EXPRESS, "randwrite", "128k", 8),
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

fn virtually(folder: &Folder, host: &str, job: &str) -> Seen {
    let arguments = ["run", job, DRIVE, "--host", host, "--result", "run.json"];
    folder
        .run(&[&arguments[..], &STATE[..]].concat())
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

/// Rate and latencies that fio measures on the served drive, in virtual time.
fn really(folder: &Folder, way: Way, job: &str) -> Seen {
    let speed = way.speed();
    let pace = speed.to_string();
    let attached = ["--host", way.host, "--speed", &pace];
    let serving = Serving::start(folder, DRIVE, &[&attached, &STATE[..]].concat());
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
    // The engine prints that it is connected before the document.
    let document: Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    let job = document.pointer("/jobs/0").unwrap();
    let direction = ["read", "write"]
        .into_iter()
        .find(|d| number(job, &format!("/{d}/total_ios")) > 0.0);
    let part = &job[direction.unwrap()];
    Seen {
        mb_per_s: number(part, "/bw_bytes") / 1e6 / speed,
        p50_us: number(part, "/lat_ns/percentile/50.000000") / 1e3 * speed,
        p99_us: number(part, "/lat_ns/percentile/99.000000") / 1e3 * speed,
    }
}

fn attempts() -> u32 {
    let set = std::env::var("NANDSCOPE_FIO_ATTEMPTS").ok();
    set.map_or(3, |n| n.parse().unwrap())
}

#[test]
#[ignore = "slow: seconds of real time for each job"]
fn slow_fio_on_a_served_drive_sees_what_virtual_time_says() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("serve-fio-rates");
    let mut missed = Vec::new();
    for (way, access, block, depth) in JOBS {
        let name = format!("{}-{access}-{block}-{depth}", way.host);
        let file = format!("{name}.fio");
        // Enough operations that the slowest hundredth of them is more than a few outliers.
        let seconds = if way.speed() < 1.0 { 5 } else { 2 };
        let text = format!(
            "[{name}]\nrw={access}\nbs={block}\niodepth={depth}\nsize=2g\ntime_based\nruntime={seconds}\n\
             norandommap\npercentile_list=50:99\n"
        );
        // fio gets its engine, nbd, on the command line; without one the job would have queue depth 1 here.
        folder.file("virtual.fio", &format!("{text}ioengine=libaio\n"));
        folder.file(&file, &text);
        let expected = virtually(&folder, way.host, "virtual.fio");
        let hit = (0..attempts()).any(|_| {
            let seen = really(&folder, way, &file);
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
            // Not faster than the drive: neither more bandwidth nor less latency.
            assert!(speed <= 1.03 && p50 >= 0.97 && p99 >= 0.9, "{name}");
            let quiet = std::env::var_os("NANDSCOPE_QUIET_MACHINE").is_some();
            !quiet || (speed >= 0.97 && p50 <= 1.03 && p99 <= 1.1)
        });
        if !hit {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
