//! Mutated inputs: the seeds of each fuzz body, and changes to them that follow from a number.

#![allow(dead_code, reason = "each test file uses its part of this")]

use nandscope_device::Device;
use nandscope_device::profile::{library, parse_profile};
use nandscope_units::Fnv1a;
use nandscope_units::random::SplitMix64;
use nandscope_workload::trace::{Trace, read_nstrace, write_nstrace};
use std::path::{Path, PathBuf};

/// Maximum length of an input, bytes: longer ones find nothing that shorter ones do not.
const MOST_BYTES: usize = 1 << 20;
/// Records of a seed that is cut from a recorded trace.
const TRACE_RECORDS: usize = 300;
/// Numbers at the limits of their types, in the forms used in files.
const NUMBERS: [&str; 26] = [
    "0",
    "-0",
    "1",
    "-1",
    "127",
    "256",
    "65535",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e19",
    "1e308",
    "-1e308",
    "1e-320",
    "1e999",
    "nan",
    "inf",
    "-inf",
];

/// A generator that also draws places in slices.
pub struct Random(SplitMix64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(SplitMix64::new(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.bits()
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
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

/// The saved state of a small device after random writes.
fn snapshot() -> Vec<u8> {
    let text = include_str!("../data/tiny.toml");
    let profile = parse_profile("tiny", text).unwrap();
    let host = library::host("direct").unwrap().host_profile().unwrap();
    let mut device = Device::new(&profile, &host, 1).unwrap();
    assert!(device.overwrite_randomly(1000, 1));
    device.save().unwrap()
}

/// The first records of every recorded trace: a whole trace takes milliseconds.
fn short_traces() -> Vec<Vec<u8>> {
    let shorten = |bytes: &Vec<u8>| {
        let (header, trace) = read_nstrace("seed", bytes).unwrap();
        let records = trace.records().iter().take(TRACE_RECORDS).copied();
        let trace = Trace::new(records.collect(), trace.is_timed(), trace.capacity());
        write_nstrace(&header.name, &header.title, &trace)
    };
    files("traces", ".nstrace").iter().map(shorten).collect()
}

/// The seeds of a body: files of the project, files in `fuzz/seeds`, and seeds made here.
pub fn seeds(body: &str) -> Vec<Vec<u8>> {
    let mut seeds = match body {
        "profile" => files("profiles", ".toml"),
        "host" => files("profiles/hosts", ".toml"),
        "job" => [files("jobs", ".fio"), files("jobs/extensions", ".fio")].concat(),
        "nstrace" => short_traces(),
        "fio" | "fio_measurements" => files("crates/measure/tests/data", ".json"),
        "requirement" => files("requirements", ".toml"),
        "snapshot" => vec![snapshot()],
        _ => Vec::new(),
    };
    let folder = format!("fuzz/seeds/{body}");
    if root().join(&folder).is_dir() {
        seeds.extend(files(&folder, ""));
    }
    assert!(!seeds.is_empty(), "no seeds for {body}");
    seeds
}

/// Input number `number` of a body.
pub fn input(body: &str, seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let name = Fnv1a::of_bytes(body.bytes());
    // The first draw decorrelates successive numbers.
    let mut random = Random::new(name ^ SplitMix64::new(number).bits());
    mutate(seeds, &mut random)
}

/// A seed with one to six changes.
pub fn mutate(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        match random.below(12) {
            0..=4 => change_bytes(&mut bytes, seeds, random),
            5..=7 => change_number(&mut bytes, random),
            8 | 9 => change_field(&mut bytes, random),
            _ => change_line(&mut bytes, seeds, random),
        }
    }
    bytes.truncate(MOST_BYTES);
    bytes
}

/// Changes a bit or byte, or removes, doubles, truncates or replaces a piece by one of another seed.
fn change_bytes(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let length = bytes.len();
    let at = random.below(length + 1);
    let some = random.below(32).min(length - at);
    match random.below(6) {
        0 if at < length => bytes[at] ^= 1 << random.below(8),
        1 if at < length => {
            bytes[at] =
                [0, 0xff, 0x80, 0x7f, b'9', b'-', b'\n', b'.', 0x1b, b'"'][random.below(10)];
        }
        2 => drop(bytes.drain(at..at + some)),
        3 => {
            let piece = bytes[at..at + some].to_vec();
            let to = random.below(length + 1);
            bytes.splice(to..to, piece);
        }
        // Truncation is rarer than other changes, since it leaves less to change.
        4 if random.below(4) == 0 => bytes.truncate(at),
        _ => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len());
            let piece = &other[from..(from + 64).min(other.len())];
            bytes.splice(at..at + some, piece.iter().copied());
        }
    }
}

