//! Real capacity of a fake: the period of a wrap-around from the distances of aliases; the end of kept data by bisection between
//! a block that keeps its data and one that does not.

use super::medium::Medium;
use super::places::prime_factors;
use super::sampling::{Alias, SamplingPass};
use super::tag::Seen;
use super::work::{Stage, VerifyError, Work};
use num_integer::gcd;

/// Limits of the real capacity, blocks; equal if it is known exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Real {
    /// Number of blocks known to be real.
    pub at_least: u64,
    /// Largest possible number of real blocks.
    pub at_most: u64,
}

impl Real {
    /// The real number of blocks, if it is known exactly.
    pub fn exact(&self) -> Option<u64> {
        (self.at_least == self.at_most).then_some(self.at_least)
    }
}

/// Period of a wrap-around and the capacity, blocks; `None` if it is not a wrap-around: a device that answers with the last data
/// written also shows tags at other addresses. `budget` is the largest number of blocks written in total.
pub(super) fn of_wrap<M: Medium>(
    work: &mut Work<'_, M>,
    aliases: &[Alias],
    budget: u32,
) -> Result<Option<(u64, Real)>, VerifyError> {
    let blocks = work.medium.blocks();
    let differences = aliases.iter().map(|a| a.written.abs_diff(a.found));
    let mut period = differences.fold(0, gcd);
    if period == 0 || !is_period(work, period)? {
        return Ok(None);
    }
    // Tags also alias at multiples of the period, so a divisor may be the period.
    for factor in prime_factors(period) {
        while period.is_multiple_of(factor)
            && period / factor > 1
            && work.in_all(u64::MAX) + 4 < u64::from(budget)
            && is_period(work, period / factor)?
        {
            period /= factor;
        }
    }
    // With a plain wrap-around, the first aliased block is the one after the period. If the start of the device is not part of
    // the wrap-around, it is further up.
    let top = aliases
        .iter()
        .map(|a| a.written)
        .max()
        .unwrap_or(blocks - 1);
    let mut low = period.saturating_sub(1);
    let mut high = top.max(period);
    let mut next = period;
    while high - low > 1 && work.in_all(u64::MAX) + 4 < u64::from(budget) {
        work.tell(Stage::Narrowing, 0.5);
        if wraps(work, next, period)? {
            high = next;
        } else {
            low = next;
        }
        next = low + (high - low) / 2;
    }
    let real = Real {
        at_least: low + 1,
        at_most: high,
    };
    Ok(Some((period, real)))
}

/// Whether the last block aliases to the one `period` blocks below it.
fn is_period<M: Medium>(work: &mut Work<'_, M>, period: u64) -> Result<bool, VerifyError> {
    let last = work.medium.blocks() - 1;
    wraps(work, last, period)
}

/// Whether a write to a block is found `period` blocks below it.
fn wraps<M: Medium>(work: &mut Work<'_, M>, place: u64, period: u64) -> Result<bool, VerifyError> {
    let Some(below) = place.checked_sub(period) else {
        return Ok(false);
    };
    work.keep(&[below, place])?;
    work.tag(place)?;
    work.settle()?;
    Ok(work.tag_at(below)? == Some(place))
}

/// Procedure that tests if a block keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    /// Blocks written afterwards at the end of the device, to evict the block from a cache.
    pub(super) flood: u64,
    /// Whether the block is tagged twice, which finds devices that keep the first data written.
    pub(super) twice: bool,
}

impl Test {
    /// Writes per tested block, including the one that restores its data.
    fn writes_per_block(self) -> u64 {
        2 + u64::from(self.twice)
    }
}

/// Blocks tested per round if no cache must be evicted and all are in one or two allocation units, which saves changes between
/// writes and reads.
const TESTED: u64 = 8;
/// Range, in blocks, above which every test costs a card a merge, so that bisection is cheapest.
const NEAR: u64 = 16_384;

/// Bisects between a block that keeps its data (`low`; `None` means −1) and one that loses it (`high`).
pub(super) fn of_end<M: Medium>(
    work: &mut Work<'_, M>,
    sampling: &SamplingPass,
    low: Option<u64>,
    high: u64,
    test: Test,
    budget: u32,
) -> Result<Real, VerifyError> {
    let mut low = low.map_or(0, |low| low + 1);
    let mut high = high;
    let mut replaced = 0;
    // `low` is the first block not known to keep its data; the capacity is in low ..= high.
    while low < high {
        let spent = work.in_all(high).saturating_sub(replaced);
        let left = u64::from(budget).saturating_sub(spent);
        let count = per_round(high - low, test, left);
        if count * test.writes_per_block() > left {
            break;
        }
        if test.flood > 1 {
            replaced += test.flood;
        }
        work.tell(Stage::Narrowing, 0.5);
        let span = high - low;
        let places = (0..count).map(|i| low + (2 * i + 1) * span / (2 * count));
        let mut places: Vec<u64> = places.collect();
        places.dedup();
        let keeps = keeps(work, sampling, &places, high, test)?;
        let mut results = places.iter().zip(&keeps);
        // The first block that loses its data is above the last one that counts as keeping it.
        let first_bad = results.find(|(_, kept)| !**kept).map(|(place, _)| *place);
        let good = places
            .iter()
            .zip(&keeps)
            .filter(|(place, kept)| **kept && first_bad.is_none_or(|bad| **place < bad));
        if let Some(place) = good.map(|(place, _)| *place).max() {
            low = place + 1;
        }
        high = first_bad.unwrap_or(high);
    }
    Ok(Real {
        at_least: low,
        at_most: high,
    })
}

/// Blocks tested per round. A round that evicts a cache tests many: the number that minimizes all writes, among those that need
/// at most `left` writes for the tested blocks.
fn per_round(span: u64, test: Test, left: u64) -> u64 {
    if test.flood <= 1 {
        return if span > NEAR { 1 } else { TESTED.min(span) };
    }
    let rounds = |n: u64| {
        let mut rounds = 0;
        let mut left = span;
        while left > 0 && rounds < 64 {
            left /= n + 1;
            rounds += 1;
        }
        rounds
    };
    let tested = |n: u64| n * test.writes_per_block();
    let affordable = (1..=400.min(span)).filter(|n| rounds(*n) * tested(*n) <= left);
    let cost = |n: &u64| rounds(*n) * (tested(*n) + test.flood);
    affordable.min_by_key(cost).unwrap_or(1)
}

fn keeps<M: Medium>(
    work: &mut Work<'_, M>,
    sampling: &SamplingPass,
    places: &[u64],
    high: u64,
    test: Test,
) -> Result<Vec<bool>, VerifyError> {
    work.keep(places)?;
    let mut order: Vec<usize> = (0..places.len()).collect();
    for _ in 0..=u32::from(test.twice) {
        work.shuffle(&mut order);
        for i in &order {
            work.tag(places[*i])?;
        }
    }
    // Only blocks above the tested ones, which are certainly not real.
    let end = sampling.places.run_first + sampling.places.run;
    let run = test.flood.min(end.saturating_sub(high + 1));
    if run > 0 {
        work.keep_run(end - run, run)?;
        work.tag_run(end - run, run)?;
    }
    work.settle()?;
    work.shuffle(&mut order);
    let mut kept = vec![false; places.len()];
    for i in order {
        kept[i] = work.look(places[i])? == Seen::Right;
    }
    Ok(kept)
}
