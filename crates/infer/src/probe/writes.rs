//! Conclusions from sequential writes: plateaus (an SLC cache and what follows it), stalls with their
//! period, and the RAM in which writes are gathered.

use super::confidence::Strength;
use super::filled::Filled;
use super::finding::{Finding, Value, size};
use super::link::{self, places};
use super::map_range;
use super::{CARD_MAX, Probing};
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// Range for later reads: enough for seven places of boundaries of up to 64 MiB.
pub(super) const SPAN: u64 = 512 << 20;
/// Writing in order takes one part in so many of the time; where it is too slow to write the range for later reads, less.
const TIME: u64 = 2;
const LEAST_TIME: u64 = 4;
/// Name of the curve of rates of writing in order.
pub(super) const IN_ORDER: &str = "written in order";
/// Length of one write.
pub(super) const PIECE: u64 = 512 << 10;
/// Pieces per rate.
pub(super) const TOGETHER: usize = 16;
/// Bytes per rate.
pub(super) const BATCH: u64 = PIECE * TOGETHER as u64;
/// Writes under way at once.
const DEPTH: u32 = 4;
/// A plateau is over where the rate stays below this share of it.
const OVER: f64 = 0.75;
/// Number of consecutive rates that must be below.
pub(super) const STAYS: usize = 6;
/// One in so many of the rates after a plateau may be as high as it.
const LASTS: usize = 10;
/// A smaller plateau may be a write buffer, or what was erased before.
pub(super) const SMALLEST: u64 = 128 << 20;
/// A fall by less than this says nothing of a cache.
pub(super) const FALL: f64 = 1.5;
/// A cache holds so many batches at least; what is written faster than that is not a plateau.
const CACHE_MIN: usize = 8;
/// Of what may be written to a large device this much is kept for what comes later, one part in so many of it at most.
const KEPT: u64 = 1_600_000_000;
const KEPT_PART: u64 = 5;

/// Writes the pieces of one batch; bytes per second.
pub(super) fn batch<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: u64,
) -> Result<f64, ProbeError> {
    if probing.interrupted() {
        return Err(ProbeError::Stopped);
    }
    let at: Vec<u64> = (begin..begin + BATCH).step_by(PIECE as usize).collect();
    let ends = probing
        .target
        .many(OpKind::Write, &at, PIECE as u32, DEPTH)?;
    let spent = ends.last().map_or(0.0, |t| t.as_secs_f64());
    Ok(BATCH as f64 / spent.max(1e-9))
}

