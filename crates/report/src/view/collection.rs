//! Garbage collection during a step, and how long it delayed writes: a controller with pacing moves as much as the
//! writes need, and the tail of their latency stays short.

use crate::number;
use nandscope_result::{DirectionResult, JobResult, Operation, StepResult, counter};

/// The percentile of latency that stalls of collection show in; it takes 10,000 writes.
const TAIL: f64 = 99.99;

/// Share of the host's writes below which moved data explains nothing.
const LEAST: f64 = 0.01;

/// One sentence on a step in which data was moved, and one on its writes; `None` without writes, or if hardly any was moved.
pub fn in_words(step: &StepResult) -> Option<String> {
    let moved = *step.counters.get(counter::GC_WRITES)?;
    let written = *step.counters.get(counter::HOST_WRITTEN)?;
    if written <= 0.0 || moved < LEAST * written {
        return None;
    }
    let writes: Vec<&DirectionResult> = step.jobs.iter().filter_map(writes).collect();
    let longest = writes.iter().map(|w| w.latency.max_ns).max()?;
    let longest = number::latency(longest as f64);
    let tails: Option<Vec<u64>> = writes.iter().map(|w| tail(w)).collect();
    let of = match writes.len() {
        1 => "",
        _ => " of each job",
    };
    let times = match tails.and_then(|tails| tails.into_iter().max()) {
        Some(tail) => {
            let tail = number::latency(tail as f64);
            format!("99.99\u{202f}% of the writes{of} took at most {tail}, the longest {longest}")
        }
        None => {
            let count = number::count(writes.iter().map(|w| w.operations).sum());
            format!("The longest of {count} writes took {longest}")
        }
    };
    Some(format!(
        "Garbage collection moved {} while the host wrote {}. {times}.",
        number::bytes(moved as u64),
        number::bytes(written as u64),
    ))
}

/// The writes of a job.
fn writes(job: &JobResult) -> Option<&DirectionResult> {
    let mut directions = job.directions.iter();
    directions.find(|d| d.kind == Operation::Write && d.operations > 0)
}

/// The tail of the latency of writes, ns; `None` if they are too few to define it.
fn tail(writes: &DirectionResult) -> Option<u64> {
    let mut percentiles = writes.latency.percentiles.iter();
    let at = percentiles.find(|(p, _)| (p - TAIL).abs() < 1e-9)?;
    writes.defines(TAIL).then_some(at.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Latency;

    fn job(kind: &str, tail_ns: u64) -> JobResult {
        JobResult {
            directions: vec![DirectionResult {
                kind: kind.into(),
                operations: 10_000,
                latency: Latency {
                    percentiles: vec![(50.0, 1_000), (99.99, tail_ns)],
                    max_ns: 2 * tail_ns,
                    ..Latency::default()
                },
                ..DirectionResult::default()
            }],
            ..JobResult::default()
        }
    }

    #[test]
    fn the_tail_of_the_writes_stands_beside_what_was_moved() {
        let mut step = StepResult {
            counters: [
                ("collected_bytes".to_string(), 3e9),
                ("host_written_bytes".to_string(), 1e9),
            ]
            .into(),
            jobs: vec![job("write", 4_000_000), job("read", 90_000_000)],
            ..StepResult::default()
        };
        let text = |step: &StepResult| in_words(step).unwrap().replace('\u{202f}', " ");
        assert_eq!(
            text(&step),
            "Garbage collection moved 3.00 GB while the host wrote 1.00 GB. 99.99 % of the writes took at most 4.00 ms, the longest 8.00 ms."
        );
        step.jobs.push(job("write", 5_000_000));
        assert!(
            text(&step)
                .contains("the writes of each job took at most 5.00 ms, the longest 10.0 ms")
        );
        // Of fewer writes the tail is the longest, or less than one.
        step.jobs[1].directions[0].operations = 9_999;
        step.jobs.truncate(2);
        step.jobs[0].directions[0].operations = 40;
        assert!(
            text(&step).ends_with("The longest of 40 writes took 8.00 ms."),
            "{}",
            text(&step)
        );
        step.jobs = vec![job("read", 1)];
        assert_eq!(in_words(&step), None);
        step.jobs = vec![job("write", 1)];
        step.counters.insert("collected_bytes".into(), 9e6);
        assert_eq!(in_words(&step), None);
    }
}
