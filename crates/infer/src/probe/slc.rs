//! Properties of an SLC cache other than its size: the rate of each plateau, how fast idle time empties it, and whether its size
//! depends on the fullness of the device. Starts where sequential writes ([`super::writes`]) found the end of the cache.

use super::confidence::Strength;
use super::filled::Filled;
use super::finding::{Value, size};
use super::link::places;
use super::question::Question;
use super::writes::{BATCH, batch};
use super::{Probing, rested};
use crate::quantile::{median, quantile};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Idle time per rest.
pub(super) const ALONE: Nanos = Nanos::from_secs(20);
/// Consecutive batches below the bar that end a fill.
const LOW: usize = 3;
/// Least number of batches before and after a change of level.
const LASTING: usize = 6;
/// Smallest ratio between the second plateau and a third region after the cache.
const REGION: f64 = 1.3;
/// Smallest fullness of the device for a smaller dynamic cache, percent.
const FULLER: u64 = 60;

/// States the plateaus, and tests the cache by rests and writes from `next` on, the first unwritten address. Returns whether idle
/// time restored the write rate but did not make reads faster, as on a card with an SLC cache.
pub(super) fn cache<T: Target>(
    probing: &mut Probing<'_, T>,
    filled: &Filled,
    mut next: u64,
) -> Result<bool, ProbeError> {
    plateaus(probing, filled);
    let Some(bar) = filled.bar() else {
        let seen = rested::look(probing, filled, &mut next)?;
        if seen {
            return Ok(true);
        }
        for question in [Question::SlcIdle, Question::SlcKind] {
            probing.add(question.unknown("no SLC cache was seen"));
        }
        return Ok(false);
    };
    let warm = read_s(probing, filled)?;
    let rate = empties(probing, filled, bar, &mut next)?;
    kind(probing, filled, (bar, rate), &mut next)?;
    if rate.is_none() || probing.time_left() < Nanos(4 * ALONE.0) {
        return Ok(false);
    }
    // A throttling device cools down during a rest, and then reads are faster, too.
    probing.target.idle(ALONE)?;
    let cool = read_s(probing, filled)?;
    let falls = filled
        .levels()
        .is_some_and(|(fast, slow)| fast >= OF_CARD * slow);
    Ok(falls && !throttled(warm, cool))
}

/// Whether reads were slower before a rest than after it, as on a throttling device. `warm` and `cool` are times of quick reads,
/// s, which do not wait for folding.
pub(super) fn throttled(warm: f64, cool: f64) -> bool {
    warm >= THROTTLED * cool
}

/// Reads that show throttling, and their length, bytes.
const READS: usize = 64;
const READ: u64 = 64 << 10;
/// Least ratio of the read times of a hot and a cool device that throttles.
const THROTTLED: f64 = 1.04;
/// Least ratio of the write rates before and after the end of an SLC cache on a card: closing full AUs alone can halve the rate.
pub(super) const OF_CARD: f64 = 2.0;

/// Quantile of the read times that counts as a quick read.
const QUICK: f64 = 0.1;

/// Time of a quick read in the written range, s.
pub(super) fn read_s<T: Target>(
    probing: &mut Probing<'_, T>,
    filled: &Filled,
) -> Result<f64, ProbeError> {
    // Data left in the write buffer would keep the flash busy.
    probing.target.flush()?;
    let span = (filled.rates.len() as u64 * BATCH).min(probing.target.whole().0);
    let at = places(span, READ, READS, probing.options.seed ^ 0x51c);
    let times = probing.timed(|p| {
        let reads = at.iter().map(|at| p.read(Bytes(*at), Bytes(READ)));
        reads.collect::<Result<Vec<Nanos>, _>>()
    })?;
    let times: Vec<f64> = times.iter().map(|t| t.as_secs_f64()).collect();
    Ok(quantile(&times, QUICK))
}