/// Writes the beginning of the device in order, and on from there as long as there may be a cache to be
/// filled. What has been written is what later reads are made in; how much it is, and what it showed of a cache.
pub(super) fn in_order<T: Target>(
    probing: &mut Probing<'_, T>,
) -> Result<(Bytes, Filled), ProbeError> {
    let whole = probing.target.whole().0;
    let budget = probing.options.writes.0;
    let least = SPAN.min(whole).min(budget / 2) / PIECE * PIECE;
    // A third of what may be written to a card, or half of it to a large one; the rest is for allocation units.
    let share = |card: bool| match card {
        true if whole <= CARD_MAX => budget / 3,
        true => budget / 2,
        false => budget - KEPT.min(budget / KEPT_PART),
    };
    let mut most = share(whole <= CARD_MAX).clamp(least, whole) / PIECE * PIECE;
    let mut looked = false;
    // The rates after a cache are watched for as long.
    let watched = usize::try_from(budget / 20 / BATCH).unwrap_or(usize::MAX);
    let watched = watched.max(2 * STAYS);
    let mut times: Vec<f64> = Vec::new();
    let mut done = 0;
    let mut rates: Vec<f64> = Vec::new();
    while done < most {
        if probing.interrupted() {
            return Err(ProbeError::Stopped);
        }
        let batch = BATCH.min(most - done);
        let at: Vec<u64> = (done..done + batch).step_by(PIECE as usize).collect();
        let base = times.last().copied().unwrap_or(0.0);
        let ends = probing
            .target
            .many(OpKind::Write, &at, PIECE as u32, DEPTH)?;
        let spent = ends.last().map_or(0.0, |t| t.as_secs_f64());
        times.extend(ends.iter().map(|t| base + t.as_secs_f64()));
        rates.push(batch as f64 / spent.max(1e-9));
        done += batch;
        if whole > CARD_MAX && done >= least && !looked {
            looked = true;
            let card = !link::reads_at_once(probing, Bytes(done))?;
            most = share(card).clamp(least, whole) / PIECE * PIECE;
        }
        let settled = cache_end(&rates).is_some_and(|end| rates.len() >= end + watched);
        if done >= least && (settled || slow(&rates, done)) {
            break;
        }
        let enough = if done < least { LEAST_TIME } else { TIME };
        if probing.spent() > Nanos(probing.options.time.0 / enough) {
            break;
        }
    }
    probing.report.curves.push(Curve {
        name: IN_ORDER.to_string(),
        x_name: "written".to_string(),
        x_unit: "GB".to_string(),
        y_name: "rate".to_string(),
        y_unit: "MB/s".to_string(),
        x: (1..=rates.len())
            .map(|i| (i * TOGETHER) as f64 * PIECE as f64 / 1e9)
            .collect(),
        y: rates.iter().map(|r| r / 1e6).collect(),
        threshold: cache_end(&rates).map(|end| (end * TOGETHER) as f64 * PIECE as f64 / 1e9),
    });
    let size = cache(probing, &rates, &times);
    let end = cache_end(&rates).filter(|_| size.is_some());
    stalls(probing, &times);
    let gaps = times
        .first()
        .copied()
        .into_iter()
        .chain(times.windows(2).map(|w| w[1] - w[0]))
        .collect();
    let filled = Filled {
        rates,
        gaps,
        end,
        cache: size.unwrap_or(0),
    };
    // What went into the cache does not count against the budget of a drive.
    if whole > CARD_MAX {
        probing.cached = filled.cache.min(done);
        probing.target.limit = budget.saturating_add(probing.cached);
    }
    Ok((Bytes(done), filled))
}

/// Bytes per second: a device that writes more slowly has no cache worth the name, and its budget is needed elsewhere.
pub(super) const SLOW: f64 = 60e6;

fn slow(rates: &[f64], done: u64) -> bool {
    median(rates) < SLOW && done >= SPAN
}

/// The number of rates after which the first plateau is over for good; one that is too short for a cache is that of the
/// buffer, and the next one counts.
pub(super) fn cache_end(rates: &[f64]) -> Option<usize> {
    let end = plateau_end(rates)?;
    match plateau_end(&rates[end..]) {
        Some(next) if (end as u64) * BATCH < SMALLEST => Some(end + next),
        _ => Some(end),
    }
}

fn plateau_end(rates: &[f64]) -> Option<usize> {
    let end = (CACHE_MIN..rates.len()).find(|i| {
        let after = &rates[*i..rates.len().min(i + STAYS)];
        let before = median(&rates[..*i]);
        after.len() == STAYS && after.iter().all(|r| *r < OVER * before)
    })?;
    // For good: nearly none of the later rates is as high again. Garbage collection makes rates fluctuate.
    let before = median(&rates[..end]);
    let after = &rates[end..];
    let quick = after.iter().filter(|r| **r >= OVER * before).count();
    (quick * LASTS <= after.len()).then_some(end)
}

