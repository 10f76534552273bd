//! Allocation units that can be written in turn, the first ones among them.

mod places;

use super::finding::{Finding, Value};
use super::knee::{Measured, Numbers};
use super::layout::Layout;
use super::open_answers::{UNITS_MAX, curve_of, short_pieces};
use super::question::Question;
use super::rewritten::{self, Directions};
use super::{Probing, fat, knee, open_answers, withdrawn};
use crate::flashbench::{Care, Knee, OpenAu, OpenUnits, Order, Rate, SHORTEST};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};
use places::{BUDGET, SPECIAL, UNIT_DEFAULT, beginning_low, piece, plan, step_back};

/// Units by which those lie further up that are written in short pieces.
const SHORT_SHIFT: u64 = 9;
/// Bytes that one stream writes for one rate at most.
const ENOUGH: u64 = 24 << 20;
/// Units by which the second look at one of them lies further up.
const ELSEWHERE: u64 = 3;
/// The same of those that are written backwards.
const BACKWARDS: u64 = 4;
/// Share of the time that is left at least where units are counted, and where their number is likely.
const LEAST: f64 = 0.1;
const LIKELY_LEAST: f64 = 0.05;
/// The same where the first ones are looked at.
const FIRST_LEAST: f64 = 0.05;
/// Share of the time that is left at least where all rates are measured again.
const AGAIN: f64 = 0.3;

/// Finds the number of open units in both orders, and how the first ones are treated.
pub(super) fn open<T: Target>(
    probing: &mut Probing<'_, T>,
    layout: Layout,
) -> Result<(), ProbeError> {
    if let Some(why) = probing.overlaps() {
        for question in [Question::OpenLinear, Question::OpenRandom, Question::Fat] {
            probing.add(question.unknown(why.clone()));
        }
        return Ok(());
    }
    probing.target.begin_at(Bytes(layout.first));
    let mut counting = Counting {
        layout,
        page: probing.report.bytes(Question::Page),
        in_order: None,
        random: None,
        linear: None,
        fall: None,
        rewritten: false,
        collapses: Vec::new(),
    };
    // One unit alone says whether it is rewritten, whatever several of them take.
    counting.rewritten(probing)?;
    for order in [Order::Linear, Order::Random] {
        counting.count(probing, order)?;
    }
    if !layout.written && counting.collapses == [false; 2] {
        withdrawn::not_borne_out(&mut probing.report, layout);
    }
    withdrawn::may_be_mapped(&mut probing.report);
    counting.first_units(probing)
}

/// Counts open units, and keeps what is known of them so far.
struct Counting {
    layout: Layout,
    /// The page that reads see, bytes.
    page: Option<u64>,
    /// The rate of one unit in order, bytes per second.
    in_order: Option<f64>,
    /// One unit written at random.
    random: Option<Rate>,
    /// Open units in order, where that is certain, and where rates fall otherwise.
    linear: Option<OpenUnits>,
    fall: Option<OpenUnits>,
    /// A unit is rewritten for each piece out of order.
    rewritten: bool,
    /// Whether writing to ever more units became slow, in each order.
    collapses: Vec<bool>,
}

impl Counting {
    fn plan<T: Target>(&self, probing: &Probing<'_, T>, order: Order) -> (OpenAu, Option<u32>) {
        let unit = self.layout.unit;
        plan(probing, unit.unwrap_or(UNIT_DEFAULT), unit.is_some(), order)
    }

