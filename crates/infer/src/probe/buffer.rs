//! Size of the write buffer: a burst is accepted at link speed until the buffer is full, then writes wait until some data is
//! programmed. Page registers of the flash count as buffer if data leaves the RAM before it is programmed. If programming is as
//! fast as the link, there is no such pause and no conclusion.

use super::confidence::Strength;
use super::finding::{Value, size};
use super::link::places;
use super::question::Question;
use super::{Probing, map_range, settled};
use crate::quantile::{mean_near, median};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// Bursts of one size.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Length of a write, bytes, and writes per burst.
    length: u64,
    count: u64,
    /// Number of bursts after which a pause should show; then the total number of bursts.
    first: usize,
    all: usize,
}

impl Level {
    const fn of(length: u64, count: u64, first: usize, all: usize) -> Self {
        Level {
            length,
            count,
            first,
            all,
        }
    }

    fn bytes(&self) -> u64 {
        self.length * self.count
    }
}

/// Bursts in ascending size; the next size is used if a burst shows no pause in its first part.
const LEVELS: [Level; 5] = [
    Level::of(8 << 10, 256, 3, 9),
    Level::of(16 << 10, 256, 3, 9),
    Level::of(32 << 10, 256, 2, 9),
    Level::of(128 << 10, 256, 1, 7),
    Level::of(128 << 10, 640, 2, 4),
];
/// Queue depth.
const DEPTH: u32 = 32;
/// Write budget reserved for the discard test, bytes, in addition to that for the map.
const LOOKED: u64 = 8 << 20;
/// Largest relative difference between the buffer size from all bursts and that from parts of them.
const SPREAD: f64 = 0.08;
/// Idle time before each burst; divisor of the remaining time for the rest before the first burst.
const IDLE: Nanos = Nanos::from_millis(100);
const REST: u64 = 10;
/// Reads that show whether the device is idle.
const QUIET: usize = 64;
const BLOCK: u64 = 4096;
/// Time of the first burst, s, above which a device is not tested further.
const SLOW: f64 = 2.0;

/// Writes bursts of increasing size until one shows the size of the write buffer.
pub(super) fn buffer<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<(), ProbeError> {
    let question = Question::Buffer;
    if probing.overlaps().is_none() {
        let why = "the device executes one read at a time; such devices pause for other reasons than a full write buffer";
        probing.add(question.unknown(why));
        return Ok(());
    }
    let some = places(span.0, BLOCK, QUIET, probing.options.seed ^ 0xb0f);
    let until = probing.target.now() + Nanos(probing.time_left().0 / REST);
    settled::settle(probing, &some, until)?;
    let mut shown = Vec::new();
    let found = look(probing, span, &mut shown)?;
    let shown = shown.join("; ");
    probing.add(match found {
        Some(bytes) => {
            let evidence = format!(
                "bursts after idle time; data accepted before the first pause, less the data programmed until then, in partial and whole bursts: {shown}"
            );
            let (value, answer) = (Value::Bytes(bytes), format!("about {}", size(bytes)));
            question.answer(value, answer, Strength::Strong, evidence)
        }
        None if shown.is_empty() => {
            let why = "bursts of writes after idle time show no pause that a full write buffer would cause";
            question.unknown(why)
        }
        None => {
            let why = format!("bursts after idle time show a full write buffer at different amounts: {shown}");
            question.unknown(why)
        }
    });
    Ok(())
}

/// The buffer size on which bursts of one length agree and that longer ones do not contradict; `None` without such a size. Adds
/// the results of each length to `shown`.
fn look<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
    shown: &mut Vec<String>,
) -> Result<Option<u64>, ProbeError> {
    let mut agreed: Option<u64> = None;
    for level in LEVELS {
        let mut bursts = Vec::new();
        if !more(probing, span, level, level.first, &mut bursts)? {
            break;
        }
        let step = probing.clock.as_secs_f64();
        let here = full(&bursts, level, step);
        if let Some(bytes) = agreed
            && here.is_none_or(|here| near(here, bytes as f64))
        {
            break;
        }
        agreed = None;
        if here.is_none() {
            continue;
        }
        more(probing, span, level, level.all, &mut bursts)?;
        let mut sizes = Sizes::of(&bursts, level, step);
        if sizes.all.is_some()
            && sizes.agreed().is_none()
            && more(probing, span, level, 2 * level.all, &mut bursts)?
        {
            sizes = Sizes::of(&bursts, level, step);
        }
        shown.push(sizes.shown(level));
        agreed = sizes.agreed();
    }
    Ok(agreed)
}

fn near(size: f64, all: f64) -> bool {
    (size / all - 1.0).abs() <= SPREAD
}

/// Buffer size from these bursts together, bytes; `None` if they show no full buffer.
fn full(bursts: &[Vec<f64>], level: Level, step: f64) -> Option<f64> {
    held(&usual(bursts, step), step).map(|n| n * level.length as f64)
}

