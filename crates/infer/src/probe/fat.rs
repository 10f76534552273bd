//! Whether some of the first units are treated specially, as those with a file allocation table are: written at another
//! rate than the others, or kept open beside them.

use super::Probing;
use super::confidence::Strength;
use super::finding::{Finding, Value};
use crate::flashbench::{Care, Knee, OpenAu, OpenUnits, Order, PIECES, median, shuffled};
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// First units that are looked at, at most; "no" needs all of them.
const FIRST: u32 = 16;
/// Fewer of them give no scatter.
const LEAST: u32 = 6;
/// Times that each is written.
const PASSES: u64 = 3;
/// A unit differs if it does by this many times the scatter of all, and by this factor.
const SCATTER: f64 = 6.0;
pub(super) const FACTOR: f64 = 1.15;
/// A unit that differs in this share of the rows may be treated otherwise: a stall falls into one row.
const SOME: f64 = 0.5;
/// The same of one that differs by little in almost all of them.
const ALMOST_ALL: f64 = 0.8;
const SLIGHT: f64 = 1.03;
/// Turns of small writes to every first unit, at most and at least.
const TURNS: (u32, u32) = (5, 3);
/// Share of the time that is left which they may take.
const SHARE: f64 = 0.4;

const ASKED: (&str, &str) = ("fat", "First units treated otherwise");

/// Compares the first units with each other in both ways.
pub(super) fn first_units<T: Target>(
    probing: &mut Probing<'_, T>,
    (unit, piece): (u64, u64),
    open: Option<OpenUnits>,
) -> Result<(), ProbeError> {
    let (id, question) = ASKED;
    let room = probing.target.whole().0 / unit.max(1);
    // Each is written once per pass, and one more before the first.
    let affordable = (probing.writes_left() / 2 / unit.max(1) / PASSES).saturating_sub(1);
    let units = u64::from(FIRST).min(room / 2).min(affordable) as u32;
    if units < LEAST {
        let why = format!(
            "only {units} units could be written: the device is small, or the budget of writes is spent"
        );
        probing.add(Finding::cannot_tell(id, question, why));
        return Ok(());
    }
    let kept = kept_open(probing, unit, units, open)?;
    let rates = rates(probing, (unit, piece), units)?;
    let few = (rates.len() as u64) < PASSES;
    let mut compared = match few {
        true => compare(&[], 1.0),
        false => compare(&rates, 1.0),
    };
    if kept.as_ref().is_none_or(Vec::is_empty)
        && !lasting(probing, (unit, piece), units, &compared)?
    {
        let units = compared.different.drain(..).map(|(unit, _)| unit);
        compared.doubtful.extend(units);
    }
    let mut said: Vec<String> = compared
        .different
        .iter()
        .map(|(unit, ratio)| {
            format!(
                "unit {unit} at {ratio:.2} of the rate of the others, each time apart from them"
            )
        })
        .collect();
    let kept_units = kept.as_ref().map_or(&[][..], |k| k);
    said.extend(
        kept_units
            .iter()
            .map(|u| format!("unit {u} is kept open beside the others")),
    );
    let all = units == FIRST;
    probing.add(if !said.is_empty() {
        let strength = match kept_units.is_empty() {
            true => Strength::Fair,
            false => Strength::Strong,
        };
        let answer = "yes".to_string();
        Finding::new(id, question, Value::Flag(true), answer, strength, said.join("; "))
    } else if kept.is_some() && !few && compared.resolution < FACTOR && compared.doubtful.is_empty() && all {
        let evidence = format!(
            "the first {units} units are written alike within {:.0} %, and none is kept open beside the others",
            100.0 * (compared.resolution - 1.0)
        );
        Finding::new(id, question, Value::Flag(false), "no".to_string(), Strength::Weak, evidence)
    } else {
        let why = match kept {
            None if !compared.doubtful.is_empty() => "one is written at another rate some of the times; whether one is kept open beside the others could not be measured",
            None => "none is written at another rate; whether one is kept open beside the others could not be measured",
            Some(_) if few => "none is kept open beside the others; the budget of time ends before each is written often enough",
            Some(_) if !all => "not among the first units that the budget reaches; it may lie further up",
            Some(_) => "the rates of the units scatter too much, or one differs some of the times",
        };
        Finding::cannot_tell(id, question, format!("{units} units: {why}"))
    });
    Ok(())
}