    /// Why units are not counted in an order; `None` where they are.
    fn hindered<T: Target>(&self, probing: &Probing<'_, T>, order: Order) -> Option<&'static str> {
        let fit = self
            .plan(probing, order)
            .0
            .fitting(probing.target.whole(), 1);
        let unplaced = self.layout.unit.is_some() && !self.layout.placed;
        match order {
            _ if probing.writes_left() < 200 << 20 => Some(SPENT),
            Order::Random if unplaced => Some(UNPLACED),
            _ => (fit == 0).then_some(SMALL),
        }
    }

    /// The rate of one unit in an order, so many units further up.
    fn one<T: Target>(
        &self,
        probing: &mut Probing<'_, T>,
        order: Order,
        shift: u64,
    ) -> Result<Rate, ProbeError> {
        let (plan, _) = self.plan(probing, order);
        let length = piece(&plan, self.page, self.layout.unit);
        probing.timed(|p| plan.shifted(p, 1, length, shift))
    }

    /// Looks whether one unit is rewritten for each piece that is written out of order, and says so.
    fn rewritten<T: Target>(&mut self, probing: &mut Probing<'_, T>) -> Result<(), ProbeError> {
        if self.layout.unit.is_none() || self.hindered(probing, Order::Random).is_some() {
            return Ok(());
        }
        let in_order = self.one(probing, Order::Linear, 0)?;
        self.in_order = Some(in_order.bytes_per_s);
        let random = self.one(probing, Order::Random, 1)?;
        self.random = Some(random);
        self.none_at_random(probing, &random)?;
        if !self.rewritten {
            self.backwards(probing)?;
        }
        Ok(())
    }

    /// The same from longer pieces that are written one before the other: no page of them is written in part.
    fn backwards<T: Target>(&mut self, probing: &mut Probing<'_, T>) -> Result<(), ProbeError> {
        let Some(unit) = self.layout.unit else {
            return Ok(());
        };
        let length = step_back(unit, self.page);
        // After the units that may be treated otherwise, however few fit the device.
        let first = OpenAu {
            care: Care {
                from: SPECIAL * unit,
                ..Care::default()
            },
            ..self.plan(probing, Order::Random).0
        };
        let first = first.place(0) + BACKWARDS * unit;
        let rewrites = |d: &Directions| d.rewrites(unit, REWRITTEN);
        let Some(length) = length else {
            return Ok(());
        };
        let seen = rewritten::directions(probing, (unit, first), length, |d| !rewrites(d))?;
        if let Some(found) = rewritten::least_clear(&seen).filter(rewrites) {
            let rate = Rate {
                units: 1,
                length: found.length,
                bytes_per_s: found.length as f64 / found.back_s.max(1e-9),
                whole: false,
            };
            self.none(probing, &rate);
        }
        Ok(())
    }

    fn none<T: Target>(&mut self, probing: &mut Probing<'_, T>, rate: &Rate) {
        self.rewritten = true;
        let unit = self.layout.unit;
        // Of few pieces to a unit, one in a few opens the next one.
        let few = unit.is_some_and(|unit| unit < SMALL_PIECES * rate.length);
        probing.report.curves.extend(curve(Order::Random, &[*rate]));
        probing.add(open_answers::none(
            Question::OpenRandom,
            unit.is_some() && !few,
            rate.length,
        ));
    }

    /// Says that no unit can be written at random, if one is rewritten for each piece, twice: a pause makes one of them slow.
    fn none_at_random<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        random: &Rate,
    ) -> Result<(), ProbeError> {
        let unit = self.layout.unit;
        let slow = |rate: &Rate| self.in_order.is_some_and(|o| rewrites(rate, o, unit));
        if slow(random) && (unit.is_none() || slow(&self.one(probing, Order::Random, ELSEWHERE)?)) {
            self.none(probing, random);
        }
        Ok(())
    }

