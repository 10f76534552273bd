//! Properties that reads show without regard to the flash: command overhead, transfer rate, queue depth that saturates, and
//! read-ahead.

use super::confidence::Strength;
use super::finding::{Finding, Value, size};
use super::question::Question;
use super::{OVERLAPS, Probing};
use crate::flashbench::{median, shuffled};
use crate::quantile::quantile;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

const BLOCK: u64 = 4096;
/// Reads per length.
const READS: usize = 12;
/// Reads per queue depth, in addition to the depth itself.
const DEEP: usize = 96;

/// `count` addresses in random order, multiples of `length` below `span`, bytes.
pub(super) fn places(span: u64, length: u64, count: usize, seed: u64) -> Vec<u64> {
    let slots = u32::try_from(span / length).unwrap_or(u32::MAX).max(1);
    // Every `step`-th slot, in random order.
    let step = (u64::from(slots) / count as u64).max(1);
    let order = shuffled((u64::from(slots) / step).min(1 << 20) as u32, seed);
    let drift = seed % step;
    let places = order
        .into_iter()
        .map(|i| (u64::from(i) * step + drift) % u64::from(slots) * length);
    places.take(count).collect()
}

/// Command overhead and transfer rate, from the times of reads of several lengths; read-ahead.
pub(super) fn transfers<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<(), ProbeError> {
    let lengths: Vec<u64> = (12..=19).map(|k| 1 << k).filter(|l| *l <= span.0).collect();
    let mut samples = vec![Vec::new(); lengths.len()];
    // The lengths alternate, so that drift affects all alike.
    for round in 0..READS {
        for i in shuffled(lengths.len() as u32, round as u64) {
            let length = lengths[i as usize];
            let seed = probing.options.seed + round as u64 * 31 + u64::from(i);
            let at = places(span.0, length, 64, seed);
            let at = at.first().copied().unwrap_or(0);
            let took = probing.timed(|p| p.read(Bytes(at), Bytes(length)))?;
            samples[i as usize].push(took.as_secs_f64());
        }
    }
    let times: Vec<f64> = samples.iter().map(|s| median(s)).collect();
    probing.report.scatter = spread_of(&samples);
    let at = |length: u64| lengths.iter().position(|l| *l == length).map(|i| times[i]);
    probing.report.curves.push(Curve {
        name: "reads".to_string(),
        x_name: "length".to_string(),
        x_unit: "KiB".to_string(),
        y_name: "time of a read".to_string(),
        y_unit: "ms".to_string(),
        x: lengths.iter().map(|l| *l as f64 / 1024.0).collect(),
        y: times.iter().map(|t| t * 1e3).collect(),
        threshold: None,
        ..Curve::default()
    });
    if let (Some(short), Some(half), Some(long)) = (at(BLOCK), at(256 << 10), at(512 << 10)) {
        let rate = (256 << 10) as f64 / (long - half).max(1e-9);
        let evidence = format!(
            "medians of {READS} reads at random places: {:.3} ms for 4 KiB, {:.3} ms for 256 KiB, {:.3} ms for 512 KiB",
            short * 1e3,
            half * 1e3,
            long * 1e3
        );
        let overhead = (short - BLOCK as f64 / rate).max(0.0);
        probing.add(Question::Overhead.answer(
            Value::Seconds(overhead),
            format!("{:.0} µs", overhead * 1e6),
            Strength::Strong,
            evidence.clone(),
        ));
        let scatter = scatter_of(&lengths, &samples, [256 << 10, 512 << 10]);
        let least = (CLOCK_STEPS * probing.clock.as_secs_f64()).max(SCATTERS * scatter);
        let alone = LONG as f64 / long.max(1e-9);
        let together = match rate > FASTER * alone {
            true => Some(together(probing, span)?),
            false => None,
        };
        probing.add(match together.filter(|t| overlapped(rate, alone, *t)) {
            Some(together) => rate_together(together, &evidence),
            None => rate_of((long - half, least), rate, evidence),
        });
        ahead(probing, span)?;
    }
    Ok(())
}

/// Longest read, bytes.
const LONG: u64 = 512 << 10;
/// Queue depth of the longest reads, their number, and rounds, of which the best counts.
const TOGETHER: (u32, usize, u64) = (8, 64, 3);
/// Least ratio of the rate of several reads at once to that of single ones on a device that overlaps reads.
const FASTER: f64 = 1.15;

