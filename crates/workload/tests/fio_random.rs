//! Randomly generated jobs, run by fio on a file and by the generator of this crate.
//!
//! Sequential jobs must have the same operations in the same order, jobs with a random map the same operations in any
//! order. For random quantities, numbers and shares must agree within the sampling error.
//!
//! Not compared, because random: the bytes of few operations of random sizes, and the end of a mix with a random map
//! for blocks of two sizes.

use super::fio::{Operation, emitted, fio_on, ours};
use nandscope_units::random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const JOBS: u64 = 240;
/// Standard errors that two samples may differ by; one of 30,000 comparisons exceeds them by chance.
const ERRORS: f64 = 4.2;

/// Degree to which the operations of a job must agree with fio's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The same operations in the same order.
    Sequence,
    /// The same operations.
    Set,
    /// Equal numbers of operations of each direction and size, in the same region.
    Counts,
    /// Shares of directions and sizes, in the same region.
    Shares,
}

struct Dice(SplitMix64);

impl Dice {
    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.0.below(all.len() as u64) as usize]
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.0.happens(probability)
    }
}

/// A job, the degree of comparison, and its region in bytes.
struct Job {
    options: String,
    kind: Kind,
    region: Range<u64>,
    /// Whether the job ends at random, so that the number of its bytes is not compared.
    is_open: bool,
}

fn job(number: u64) -> Job {
    let mut dice = Dice(SplitMix64::new(number));
    let mut kind = Kind::Sequence;
    let mut options = Vec::new();
    let mut loosen = |to: Kind| kind = kind.max(to);
    let access = dice.one_of(&[
        "read",
        "write",
        "rw",
        "randread",
        "randwrite",
        "randrw",
        "trimwrite",
        "randtrimwrite",
    ]);
    let is_random = access.starts_with("rand");
    let is_mixed = access.ends_with("rw");
    options.push(format!("rw={access}"));
    if is_random {
        loosen(Kind::Set);
    }
    if is_mixed {
        loosen(Kind::Shares);
        options.push(format!("rwmixread={}", dice.one_of(&[10, 30, 50, 70, 90])));
    }
    let sizes_by_direction = is_mixed && dice.happens(0.3);
    let has_sizes = match dice.0.below(6) {
        _ if sizes_by_direction => Some("bs=4k,8k"),
        0 => Some("bsrange=4k-16k"),
        1 => Some("bssplit=4k/60:16k/30:64k/10"),
        _ => None,
    };
    let block = match has_sizes {
        Some(text) => {
            loosen(Kind::Shares);
            options.push(text.to_string());
            4
        }
        None => {
            let block = dice.one_of(&[1, 4, 4, 8, 16]);
            options.push(format!("bs={block}k"));
            block
        }
    };
    let mut size = 64 * (1 + dice.0.below(24));
    if dice.happens(0.2) {
        // No multiple of the block size.
        size -= 1 + dice.0.below(3);
    }
    options.push(format!("size={size}k"));
    // With an offset, fio 3.33 places writes that far after the trims of the same blocks.
    let offset = match access {
        "randtrimwrite" => 0,
        _ => 48 * dice.0.below(40),
    };
    options.push(format!("offset={offset}k"));
    let is_repeated = dice.happens(0.3);
    if is_repeated {
        let part = dice.one_of(&[2, 5, 15, 30]);
        options.push(format!("io_size={}k", (size * part / 10).max(block)));
        if is_random {
            // Which blocks a part of a pass uses is random.
            loosen(Kind::Counts);
        }
    }
    if has_sizes.is_none() && dice.happens(0.15) {
        options.push(format!("number_ios={}", dice.one_of(&[1, 7, 64])));
        if is_random {
            loosen(Kind::Counts);
        }
    }
    let mut has_map = is_random;
    if is_random && dice.happens(0.3) {
        has_map = false;
        options.push("norandommap".to_string());
        loosen(Kind::Counts);
    }
    if !access.ends_with("read") && dice.happens(0.3) {
        options.push(format!("fsync={}", dice.one_of(&[1, 3, 16])));
    }
    if dice.happens(0.2) {
        options.push("end_fsync=1".to_string());
    }
    Job {
        options: options.join("\n"),
        kind,
        // With one size, the last operation may extend beyond the region.
        region: offset << 10..(offset + size.next_multiple_of(block.max(8))) << 10,
        is_open: sizes_by_direction && has_map,
    }
}

/// Operations and bytes of each direction and size.
fn shapes(log: &[Operation]) -> BTreeMap<(String, u64), u64> {
    let mut all = BTreeMap::new();
    for (direction, _, length) in log {
        *all.entry((direction.clone(), *length)).or_default() += 1;
    }
    all
}