    /// Counts the open units in an order, and says how many they are.
    fn count<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        order: Order,
    ) -> Result<(), ProbeError> {
        if order == Order::Random && self.rewritten {
            self.collapses.push(true);
            return Ok(());
        }
        let question = open_answers::question(order);
        let likely = self.likely(order);
        // Where the number is likely, few rates bear it out.
        let least = if likely.is_some() {
            LIKELY_LEAST
        } else {
            LEAST
        };
        let late = probing.time_left() < share(probing, least);
        if let Some(why) = self.hindered(probing, order).or(late.then_some(SPENT)) {
            add(probing, question.unknown(why));
            return Ok(());
        }
        let known = self.random.filter(|_| order == Order::Random);
        let one = match known {
            Some(one) => one,
            None => self.one(probing, order, 0)?,
        };
        if order == Order::Random {
            self.none_at_random(probing, &one)?;
            if self.rewritten {
                // With more of them it will not be any faster.
                self.collapses.push(true);
                return Ok(());
            }
        }
        let seen = self.layout.unit;
        let (measured, plan, length) = self.measured(probing, order, (&one, likely))?;
        let none_seen = matches!(measured.found.map(|f| f.knee), Some(Knee::AtLeast(_)));
        let slows = !none_seen || knee::slows_further_up(probing, &plan, length)?;
        self.collapses.push(slows);
        probing.report.curves.extend(curve(order, &measured.rates));
        let finding = knee::answer(question, &measured, seen);
        let in_order = self.in_order.filter(|_| order == Order::Random);
        let slower = in_order.is_some_and(|rate| one.bytes_per_s < AS_QUICK * rate);
        let finding = match finding.value.is_some() && length > SHORTEST && slower {
            true => question.unknown(format!("{}; {REWRITES}", finding.evidence)),
            false => finding,
        };
        if order == Order::Linear {
            self.fall = measured.found;
            self.linear = measured.found.filter(|_| finding.value.is_some());
            // What was left open before may have made one of them slow.
            let rates = measured.rates.iter().filter(|r| r.length == one.length);
            let best = rates.map(|r| r.bytes_per_s).fold(one.bytes_per_s, f64::max);
            self.in_order = Some(best);
        }
        if let Some(Value::Count(units) | Value::Range(_, units)) = finding.value {
            short_rate(probing, &plan, order, (units, length))?;
        }
        add(probing, finding);
        Ok(())
    }

    /// The rates by number of units, the plan by which they were measured, and the length of the pieces.
    fn measured<T: Target>(
        &self,
        probing: &mut Probing<'_, T>,
        order: Order,
        (one, likely): (&Rate, Option<u32>),
    ) -> Result<(Measured, OpenAu, u64), ProbeError> {
        let seen = self.layout.unit;
        let (mut plan, low) = self.plan(probing, order);
        // Fast streams need no more time than some writes take.
        let enough = Nanos::from_secs_f64(ENOUGH as f64 / one.bytes_per_s.max(1.0));
        plan.budget = Some(BUDGET.min(enough));
        let length = one.length;
        let numbers = Numbers {
            most: UNITS_MAX,
            likely,
        };
        let mut measured = knee::measure(probing, &plan, length, numbers)?;
        if let (Some(fit), Some(found)) = (low, measured.found)
            && matches!(found.knee, Knee::AtLeast(n) if n >= fit)
        {
            // More of them fit if the first ones count, which may be treated otherwise.
            plan = OpenAu {
                budget: plan.budget,
                ..beginning_low(probing, plan.unit, seen.is_some(), order)
            };
            measured = knee::measure(probing, &plan, length, numbers)?;
        }
        if measured.by_chance() && probing.time_left() > share(probing, AGAIN) {
            measured = knee::measure(probing, &plan, length, numbers)?;
        }
        let (measured, length) = match seen {
            None => (measured, length),
            Some(_) => knee::with_longest(probing, &plan, length, numbers, measured)?,
        };
        let (measured, length) = knee::borne_out(probing, &plan, length, numbers, measured)?;
        Ok((measured, plan, length))
    }

    /// A card keeps as many units open in a random order as in order, unless these are rewritten.
    fn likely(&self, order: Order) -> Option<u32> {
        match self.linear?.knee {
            Knee::At { units, .. } if order == Order::Random => Some(units),
            _ => None,
        }
    }

    /// How the first units are treated.
    fn first_units<T: Target>(&self, probing: &mut Probing<'_, T>) -> Result<(), ProbeError> {
        let why = match self.layout.unit {
            _ if probing.time_left() < share(probing, FIRST_LEAST) => SPENT,
            Some(_) if !self.layout.placed => UNPLACED,
            Some(unit) => {
                let plan = beginning_low(probing, unit, true, Order::Linear);
                let piece = piece(&plan, self.page, Some(unit));
                return fat::first_units(probing, fat::Unit { size: unit, piece }, self.fall);
            }
            None => "the allocation unit was not found",
        };
        let question = Question::Fat;
        probing.add(question.unknown(why));
        Ok(())
    }
}