fn plateaus<T: Target>(probing: &mut Probing<'_, T>, filled: &Filled) {
    let question = Question::Plateaus;
    let mb = |rate: f64| format!("{:.0} MB/s", rate / 1e6);
    let Some((end, (fast, slow))) = filled.end.zip(filled.levels()) else {
        let rate = median(&filled.rates);
        probing.add(question.answer(
            Value::BytesPerS(rate),
            mb(rate),
            Strength::Strong,
            format!(
                "one plateau over {}",
                size(filled.rates.len() as u64 * BATCH)
            ),
        ));
        return;
    };
    let after = &filled.rates[end..];
    let (answer, evidence) = match region(after) {
        Some((at, second, third)) => (
            format!("{}, then {}, then {}", mb(fast), mb(second), mb(third)),
            format!(
                "a third region begins {} after the end of the cache: {} there, as if folding blocked host writes",
                size(at as u64 * BATCH),
                mb(third)
            ),
        ),
        None => (
            format!("{}, then {}", mb(fast), mb(slow)),
            format!(
                "no third region within {} after the end of the cache",
                size(after.len() as u64 * BATCH)
            ),
        ),
    };
    probing.add(question.answer(Value::BytesPerS(fast), answer, Strength::Strong, evidence));
}

/// Batch after the cache at which the level changes once more, and the median rates before and after it, bytes per second.
fn region(rates: &[f64]) -> Option<(usize, f64, f64)> {
    let splits = (LASTING..=rates.len().checked_sub(LASTING)?).map(|i| {
        let (before, after) = rates.split_at(i);
        let levels = (median(before), median(after));
        let misfit = |part: &[f64], level: f64| part.iter().map(|r| (r - level).abs()).sum::<f64>();
        (
            i,
            levels,
            misfit(before, levels.0) + misfit(after, levels.1),
        )
    });
    let (at, (second, third), _) = splits.min_by(|a, b| a.2.total_cmp(&b.2))?;
    // The two levels must not overlap, as fluctuating rates are not levels.
    let (before, after) = rates.split_at(at);
    let apart = (second * third).sqrt();
    let off = if third < second {
        before.iter().filter(|r| **r < apart).count() + after.iter().filter(|r| **r > apart).count()
    } else {
        before.iter().filter(|r| **r > apart).count() + after.iter().filter(|r| **r < apart).count()
    };
    let ratio = (second / third).max(third / second);
    (ratio >= REGION && off * 10 <= rates.len()).then_some((at, second, third))
}

/// Most batches that may be slow before the cache is used again: an open block is filled first.
pub(super) const PATIENCE: usize = 24;

/// Writes until the rate has reached the bar and is below it again, or `most` bytes were written at that rate. Returns
/// the bytes written at that rate, and whether the rate fell.
pub(super) fn fill<T: Target>(
    probing: &mut Probing<'_, T>,
    next: &mut u64,
    bar: f64,
    most: u64,
) -> Result<(u64, bool), ProbeError> {
    let mut rates: Vec<f64> = Vec::new();
    let whole = probing.target.whole().0;
    let mut fast = 0;
    while fast * BATCH < most && *next + BATCH <= whole {
        let rate = batch(probing, *next)?;
        rates.push(rate);
        *next += BATCH;
        fast += u64::from(rate >= bar);
        let low = rates.iter().rev().take(LOW).filter(|r| **r < bar).count() == LOW;
        if low && (fast >= LOW as u64 || rates.len() >= PATIENCE) {
            return Ok((fast * BATCH, true));
        }
    }
    Ok((fast * BATCH, false))
}

/// Measures how fast an idle device empties its cache, in bytes per second of idle time.
fn empties<T: Target>(
    probing: &mut Probing<'_, T>,
    filled: &Filled,
    bar: f64,
    next: &mut u64,
) -> Result<Option<f64>, ProbeError> {
    let question = Question::SlcIdle;
    let most = (2 * filled.cache).min(probing.writes_left() / 2);
    if most < 4 * BATCH || probing.time_left() < Nanos(4 * ALONE.0) {
        let why = "the budget of time or writes is spent";
        probing.add(question.unknown(why));
        return Ok(None);
    }
    probing.target.idle(ALONE)?;
    let (fast, ended) = fill(probing, next, bar, most)?;
    if ended && fast > filled.cache + filled.cache / 10 {
        larger(probing, fast);
    }
    let rate = fast as f64 / ALONE.as_secs_f64();
    let said = format!(
        "after {:.0} s without commands {}{} were taken at the rate of the cache",
        ALONE.as_secs_f64(),
        if ended { "" } else { "at least " },
        size(fast)
    );
    let answer = if fast < 2 * BATCH {
        format!("not emptied within {:.0} s", ALONE.as_secs_f64())
    } else if ended && fast < filled.cache / 10 * 9 {
        format!("emptied at {:.0} MB/s", rate / 1e6)
    } else {
        format!("emptied at {:.0} MB/s or more", rate / 1e6)
    };
    probing.add(question.answer(Value::BytesPerS(rate), answer, Strength::Strong, said));
    Ok(Some(rate).filter(|_| fast >= 2 * BATCH))
}

