//! Whether a measurement reached the device at all, and in the sizes that were asked for. What is faster than the link, or was never
//! transferred from or to the device as the kernel counts it, came from a cache.

use nandscope_result::{Notice, Operation, StepResult, counter};

/// Less than this says nothing, bytes.
const LEAST: u64 = 1 << 20;
/// Below this share of what the jobs moved, the device did not see it. Merging, read-ahead and
/// others that use the device only make it more.
const REACHED: f64 = 0.9;

/// Warnings of a step whose numbers are those of a cache. `link_bytes_per_s` is what the link of
/// the device can carry.
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
        texts.extend(other_sizes(step, &kind, moved, asked, counter, requests));
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

/// What to say where the device completed other requests than the jobs made: the kernel merged
/// neighbours, or cut what is longer than the device takes.
fn other_sizes(
    step: &StepResult,
    kind: &Operation,
    moved: u64,
    asked: u64,
    bytes: &str,
    requests: &str,
) -> Option<String> {
    let (seen_bytes, seen) = (*step.counters.get(bytes)?, *step.counters.get(requests)?);
    // Where others used the device as well, or a cache answered, its requests say nothing.
    let ours = seen_bytes >= REACHED * moved as f64 && seen_bytes * REACHED <= moved as f64;
    let same = seen >= REACHED * asked as f64 && seen * REACHED <= asked as f64;
    if !ours || same || seen < 1.0 || asked == 0 {
        return None;
    }
    let cause = if seen < asked as f64 {
        "the kernel merged neighbours"
    } else {
        "the kernel split them (see max_sectors_kb of its queue)"
    };
    Some(format!(
        "other sizes: the jobs made {asked} {kind} operations of {:.1} KiB on average, the device completed {seen:.0} of {:.1} KiB: {cause}",
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