/// Rates of the first units, `rates[pass][unit]`, of as many passes as the time allows. Each pass has another order and starts with a unit that does not
/// count, so that work left over from before slows none of them.
fn rates<T: Target>(
    probing: &mut Probing<'_, T>,
    (unit, piece): (u64, u64),
    units: u32,
) -> Result<Vec<Vec<f64>>, ProbeError> {
    let mut passes = Vec::new();
    let seed = probing.options.seed;
    // The first one that is written tells how long the others take.
    let first = probing.timed(|p| whole(p, u64::from(units) * unit, (unit, piece)))?;
    let all = first.0.saturating_mul(PASSES * u64::from(units + 1));
    if Nanos(all + all / 8) > probing.time_left() {
        return Ok(passes);
    }
    for pass in 0..PASSES {
        let mut row = vec![0.0; units as usize];
        let order = shuffled(units, seed ^ 0xfa7 ^ pass);
        for number in std::iter::once(units).chain(order) {
            let spent = probing.timed(|p| whole(p, u64::from(number) * unit, (unit, piece)))?;
            if let Some(rate) = row.get_mut(number as usize) {
                *rate = unit as f64 / spent.as_secs_f64().max(1e-9);
            }
        }
        passes.push(row);
    }
    Ok(passes)
}

/// Writes a unit in pieces.
fn whole<T: Target>(
    probe: &mut Probe<'_, T>,
    begin: u64,
    (unit, piece): (u64, u64),
) -> Result<Nanos, ProbeError> {
    let piece = piece.clamp(512, unit);
    let mut spent = Nanos::ZERO;
    for at in (begin..begin + unit).step_by(piece as usize) {
        spent += probe.write(Bytes(at), Bytes(piece.min(begin + unit - at)))?;
    }
    Ok(spent)
}

/// Comparison of the rates of the first units.
pub(super) struct Compared {
    /// Units that differ in enough rows, in one direction, with the median ratio.
    pub(super) different: Vec<(usize, f64)>,
    /// Units that differ in some of the rows, too few to be sure.
    pub(super) doubtful: Vec<usize>,
    /// A unit that differs by this factor would have been noticed.
    pub(super) resolution: f64,
}

/// Compares units by rows of rates, `rates[row][unit]`. A unit differs in a row if it does by far more than the rows'
/// scatter, which the middle half of the units gives; it is treated otherwise if it differs in `enough` of the rows. It is
/// doubtful if it does in half of them, or by little in almost all.
pub(super) fn compare(rates: &[Vec<f64>], enough: f64) -> Compared {
    let units = rates.iter().map(Vec::len).min().unwrap_or(0);
    let rows: Vec<(f64, f64)> = rates
        .iter()
        .map(|row| {
            let middle = median(row).max(1e-9);
            let off: Vec<f64> = row.iter().map(|r| (r - middle).abs()).collect();
            // As large as a standard deviation would be for normal noise; equal times are equal by the clock only.
            (middle, (1.48 * median(&off)).max(0.005 * middle))
        })
        .collect();
    let (mut different, mut doubtful) = (Vec::new(), Vec::new());
    for unit in 0..units {
        let ratios = rates.iter().zip(&rows).map(|(p, r)| p[unit] / r.0);
        let ratios: Vec<f64> = ratios.collect();
        // The share of the rows in which it differs in one direction, by more than the scatter and by a factor.
        let share = |factor: f64| {
            let bar = |r: &(f64, f64)| (SCATTER * r.1 / r.0).max(factor - 1.0);
            let pairs = || ratios.iter().zip(&rows);
            let above = pairs().filter(|(q, r)| *q - 1.0 > bar(r)).count();
            let below = pairs().filter(|(q, r)| 1.0 / *q - 1.0 > bar(r)).count();
            above.max(below) as f64 / ratios.len().max(1) as f64
        };
        if share(FACTOR) >= enough {
            different.push((unit, median(&ratios)));
        } else if share(FACTOR) >= SOME || share(SLIGHT) >= ALMOST_ALL {
            doubtful.push(unit);
        }
    }
    Compared {
        different,
        doubtful,
        resolution: 1.0 + rows.iter().map(|r| SCATTER * r.1 / r.0).fold(0.0, f64::max),
    }
}

