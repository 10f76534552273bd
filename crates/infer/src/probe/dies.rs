//! Number of dies that read independently: two reads at random places run in parallel unless they address the same die, which one
//! in N pairs does for N dies. Planes that read by themselves look like dies, and how dies share channels cannot be seen.

use super::confidence::Strength;
use super::finding::{Finding, Value};
use super::link::places;
use super::question::Question;
use super::{Probing, settled};
use crate::quantile::{mean_near, median};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

const BLOCK: u64 = 4096;
const PAIRS: usize = 3000;
/// z value of the confidence interval: 97 % of normally distributed values lie within this many standard deviations. Pairs
/// wrongly counted as colliding add to the error, so that nine of ten intervals contain the true number.
const NINE_OF_TEN: f64 = 2.17;
/// Least difference between colliding pairs and others, as a share of the shorter read; below it there is no conclusion.
const APART: f64 = 0.3;
/// First limit between the two groups, as a share of the shorter read: a parallel pair takes as long as the longer read (0), a
/// colliding pair as long as both (1).
const HALF: f64 = 0.45;
/// Most pairs between the two groups, as a share of the colliding pairs.
const BETWEEN: f64 = 0.1;

/// Tries of each read and each pair; the quickest counts, as a pause of the host is not a collision unless it occurs every time.
const TRIES: usize = 3;
/// Number of clock steps below which a read is timed more often, and the mean counts.
const CLOCK_STEPS: f64 = 12.0;
/// Largest error of that mean, as a share of a read; most tries to reach it; number of pairs in that case.
const OFF: f64 = 0.025;
const MOST_TRIES: usize = 96;
const FEWER_PAIRS: usize = 1600;
/// Pauses differ from the median by more than this many clock steps.
const STEPS_OFF: f64 = 2.0;
/// Reads that show whether the device is idle.
const QUIET: usize = 64;
/// Divisors of the remaining time: limits of the rest before the measurement, and of the measurement.
const REST: u64 = 10;
const TIME: u64 = 3;

/// Times of repeated reads, s.
struct Tries {
    tries: Vec<Vec<f64>>,
    /// Step of the clock, s, if the mean counts; `None` if the quickest counts.
    step: Option<f64>,
}

impl Tries {
    fn new(count: usize, step: Option<f64>) -> Self {
        Tries {
            tries: vec![Vec::new(); count],
            step,
        }
    }

    /// The quickest time of each read, or the mean of the times near the median.
    fn times(&self) -> Vec<f64> {
        let quickest = |tries: &Vec<f64>| tries.iter().copied().fold(f64::INFINITY, f64::min);
        let Some(step) = self.step else {
            return self.tries.iter().map(quickest).collect();
        };
        let mean = |tries: &Vec<f64>| mean_near(tries, median(tries), STEPS_OFF * step);
        self.tries.iter().map(mean).collect()
    }
}

/// Times each read alone.
fn alone<T: Target>(
    probing: &mut Probing<'_, T>,
    at: &[u64],
    tries: &mut Tries,
) -> Result<(), ProbeError> {
    probing.timed(|p| {
        for (at, tries) in at.iter().zip(&mut tries.tries) {
            tries.push(p.read(Bytes(*at), Bytes(BLOCK))?.as_secs_f64());
        }
        Ok(())
    })
}

/// Times pairs of reads at neighbouring entries of `at`, both submitted at once.
fn pairs<T: Target>(
    probing: &mut Probing<'_, T>,
    at: &[u64],
    tries: &mut Tries,
) -> Result<(), ProbeError> {
    for (i, (pair, tries)) in at.chunks_exact(2).zip(&mut tries.tries).enumerate() {
        if i.is_multiple_of(64) && probing.interrupted() {
            return Err(ProbeError::Stopped);
        }
        let ends = probing.target.many(OpKind::Read, pair, BLOCK as u32, 2)?;
        tries.push(ends.last().map_or(0.0, |t| t.as_secs_f64()));
    }
    Ok(())
}

/// Tries per read, and the step of the clock, s, if it is coarse for such a read; `None` if it is too coarse.
fn tries(usual: f64, step: f64) -> Option<(usize, Option<f64>)> {
    if usual >= CLOCK_STEPS * step {
        return Some((TRIES, None));
    }
    // On average over all phases of the clock, a time is off by half a step at most.
    let off = step / 2.0 / (OFF * usual).max(1e-12);
    (usual >= step / 2.0).then_some((((off * off) as usize).clamp(TRIES, MOST_TRIES), Some(step)))
}

/// Smallest number of colliding pairs.
const MET_LEAST: usize = 16;

/// Least ratio of parallelism on a device that executes several reads at once; cards execute one after another.
const AT_ONCE: f64 = 1.15;

