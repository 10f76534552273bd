//! How many parts of the device read independently of each other: two reads at random places are done at once unless
//! they meet in the same part, which happens to one pair in so many. Which parts they are (dies, or planes that read
//! by themselves) and how they share channels cannot be told this way.

use super::Probing;
use super::confidence::Strength;
use super::finding::{Finding, Value};
use super::link::places;
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::Bytes;
use nandscope_workload::OpKind;

const BLOCK: u64 = 4096;
const PAIRS: usize = 3000;
/// Of normally distributed values 97 of 100 lie within so many standard deviations. Pairs that are wrongly taken for
/// ones that met come on top, so that nine of ten intervals hold the true number.
const NINE_OF_TEN: f64 = 2.17;
/// Pairs that met take longer than the others by this share of the shorter read at least, or there is no conclusion.
const APART: f64 = 0.3;
/// Between a pair that did not meet, which takes as long as one of the two, and one that did, which takes as long as
/// both: where the two groups are parted at first.
const HALF: f64 = 0.45;
/// As many as this share of those may lie between the two groups.
const BETWEEN: f64 = 0.1;

const ASKED: (&str, &str) = ("dies", "Parts that read independently");

/// Tries of each read and each pair, of which the quickest counts: a pause of the host is not a meeting, unless it
/// strikes every time.
const TRIES: usize = 3;
/// A read takes so many steps of the clock at least, or the times of a pair that met and one that did not look alike.
const CLOCK_STEPS: f64 = 12.0;

/// Times each place alone, s; keeps what is quicker than before.
fn quickest_alone<T: Target>(
    probing: &mut Probing<'_, T>,
    at: &[u64],
    quickest: &mut [f64],
) -> Result<(), ProbeError> {
    probing.timed(|p| {
        for (at, quickest) in at.iter().zip(quickest) {
            let took = p.read(Bytes(*at), Bytes(BLOCK))?;
            *quickest = quickest.min(took.as_secs_f64());
        }
        Ok(())
    })
}

/// Times each two neighbouring places at once, s; keeps what is quicker than before.
fn quickest_pairs<T: Target>(
    probing: &mut Probing<'_, T>,
    at: &[u64],
    quickest: &mut [f64],
) -> Result<(), ProbeError> {
    for (i, (pair, quickest)) in at.chunks_exact(2).zip(quickest).enumerate() {
        if i.is_multiple_of(64) && probing.interrupted() {
            return Err(ProbeError::Stopped);
        }
        let ends = probing.target.many(OpKind::Read, pair, BLOCK as u32, 2)?;
        let both = ends.last().map_or(0.0, |t| t.as_secs_f64());
        *quickest = quickest.min(both);
    }
    Ok(())
}

/// Pairs that meet in one part, at least.
const MET_LEAST: usize = 16;

/// Reads pairs, and counts those that took longer.
pub(super) fn dies<T: Target>(probing: &mut Probing<'_, T>, span: Bytes) -> Result<(), ProbeError> {
    let (id, question) = ASKED;
    if probing.overlaps().is_none() {
        let why = "it does one read after another, so its internal parallelism cannot be seen";
        probing.add(Finding::cannot_tell(id, question, why));
        return Ok(());
    }
    let seed = probing.options.seed;
    let at = places(span.0, BLOCK, 2 * PAIRS, seed ^ 0xd1e5);
    let mut alone = vec![f64::INFINITY; at.len()];
    let mut both = vec![f64::INFINITY; at.len() / 2];
    for _ in 0..TRIES {
        quickest_alone(probing, &at, &mut alone)?;
        quickest_pairs(probing, &at, &mut both)?;
    }
    let usual = median(&alone);
    if usual < CLOCK_STEPS * probing.clock.as_secs_f64() {
        let why = format!(
            "a read takes {:.0} µs, too short for a clock with steps of {:.1} µs",
            usual * 1e6,
            probing.clock.as_micros_f64()
        );
        probing.add(Finding::cannot_tell(id, question, why));
        return Ok(());
    }
    // Pages of one word line take different times, so that each pair is compared with its own two reads.
    let later = both.iter().zip(alone.chunks_exact(2));
    let later: Vec<f64> = later
        .map(|(both, alone)| {
            let (one, other) = (alone[0], alone[1]);
            (both - one.max(other)) / one.min(other).max(1e-9)
        })
        .collect();
    probing.add(match groups(&later) {
        None => Finding::cannot_tell(
            id,
            question,
            "pairs of reads that meet in one part do not take clearly longer than the others",
        ),
        Some((apart, met, share)) => {
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
            Finding::new(id, question, Value::Range(low, high), answer, Strength::Strong, evidence)
        }
    });
    Ok(())
}