/// Writes in order to units from the one with this number on.
fn in_order_from(first: u32, unit: u64, seed: u64) -> OpenAu {
    OpenAu {
        unit,
        order: Order::Linear,
        seed,
        budget: None,
        care: Care {
            from: u64::from(first) * unit,
            ..Care::default()
        },
    }
}

/// Units that are written between two measurements of one, so that no log holds its data any more.
const OTHERS: u32 = 33;

/// Whether the unit that differs most differs each time after many other units were written: what a shared log holds is
/// written more slowly until it is merged, pass after pass. `false` also where the budget does not reach.
fn lasting<T: Target>(
    probing: &mut Probing<'_, T>,
    (unit, piece): (u64, u64),
    units: u32,
    compared: &Compared,
) -> Result<bool, ProbeError> {
    let apart = |ratio: f64| ratio.max(1.0 / ratio.max(1e-9));
    let most = compared.different.iter().copied();
    let Some((suspect, ratio)) = most.max_by(|a, b| apart(a.1).total_cmp(&apart(b.1))) else {
        return Ok(true);
    };
    let special = |n: &u32| compared.different.iter().any(|d| d.0 == *n as usize);
    let Some(control) = (0..units).find(|n| !special(n)) else {
        return Ok(false);
    };
    let plan = in_order_from(FIRST + 4, unit, probing.options.seed);
    let others = plan.fitting(probing.target.whole(), OTHERS);
    for turn in 0..PASSES {
        let began = probing.target.now();
        for number in 0..others {
            let at = plan.place(u64::from(number)) + turn * unit;
            if at + piece <= probing.target.whole().0 {
                probing.timed(|p| p.write(Bytes(at), Bytes(piece)))?;
            }
        }
        let mut order = [u64::from(control), suspect as u64];
        if turn % 2 == 1 {
            order.reverse();
        }
        let mut took = [0.0; 2];
        for number in order {
            let spent = probing.timed(|p| whole(p, number * unit, (unit, piece)))?;
            took[usize::from(number == suspect as u64)] = spent.as_secs_f64();
        }
        // The rate of the suspect, as a share of that of the control.
        let here = took[0] / took[1].max(1e-9);
        let same_side = (here > 1.0) == (ratio > 1.0);
        if !same_side || apart(here) < FACTOR {
            return Ok(false);
        }
        let spent = probing.target.now().saturating_sub(began);
        if spent + spent > probing.time_left() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Target of the small write of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Small {
    /// There is none: a read of as much interrupts the writes, which on some hosts costs time by itself.
    None,
    /// To one of the first units.
    First(u32),
    /// To a unit beside those with data.
    Beside,
}

/// Which of the first units are kept open beside as many others as stay open; `None` if that is unclear.
fn kept_open<T: Target>(
    probing: &mut Probing<'_, T>,
    unit: u64,
    units: u32,
    open: Option<OpenUnits>,
) -> Result<Option<Vec<u32>>, ProbeError> {
    let Some(OpenUnits {
        knee: Knee::At { units: data, .. },
        length,
    }) = open
    else {
        return Ok(None);
    };
    let plan = in_order_from(FIRST + 1, unit, probing.options.seed);
    if plan.fitting(probing.target.whole(), data + 2) < data + 2 {
        return Ok(None);
    }
    for (piece, turning) in ATTEMPTS {
        let times = in_turn(probing, &plan, (data, length), units, (piece, turning))?;
        let of = |small: Small| {
            let times = times.iter().filter(|t| t.0 == small).map(|t| t.1);
            times.collect::<Vec<f64>>()
        };
        let (alone, beside) = (of(Small::None), of(Small::Beside));
        if alone.len() < TURNS.1 as usize {
            return Ok(None);
        }
        // Of as many turns as are wanted a stall may have struck one on either side.
        let (mut sorted, mut others) = (alone.clone(), beside.clone());
        sorted.sort_unstable_by(f64::total_cmp);
        others.sort_unstable_by(f64::total_cmp);
        let left_out = usize::from(alone.len() >= TURNS.0 as usize);
        let most = sorted
            .iter()
            .rev()
            .nth(left_out)
            .copied()
            .unwrap_or(f64::INFINITY);
        let least = others.get(left_out).copied().unwrap_or(0.0);
        let (fast, slow) = (median(&alone), median(&beside));
        // One unit more must do harm, or nothing follows from one that does none.
        if slow < 1.5 * fast || least <= most {
            continue;
        }
        let Some(kept) = quick_units(units, (fast, slow), |n| of(Small::First(n))) else {
            continue;
        };
        // All of them would mean that small writes to different units do no harm at all.
        return Ok((kept.len() < units as usize).then_some(kept));
    }
    Ok(None)
}

/// A small write to a unit that is not kept open delays the data by this share of what one to a unit beside them does, at
/// least. One that delays it less, and still delays it, ends what the host kept open, and may close no unit.
const AS_SLOW: f64 = 0.6;

/// The units after whose small write the data is written as quickly as after none, by times of each; `None` where one of
/// them is quick in some turns only, or neither quick nor slow. `fast` and `slow` are the times after no small write and
/// after one beside the data.
fn quick_units(
    units: u32,
    (fast, slow): (f64, f64),
    of: impl Fn(u32) -> Vec<f64>,
) -> Option<Vec<u32>> {
    let middle = (fast * slow).sqrt();
    let mut kept = Vec::new();
    for number in 0..units {
        let times = of(number);
        let quick = times.iter().filter(|t| **t < middle).count();
        // A stall makes one turn slow; of few turns all must be quick.
        let stalls = usize::from(times.len() > TURNS.1 as usize);
        if quick + stalls >= times.len() {
            kept.push(number);
        } else if quick > 1 || median(&times) - fast < AS_SLOW * (slow - fast) {
            return None;
        }
    }
    Some(kept)
}

/// Lengths of small writes, and whether the data units are written in the opposite order every other round, until one
/// of them gives an answer. With turning, a card that closes the unit it used least recently closes two units per
/// small write, the first data unit and the small one's; without, it closes all of them: that takes long, but shows
/// where merges are put off.
const ATTEMPTS: [(u64, bool); 4] = [
    (PIECES[0], true),
    (PIECES[1], true),
    (PIECES[0], false),
    (PIECES[1], false),
];

/// Times of a piece into each data unit after a small write; every first unit has its turn.
fn in_turn<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    (data, length): (u32, u64),
    units: u32,
    (piece, turning): (u64, bool),
) -> Result<Vec<(Small, f64)>, ProbeError> {
    let places = (plan.unit / length.max(1)).max(1);
    let began = probing.target.now();
    let may = probing.time_left().as_secs_f64() * SHARE;
    let mut times = Vec::new();
    let mut round = 0;
    let mut slowest_turn: f64 = 0.0;
    let cases: Vec<Small> = (0..units)
        .map(Small::First)
        .chain([Small::None, Small::Beside])
        .collect();
    for turn in 0..TURNS.0 {
        let before = probing.target.now().saturating_sub(began).as_secs_f64();
        if before + slowest_turn > may {
            break;
        }
        for case in shuffled(cases.len() as u32, plan.seed ^ u64::from(turn)) {
            let small = cases[case as usize];
            if round % places == 0 {
                // New units: opening them does not count.
                probing.timed(|p| data_round(p, plan, (data, length), (round, turning)))?;
                round += 1;
            }
            let took = probing.timed(|p| {
                let beside = plan.place(u64::from(data) + 1);
                let at = match small {
                    Small::First(number) => u64::from(number) * plan.unit,
                    Small::None | Small::Beside => beside,
                };
                // The same few sectors again and again, as a table is updated.
                let offset = Bytes(at + u64::from(turn) * piece % (8 * piece).min(plan.unit));
                let piece = Bytes(piece.min(plan.unit));
                match small {
                    Small::None => p.read(offset, piece)?,
                    _ => p.write(offset, piece)?,
                };
                // What the small write itself takes says nothing: whether it closed a data unit, the next ones show.
                data_round(p, plan, (data, length), (round, turning))
            })?;
            round += 1;
            times.push((small, took.as_secs_f64()));
        }
        let now = probing.target.now().saturating_sub(began).as_secs_f64();
        slowest_turn = slowest_turn.max(now - before);
    }
    Ok(times)
}

/// A piece into each data unit; units that are full are followed by others.
fn data_round<T: Target>(
    probe: &mut Probe<'_, T>,
    plan: &OpenAu,
    (data, length): (u32, u64),
    (round, turning): (u64, bool),
) -> Result<Nanos, ProbeError> {
    let places = (plan.unit / length.max(1)).max(1);
    // Between two units that are written in turn lie eleven others.
    let shift = round / places % 11;
    let mut spent = Nanos::ZERO;
    let data = u64::from(data);
    for number in 0..data {
        let number = match turning && round % 2 == 1 {
            true => data - 1 - number,
            false => number,
        };
        let begin = plan.place(number) + shift * plan.unit;
        spent += probe.write(Bytes(begin + round % places * length), Bytes(length))?;
    }
    Ok(spent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_is_neither_quick_nor_slow_is_no_answer() {
        let times = |of: [f64; 3]| move |n: u32| vec![of[n as usize]; 5];
        let found = quick_units(3, (1.0, 10.0), times([1.1, 10.0, 9.0]));
        assert_eq!(found, Some(vec![0]));
        // Only the host was interrupted at the first unit.
        assert_eq!(quick_units(3, (1.0, 10.0), times([5.0, 10.0, 9.0])), None);
    }

    #[test]
    fn units_that_differ_each_time_are_told_from_scatter() {
        let row = |of: &dyn Fn(usize) -> f64| (0..16).map(of).collect::<Vec<f64>>();
        let quick = |u: usize| 10.0 + (u % 3) as f64 * 0.05;
        let special = row(&|u| if u == 5 { 13.0 } else { quick(u) });
        let found = compare(&[special.clone(), special.clone(), special.clone()], 1.0);
        assert_eq!(found.different.len(), 1);
        assert_eq!(found.different[0].0, 5);
        assert!(found.resolution < FACTOR, "{}", found.resolution);
        // Slow in one pass only: a stall.
        let plain = row(&quick);
        let found = compare(&[special, plain.clone(), plain], 1.0);
        assert!(found.different.is_empty());
        assert!(found.doubtful.is_empty());
        // Wide scatter hides it, and is no "no".
        let wild = row(&|u| 5.0 + u as f64);
        let found = compare(&[wild.clone(), wild.clone(), wild], 1.0);
        assert!(found.resolution > FACTOR);
        assert!(compare(&[], 1.0).different.is_empty());
    }
}
