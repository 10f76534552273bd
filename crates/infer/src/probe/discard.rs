//! Discards: whether the device accepts them, and whether they restore the write rate.

use super::confidence::Strength;
use super::discarded::Look;
use super::filled::Filled;
use super::finding::size;
use super::layout::Layout;
use super::question::Question;
use super::slc::{PATIENCE, fill};
use super::units::UNPLACED;
use super::writes::{BATCH, batch};
use super::{Probing, Value};
use crate::flashbench::{Care, OpenAu, Order, SHORTEST};
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::{Outcome, Target};
use nandscope_units::{Bytes, Nanos};

/// Longest discard, bytes.
const LONGEST: u64 = 1 << 30;
/// Time for measuring one rate.
const BUDGET: Nanos = Nanos::from_secs(2);
/// Ratio of the rate after a discard to that before from which the rate counts as restored; below `NOT` it counts as
/// not restored.
const RESTORED: f64 = 1.5;
const NOT: f64 = 1.2;
/// Idle time after a discard, for the device to erase.
const REST: Nanos = Nanos::from_secs(1);
/// Measurements of the rates of full and of discarded AUs, at most.
const ROUNDS: usize = 2;
/// Consecutive batches at cache speed that show a free SLC cache.
const BATCHES: usize = 3;

/// Tests whether discards are accepted, and what a discarded block reads as. Returns whether they are accepted.
pub(super) fn taken<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<bool, ProbeError> {
    let length: u64 = (1 << 20).min(span.0);
    let place = span.0 / 2 / length * length;
    let look = Look::before(probing, place, length)?;
    let began = probing.target.now();
    let outcome = probing.target.discard(Bytes(place), Bytes(length))?;
    let took = probing.target.now().saturating_sub(began);
    let done = outcome == Some(Outcome::Done);
    probing.add(Question::Discard.answer(
        Value::Flag(done),
        if done { "taken" } else { "not taken" }.to_string(),
        Strength::Strong,
        match outcome {
            Some(Outcome::Failed(why)) => format!("a discard of 1 MiB failed after {took}: {why}"),
            Some(Outcome::Unsupported) | None => {
                "the host path drops discards, or the device rejects them".to_string()
            }
            Some(Outcome::Done) => format!("a discard of 1 MiB came back after {took}"),
        },
    ));
    if done {
        let reads = look.after(probing)?;
        probing.add(reads);
    }
    Ok(done)
}

/// Tests whether accepted discards make writes faster.
pub(super) fn speed<T: Target>(
    probing: &mut Probing<'_, T>,
    layout: Layout,
    filled: &Filled,
    taken: bool,
) -> Result<(), ProbeError> {
    let question = Question::DiscardSpeed;
    if !taken {
        let why = "discards are not accepted";
        probing.add(question.unknown(why));
        return Ok(());
    }
    let open = probing.report.count(Question::OpenLinear);
    match (layout.unit.zip(open), filled.bar()) {
        (Some(_), _) if !layout.placed => {
            // Pieces that begin within an AU are slow with or without discards.
            probing.add(question.unknown(UNPLACED));
            Ok(())
        }
        (Some((unit, open)), _) => in_units(probing, unit, open),
        (None, Some(bar)) => in_cache(probing, filled, bar),
        (None, None) => {
            let why = "neither allocation units nor an SLC cache is known, in which a discard would make room";
            probing.add(question.unknown(why));
            Ok(())
        }
    }
}

/// Interleaves writes to two AUs more than the device keeps open, all of them full: closing an AU copies its rest
/// unless that was discarded.
fn in_units<T: Target>(
    probing: &mut Probing<'_, T>,
    unit: u64,
    open: u32,
) -> Result<(), ProbeError> {
    let question = Question::DiscardSpeed;
    let plan = OpenAu {
        unit,
        order: Order::Linear,
        seed: probing.options.seed,
        budget: Some(BUDGET),
        care: Care {
            warm: 1,
            from: 8 * unit,
            trim: true,
            ..Care::default()
        },
    };
    let units = open + 2;
    let length = plan.lengths(SHORTEST).last().copied().unwrap_or(unit);
    let bytes = u64::from(units) * unit;
    let fits = plan.fitting(probing.target.whole(), units) >= units;
    let slow = probing
        .report
        .finding(Question::Plateaus)
        .and_then(|f| match f.value {
            Some(Value::BytesPerS(rate)) => Some(rate),
            _ => None,
        });
    let needed = 2.0 * bytes as f64 / slow.unwrap_or(1e6).max(1e5) + 60.0;
    if !fits || probing.writes_left() < 3 * bytes || probing.time_left().as_secs_f64() < needed {
        let why = "the budget of time or writes is spent";
        probing.add(question.unknown(why));
        return Ok(());
    }
    let mut rounds = Vec::new();
    let mut took = Nanos::ZERO;
    while rounds.is_empty()
        || rounds.len() < ROUNDS && probing.writes_left() >= 3 * bytes && took < probing.time_left()
    {
        let began = probing.target.now();
        let full = rate_in_units(probing, &plan, (units, length), false)?;
        rounds.push((full, rate_in_units(probing, &plan, (units, length), true)?));
        took = probing.target.now().saturating_sub(began);
    }
    let (full, discarded): (Vec<f64>, Vec<f64>) = rounds.iter().copied().unzip();
    let evidence = format!(
        "pieces of {} into {units} interleaved AUs, two more than stay open: {:.2} MB/s where they are full, {:.2} MB/s where they were discarded{}",
        size(length),
        median(&full) / 1e6,
        median(&discarded) / 1e6,
        if rounds.len() > 1 {
            ", medians of two alternating measurements"
        } else {
            ""
        }
    );
    let factors: Vec<f64> = rounds.iter().map(|r| r.1 / r.0.max(1.0)).collect();
    said(probing, &factors, evidence);
    Ok(())
}

