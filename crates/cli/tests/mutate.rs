//! Every kind of file that the program reads, with bytes changed at random: the same checks that
//! libFuzzer drives (fuzz/), for some seconds, with any compiler. The sequence of inputs follows
//! from a fixed seed; how far it gets depends on the time (`NANDSCOPE_MUTATE_SECONDS`, 20).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../../fuzz/src/bodies.rs"]
mod bodies;

use nandscope_device::Device;
use nandscope_device::profile::{library, parse_profile};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// No input may take longer, in whatever build.
const LONGEST: Duration = Duration::from_secs(20);
/// Larger inputs teach nothing that smaller ones do not.
const MOST_BYTES: usize = 1 << 20;

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(root().join(folder))
        .unwrap_or_else(|e| panic!("{folder}: {e}"))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.to_string_lossy().ends_with(ending))
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// The state of a small device that was written to.
fn snapshot() -> Vec<u8> {
    let text = include_str!("data/tiny.toml");
    let profile = parse_profile("tiny", text).unwrap();
    let host = library::host("direct").unwrap().host_profile().unwrap();
    let mut device = Device::new(&profile, &host, 1).unwrap();
    assert!(device.overwrite_randomly(1000, 1));
    device.save().unwrap()
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut seeds = match target {
        "profile" => files("profiles", ".toml"),
        "host" => files("profiles/hosts", ".toml"),
        "job" => [files("jobs", ".fio"), files("jobs/extensions", ".fio")].concat(),
        "nstrace" => files("traces", ".nstrace"),
        "snapshot" => vec![snapshot()],
        _ => Vec::new(),
    };
    let folder = format!("fuzz/seeds/{target}");
    if root().join(&folder).is_dir() {
        seeds.extend(files(&folder, ""));
    }
    assert!(!seeds.is_empty(), "no seeds for {target}");
    seeds
}

/// A seed with some changes: bytes, numbers, pieces taken out, doubled, or taken from another one.
fn mutate(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let length = bytes.len();
        let at = random.below(length + 1);
        let some = random.below(32).min(length - at);
        match random.below(7) {
            0 if at < length => bytes[at] ^= 1 << random.below(8),
            1 if at < length => bytes[at] = [0, 0xff, b'9', b'-', b'\n', b'.'][random.below(6)],
            2 => drop(bytes.drain(at..at + some)),
            3 => {
                let piece = bytes[at..at + some].to_vec();
                let to = random.below(length + 1);
                bytes.splice(to..to, piece);
            }
            4 => bytes.truncate(at),
            5 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let piece = &other[from..(from + 64).min(other.len())];
                bytes.splice(at..at + some, piece.iter().copied());
            }
            _ => {
                let number = [
                    "0",
                    "18446744073709551615",
                    "-1",
                    "1e308",
                    "nan",
                    "4294967296",
                ];
                bytes.splice(at..at + some, number[random.below(6)].bytes());
            }
        }
    }
    bytes.truncate(MOST_BYTES);
    bytes
}

/// Runs one input; what it breaks is kept in a file.
fn try_input(target: &str, body: fn(&[u8]), input: &[u8]) {
    let began = Instant::now();
    let outcome = catch_unwind(|| body(input));
    let took = began.elapsed();
    if outcome.is_err() || took > LONGEST {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutate-{target}"));
        std::fs::write(&path, input).unwrap();
        panic!(
            "{target}: failed after {took:?}; the input is {}",
            path.display()
        );
    }
}

#[test]
fn changed_files_are_read_or_refused() {
    let seconds = std::env::var("NANDSCOPE_MUTATE_SECONDS").ok();
    let seconds: f64 = seconds.map_or(20.0, |s| s.parse().expect("a number of seconds"));
    let share = Duration::from_secs_f64(seconds / bodies::ALL.len() as f64);
    for (target, body) in bodies::ALL {
        let seeds = seeds(target);
        for seed in &seeds {
            try_input(target, body, seed);
        }
        let mut random = Random(1);
        let (began, mut inputs) = (Instant::now(), 0u64);
        while began.elapsed() < share || inputs < 20 {
            try_input(target, body, &mutate(&seeds, &mut random));
            inputs += 1;
        }
        println!("{target}: {} seeds, {inputs} changed inputs", seeds.len());
    }
}
