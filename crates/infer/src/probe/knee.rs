//! Number of open AUs: finds the fall of the rate, measures it repeatedly on both sides, and distinguishes a merge from loading
//! the state of another open AU.

use super::Probing;
use super::confidence::Strength;
use super::finding::{Finding, Value, counted, size};
use super::open_answers::{self, UNITS_MAX};
use super::question::Question;
use crate::flashbench::{Knee, OpenAu, OpenUnits, Order, Rate, VISIBLE, open_units, search};
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;

/// Pairs of measurements on either side of the fall: maximum, then minimum.
const REPEATS: (usize, usize) = (4, 3);
/// Share of the remaining time for the repeated pairs.
const SHARE: f64 = 0.4;
/// Share of the total time for a pair above which two pairs of a deep fall are enough.
const DEAR: f64 = 0.02;
/// Share of the total time for a pair above which one pair of a deep fall is enough.
const DEAREST: f64 = 0.05;
/// Remaining write budget required for a measurement, bytes.
const LEFT: u64 = 256 << 20;
/// Least ratio of the rates of N and N + 1 interleaved AUs.
const STEP: f64 = 1.5;
/// Least factor of a second fall at more AUs.
const DEEPER: f64 = 1.5;
/// Ratio of the rates from which a fall is almost certain.
const CERTAIN: f64 = 2.0;
/// Least ratio of the rates without a known AU, as the cost of closing one is then unknown.
const ALONE: f64 = 4.0;
/// A fall by this factor is a merge: loading a state costs only a few pages.
const DEEP: f64 = 8.0;
/// Least cost of closing an AU, as a share of the time to write a whole one; a lower cost is that of loading a state.
const MERGE: f64 = 0.05;
/// Like `MERGE`, for a card with one open AU: on many hosts a second stream costs some time even without a merge.
const MERGE_OF_ONE: f64 = 0.1;

/// Numbers of interleaved AUs to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// Largest number of interleaved AUs.
    pub(super) most: u32,
    /// Number of AUs after which the rate is likely to fall; `None` if unknown.
    pub(super) likely: Option<u32>,
}

/// Rates of one order.
pub(super) struct Measured {
    /// Rates by number of interleaved AUs.
    pub(super) rates: Vec<Rate>,
    /// Repeated rates at the last number before the fall and at the next, bytes per second.
    pub(super) beside: (Vec<f64>, Vec<f64>),
    /// The fall of the rates; `None` without a fall.
    pub(super) found: Option<OpenUnits>,
    /// A larger number of interleaved AUs at which the rate falls once more; `None` if it does not.
    pub(super) deeper: Option<u32>,
}

impl Measured {
    /// Whether the first rates, which showed the fall, also fall by this factor.
    fn falls(&self, factor: f64) -> bool {
        let Some(Knee::At { units, .. }) = self.found.map(|f| f.knee) else {
            return false;
        };
        let of = |n: u32| self.rates.iter().find(|r| r.units == n);
        let pair = of(units).zip(of(units + 1));
        pair.is_some_and(|(few, many)| few.bytes_per_s >= factor * many.bytes_per_s)
    }

    /// Whether the repeated rates do not fall where the first ones did, which some disturbance explains.
    pub(super) fn by_chance(&self) -> bool {
        let (few, many) = &self.beside;
        !many.is_empty() && median(few) < STEP * median(many)
    }
}

/// Measures rates by number of AUs until the fall is certain or its time is used up.
pub(super) fn measure<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    length: u64,
    numbers: Numbers,
) -> Result<Measured, ProbeError> {
    let most = numbers.most;
    let mut rates = match likely(probing, plan, length, numbers)? {
        Some(rates) => rates,
        None => probing.timed(|p| search(p, plan, length, most))?,
    };
    let mut found = answers(&rates);
    if let Some(Knee::At { units, drop, .. }) = found.map(|f| f.knee)
        && (drop < DEEP || units == 1 && !merges(&rates, plan.unit))
        && let Some(further) = further(probing, plan, length, (units, most), &rates)?
    {
        rates.extend(further);
        rates.sort_by_key(|r| r.units);
        found = deepest(&rates, length).or(found);
    }
    let mut beside = (Vec::new(), Vec::new());
    let mut deeper = None;
    if let Some(Knee::At { units, .. }) = found.map(|f| f.knee) {
        beside = repeat(probing, plan, length, units)?;
        if median(&beside.0) < DEEP * median(&beside.1) {
            deeper = falls_deeper(probing, plan, length, median(&beside.1))?;
        }
    }
    Ok(Measured {
        rates,
        beside,
        found,
        deeper,
    })
}