/// By how much the pairs of the two groups took longer, as shares, and the share of the slow group; `None` where there
/// are no two groups.
fn groups(later: &[f64]) -> Option<(f64, f64, f64)> {
    // Stalls of the host are rare and long.
    let clipped = later.iter().map(|r| r.clamp(-0.2, 1.2));
    let mut all: Vec<f64> = clipped.collect();
    all.sort_unstable_by(f64::total_cmp);
    let (mut low, mut high) = (0.0, 0.0);
    let mut cut = HALF;
    for _ in 0..32 {
        let at = all.partition_point(|t| *t <= cut);
        if at == 0 || at == all.len() {
            return None;
        }
        (low, high) = (median(&all[..at]), median(&all[at..]));
        cut = (low + high) / 2.0;
    }
    let margin = (high - low) / 8.0;
    let between = all.iter().filter(|t| (*t - cut).abs() < margin).count();
    let slow = all.iter().filter(|t| **t > cut).count();
    // More than that meet nowhere but on a single channel, and a pair is not quicker than one of its reads.
    let possible = slow * 5 <= all.len() * 2 && low > -0.1;
    // So few meet by pauses of the host: no device has a part for each pair.
    let possible = possible && slow >= MET_LEAST;
    let clear = possible && high - low > APART && between as f64 <= BETWEEN * slow as f64;
    clear.then_some((low, high, slow as f64 / all.len() as f64))
}

/// What was written last need not lie on all parts alike, and reads that share a channel wait for each other as well.
const UNEVEN: (f64, f64) = (0.8, 1.6);

fn widened((low, high): (u32, u32)) -> (u32, u32) {
    let low = (f64::from(low) * UNEVEN.0).floor().max(1.0);
    (low as u32, (f64::from(high) * UNEVEN.1).ceil() as u32)
}

/// Numbers of parts with which so many of the pairs meet nine times of ten (E. B. Wilson's interval, 1927).
fn interval(share: f64, pairs: usize) -> (u32, u32) {
    let (n, z) = (pairs as f64, NINE_OF_TEN);
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let bound = |s: f64| s / (1.0 + z * z / n);
    let (few, many) = (bound(middle + half), bound((middle - half).max(1e-9)));
    let (low, high) = ((1.0 / few).ceil() as u32, (1.0 / many).floor() as u32);
    // No whole number lies between: the nearest.
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
        // One pair in eight meets.
        let meets = |i: &i32| if i % 8 == 0 { 0.8 } else { 0.05 };
        let times: Vec<f64> = (0..4000)
            .map(|i| meets(&i) + f64::from(i % 13) * 0.01)
            .collect();
        let (apart, met, share) = groups(&times).unwrap();
        assert!((apart - 0.11).abs() < 0.02 && (met - 0.86).abs() < 0.02);
        let (low, high) = interval(share, times.len());
        assert!(low <= 8 && 8 <= high && high - low <= 2, "{low} {high}");
        // All alike, and evenly spread: no groups.
        assert_eq!(groups(&[0.1; 100]), None);
        let spread: Vec<f64> = (0..1000).map(|i| f64::from(i) * 1e-3).collect();
        assert_eq!(groups(&spread), None);
        assert_eq!(groups(&[]), None);
        // Pauses met three pairs.
        let few: Vec<f64> = (0..3000)
            .map(|i| if i % 1000 == 0 { 1.0 } else { 0.1 })
            .collect();
        assert_eq!(groups(&few), None);
    }
}