/// Rate of reads of 512 KiB at random places at queue depth 8, bytes per second.
fn together<T: Target>(probing: &mut Probing<'_, T>, span: Bytes) -> Result<f64, ProbeError> {
    let (depth, count, rounds) = TOGETHER;
    let mut best = 0.0_f64;
    for round in 0..rounds {
        let seed = probing.options.seed ^ 0x1019 ^ round;
        let ends = at_once(probing, span, (LONG, count, depth), seed)?;
        best = best.max(LONG as f64 * per_second(&ends));
    }
    Ok(best)
}

/// Whether the device works on several parts of one read at once, so that additional data takes less time than its transfer.
/// `difference` is the rate from the extra time of a longer read, `alone` that of single long reads, `together` that of several
/// at once; bytes per second.
fn overlapped(difference: f64, alone: f64, together: f64) -> bool {
    together >= FASTER * alone && difference > together
}

/// Finding for the transfer rate from several reads at once.
fn rate_together(together: f64, evidence: &str) -> Finding {
    let evidence = format!(
        "{evidence}; {} reads of 512 KiB at once reach {:.1} MB/s, less than the difference of these times would give: parts of one read overlap",
        TOGETHER.0,
        together / 1e6
    );
    rate_finding(together, evidence)
}

/// Least difference of two times, in clock steps; it must also be `SCATTERS` times the scatter. Its error is then at
/// most a quarter.
const CLOCK_STEPS: f64 = 8.0;
const SCATTERS: f64 = 3.0;

/// The larger interquartile range of the times of two lengths, s.
fn scatter_of(lengths: &[u64], samples: &[Vec<f64>], of: [u64; 2]) -> f64 {
    let measured = lengths.iter().zip(samples);
    let spreads = measured
        .filter(|(length, _)| of.contains(length))
        .map(|(_, times)| quantile(times, 0.75) - quantile(times, 0.25));
    spreads.fold(0.0, f64::max)
}

/// Interquartile range of the times of one length, as a share of their median: the median over the lengths; `None` without
/// lengths.
fn spread_of(samples: &[Vec<f64>]) -> Option<f64> {
    let spread = |times: &Vec<f64>| {
        let spread = quantile(times, 0.75) - quantile(times, 0.25);
        spread / median(times).max(1e-9)
    };
    let spreads: Vec<f64> = samples.iter().map(spread).collect();
    (!spreads.is_empty()).then(|| median(&spreads))
}

/// Finding for the transfer rate: `more` is the extra time of 256 KiB more data, which must be at least `least`, s.
fn rate_of((more, least): (f64, f64), rate: f64, evidence: String) -> Finding {
    let question = Question::Rate;
    if more < least {
        let why = format!(
            "{evidence}: the resolution of the clock and the scatter of the times require a difference of {:.3} ms",
            least * 1e3
        );
        return question.unknown(why);
    }
    rate_finding(rate, evidence)
}

fn rate_finding(rate: f64, evidence: String) -> Finding {
    let question = Question::Rate;
    let answer = format!("{:.1} MB/s", rate / 1e6);
    let value = Value::BytesPerS(rate);
    question.answer(value, answer, Strength::Strong, evidence)
}

/// Lengths of the reads that test for read-ahead, bytes: short ones, which a page buffer may answer, and longer ones.
const AHEAD: [u64; 2] = [BLOCK, 64 << 10];
/// Reads per window; number of windows of each order.
const WINDOW: usize = 32;
const WINDOWS: usize = 6;
/// Reads at the start of a window that do not count: the device must first detect a sequential stream.
const SEEN_AFTER: usize = 8;
/// Largest time of sequential reads with read-ahead, as a share of the time of random reads.
const QUICKER: f64 = 0.85;