fn cache<T: Target>(probing: &mut Probing<'_, T>, rates: &[f64], times: &[f64]) -> Option<u64> {
    let question = "SLC cache";
    let Some(end) = cache_end(rates) else {
        let written = (rates.len() * TOGETHER) as u64 * PIECE;
        probing.add(Finding::cannot_tell(
            "slc",
            question,
            format!(
                "{} were written in order at {:.0} MB/s, and the rate did not fall for good: a cache, if there is one, is larger; `--write-budget {}GB` looks four times as far",
                size(written),
                median(rates) / 1e6,
                (4 * probing.options.writes.0).div_ceil(1_000_000_000)
            ),
        ));
        return None;
    };
    let fast = median(&rates[..end.saturating_sub(1).max(1)]);
    let slow = median(&rates[end..]);
    let bytes = knee(times, end * TOGETHER, fast, slow);
    let ratio = fast / slow;
    if ratio < FALL || bytes < SMALLEST || fast < SLOW {
        let why = format!(
            "written in order, the rate falls from {:.0} to {:.0} MB/s after {}: too little for an SLC cache, too early, or too slow",
            fast / 1e6,
            slow / 1e6,
            size(bytes)
        );
        probing.add(Finding::cannot_tell("slc", question, why));
        return None;
    }
    probing.add(Finding::new(
        "slc",
        question,
        Value::Bytes(bytes),
        size(bytes),
        if ratio >= 2.0 * FALL { Strength::Strong } else { Strength::Fair },
        format!(
            "written in order, the rate falls from {:.0} to {:.0} MB/s after {} for good; what is folded meanwhile counts too",
            fast / 1e6,
            slow / 1e6,
            size(bytes)
        ),
    ));
    Some(bytes)
}

/// The place at which two straight lines through the curve of bytes over time meet best, near a piece.
fn knee(times: &[f64], near: usize, fast: f64, slow: f64) -> u64 {
    let from = near.saturating_sub(3 * TOGETHER).max(1);
    let to = (near + 3 * TOGETHER).min(times.len().saturating_sub(1));
    let error = |k: &usize| {
        let misfit = |i: usize| {
            let bytes = (i as f64 - *k as f64) * PIECE as f64;
            let rate = if i < *k { fast } else { slow };
            (times[i] - times[*k] - bytes / rate).abs()
        };
        (from..=to).map(misfit).sum::<f64>()
    };
    let best = (from..=to).min_by(|a, b| error(a).total_cmp(&error(b)));
    best.unwrap_or(near) as u64 * PIECE
}

/// Unusually long pauses between completions, and the time between them.
fn stalls<T: Target>(probing: &mut Probing<'_, T>, times: &[f64]) {
    let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let usual = median(&gaps);
    let long: Vec<(f64, f64)> = times
        .windows(2)
        .map(|w| (w[0], w[1] - w[0]))
        .filter(|(_, gap)| *gap > 10.0 * usual.max(1e-6) && *gap > 0.01)
        .collect();
    let question = "Stalls while writing in order";
    if long.is_empty() {
        probing.add(Finding::new(
            "stalls",
            question,
            Value::Count(0),
            "none".to_string(),
            Strength::Strong,
            format!(
                "no pause of ten times the usual {:.1} ms and 10 ms",
                usual * 1e3
            ),
        ));
        return;
    }
    let lengths: Vec<f64> = long.iter().map(|l| l.1).collect();
    let apart: Vec<f64> = long.windows(2).map(|w| w[1].0 - w[0].0).collect();
    let mut answer = format!("{} of {:.0} ms", long.len(), median(&lengths) * 1e3);
    if apart.len() >= 3 {
        answer.push_str(&format!(", about every {:.1} s", median(&apart)));
    }
    probing.add(Finding::new(
        "stalls",
        question,
        Value::Count(long.len() as u32),
        answer,
        Strength::Fair,
        format!("a write of 512 KiB takes {:.1} ms as a rule", usual * 1e3),
    ));
}

/// Length of a write of a burst.
const SHORT: u64 = 32 << 10;
/// Writes of a burst.
const BURST: u64 = 1024;
const BURSTS: u64 = 9;
/// Bytes that are left for looking at a discard, beside those for the map.
const LOOKED: u64 = 8 << 20;
/// More than half of the bursts must lie this close to the middle.
const SPREAD: f64 = 0.06;