/// Smallest number of bursts of which a majority is enough.
const LEAST: usize = 3;
/// From this number of bursts on, parts leave out a third of them instead of half.
const MANY: usize = 6;

/// Buffer sizes from all bursts, from parts of them, and from each burst, bytes.
struct Sizes {
    all: Option<f64>,
    parts: Vec<Option<f64>>,
    singles: Vec<Option<f64>>,
}

impl Sizes {
    fn of(bursts: &[Vec<f64>], level: Level, step: f64) -> Self {
        // Halves of few bursts; two thirds of many.
        let parts = if bursts.len() < MANY { 2 } else { 3 };
        let part = |left_out: usize| {
            let numbered = bursts.iter().enumerate();
            let part = numbered.filter(|(n, _)| n % parts != left_out);
            full(
                &part.map(|(_, b)| b.clone()).collect::<Vec<_>>(),
                level,
                step,
            )
        };
        let singles = bursts.iter().map(std::slice::from_ref);
        Sizes {
            all: full(bursts, level, step),
            parts: (0..parts).map(part).collect(),
            singles: singles.map(|burst| full(burst, level, step)).collect(),
        }
    }

    /// The size from all bursts, if it agrees with all parts or with most single bursts.
    fn agreed(&self) -> Option<u64> {
        let all = self.all?;
        let near = |size: &Option<f64>| size.is_some_and(|s| near(s, all));
        let near_ones = self.singles.iter().filter(|s| near(s)).count();
        // No part may show a different size.
        let none_other = self.parts.iter().all(|part| part.is_none() || near(part));
        let most = 2 * near_ones > self.singles.len().max(LEAST) && none_other;
        (most || self.parts.iter().all(near)).then_some(all as u64)
    }

    fn shown(&self, level: Level) -> String {
        let sizes = self.parts.iter().chain([&self.all]);
        let sizes = sizes.map(|n| n.map_or("none".to_string(), |n| size(n as u64)));
        let sizes: Vec<String> = sizes.collect();
        let bursts = format!("{} of {}", self.singles.len(), size(level.bytes()));
        format!("{bursts}: {}", sizes.join(", "))
    }
}