/// Replaces a number in a text by one at a limit, lengthens it, or changes its sign.
fn change_number(bytes: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(bytes.len());
    let is_digit = |b: &u8| b.is_ascii_digit();
    let Some(from) = bytes[start..].iter().position(is_digit).map(|i| start + i) else {
        return;
    };
    let from = from
        - bytes[..from]
            .iter()
            .rev()
            .take_while(|b| is_digit(b))
            .count();
    let to = from + bytes[from..].iter().take_while(|b| is_digit(b)).count();
    match random.below(8) {
        0 => bytes.insert(from, b'-'),
        1 => bytes.splice(to..to, *b"000000000").for_each(drop),
        2 => bytes.splice(to..to, *b"e18").for_each(drop),
        3 => bytes.splice(to..to, *b".5").for_each(drop),
        _ => {
            let number = NUMBERS[random.below(NUMBERS.len())];
            bytes.splice(from..to, number.bytes());
        }
    }
}

/// Sets a binary field of 1 to 8 bytes to a limit of its type or to a length near that of the file.
fn change_field(bytes: &mut [u8], random: &mut Random) {
    let width = [1, 2, 4, 8][random.below(4)].min(bytes.len());
    let length = bytes.len() as u64;
    let step = if random.below(2) == 0 { width } else { 1 };
    let at = random.below(bytes.len() - width + 1) / step.max(1) * step;
    let all = u64::MAX >> (64 - 8 * width.max(1));
    let value = match random.below(9) {
        0 => 0,
        1 => 1,
        2 => all,
        3 => all >> 1,
        4 => (all >> 1) + 1,
        5 => length,
        6 => length + 1,
        7 => f64::NAN.to_bits() & all,
        _ => all - random.below(64) as u64,
    };
    let mut field = value.to_le_bytes();
    if random.below(2) == 0 {
        field[..width].reverse();
    }
    bytes[at..at + width].copy_from_slice(&field[..width]);
}

/// Removes, doubles or moves a line, or takes one from another seed.
fn change_line(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let (from, to) = line(bytes, random);
    match random.below(4) {
        0 => drop(bytes.drain(from..to)),
        1 => {
            let copy = bytes[from..to].to_vec();
            bytes.splice(from..from, copy);
        }
        2 => {
            let moved: Vec<u8> = bytes.drain(from..to).collect();
            let (place, _) = line(bytes, random);
            bytes.splice(place..place, moved);
        }
        _ => {
            let other = &seeds[random.below(seeds.len())];
            let (start, end) = line(other, random);
            bytes.splice(from..to, other[start..end].iter().copied());
        }
    }
}

/// Begin of a random line, and its end after the line break.
fn line(bytes: &[u8], random: &mut Random) -> (usize, usize) {
    let at = random.below(bytes.len());
    let before = bytes[..at].iter().rposition(|b| *b == b'\n');
    let after = bytes[at..].iter().position(|b| *b == b'\n');
    let from = before.map_or(0, |i| i + 1);
    (from, after.map_or(bytes.len(), |i| at + i + 1))
}
