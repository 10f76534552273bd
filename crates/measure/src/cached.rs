//! Detects measurements of a cache, or of other request sizes than those of the jobs: rates above that of the link,
//! and fewer bytes than the jobs moved in the kernel's counters of the device.

use nandscope_result::{JobResult, Notice, Operation, StepResult, counter};

/// Smallest number of bytes moved by the jobs of a step from which a cache is suspected.
const LEAST: u64 = 1 << 20;
/// Ratio of the bytes that the device moved to those of the jobs, below which a cache answered. Request merging,
/// read-ahead and other users of the device can only raise it.
const REACHED: f64 = 0.9;
/// Requests that a file system may add to a durable write or a flush: journal descriptor, commit record, inode, bitmaps, the
/// flush itself.
const ADDED_PER_SYNC: f64 = 8.0;

/// Warnings of a step whose results are those of a cache. `link_bytes_per_s` is the data rate of the device's link.
pub fn notices(step: &StepResult, link_bytes_per_s: Option<f64>) -> Vec<Notice> {
    let mut texts = Vec::new();
    for (kind, verb, counter, requests) in [
        (
            Operation::Read,
            "read",
            counter::DEVICE_READ,
            counter::DEVICE_READS,
        ),
        (
            Operation::Write,
            "written",
            counter::DEVICE_WRITTEN,
            counter::DEVICE_WRITES,
        ),
    ] {
        let directions = || {
            let all = step.jobs.iter().flat_map(|j| &j.directions);
            all.filter(|d| d.kind == kind)
        };
        let moved: u64 = directions().map(|d| d.bytes).sum();
        if moved < LEAST {
            continue;
        }
        if let Some(seen) = step.counters.get(counter)
            && *seen < REACHED * moved as f64
        {
            texts.push(format!(
                "cached: of {:.3} GB that were {verb} only {:.3} GB reached the device",
                moved as f64 / 1e9,
                seen / 1e9
            ));
        }
        let asked: u64 = directions().map(|d| d.operations).sum();
        let added = match kind {
            Operation::Write => ADDED_PER_SYNC * syncs(step),
            _ => 0.0,
        };
        texts.extend(other_sizes(step, (moved, asked), added, counter, requests));
        let fastest = directions().map(|d| d.bandwidth_bytes_per_s);
        let fastest = fastest.fold(0.0, f64::max);
        if let Some(link) = link_bytes_per_s
            && fastest > link
        {
            texts.push(format!(
                "cached: {:.0} MB/s are more than the {:.0} MB/s that the link of the device carries ({kind})",
                fastest / 1e6,
                link / 1e6
            ));
        }
    }
    texts.into_iter().map(Notice::warning).collect()
}

/// Number of operations of a step after which data must be durable: flushes, and writes of jobs that request it.
fn syncs(step: &StepResult) -> f64 {
    let of_job = |job: &JobResult| -> u64 {
        let durable = job
            .options
            .get("sync")
            .is_some_and(|v| v != "0" && v != "none");
        let counts = |kind: &Operation| match kind {
            Operation::Flush => true,
            Operation::Write => durable,
            _ => false,
        };
        let counted = job.directions.iter().filter(|d| counts(&d.kind));
        counted.map(|d| d.operations).sum()
    };
    step.jobs.iter().map(of_job).sum::<u64>() as f64
}

