//! Conclusions from sequential writes: plateaus (an SLC cache and what follows it), and stalls with their period.

use super::confidence::Strength;
use super::filled::Filled;
use super::finding::{Value, size};
use super::link;
use super::question::Question;
use super::{CARD_MAX, Probing};
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// Range of later reads, bytes: enough for boundaries of up to 64 MiB at seven places.
pub(super) const SPAN: u64 = 512 << 20;
/// Divisor of the total time: limit of the sequential writes; `LEAST_TIME` if they are too slow to write the range for later
/// reads.
const TIME: u64 = 2;
const LEAST_TIME: u64 = 4;
/// Name of the curve of sequential write rates.
pub(super) const IN_ORDER: &str = "written in order";
/// Length of one write, bytes.
pub(super) const PIECE: u64 = 512 << 10;
/// Writes per rate.
pub(super) const TOGETHER: usize = 16;
/// Bytes per rate.
pub(super) const BATCH: u64 = PIECE * TOGETHER as u64;
/// Queue depth.
const DEPTH: u32 = 4;
/// Share of a plateau's rate below which the rate must stay after its end.
const OVER: f64 = 0.75;
/// Consecutive rates that must be below.
pub(super) const STAYS: usize = 6;
/// At most one in `LASTS` rates after a plateau may be as high as the plateau.
const LASTS: usize = 10;
/// Least size of an SLC cache, bytes; a smaller plateau may be a write buffer, or blocks erased before.
pub(super) const SMALLEST: u64 = 128 << 20;
/// Least ratio of the rates before and after the end of an SLC cache.
pub(super) const FALL: f64 = 1.5;
/// Least length of a plateau, in batches.
const CACHE_MIN: usize = 8;
/// Part of a drive's write budget that is reserved for later steps, bytes; at most one `KEPT_PART`-th of the budget.
const KEPT: u64 = 1_600_000_000;
const KEPT_PART: u64 = 4;

/// Writes one batch; returns the rate, bytes per second.
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

/// Writes sequentially from the start of the device, further while there may be an SLC cache to fill. Returns the written size,
/// the range of later reads, and the times.
pub(super) fn in_order<T: Target>(
    probing: &mut Probing<'_, T>,
) -> Result<(Bytes, Filled), ProbeError> {
    let whole = probing.target.whole().0;
    let budget = probing.options.writes.0;
    let least = SPAN.min(whole).min(budget / 2) / PIECE * PIECE;
    // On a card, a third of the write budget, or half of it on a large one; the rest is for allocation units.
    let share = |card: bool| match card {
        true if whole <= CARD_MAX => budget / 3,
        true => budget / 2,
        false => budget - KEPT.min(budget / KEPT_PART),
    };
    let mut most = share(whole <= CARD_MAX).clamp(least, whole) / PIECE * PIECE;
    let mut looked = false;
    // Number of rates that are observed after the end of a cache.
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
        ..Curve::default()
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
    // On a drive, writes to the SLC cache are free of the write budget.
    if whole > CARD_MAX {
        probing.cached = filled.cache.min(done);
        probing.target.limit = budget.saturating_add(probing.cached);
    }
    Ok((Bytes(done), filled))
}

/// Rate below which a device is assumed to have no SLC cache, bytes per second; the budget of such a device is needed
/// for other questions.
pub(super) const SLOW: f64 = 60e6;

fn slow(rates: &[f64], done: u64) -> bool {
    median(rates) < SLOW && done >= SPAN
}

/// Number of batches in the first plateau, if it ended for good; a plateau too short for a cache is that of the write buffer, and
/// the next one counts.
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
    // The plateau ended for good if hardly any later rate is as high. Garbage collection makes rates fluctuate.
    let before = median(&rates[..end]);
    let after = &rates[end..];
    let quick = after.iter().filter(|r| **r >= OVER * before).count();
    (quick * LASTS <= after.len()).then_some(end)
}

fn cache<T: Target>(probing: &mut Probing<'_, T>, rates: &[f64], times: &[f64]) -> Option<u64> {
    let Some(end) = cache_end(rates) else {
        let written = (rates.len() * TOGETHER) as u64 * PIECE;
        probing.add(Question::Slc.unknown(format!(
                "{} were written in order at {:.0} MB/s, and the rate did not drop permanently: a cache, if there is one, is larger; `--write-budget {}GB` looks four times as far",
                size(written),
                median(rates) / 1e6,
                (4 * probing.options.writes.0).div_ceil(1_000_000_000)
            )));
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
        probing.add(Question::Slc.unknown(why));
        return None;
    }
    probing.add(Question::Slc.answer(Value::Bytes(bytes), size(bytes), if ratio >= 2.0 * FALL { Strength::Strong } else { Strength::Fair }, format!(
            "written in order, the rate falls from {:.0} to {:.0} MB/s after {} for good; what is folded meanwhile counts too",
            fast / 1e6,
            slow / 1e6,
            size(bytes)
        )));
    Some(bytes)
}

/// Bytes at which two straight lines fit the curve of bytes over time best, searched within three batches of `near`,
/// which is a number of pieces.
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

/// Finds unusually long gaps between completions, and the time between them.
fn stalls<T: Target>(probing: &mut Probing<'_, T>, times: &[f64]) {
    let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let usual = median(&gaps);
    let long: Vec<(f64, f64)> = times
        .windows(2)
        .map(|w| (w[0], w[1] - w[0]))
        .filter(|(_, gap)| *gap > 10.0 * usual.max(1e-6) && *gap > 0.01)
        .collect();
    if long.is_empty() {
        probing.add(Question::Stalls.answer(
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
    probing.add(Question::Stalls.answer(
        Value::Count(long.len() as u32),
        answer,
        Strength::Fair,
        format!("a write of 512 KiB usually takes {:.1} ms", usual * 1e3),
    ));
}