/// Whether a piece into a second AU takes so much longer that it must close the first one; then no later fall is larger.
fn merges(rates: &[Rate], unit: u64) -> bool {
    let of = |n: u32| rates.iter().find(|r| r.units == n);
    of(1).zip(of(2)).is_some_and(|(one, two)| {
        let takes = |r: &Rate| r.length as f64 / r.bytes_per_s.max(1e-9);
        takes(two) - takes(one) >= MERGE_OF_ONE * unit as f64 / one.bytes_per_s.max(1e-9)
    })
}

/// Rates of one AU, of the likely number, and of one more; `None` if they do not fall there.
fn likely<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    length: u64,
    numbers: Numbers,
) -> Result<Option<Vec<Rate>>, ProbeError> {
    let most = plan.fitting(probing.target.whole(), numbers.most);
    let Some(likely) = numbers.likely.filter(|n| *n < most) else {
        return Ok(None);
    };
    let mut tried = vec![1, likely, likely + 1];
    tried.dedup();
    let rates = (0..)
        .zip(tried)
        .map(|(shift, units)| probing.timed(|p| plan.shifted(p, units, length, shift)));
    let rates: Vec<Rate> = rates.collect::<Result<_, _>>()?;
    let falls = matches!(answers(&rates), Some(OpenUnits { knee: Knee::At { units, .. }, .. }) if units == likely);
    Ok(falls.then_some(rates))
}

/// Share of the total time for the rate of [`MANY`] AUs, and least number of rounds for it.
const MANY_TIME: f64 = 0.05;
const ROUNDS: f64 = 8.0;

/// Measures [`MANY`] interleaved AUs; returns their number if the rate is far below `slow`, the rate after the first fall. Then
/// the first fall is only that of loading a state.
fn falls_deeper<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    length: u64,
    slow: f64,
) -> Result<Option<u32>, ProbeError> {
    let many = plan.fitting(probing.target.whole(), MANY);
    let pieces = ROUNDS * f64::from(many);
    let takes = DEEPER * pieces * length as f64 / slow.max(1e-9);
    let left = probing.writes_left() > LEFT + (pieces * length as f64) as u64;
    if many <= UNITS_MAX || !left || takes > MANY_TIME * probing.options.time.as_secs_f64() {
        return Ok(None);
    }
    let rate = probing.timed(|p| plan.shifted(p, many, length, LONGER_SHIFT))?;
    Ok((DEEPER * rate.bytes_per_s < slow).then_some(many))
}

/// Falls at up to this many AUs are measured again with pieces `LONGER` times as long.
const FEW_OPEN: u32 = 3;
const LONGER: u64 = 4;
/// Least cost of a merge with longer pieces, as a share of its cost with short ones.
const AS_MUCH: f64 = 0.5;
/// Offset of measurements with longer pieces, in AUs.
const LONGER_SHIFT: u64 = 4;

/// Checks a fall at few AUs with longer pieces: a merge costs as much with them, while partial pages or a short log do not. If
/// the cost is lower, the AUs are counted again with longer pieces. Also returns the length of the pieces, bytes.
pub(super) fn borne_out<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    length: u64,
    numbers: Numbers,
    measured: Measured,
) -> Result<(Measured, u64), ProbeError> {
    let Some(Knee::At { units, .. }) = measured.found.map(|f| f.knee) else {
        return Ok((measured, length));
    };
    let longer = LONGER * length;
    let (few, many) = &measured.beside;
    let fills = plan.unit.is_multiple_of(longer) && longer <= plan.unit / 4;
    if units > FEW_OPEN || many.is_empty() || !fills || probing.writes_left() < LEFT {
        return Ok((measured, length));
    }
    let more = |length: u64, fast: f64, slow: f64| {
        length as f64 / slow.max(1e-9) - length as f64 / fast.max(1e-9)
    };
    let short = more(length, median(few), median(many));
    let mut rate = |units| {
        let rate = probing.timed(|p| plan.shifted(p, units, longer, LONGER_SHIFT));
        rate.map(|rate| rate.bytes_per_s)
    };
    let (fast, slow) = (rate(units)?, rate(units + 1)?);
    if more(longer, fast, slow) >= AS_MUCH * short {
        return Ok((measured, length));
    }
    let again = measure(probing, plan, longer, numbers)?;
    Ok((again, longer))
}