/// What short pieces cost where long ones were counted, to compare patterns of all devices.
fn short_rate<T: Target>(
    probing: &mut Probing<'_, T>,
    plan: &OpenAu,
    order: Order,
    (units, length): (u32, u64),
) -> Result<(), ProbeError> {
    let short = plan.lengths(SHORTEST).last().copied();
    let Some(short) = short.filter(|short| *short < length) else {
        return Ok(());
    };
    let rate = probing.timed(|p| plan.shifted(p, units + 1, short, SHORT_SHIFT))?;
    let short = curve(order, &[rate]);
    probing.report.curves.extend(short.map(|curve| Curve {
        name: short_pieces(order),
        ..curve
    }));
    Ok(())
}

/// Adds an answer before that of a later question, where one was found first.
fn add<T: Target>(probing: &mut Probing<'_, T>, finding: Finding) {
    let findings = &mut probing.report.findings;
    let later = findings
        .iter()
        .position(|f| f.question == Question::OpenRandom);
    findings.insert(later.unwrap_or(findings.len()), finding);
}

const SPENT: &str = "the budget of time or writes is spent";
const REWRITES: &str =
    "but one unit alone is slower than in order, as where it is rewritten for each piece";
pub(super) const UNPLACED: &str = "it is not known where the first unit begins";
const SMALL: &str = "the target is too small for units that lie far apart";

/// A share of all the time there is.
fn share<T: Target>(probing: &Probing<'_, T>, share: f64) -> Nanos {
    Nanos((probing.options.time.0 as f64 * share) as u64)
}

fn curve(order: Order, rates: &[Rate]) -> Option<Curve> {
    let points: Vec<(u32, f64)> = rates.iter().map(|r| (r.units, r.bytes_per_s)).collect();
    curve_of(order, &points)
}

/// A piece at a random place costs this share of the time to write the whole unit in order more at least, where the unit is
/// rewritten for it: on average a third of its pages are copied, by a controller that may be some times as fast as the link.
const REWRITTEN: f64 = 0.05;

/// A unit of fewer pieces is full so soon that opening the next one costs as much as rewriting it.
const SMALL_PIECES: u64 = 8;

/// Long pieces of a unit that is not rewritten are written in any order at this share of the rate in order at least.
const AS_QUICK: f64 = 0.8;

/// Whether the rate of one unit written at random shows that it is rewritten for every piece, `rate` being that in order.
fn rewrites(one: &Rate, rate: f64, unit: Option<u64>) -> bool {
    let more_s = one.length as f64 / one.bytes_per_s.max(1e-9) - one.length as f64 / rate.max(1e-9);
    let unit_s = unit.unwrap_or(0) as f64 / rate.max(1e-9);
    2.0 * one.bytes_per_s < rate && more_s > REWRITTEN * unit_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_rewritten_where_each_piece_copies_a_part_of_it() {
        let of = |bytes_per_s| Rate {
            units: 1,
            length: 64 << 10,
            bytes_per_s,
            whole: false,
        };
        // 6.6 ms for a piece in order, and 0.42 s for a unit of 4 MiB.
        let rate = 10e6;
        let more = |more_s: f64| of(65536.0 / (65536.0 / rate + more_s));
        assert!(rewrites(&more(0.03), rate, Some(4 << 20)));
        // A page and the state of a unit, but no copy.
        assert!(!rewrites(&more(0.01), rate, Some(4 << 20)));
        // Less than half of the rate, where the unit is not known.
        assert!(rewrites(&of(4e6), rate, None) && !rewrites(&of(6e6), rate, None));
    }
}