/// Counts the pairs of reads that collide, and derives the number of dies.
pub(super) fn dies<T: Target>(probing: &mut Probing<'_, T>, span: Bytes) -> Result<(), ProbeError> {
    let question = Question::Dies;
    if probing.overlap < AT_ONCE {
        let why = "the device executes one read at a time, so its internal parallelism is hidden";
        probing.add(question.unknown(why));
        return Ok(());
    }
    let some = places(span.0, BLOCK, QUIET, probing.options.seed ^ 0xd1e);
    if !probing.options.read_only {
        let until = probing.target.now() + Nanos(probing.time_left().0 / REST);
        settled::settle(probing, &some, until)?;
    }
    let mut first = Tries::new(some.len(), None);
    alone(probing, &some, &mut first)?;
    let finding = match later(probing, span, median(&first.times()))? {
        Ok(later) => answer(&later),
        Err(why) => question.unknown(why),
    };
    probing.add(finding);
    Ok(())
}

/// Extra time of pairs over the longer read alone, as a share of the shorter, or why it could not be measured; `usual` is the
/// time of a read, s.
fn later<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
    usual: f64,
) -> Result<Result<Vec<f64>, String>, ProbeError> {
    let step = probing.clock.as_secs_f64();
    let Some((count, coarse)) = tries(usual, step) else {
        let why = format!(
            "a read takes {:.0} µs, too short for a clock with steps of {:.1} µs",
            usual * 1e6,
            step * 1e6
        );
        return Ok(Err(why));
    };
    let number = if coarse.is_some() { FEWER_PAIRS } else { PAIRS };
    let at = places(span.0, BLOCK, 2 * number, probing.options.seed ^ 0xd1e5);
    let mut singles = Tries::new(at.len(), coarse);
    let mut both = Tries::new(at.len() / 2, coarse);
    let until = probing.target.now() + Nanos(probing.time_left().0 / TIME);
    for tried in 0..count {
        // Stalls of minutes may be added to the expected time.
        if tried > 0 && probing.target.now() > until {
            let why = format!("{tried} of {count} tries of the same reads took too long");
            return Ok(Err(why));
        }
        alone(probing, &at, &mut singles)?;
        pairs(probing, &at, &mut both)?;
    }
    let (alone, both) = (singles.times(), both.times());
    // Pages of a word line take different times, so each pair is compared with its own two reads.
    let later = both.iter().zip(alone.chunks_exact(2));
    let later = later.map(|(both, alone)| {
        let (one, other) = (alone[0], alone[1]);
        (both - one.max(other)) / one.min(other).max(1e-9)
    });
    Ok(Ok(later.collect()))
}

/// The number of dies that follows from the share of colliding pairs.
fn answer(later: &[f64]) -> Finding {
    let question = Question::Dies;
    let Some((apart, met, share)) = groups(later) else {
        let why = "pairs of reads that meet in one part do not take clearly longer than the others";
        return question.unknown(why);
    };
    let (low, high) = widened(interval(share, later.len()));
    let answer = if low == high {
        low.to_string()
    } else {
        format!("{low} to {high}")
    };
    let evidence = format!(
        "{:.1} % of {} pairs of reads took longer than the longer of the two alone, by {:.0} % of the shorter, as if both had to go to the same part, and the others by {:.0} %; nine of ten such intervals hold the true number. Dies, planes that read by themselves, and channels look alike",
        100.0 * share,
        later.len(),
        100.0 * met,
        100.0 * apart
    );
    let value = Value::Range(low, high);
    question.answer(value, answer, Strength::Strong, evidence)
}

/// Median extra times of parallel and of colliding pairs, as shares of the shorter read, and the share of colliding pairs; `None`
/// if there are no two groups.
fn groups(later: &[f64]) -> Option<(f64, f64, f64)> {
    // Clipped, as stalls of the host are rare and long.
    let clipped = later.iter().map(|r| r.clamp(-0.2, 1.2));
    let mut all: Vec<f64> = clipped.collect();
    all.sort_unstable_by(f64::total_cmp);
    let mut cut = HALF;
    for _ in 0..32 {
        let at = all.partition_point(|t| *t <= cut);
        if at == 0 || at == all.len() {
            return None;
        }
        cut = (median(&all[..at]) + median(&all[at..])) / 2.0;
    }
    let found = parted(&all, cut).filter(|found| found.0 <= BETWEEN);
    // Pairs that share only a channel also take longer, but by less, and form a third group.
    let other = || {
        let cuts = (CUTS.0..CUTS.1).filter_map(|c| parted(&all, f64::from(c) / 100.0));
        let best = cuts.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (best.0 <= BETWEEN_THREE).then_some(best)
    };
    found
        .or_else(other)
        .map(|(_, low, high, share)| (low, high, share))
}