/// Longest piece, bytes: no page is longer.
const LONGEST: u64 = 512 << 10;

/// If there was no fall, but many AUs are written more slowly than one, repeats the measurement with the longest pieces: a single
/// stream of partial pages costs as much as a merge, which hides the fall. Also returns the length of the pieces, bytes.
pub(super) fn with_longest<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    length: u64,
    numbers: Numbers,
    measured: Measured,
) -> Result<(Measured, u64), ProbeError> {
    let longest = plan.lengths(length + 1).into_iter();
    // With pieces that are large parts of an AU, an AU that is rewritten for every piece out of order looks open.
    let parts = match plan.order {
        Order::Linear => 4,
        Order::Random => 16,
    };
    let longest = longest
        .filter(|l| *l <= LONGEST.min(plan.unit / parts))
        .max();
    let none_seen = matches!(measured.found.map(|f| f.knee), Some(Knee::AtLeast(_)));
    let Some(longest) = longest.filter(|_| none_seen) else {
        return Ok((measured, length));
    };
    let most = plan.fitting(probing.target.whole(), numbers.most);
    if probing.writes_left() < LEFT + ROUNDS as u64 * u64::from(most) * longest {
        return Ok((measured, length));
    }
    let one = probing.timed(|p| plan.shifted(p, 1, longest, LONGER_SHIFT))?;
    let many = probing.timed(|p| plan.shifted(p, most, longest, LONGER_SHIFT))?;
    if one.bytes_per_s < STEP * many.bytes_per_s {
        return Ok((measured, length));
    }
    let again = measure(probing, plan, longest, numbers)?;
    Ok((again, longest))
}

/// Number of interleaved AUs that no described card keeps open.
const MANY: u32 = 128;
/// Number of interleaved AUs with which the rate of [`MANY`] is compared.
const FEW: u32 = 8;

/// Whether [`MANY`] interleaved AUs are far slower than a few, every time: then the device has AUs, but keeps more open than were
/// counted.
pub(super) fn slows_further_up<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    length: u64,
) -> Result<bool, ProbeError> {
    let many = plan.fitting(probing.target.whole(), MANY);
    if many <= UNITS_MAX {
        return Ok(false);
    }
    for shift in 0..REPEATS.1 as u64 {
        if probing.writes_left() < 512 << 20 {
            return Ok(false);
        }
        let few = probing.timed(|p| plan.shifted(p, FEW, length, shift + 5))?;
        let many = probing.timed(|p| plan.shifted(p, many, length, shift + 5))?;
        if few.bytes_per_s < CERTAIN * many.bytes_per_s {
            return Ok(false);
        }
    }
    Ok(true)
}

fn answers(rates: &[Rate]) -> Option<OpenUnits> {
    let rates = rates.iter().map(|r| (r.units, r.length, r.bytes_per_s));
    open_units(&rates.collect::<Vec<_>>())
}

/// Rates beyond a shallow fall, if the rate falls once more there; `None` otherwise.
fn further<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    length: u64,
    (units, most): (u32, u32),
    rates: &[Rate],
) -> Result<Option<Vec<Rate>>, ProbeError> {
    let most = plan.fitting(probing.target.whole(), most);
    let Some(slow) = rates.iter().find(|r| r.units == units + 1).copied() else {
        return Ok(None);
    };
    if most <= slow.units {
        return Ok(None);
    }
    let last = probing.timed(|p| plan.shifted(p, most, length, 1))?;
    let mut all = vec![last];
    if last.bytes_per_s * DEEPER > slow.bytes_per_s {
        return Ok(None);
    }
    let between = (last.bytes_per_s * slow.bytes_per_s).sqrt();
    let (mut low, mut high) = (slow.units, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let rate = probing.timed(|p| plan.shifted(p, middle, length, u64::from(middle) % 11))?;
        all.push(rate);
        match rate.bytes_per_s < between {
            true => high = middle,
            false => low = middle,
        }
    }
    Ok(Some(all))
}