/// Writes that are taken faster than they can be done, until the memory for them is full: then all wait
/// until some have been programmed. Page registers of the flash count as memory if data leaves the RAM before it is
/// programmed. If programming is as fast as the link there is no such pause, and
/// no conclusion.
pub(super) fn buffer<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<(), ProbeError> {
    let question = "RAM that gathers writes";
    if probing.overlaps().is_none() {
        let why = "it does one read after another, and such a device stops for other reasons than full memory";
        probing.add(Finding::cannot_tell("buffer", question, why));
        return Ok(());
    }
    let mut seen = Vec::new();
    for round in 0..BURSTS {
        let left = LOOKED + map_range::needs(probing.target.whole());
        if probing.writes_left() < SHORT * BURST + left || span.0 < 4 * SHORT * BURST {
            break;
        }
        probing.target.flush()?;
        probing.target.idle(Nanos::from_millis(100))?;
        let order = places(span.0, SHORT * BURST, 16, probing.options.seed + round);
        let begin = order.first().copied().unwrap_or(0);
        let at: Vec<u64> = (0..BURST).map(|i| begin + i * SHORT).collect();
        let ends = probing.target.many(OpKind::Write, &at, SHORT as u32, 32)?;
        let ends: Vec<f64> = ends.iter().map(|t| t.as_secs_f64()).collect();
        seen.extend(held(&ends).map(|n| n * SHORT as f64));
        // A device that takes seconds for a burst keeps nothing.
        if ends.last().is_some_and(|end| *end > 2.0) && seen.is_empty() {
            break;
        }
    }
    let middle = median(&seen);
    let close = seen.iter().filter(|s| (*s / middle - 1.0).abs() <= SPREAD);
    let agree = close.count() as u64 * 3 > 2 * BURSTS;
    let shown: Vec<String> = seen.iter().map(|s| size(*s as u64)).collect();
    let evidence = if seen.is_empty() {
        "bursts of writes after a rest show no pause at which memory would be full".to_string()
    } else {
        format!(
            "{BURSTS} bursts after a rest; taken before the first pause, less what was programmed until then: {}",
            shown.join(", ")
        )
    };
    probing.add(if agree {
        let answer = format!("about {}", size(middle as u64));
        let value = Value::Bytes(middle as u64);
        Finding::new(
            "buffer",
            question,
            value,
            answer,
            Strength::Strong,
            evidence,
        )
    } else {
        Finding::cannot_tell("buffer", question, evidence)
    });
    Ok(())
}

/// A gap between completions this many times the usual one is a pause.
const PAUSE: f64 = 8.0;

/// Pauses after the first one from which their period is taken.
const PAUSES: usize = 4;

/// How many writes of a burst lie in memory when it is full for the first time: those before the first pause,
/// less those that were programmed until then. Programming continues in waves, all dies at once; after the first
/// pause every wave makes room for as many writes as the one before, after a pause of its own. The
/// end of the first pause is the end of a wave as well, and the first began with the burst.
fn held(ends: &[f64]) -> Option<f64> {
    let first = first_pause(ends)?;
    let long = PAUSE * ends[first - 1] / first as f64;
    let later = (first + 1..ends.len()).filter(|i| ends[*i] - ends[*i - 1] > long);
    let pauses: Vec<usize> = std::iter::once(first).chain(later).collect();
    if pauses.len() <= PAUSES {
        return None;
    }
    let periods = pauses.windows(2).map(|w| ends[w[1]] - ends[w[0]]);
    let writes = pauses.windows(2).map(|w| (w[1] - w[0]) as f64);
    let period = median(&periods.collect::<Vec<_>>());
    let wave = median(&writes.collect::<Vec<_>>());
    let waves = (ends[first] / period.max(1e-9)).round() - 1.0;
    let held = first as f64 - waves.max(0.0) * wave;
    (held > 0.0).then_some(held)
}

/// How many writes of a burst were done before the first pause; `None` where there is none in its first
/// half, if it is at the very beginning, where an earlier one could not be detected, or if the writes after it are as
/// fast as those before.
fn first_pause(ends: &[f64]) -> Option<usize> {
    const SETTLED: usize = 8;
    let gaps: Vec<f64> = ends.windows(2).map(|w| w[1] - w[0]).collect();
    let half = ends.len() / 2;
    let at = (SETTLED..half).find(|i| {
        let before = ends[i - 1] / (*i as f64);
        gaps[i - 1] > PAUSE * before.max(1e-9)
    })?;
    if at == SETTLED {
        return None;
    }
    let early = ends[at - 1] / at as f64;
    let late = (ends[ends.len() - 1] - ends[half]) / (ends.len() - 1 - half) as f64;
    (late > 1.3 * early).then_some(at)
}