/// Tests for read-ahead: sequential reads of a window against random reads of another window of the same size, alternating.
/// Without a difference, the device may still read ahead.
fn ahead<T: Target>(probing: &mut Probing<'_, T>, span: Bytes) -> Result<(), ProbeError> {
    let question = Question::ReadAhead;
    let mut said = Vec::new();
    let mut quicker = Vec::new();
    for length in AHEAD {
        let window = length * WINDOW as u64;
        if span.0 < 4 * window * WINDOWS as u64 {
            continue;
        }
        let begins = places(
            span.0,
            window,
            2 * WINDOWS,
            probing.options.seed ^ 0xa4ead ^ length,
        );
        let mut times = [Vec::new(), Vec::new()];
        for (i, begin) in begins.iter().enumerate() {
            let at_random = i % 2 == 1;
            let order: Vec<u64> = match at_random {
                false => (0..WINDOW as u64).collect(),
                true => {
                    let order = shuffled(WINDOW as u32, probing.options.seed ^ i as u64);
                    order.into_iter().map(u64::from).collect()
                }
            };
            let took = probing.timed(|p| {
                let reads = order
                    .iter()
                    .map(|n| p.read(Bytes(begin + n * length), Bytes(length)));
                reads.collect::<Result<Vec<Nanos>, _>>()
            })?;
            let took = took.iter().skip(SEEN_AFTER).map(|t| t.as_secs_f64());
            times[usize::from(at_random)].extend(took);
        }
        let [in_order, at_random] = &times;
        let (fast, slow) = (median(in_order), median(at_random));
        said.push(format!(
            "reads of {} take {:.0} µs in order and {:.0} µs at random within as large a range",
            size(length),
            fast * 1e6,
            slow * 1e6
        ));
        // The interquartile ranges must not overlap.
        let apart = quantile(in_order, 0.75) < quantile(at_random, 0.25);
        quicker.push(apart && fast < QUICKER * slow);
    }
    let said = said.join("; ");
    probing.add(if quicker.iter().any(|q| *q) {
        let strength = match quicker.iter().all(|q| *q) {
            true => Strength::Strong,
            false => Strength::Fair,
        };
        let answer = "yes".to_string();
        question.answer(Value::Flag(true), answer, strength, said)
    } else {
        let why = format!("{said}: no difference; read-ahead may still exist");
        question.unknown(why)
    });
    Ok(())
}

/// Random reads of one queue depth.
struct Depth {
    depth: u32,
    /// Random reads per second.
    rate: f64,
    /// Mean time per read in excess of the median, of single reads longer than [`PAUSE`] medians, s: pauses of the host, since no
    /// read of the device takes so long. Meaningful at queue depth 1 only.
    paused_s: f64,
}

/// A single read that takes more than this many medians includes a pause of the host.
const PAUSE: f64 = 3.0;
/// Most time of pauses per read, as a share of the mean time of a read at the best rate; above it the rates are not the device's.
const PAUSED: f64 = 0.1;

/// Finds the queue depth at which random reads saturate, and the parallelism.
pub(super) fn depth<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<(), ProbeError> {
    let mut depths: Vec<Depth> = Vec::new();
    let mut next = 1_u32;
    while next <= 64 {
        let here = rate_at(probing, span, next)?;
        depths.push(here);
        // Ends after two doublings without an increase.
        if let [.., before, _, last] = &depths[..]
            && last.rate < before.rate * 1.05
        {
            break;
        }
        next *= 2;
    }
    let best = depths.iter().map(|d| d.rate).fold(0.0, f64::max);
    let enough = depths.iter().find(|d| d.rate >= 0.9 * best);
    let enough = enough.map_or(1, |d| d.depth);
    let (alone, paused_s) = depths.first().map_or((1.0, 0.0), |d| (d.rate, d.paused_s));
    probing.overlap = best / alone;
    probing.report.curves.push(Curve {
        name: "random reads of 4 KiB".to_string(),
        x_name: "queue depth".to_string(),
        x_unit: String::new(),
        y_name: "rate".to_string(),
        y_unit: "IOPS".to_string(),
        x: depths.iter().map(|d| f64::from(d.depth)).collect(),
        y: depths.iter().map(|d| d.rate).collect(),
        threshold: Some(f64::from(enough)),
        ..Curve::default()
    });
    let evidence =
        format!("{alone:.0} IOPS with one random read of 4 KiB at a time, {best:.0} at most");
    let found = [
        (Question::Depth, Value::Count(enough), enough.to_string()),
        (
            Question::Parallelism,
            Value::Factor(best / alone),
            format!("{:.1}", best / alone),
        ),
    ];
    for (question, value, answer) in found {
        let evidence = evidence.clone();
        probing.add(if paused_s * best > PAUSED {
            let why = format!(
                "{evidence}: pauses take {:.1} µs of a read on average, too much for a conclusion",
                paused_s * 1e6
            );
            question.unknown(why)
        } else {
            question.answer(value, answer, Strength::Strong, evidence)
        });
    }
    Ok(())
}

/// Queue depth that shows whether a device executes several reads at once.
const SOME: u32 = 8;

/// Whether the device executes several reads at once, as page-mapped devices do.
pub(super) fn reads_at_once<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<bool, ProbeError> {
    let alone = rate_at(probing, span, 1)?.rate;
    Ok(rate_at(probing, span, SOME)?.rate >= OVERLAPS * alone)
}