/// Corrects the size of a cache that is larger after a rest, because it was partly in use at first.
fn larger<T: Target>(probing: &mut Probing<'_, T>, rested: u64) {
    let Some(finding) = probing.report.finding(Question::Slc).cloned() else {
        return;
    };
    let evidence = format!(
        "{}; after {:.0} s without commands after {}: it was in use at first",
        finding.evidence,
        ALONE.as_secs_f64(),
        size(rested)
    );
    let strength = Strength::Weak;
    let value = Value::Bytes(rested);
    probing.report.replace(
        finding
            .question
            .answer(value, size(rested), strength, evidence),
    );
}

/// Tests whether a fuller device has a smaller cache: fills the device and the cache, rests until the cache must be empty, and
/// fills it again.
fn kind<T: Target>(
    probing: &mut Probing<'_, T>,
    filled: &Filled,
    (bar, rate): (f64, Option<f64>),
    next: &mut u64,
) -> Result<(), ProbeError> {
    let question = Question::SlcKind;
    let whole = probing.target.whole().0;
    let fuller = (whole / 100 * FULLER).saturating_sub(*next);
    let needed = fuller + filled.cache + filled.cache / 4;
    let Some(rate) = rate else {
        let why = "the cache is not known to be emptied in idle time, so it cannot be filled twice";
        probing.add(question.unknown(why));
        return Ok(());
    };
    if probing.writes_left() < needed {
        let budget = (probing.target.written + needed).div_ceil(1_000_000_000);
        let why = format!(
            "{} more would have to be written to fill the device to {FULLER} % and the cache once more: `--write-budget {budget}GB`",
            size(needed)
        );
        probing.add(question.unknown(why));
        return Ok(());
    }
    let end = *next + fuller;
    while *next + BATCH <= end {
        batch(probing, *next)?;
        *next += BATCH;
    }
    let wait = Nanos::from_secs_f64(2.0 * filled.cache as f64 / rate).max(Nanos(2 * ALONE.0));
    if probing.time_left() < Nanos(2 * wait.0) {
        let why = "the time budget is too small to let the cache empty";
        probing.add(question.unknown(why));
        return Ok(());
    }
    probing.target.idle(wait)?;
    let full = *next as f64 / whole.max(1) as f64;
    let (again, _) = fill(probing, next, bar, filled.cache + filled.cache / 4)?;
    let ratio = again as f64 / filled.cache.max(1) as f64;
    let evidence = format!(
        "{} at first, {} when {:.0} % of the device was filled and it had been left alone for {:.0} s",
        size(filled.cache),
        size(again),
        100.0 * full,
        wait.as_secs_f64()
    );
    probing.add(match ratio {
        r if r > 0.9 => question.answer(
            Value::Flag(true),
            format!("yes, up to {:.0} % full", 100.0 * full),
            Strength::Strong,
            evidence,
        ),
        r if r < 0.8 => {
            let answer = "no: smaller on a fuller device".to_string();
            question.answer(Value::Flag(false), answer, Strength::Strong, evidence)
        }
        _ => question.unknown(evidence),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::region;

    #[test]
    fn a_third_region_is_a_level_and_no_swing() {
        let mut rates = vec![700e6; 20];
        rates.extend(vec![300e6; 12]);
        let (at, second, third) = region(&rates).unwrap();
        assert_eq!((at, second, third), (20, 700e6, 300e6));
        let swing: Vec<f64> = (0..40)
            .map(|i| if i % 3 == 0 { 200e6 } else { 700e6 })
            .collect();
        assert_eq!(region(&swing), None);
        assert_eq!(region(&[500e6; 40]), None);
        assert_eq!(region(&[500e6; 5]), None);
    }
}