/// Limits between groups that are tried if there may be three, hundredths; and most pairs near such a limit, as a share of those
/// above.
const CUTS: (u32, u32) = (10, 80);
const BETWEEN_THREE: f64 = 0.05;

/// Range of the extra time of parallel pairs, as a share of the shorter read.
const UNMET: (f64, f64) = (-0.1, 0.3);

/// The number of values near the limit as a share of those above, the medians below and above, and the share of values above;
/// `None` if these cannot be two groups.
fn parted(all: &[f64], cut: f64) -> Option<(f64, f64, f64, f64)> {
    let (below, above) = all.split_at(all.partition_point(|t| *t <= cut));
    let (low, high, slow) = (median(below), median(above), above.len());
    let margin = (high - low) / 8.0;
    let between = all.iter().filter(|t| (*t - cut).abs() < margin).count();
    // More than 40 % of pairs collide only with a single channel, and a pair is never quicker than one of its reads.
    let possible = slow * 5 <= all.len() * 2 && (UNMET.0..UNMET.1).contains(&low);
    // Fewer collisions are pauses of the host: no device has as many dies as there are pairs.
    let possible = possible && slow >= MET_LEAST && high - low > APART;
    let of_slow = |count: usize| count as f64 / slow.max(1) as f64;
    possible.then(|| (of_slow(between), low, high, slow as f64 / all.len() as f64))
}

/// Factors that widen the interval: recent writes may be unevenly distributed over the dies, and reads on one channel also wait
/// for each other.
const UNEVEN: (f64, f64) = (0.8, 1.6);

fn widened((low, high): (u32, u32)) -> (u32, u32) {
    let low = (f64::from(low) * UNEVEN.0).floor().max(1.0);
    (low as u32, (f64::from(high) * UNEVEN.1).ceil() as u32)
}

/// Numbers of dies that agree with the share of colliding pairs in nine of ten cases (interval by E. B. Wilson, 1927).
fn interval(share: f64, pairs: usize) -> (u32, u32) {
    let (n, z) = (pairs as f64, NINE_OF_TEN);
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let bound = |s: f64| s / (1.0 + z * z / n);
    let (few, many) = (bound(middle + half), bound((middle - half).max(1e-9)));
    let (low, high) = ((1.0 / few).ceil() as u32, (1.0 / many).floor() as u32);
    // If the interval contains no integer, the nearest one.
    let nearest = (1.0 / share.max(1e-9)).round() as u32;
    if low <= high {
        (low, high)
    } else {
        (nearest, nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_meet_tell_the_number_of_parts() {
        // One pair in eight collides.
        let meets = |i: &i32| if i % 8 == 0 { 0.8 } else { 0.05 };
        let times: Vec<f64> = (0..4000)
            .map(|i| meets(&i) + f64::from(i % 13) * 0.01)
            .collect();
        let (apart, met, share) = groups(&times).unwrap();
        assert!((apart - 0.11).abs() < 0.02 && (met - 0.86).abs() < 0.02);
        let (low, high) = interval(share, times.len());
        assert!(low <= 8 && 8 <= high && high - low <= 2, "{low} {high}");
        // Equal values, and uniformly distributed ones: no groups.
        assert_eq!(groups(&[0.1; 100]), None);
        let spread: Vec<f64> = (0..1000).map(|i| f64::from(i) * 1e-3).collect();
        assert_eq!(groups(&spread), None);
        assert_eq!(groups(&[]), None);
        // Pairs that share only a channel form a third group in between.
        let three: Vec<f64> = (0..3000)
            .map(|i| match i % 20 {
                0 => 0.9,
                1..=5 => 0.3,
                _ => f64::from(i % 7) * 0.01,
            })
            .collect();
        let (_, _, share) = groups(&three).unwrap();
        assert!(
            (share - 0.05).abs() < 0.01 || (share - 0.3).abs() < 0.01,
            "{share}"
        );
        // Only three pairs are slow, by pauses.
        let few: Vec<f64> = (0..3000)
            .map(|i| if i % 1000 == 0 { 1.0 } else { 0.1 })
            .collect();
        assert_eq!(groups(&few), None);
    }

    #[test]
    fn a_coarse_clock_takes_more_tries_and_their_mean() {
        assert_eq!(tries(100e-6, 1e-6), Some((TRIES, None)));
        let (count, step) = tries(100e-6, 30e-6).unwrap();
        assert!(
            count > 30 && count < MOST_TRIES && step == Some(30e-6),
            "{count}"
        );
        assert_eq!(tries(10e-6, 30e-6), None);
        // Times of a read of 70 µs in steps of 30 µs, and a pause.
        let mut times = Tries::new(1, Some(30e-6));
        times.tries[0] = vec![60e-6, 60e-6, 90e-6, 60e-6, 60e-6, 90e-6, 5e-3];
        assert!((times.times()[0] - 70e-6).abs() < 1e-9);
    }
}