/// Writes bursts until there are `count`; false if the budget or the device does not allow it.
fn more<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
    level: Level,
    count: usize,
    bursts: &mut Vec<Vec<f64>>,
) -> Result<bool, ProbeError> {
    while bursts.len() < count {
        let left = LOOKED + map_range::needs(probing.target.whole());
        if probing.writes_left() < level.bytes() + left || span.0 < 2 * level.bytes() {
            return Ok(false);
        }
        probing.target.flush()?;
        probing.target.idle(IDLE)?;
        let seed = probing.options.seed + bursts.len() as u64;
        let order = places(span.0, level.bytes(), 16, seed);
        let begin = order.first().copied().unwrap_or(0);
        let at: Vec<u64> = (0..level.count).map(|i| begin + i * level.length).collect();
        let ends = probing
            .target
            .many(OpKind::Write, &at, level.length as u32, DEPTH)?;
        let ends: Vec<f64> = ends.iter().map(|t| t.as_secs_f64()).collect();
        let slow = ends.last().is_some_and(|end| *end > SLOW) && bursts.is_empty();
        bursts.push(ends);
        if slow {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Pauses of the host differ from the median by more than this many clock steps plus `SHARE_OFF` of the median.
const STEPS_OFF: f64 = 2.0;
const SHARE_OFF: f64 = 0.1;

/// Completion times of a typical burst: for each gap, the mean of the bursts near the median.
fn usual(bursts: &[Vec<f64>], step: f64) -> Vec<f64> {
    let count = bursts.iter().map(Vec::len).min().unwrap_or(0);
    let mut now = 0.0;
    let ends = (0..count).map(|i| {
        let before = |burst: &Vec<f64>| if i == 0 { 0.0 } else { burst[i - 1] };
        let gaps: Vec<f64> = bursts
            .iter()
            .map(|burst| burst[i] - before(burst))
            .collect();
        let middle = median(&gaps);
        let off = STEPS_OFF * step + SHARE_OFF * middle;
        now += mean_near(&gaps, middle, off);
        now
    });
    ends.collect()
}

/// A gap between completions is a pause if it is at least this many times the mean gap before it, and at least `PAUSE_STEPS`
/// steps of the clock.
const PAUSE: f64 = 3.5;
const PAUSE_STEPS: f64 = 2.5;
/// Least median pause, in steps of the clock; shorter pauses would be missed in part.
const CLEAR_STEPS: f64 = 2.9;
/// Longest pause between waves, in wave periods; a first pause that takes longer is another kind of pause.
const LATE: f64 = 1.2;
/// Number of longest pauses that define the waves; some of the longest may be single stalls of the device.
const WAVES: usize = 3;
/// Longest pause within a wave, as a share of the pauses between waves.
const WITHIN: f64 = 0.25;
/// Writes before the first pause, at least.
const SETTLED: usize = 8;
/// Largest share of the burst's writes before the first pause.
const EARLY: f64 = 0.75;
/// Least ratio of the mean time per write after the first pause to that before it.
const SLOWER: f64 = 1.4;

/// Writes in the full buffer: those before the first pause, less those programmed until then. Programming continues in waves on
/// all dies at once; after the first pause, each wave makes room for as many writes as the previous one, after a pause of its
/// own. The first pause ends with a wave, and the first wave starts with the burst. Times count from the first completion, as a
/// device may have to wake up for the first write.
fn held(ends: &[f64], step: f64) -> Option<f64> {
    let begin = *ends.first()?;
    let ends: Vec<f64> = ends.iter().map(|end| end - begin).collect();
    let pauses = between_waves(&ends, step)?;
    let first = *pauses.first()?;
    let periods = pauses.windows(2).map(|w| ends[w[1]] - ends[w[0]]);
    let writes = pauses.windows(2).map(|w| (w[1] - w[0]) as f64);
    let period = median(&periods.collect::<Vec<_>>());
    let wave = median(&writes.collect::<Vec<_>>());
    // A first pause longer than a period means that no wave was done before it, for example because a block was erased.
    let waits = |i: &usize| ends[*i] - ends[i - 1];
    let waves = match waits(&first) > LATE * period {
        true => 0.0,
        false => (ends[first] / period.max(1e-9)).round() - 1.0,
    };
    let pause = median(&pauses.iter().map(waits).collect::<Vec<_>>());
    let held = first as f64 - waves.max(0.0) * wave;
    let early = ends[first - 1] / first as f64;
    let late = (ends[ends.len() - 1] - ends[first - 1]) / (ends.len() - first) as f64;
    let seen = first > SETTLED && (first as f64) < EARLY * ends.len() as f64;
    let clear = late > SLOWER * early && pause >= CLEAR_STEPS * step;
    (seen && clear && held > 0.0).then_some(held)
}

/// Indices of the writes that waited for a wave; `None` if there are too few.
fn between_waves(ends: &[f64], step: f64) -> Option<Vec<usize>> {
    let gap = |i: usize| ends[i] - ends[i - 1];
    let first = (SETTLED..ends.len()).find(|i| {
        let usual = ends[i - 1] / (i - 1) as f64;
        gap(*i) > (PAUSE * usual).max(PAUSE_STEPS * step)
    })?;
    let long = (PAUSE * ends[first - 1] / first as f64).max(PAUSE_STEPS * step);
    let pauses = (first..ends.len()).filter(|i| gap(*i) > long);
    let pauses: Vec<usize> = pauses.collect();
    let mut lengths: Vec<f64> = pauses.iter().map(|i| gap(*i)).collect();
    lengths.sort_unstable_by(|a, b| b.total_cmp(a));
    let longest = lengths.get(WAVES - 1)?;
    let waits = pauses.into_iter().filter(|i| gap(*i) >= WITHIN * longest);
    Some(waits.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completion times of writes that take 1 µs each while fewer than `room` are buffered; `wave` of them are programmed every
    /// 100 µs.
    fn burst(count: usize, room: usize, wave: usize) -> Vec<f64> {
        let mut now = 0.0_f64;
        let mut ends = Vec::new();
        for n in 0..count {
            now += 1e-6;
            let waves = (n + 1).saturating_sub(room).div_ceil(wave);
            now = now.max(waves as f64 * 100e-6);
            ends.push(now);
        }
        ends
    }

    #[test]
    fn what_was_programmed_before_the_first_pause_is_not_held() {
        assert_eq!(held(&burst(256, 50, 20), 0.0), Some(50.0));
        // Two waves of 30 are programmed before the first pause.
        let held = held(&burst(640, 150, 30), 0.0).unwrap();
        assert!((held - 150.0).abs() <= 8.0, "{held}");
        // No pause; and a pause too early in the burst.
        assert_eq!(super::held(&burst(256, 1000, 20), 0.0), None);
        assert_eq!(super::held(&burst(256, 4, 4), 0.0), None);
    }

    #[test]
    fn pauses_of_single_bursts_do_not_count() {
        let clean = burst(256, 50, 20);
        let mut bursts = vec![clean.clone(); 5];
        for (i, burst) in bursts.iter_mut().enumerate() {
            // A pause of the host, at a different write in each burst.
            burst
                .iter_mut()
                .skip(12 + 5 * i)
                .for_each(|end| *end += 3e-3);
        }
        let usual = usual(&bursts, 1e-9);
        let off = usual.iter().zip(&clean).map(|(u, c)| (u - c).abs());
        assert!(off.fold(0.0, f64::max) < 1e-9);
    }
}