/// The last step of at least `STEP` between neighbouring numbers of AUs.
fn deepest(rates: &[Rate], length: u64) -> Option<OpenUnits> {
    let steps = rates.windows(2).filter(|w| w[1].units == w[0].units + 1);
    let best = rates.iter().map(|r| r.bytes_per_s).fold(0.0, f64::max);
    let mut knees = steps.map(|w| {
        let here = w[1].bytes_per_s.max(1e-9);
        Knee::At {
            units: w[0].units,
            drop: best / here,
            step: w[0].bytes_per_s / here,
        }
    });
    // All rates after the last step stay low.
    let knee = knees.rfind(|k| matches!(k, Knee::At { step, .. } if *step >= STEP))?;
    Some(OpenUnits { knee, length })
}

/// Measures N and N + 1 interleaved AUs in pairs, each pair in other AUs. The rates by which N was chosen do not count.
fn repeat<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    length: u64,
    units: u32,
) -> Result<(Vec<f64>, Vec<f64>), ProbeError> {
    let (mut few, mut many) = (Vec::new(), Vec::new());
    let began = probing.target.now();
    let may = probing.time_left().as_secs_f64() * SHARE;
    let mut longest: f64 = 0.0;
    while many.len() < REPEATS.0 {
        let spent = probing.target.now().saturating_sub(began).as_secs_f64();
        if spent + longest > may || probing.writes_left() < LEFT {
            break;
        }
        let shift = many.len() as u64 + 5;
        few.push(
            probing
                .timed(|p| plan.shifted(p, units, length, shift))?
                .bytes_per_s,
        );
        many.push(
            probing
                .timed(|p| plan.shifted(p, units + 1, length, shift))?
                .bytes_per_s,
        );
        let now = probing.target.now().saturating_sub(began).as_secs_f64();
        longest = longest.max(now - spent);
        // Deep falls are merges: if they take long, few pairs are enough.
        let deep = median(&few) >= DEEP * median(&many);
        let share = longest / probing.options.time.as_secs_f64();
        if deep && (many.len() > 1 && share > DEAR || share > DEAREST) {
            break;
        }
    }
    Ok((few, many))
}