/// Rounds per queue depth.
const ROUNDS: u64 = 5;

/// The best rate of several rounds at a queue depth, as a stall may occur in one of them.
fn rate_at<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
    depth: u32,
) -> Result<Depth, ProbeError> {
    let mut best = Depth {
        depth,
        rate: 0.0,
        paused_s: 0.0,
    };
    for round in 0..ROUNDS {
        let seed = probing.options.seed ^ u64::from(depth) << 8 ^ round;
        let ends = at_once(probing, span, (BLOCK, DEEP + depth as usize, depth), seed)?;
        best.rate = best.rate.max(per_second(&ends));
        best.paused_s += paused_s(&ends) / ROUNDS as f64;
    }
    Ok(best)
}

/// Completion times of `count` reads of `length` bytes at random places at queue depth `depth`.
fn at_once<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
    (length, count, depth): (u64, usize, u32),
    seed: u64,
) -> Result<Vec<Nanos>, ProbeError> {
    if probing.interrupted() {
        return Err(ProbeError::Stopped);
    }
    let at = places(span.0, length, count, seed);
    probing.target.many(OpKind::Read, &at, length as u32, depth)
}

/// Operations per second, from their completion times.
fn per_second(ends: &[Nanos]) -> f64 {
    let spent = ends.last().map_or(0.0, |end| end.as_secs_f64());
    ends.len() as f64 / spent.max(1e-9)
}

/// Mean time per read in excess of the median, of reads longer than [`PAUSE`] medians, s, from the completion times of single
/// reads.
fn paused_s(ends: &[Nanos]) -> f64 {
    let starts = std::iter::once(&Nanos::ZERO).chain(ends);
    let times = ends.iter().zip(starts);
    let times: Vec<f64> = times
        .map(|(end, start)| (*end - *start).as_secs_f64())
        .collect();
    let usual = median(&times);
    let long = times.iter().filter(|t| **t > PAUSE * usual);
    long.map(|t| t - usual).sum::<f64>() / times.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_far_longer_than_the_others_are_pauses() {
        let ends = |times: &[u64]| {
            let mut now = Nanos::ZERO;
            let add = |t: &u64| {
                now += Nanos(*t);
                now
            };
            times.iter().map(add).collect::<Vec<Nanos>>()
        };
        // Pages of three kinds differ by less than a factor of three.
        assert_eq!(paused_s(&ends(&[50, 60, 140, 50, 60, 70])), 0.0);
        let paused = paused_s(&ends(&[50, 50, 50, 50, 10_050]));
        assert!((paused - 2e-6).abs() < 1e-12, "{paused}");
        assert_eq!(paused_s(&[]), 0.0);
    }

    #[test]
    fn a_rate_needs_a_difference_that_can_be_told() {
        let evidence = || "times".to_string();
        let found = rate_of((10e-3, 3e-3), 26e6, evidence());
        assert_eq!(found.value, Some(Value::BytesPerS(26e6)));
        let found = rate_of((30e-6, 244e-6), 8.6e9, evidence());
        assert_eq!(found.value, None);
        assert!(found.evidence.contains("0.244 ms"), "{}", found.evidence);
    }

    #[test]
    fn a_rate_is_not_above_what_the_total_time_allows() {
        // 51 µs more for 256 KiB, but 64 of 512 KiB at once take 9 ms.
        assert!(overlapped(5.1e9, 1.9e9, 3.6e9));
        let found = rate_together(3.6e9, "times");
        assert_eq!(found.value, Some(Value::BytesPerS(3.6e9)));
        // One read after another: the rate from the difference excludes the command time.
        assert!(!overlapped(95e6, 75e6, 76e6));
        // Within the rate of the link.
        assert!(!overlapped(3.5e9, 1.9e9, 3.6e9));
    }

    #[test]
    fn the_scatter_is_that_of_the_lengths_asked_for() {
        let samples = [vec![1.0, 9.0, 1.0, 9.0], vec![2.0, 2.0, 3.0, 3.0]];
        assert_eq!(scatter_of(&[1, 2], &samples, [2, 2]), 1.0);
        assert_eq!(scatter_of(&[1, 2], &samples, [1, 2]), 8.0);
        assert_eq!(scatter_of(&[], &[], [1, 2]), 0.0);
        assert_eq!(spread_of(&[]), None);
        assert_eq!(spread_of(&[vec![2.0; 12]]), Some(0.0));
    }
}