/// Rate of pieces written in turn to AUs that were written completely and then, if `discarded`, discarded; bytes per
/// second.
fn rate_in_units<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    (units, length): (u32, u64),
    discarded: bool,
) -> Result<f64, ProbeError> {
    for number in 0..u64::from(units) {
        let at = plan.place(number);
        probing.timed(|p| p.write(Bytes(at), Bytes(plan.unit)))?;
    }
    for number in (0..u64::from(units)).filter(|_| discarded) {
        let at = plan.place(number);
        probing.target.discard(Bytes(at), Bytes(plan.unit))?;
    }
    Ok(probing.timed(|p| plan.rate(p, units, length))?.bytes_per_s)
}

/// Fills the SLC cache: writes stay slow until the cache is emptied or its data is discarded.
fn in_cache<T: Target>(
    probing: &mut Probing<'_, T>,
    filled: &Filled,
    bar: f64,
) -> Result<(), ProbeError> {
    let question = Question::DiscardSpeed;
    let most = filled.cache + filled.cache / 4;
    let room = most + 3 * PATIENCE as u64 * BATCH;
    let begin = probing.target.whole().0 / 2 / BATCH * BATCH;
    if probing.writes_left() < room || begin + room > probing.target.whole().0 {
        let why = "the write budget is too small to fill the SLC cache again";
        probing.add(question.unknown(why));
        return Ok(());
    }
    let mut next = begin;
    fill(probing, &mut next, bar, most)?;
    probing.target.idle(REST)?;
    let (kept, before) = again(probing, &mut next, bar)?;
    // `next` is the end of all written data.
    for (from, end) in [(0, begin), (begin, next)] {
        for at in (from..end).step_by(LONGEST as usize) {
            let length = Bytes(LONGEST.min(end - at));
            probing.target.discard(Bytes(at), length)?;
        }
    }
    probing.target.idle(REST)?;
    let (restored, after) = again(probing, &mut next, bar)?;
    let evidence = format!(
        "with a full SLC cache, after {} s: {:.0} MB/s; with everything discarded, after the same time: {:.0} MB/s",
        REST.as_secs_f64(),
        before / 1e6,
        after / 1e6
    );
    probing.add(if kept {
        let why = format!("the SLC cache did not stay full: {evidence}");
        question.unknown(why)
    } else {
        let answer = if restored { "yes" } else { "no" }.to_string();
        question.answer(Value::Flag(restored), answer, Strength::Weak, evidence)
    });
    Ok(())
}

/// Whether a few writes reach the rate `bar` of the SLC cache; then their median rate, bytes per second.
fn again<T: Target>(
    probing: &mut Probing<'_, T>,
    next: &mut u64,
    bar: f64,
) -> Result<(bool, f64), ProbeError> {
    let mut rates = Vec::new();
    while rates.len() < PATIENCE {
        rates.push(batch(probing, *next)?);
        *next += BATCH;
        let last = &rates[rates.len().saturating_sub(BATCHES)..];
        if last.len() == BATCHES && last.iter().all(|r| *r >= bar) {
            return Ok((true, median(last)));
        }
    }
    Ok((false, median(&rates)))
}

/// The answer if all `factors` by which discards raise the rate agree: a pause of the host makes one of two rates low.
fn said<T: Target>(probing: &mut Probing<'_, T>, factors: &[f64], evidence: String) {
    let question = Question::DiscardSpeed;
    let all = |is: fn(f64) -> bool| factors.iter().all(|f| is(*f));
    let (restored, strength) = match () {
        () if all(|f| f >= RESTORED) => (true, Strength::Strong),
        () if all(|f| f < NOT) => (false, Strength::Fair),
        () => {
            probing.add(question.unknown(evidence));
            return;
        }
    };
    let answer = if restored { "yes" } else { "no" }.to_string();
    probing.add(question.answer(Value::Flag(restored), answer, strength, evidence));
}