/// The number of open AUs, with the strength that the repeated measurements give.
pub(super) fn answer(question: Question, measured: &Measured, unit: Option<u64>) -> Finding {
    let Some(found) = measured.found else {
        return question.unknown("nothing could be measured");
    };
    let Knee::At { units, .. } = found.knee else {
        return open_answers::answer(question, Some(found));
    };
    let (few, many) = &measured.beside;
    let length = found.length;
    if many.is_empty() {
        let why = format!(
            "pieces of {}: the rate falls after {}, and the budget ends before it could be measured again",
            size(length),
            counted(u64::from(units), "interleaved AU", "interleaved AUs")
        );
        return question.unknown(why);
    }
    let (fast, slow) = (median(few), median(many).max(1e-9));
    let step = fast / slow;
    let repeated = match many.len() {
        1 => "measured once each".to_string(),
        n => format!("medians of {n} alternating measurements"),
    };
    let numbers = format!(
        "pieces of {}: {:.2} MB/s with {} and {:.2} MB/s with one more, {repeated}",
        size(length),
        fast / 1e6,
        counted(u64::from(units), "interleaved AU", "interleaved AUs"),
        slow / 1e6,
    );
    // With the full number of pairs and a deep fall, one stall on either side is tolerated.
    let left_out = usize::from(many.len() >= REPEATS.0 && step >= DEEP && unit.is_some());
    let sorted = |of: &[f64]| {
        let mut of = of.to_vec();
        of.sort_unstable_by(f64::total_cmp);
        of
    };
    let (all_few, all_many) = (sorted(few), sorted(many));
    let apart = |left_out: usize| {
        let least = all_few.get(left_out).copied().unwrap_or(0.0);
        let largest = all_many.iter().rev().nth(left_out).copied();
        least > largest.unwrap_or(f64::INFINITY)
    };
    if step < STEP {
        return question.unknown(format!("{numbers}: no step"));
    }
    let twice = unit.is_some() && !many.is_empty() && step >= DEEP && measured.falls(DEEP);
    if many.len() < REPEATS.1 && !twice {
        let why = format!("{numbers}: too few to be certain within the budget");
        return question.unknown(why);
    }
    if !apart(left_out) {
        return question.unknown(format!("{numbers}: they overlap"));
    }
    if unit.is_none() && units == 1 {
        let why = format!(
            "{numbers}: a second stream alone costs as much where pieces end within pages, and without the allocation unit that is not known"
        );
        return question.unknown(why);
    }
    if unit.is_none() && step < ALONE {
        let why = format!("{numbers}: too small a drop as long as the allocation unit is unknown");
        return question.unknown(why);
    }
    if let Some(more) = measured.deeper {
        let why = format!(
            "at least {units}; {numbers}, but it falls once more up to {more} units, as where only the state of another open unit is loaded at first"
        );
        return question.unknown(why);
    }
    let extra = length as f64 / slow - length as f64 / fast;
    let best = measured
        .rates
        .iter()
        .map(|r| r.bytes_per_s)
        .fold(fast, f64::max);
    let merge = match units {
        1 => MERGE_OF_ONE,
        _ => MERGE,
    };
    if let Some(unit) = unit
        && extra < merge * unit as f64 / best
    {
        let why = format!(
            "at least {units}; {numbers}: {:.1} ms more for a piece is too little for closing a unit, as where only the state of another open unit is loaded",
            extra * 1e3
        );
        return question.unknown(why);
    }
    if unit.is_none() && question != Question::OpenLinear {
        let why = format!(
            "{numbers}: the allocation unit is unknown, so the result in random order cannot be interpreted"
        );
        return question.unknown(why);
    }
    if let Some(few_open) = shallow(&measured.rates, units) {
        let evidence = format!(
            "{numbers}; with more than {few_open} it falls by less already, as where AUs share a log, or the state of one is loaded"
        );
        let value = Value::Range(few_open, units);
        let answer = format!("{few_open} to {units}");
        return question.answer(value, answer, Strength::Fair, evidence);
    }
    let strength = match unit {
        None => Strength::Weak,
        Some(_) if many.len() >= REPEATS.0 && apart(0) && step >= CERTAIN => Strength::Strong,
        Some(_) => Strength::Fair,
    };
    question.answer(Value::Count(units), units.to_string(), strength, numbers)
}

/// The number of interleaved AUs after which the rate first falls slightly, if that is before the fall after `units`.
fn shallow(rates: &[Rate], units: u32) -> Option<u32> {
    let mut few: Vec<&Rate> = rates.iter().filter(|r| r.units <= units).collect();
    few.sort_by_key(|r| r.units);
    let last = few.last().filter(|r| r.units == units)?;
    let best = few.iter().map(|r| r.bytes_per_s).fold(0.0, f64::max);
    let quick = |r: &&&Rate| r.bytes_per_s * VISIBLE >= best;
    let quickest = few.iter().rfind(quick)?;
    (last.bytes_per_s * VISIBLE < best && quickest.units < units).then_some(quickest.units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_fall_before_the_deep_one_makes_a_range() {
        let of = |units, bytes_per_s| Rate {
            units,
            length: 64 << 10,
            bytes_per_s,
            whole: false,
        };
        // Four open AUs, and a log for two more.
        let shared = [
            of(1, 9e6),
            of(2, 9e6),
            of(4, 8.9e6),
            of(6, 5e6),
            of(7, 0.1e6),
        ];
        assert_eq!(shallow(&shared, 6), Some(4));
        let plain = [
            of(1, 9e6),
            of(2, 9e6),
            of(4, 8.9e6),
            of(6, 8.8e6),
            of(7, 0.1e6),
        ];
        assert_eq!(shallow(&plain, 6), None);
        assert_eq!(shallow(&[], 6), None);
    }

    #[test]
    fn a_second_unit_that_closes_the_first_needs_no_look_further_up() {
        let of = |units, bytes_per_s| Rate {
            units,
            length: 64 << 10,
            bytes_per_s,
            whole: false,
        };
        // Writing an AU of 64 MiB takes 6.7 s; a second stream alone costs some milliseconds.
        let unit = 64 << 20;
        assert!(merges(&[of(1, 10e6), of(2, 0.02e6)], unit));
        assert!(!merges(&[of(1, 10e6), of(2, 1e6)], unit));
        assert!(!merges(&[of(1, 10e6)], unit));
    }
}