/// Says that the device completed other requests than the jobs made: the kernel merged neighbours, or split long ones.
/// `added` writes beyond those of the jobs may be the journal of a file system.
fn other_sizes(
    step: &StepResult,
    (moved, asked): (u64, u64),
    added: f64,
    bytes: &str,
    requests: &str,
) -> Option<String> {
    let (seen_bytes, seen) = (*step.counters.get(bytes)?, *step.counters.get(requests)?);
    // If others used the device as well, or a cache answered, the device's request counts are no evidence.
    let ours = seen_bytes >= REACHED * moved as f64 && seen_bytes * REACHED <= moved as f64;
    let most = asked as f64 + added;
    let same = seen >= REACHED * asked as f64 && seen * REACHED <= most;
    if !ours || same || seen < 1.0 || asked == 0 {
        return None;
    }
    let cause = if seen < asked as f64 {
        "the kernel merged neighbours"
    } else {
        "requests were split (max_sectors_kb of the queue, or extents of a file)"
    };
    Some(format!(
        "other sizes: the jobs made {asked} operations of {:.1} KiB on average, the device completed {seen:.0} of {:.1} KiB: {cause}",
        moved as f64 / asked as f64 / 1024.0,
        seen_bytes / seen / 1024.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{DirectionResult, JobResult};

    fn step(kind: &str, bytes: u64, bandwidth: f64, counter: Option<(&str, f64)>) -> StepResult {
        StepResult {
            jobs: vec![JobResult {
                directions: vec![DirectionResult {
                    kind: kind.into(),
                    bytes,
                    bandwidth_bytes_per_s: bandwidth,
                    ..DirectionResult::default()
                }],
                ..JobResult::default()
            }],
            counters: counter
                .into_iter()
                .map(|(n, v)| (n.to_string(), v))
                .collect(),
            ..StepResult::default()
        }
    }

    #[test]
    fn requests_of_other_sizes_are_named() {
        let read = |reads: f64| {
            let mut step = step("read", 64 << 20, 1e6, Some(("device_read_bytes", 67.2e6)));
            step.jobs[0].directions[0].operations = 16_384;
            step.counters.insert("device_reads".into(), reads);
            notices(&step, None)
        };
        assert_eq!(read(16_384.0).len(), 0);
        assert!(read(5_963.0)[0].text.contains("merged neighbours"));
        assert!(read(65_536.0)[0].text.contains("split"));
    }

    /// 256 writes with a flush after every tenth: ext4 adds 33 requests for its journal and the flushes.
    #[test]
    fn what_a_journal_adds_to_flushes_is_no_split() {
        let written = |flushes: u64, sync: &str, writes: f64| {
            let mut step = step(
                "write",
                1 << 20,
                1e6,
                Some(("device_written_bytes", 1.09e6)),
            );
            let job = &mut step.jobs[0];
            job.directions[0].operations = 256;
            job.options.insert("sync".into(), sync.into());
            job.directions.push(DirectionResult {
                kind: Operation::Flush,
                operations: flushes,
                ..DirectionResult::default()
            });
            step.counters.insert("device_writes".into(), writes);
            let texts: Vec<String> = notices(&step, None).into_iter().map(|n| n.text).collect();
            texts.concat()
        };
        assert_eq!(written(25, "0", 289.0), "");
        assert!(written(0, "0", 289.0).contains("split"));
        assert_eq!(written(0, "1", 1024.0), "", "every write is durable");
        // Flushes do not excuse pieces by the hundred.
        assert!(written(1, "0", 1024.0).contains("split"));
        assert!(written(25, "0", 128.0).contains("merged"));
    }

    #[test]
    fn what_did_not_reach_the_device_or_is_faster_than_the_link_is_named() {
        let count = |s: &StepResult, link| notices(s, link).len();
        let read = |counter| step("read", 100 << 20, 50e6, counter);
        assert_eq!(count(&read(None), None), 0, "nothing is known");
        assert_eq!(
            count(&read(Some(("device_read_bytes", 104e6))), Some(60e6)),
            0
        );
        assert_eq!(count(&read(Some(("device_read_bytes", 9e6))), None), 1);
        assert_eq!(count(&read(Some(("device_written_bytes", 0.0))), None), 0);
        assert_eq!(count(&read(None), Some(40e6)), 1);
        assert_eq!(
            count(&step("read", 4096, 1e9, None), Some(40e6)),
            0,
            "too little"
        );
        let write = step("write", 1 << 30, 1e9, Some(("device_written_bytes", 0.0)));
        let texts = notices(&write, Some(60e6));
        assert!(
            texts[0]
                .text
                .contains("of 1.074 GB that were written only 0.000 GB")
        );
        assert!(
            texts[1]
                .text
                .contains("1000 MB/s are more than the 60 MB/s")
        );
    }
}