fn bytes(log: &[Operation]) -> u64 {
    log.iter().map(|(_, _, length)| length).sum()
}

/// Whether all operations are in a region.
fn within(log: &[Operation], region: &Range<u64>) -> bool {
    let mut moves = log.iter().filter(|(_, _, length)| *length > 0);
    moves.all(|(_, offset, length)| region.start <= *offset && offset + length <= region.end)
}

/// Describes the first difference; `None` if the operations agree to this degree.
fn difference(kind: Kind, ours: &[Operation], fios: &[Operation], is_open: bool) -> Option<String> {
    let sorted = |log: &[Operation]| {
        let mut log = log.to_vec();
        log.sort();
        log
    };
    let differs = match kind {
        Kind::Sequence => ours != fios,
        Kind::Set => sorted(ours) != sorted(fios),
        Kind::Counts => shapes(ours) != shapes(fios),
        Kind::Shares => return other_shares(ours, fios, is_open),
    };
    differs.then(|| {
        let first = ours.iter().zip(fios).position(|(a, b)| a != b);
        let first = first.unwrap_or(ours.len().min(fios.len()));
        format!(
            "{} operations of {} bytes, with fio {} of {}; from number {first} on {:?}, with fio {:?}",
            ours.len(),
            bytes(ours),
            fios.len(),
            bytes(fios),
            &ours[first..ours.len().min(first + 3)],
            &fios[first..fios.len().min(first + 3)]
        )
    })
}

/// Describes a difference of random quantities; `None` if they agree within the sampling error.
fn other_shares(ours: &[Operation], fios: &[Operation], is_open: bool) -> Option<String> {
    let (our_shapes, their_shapes) = (shapes(ours), shapes(fios));
    let shared: BTreeSet<_> = our_shapes.keys().chain(their_shapes.keys()).collect();
    let (n, m) = (ours.len() as f64, fios.len() as f64);
    for shape in shared {
        let of = |s: &BTreeMap<_, u64>| s.get(shape).copied().unwrap_or(0) as f64;
        let (a, b) = (of(&our_shapes), of(&their_shapes));
        let share = (a + b) / (n + m);
        let error = (share * (1.0 - share) * (1.0 / n + 1.0 / m)).sqrt();
        // The last operation of a pass may be cut short.
        if (a / n - b / m).abs() > ERRORS * error + 2.0 / n.min(m) {
            return Some(format!("{a} of {n} are {shape:?}, with fio {b} of {m}"));
        }
    }
    // A pass ends with the operation that reaches its size, or with that operation and its trim.
    let largest = ours.iter().chain(fios).map(|op| op.2).max().unwrap_or(0);
    let has_trims = ours.iter().any(|op| op.0 == "trim");
    let largest = if has_trims { 2 * largest } else { largest };
    if !is_open && bytes(ours).abs_diff(bytes(fios)) > largest {
        return Some(format!("{} bytes, with fio {}", bytes(ours), bytes(fios)));
    }
    None
}

#[test]
#[ignore = "slow: 240 runs of fio"]
fn slow_random_jobs_do_what_fio_does() {
    let mut wrong = Vec::new();
    let mut compared: BTreeMap<Kind, u32> = BTreeMap::new();
    for number in 0..JOBS {
        let Job {
            options,
            kind,
            region,
            is_open,
        } = job(number);
        // A trim of a file is not an operation of fio's.
        let engine = if options.contains("trim") {
            "null"
        } else {
            "psync"
        };
        let Some(fios) = fio_on(&format!("generated{number}"), &emitted(&options), engine) else {
            return;
        };
        let ours = ours(&options);
        assert!(!fios.is_empty(), "{options}: fio did nothing");
        *compared.entry(kind).or_default() += 1;
        let outside = [("ours", &ours), ("fio's", &fios)]
            .into_iter()
            .find(|(_, log)| !within(log, &region))
            .map(|(whose, _)| format!("{whose} leave {region:?}"));
        let difference = difference(kind, &ours, &fios, is_open).or(outside);
        if let Some(text) = difference {
            wrong.push(format!(
                "job {number} ({kind:?}): {}: {text}",
                options.replace('\n', " ")
            ));
        }
    }
    for kind in [Kind::Sequence, Kind::Set, Kind::Counts, Kind::Shares] {
        assert!(compared.get(&kind) > Some(&9), "{compared:?}");
    }
    assert!(
        wrong.is_empty(),
        "{} of {JOBS} ({compared:?}):\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
