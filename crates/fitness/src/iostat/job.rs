//! A workload with the rates and sizes that iostat counted. iostat does not tell where a disk was written, so there are two: in order
//! and at random. Real workloads are between them.

use super::disks::{DiskLoad, Interval};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Data written in a round of the workload: 64 MiB, a small part of any device.
const ROUND: u64 = 64 << 20;
/// Smallest and largest write, bytes. Linux splits writes at about 1 MiB.
const SIZES: (f64, f64) = (512.0, 1_048_576.0);
/// Sizes above this are multiples of it: the page of the host's cache.
const PAGE: f64 = 4096.0;

/// Most writes between two flushes that a job can state: fio's `fdatasync` is a signed number of 32 bits.
const MOST_BETWEEN_FLUSHES: f64 = i32::MAX as f64;

/// Places of the writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other through the whole device: the least wear.
    Sequential,
    /// Uniformly over the whole device: usually the most.
    Random,
}

/// A job with the sizes and flushes of the disk. It has no rate: the bytes per day are those of
/// [`DiskLoad::mean`]. `None` if the disk was not written.
pub fn job(load: &DiskLoad, order: Order) -> Option<String> {
    let sizes = sizes(&load.intervals);
    let split: Vec<String> = sizes
        .iter()
        .map(|(size, share)| format!("{size}/{share}"))
        .collect();
    if split.is_empty() {
        return None;
    }
    let mean = load.mean();
    let mut text = String::from("[iostat]\nioengine=libaio\ndirect=1\nnorandommap\nsize=100%\n");
    let rw = match order {
        Order::Sequential => "write",
        Order::Random => "randwrite",
    };
    let least = sizes.keys().min().copied().unwrap_or(512);
    // A string takes its memory without fail.
    let _ = writeln!(text, "rw={rw}\nbssplit={}", split.join(":"));
    let _ = writeln!(
        text,
        "blockalign={}\nio_size={ROUND}",
        least.min(PAGE as u64)
    );
    if let Some(flushes) = mean.flushes_per_s.filter(|f| *f > 0.0) {
        let writes = (mean.writes_per_s / flushes).round();
        let writes = writes.clamp(1.0, MOST_BETWEEN_FLUSHES);
        let _ = writeln!(text, "fdatasync={writes}");
    }
    Some(text)
}

/// Sizes of writes in powers of two, each the mean of its intervals, with its share of the writes in percent.
fn sizes(intervals: &[Interval]) -> BTreeMap<u64, u64> {
    let mut bins: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let written = intervals
        .iter()
        .filter(|i| i.writes_per_s > 0.0 && i.bytes_per_s > 0.0);
    for interval in written {
        let size = (interval.bytes_per_s / interval.writes_per_s).clamp(SIZES.0, SIZES.1);
        let bin = bins.entry((size as u64).ilog2()).or_default();
        bin.0 += interval.writes_per_s;
        bin.1 += interval.writes_per_s * size;
    }
    let all: f64 = bins.values().map(|(writes, _)| writes).sum();
    let mut shares: BTreeMap<u64, u64> = BTreeMap::new();
    for (writes, bytes) in bins.values() {
        let size = bytes / writes;
        let unit = if size >= PAGE { PAGE } else { SIZES.0 };
        let size = ((size / unit).round() * unit) as u64;
        *shares.entry(size).or_default() += (writes / all * 100.0).round().max(1.0) as u64;
    }
    to_hundred(&mut shares);
    shares
}

/// Makes the shares add up to 100: the largest takes the difference.
fn to_hundred(shares: &mut BTreeMap<u64, u64>) {
    let sum: u64 = shares.values().sum();
    if let Some(most) = shares.values_mut().max() {
        *most = (*most + 100).saturating_sub(sum).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_experiment::jobs::Jobs;

    fn load(rows: &[(f64, f64, f64)]) -> DiskLoad {
        let interval = |&(w, b, f): &(f64, f64, f64)| Interval {
            writes_per_s: w,
            bytes_per_s: b,
            flushes_per_s: Some(f),
        };
        DiskLoad {
            disk: "sda".to_string(),
            intervals: rows.iter().map(interval).collect(),
        }
    }

    #[test]
    fn sizes_and_flushes_follow_the_counts() {
        let load = load(&[(90.0, 90.0 * 4096.0, 10.0), (10.0, 10.0 * 65536.0, 10.0)]);
        let text = job(&load, Order::Random).unwrap();
        assert!(text.contains("bssplit=4096/90:65536/10"), "{text}");
        assert!(
            text.contains("fdatasync=5") && text.contains("rw=randwrite"),
            "{text}"
        );
    }

    #[test]
    fn every_load_makes_a_job_that_is_accepted() {
        assert_eq!(job(&load(&[(0.0, 0.0, 0.0)]), Order::Random), None);
        let mut rows = vec![(1e-6, 1.0, 0.0), (1e9, 1e3, 1e-9), (3.0, 1e12, 3.0)];
        rows.push((1e12, 1.0, f64::MIN_POSITIVE));
        rows.extend((0..64).map(|i| (1.0, f64::from(1 << (i % 30)) + 77.0, 0.1)));
        for n in 1..rows.len() {
            for order in [Order::Random, Order::Sequential] {
                let text = job(&load(&rows[..n]), order).unwrap();
                Jobs::parse("t", text.clone(), &[]).unwrap_or_else(|e| panic!("{e:?} {text}"));
            }
        }
    }
}
