//! Number of open allocation units, and the FAT area.

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

/// Offset of measurements with short pieces, in AUs.
const SHORT_SHIFT: u64 = 9;
/// Largest number of bytes per stream for measuring one rate.
const ENOUGH: u64 = 24 << 20;
/// Offset of the second test of a single AU, in AUs.
const ELSEWHERE: u64 = 3;
/// Offset of the AUs that are written backwards, in AUs.
const BACKWARDS: u64 = 4;
/// Share of the total time that must remain for counting AUs; then the share if their number is likely.
const LEAST: f64 = 0.1;
const LIKELY_LEAST: f64 = 0.05;
/// Remaining time that the search for the FAT area requires, as a share of the total time.
const FIRST_LEAST: f64 = 0.05;
/// Remaining time that repeating all rates requires, as a share of the total time.
const AGAIN: f64 = 0.3;

/// Finds the number of open AUs in both orders, and the FAT area.
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
        page: probing.report.whole_page(),
        in_order: None,
        random: None,
        linear: None,
        fall: None,
        rewritten: false,
        collapses: Vec::new(),
    };
    // A single AU shows whether it is rewritten for pieces out of order.
    counting.rewritten(probing)?;
    for order in [Order::Linear, Order::Random] {
        counting.count(probing, order)?;
    }
    if !layout.written && counting.collapses == [false; 2] {
        withdrawn::not_borne_out(&mut probing.report);
    }
    withdrawn::may_be_mapped(&mut probing.report);
    counting.first_units(probing)
}

/// State of counting the open AUs.
struct Counting {
    layout: Layout,
    /// Size of the largest page that reads show, bytes.
    page: Option<u64>,
    /// Rate of one AU in sequential order, bytes per second.
    in_order: Option<f64>,
    /// Rate of one AU in random order.
    random: Option<Rate>,
    /// Fall of the sequential rates if the number of open AUs is certain; and the fall in any case.
    linear: Option<OpenUnits>,
    fall: Option<OpenUnits>,
    /// Whether an AU is rewritten for every piece out of order.
    rewritten: bool,
    /// For each order, whether writing more and more AUs became slow.
    collapses: Vec<bool>,
}

impl Counting {
    fn plan<T: Target>(&self, probing: &Probing<'_, T>, order: Order) -> (OpenAu, Option<u32>) {
        let unit = self.layout.unit;
        plan(probing, unit.unwrap_or(UNIT_DEFAULT), unit.is_some(), order)
    }

    /// Why AUs cannot be counted in this order; `None` if they can.
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

    /// Measures the rate of one AU in this order, `shift` AUs further up.
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

    /// Tests whether an AU is rewritten for every piece out of order, and adds the finding if it is.
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

    /// Tests the same with longer pieces in descending order, which contain no partial pages.
    fn backwards<T: Target>(&mut self, probing: &mut Probing<'_, T>) -> Result<(), ProbeError> {
        let Some(unit) = self.layout.unit else {
            return Ok(());
        };
        let length = step_back(unit, self.page);
        // Above special first AUs, even if few AUs fit there.
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
        // With few pieces per AU, many of the pieces open the next AU.
        let few = unit.is_some_and(|unit| unit < SMALL_PIECES * rate.length);
        probing.report.curves.extend(curve(Order::Random, &[*rate]));
        probing.add(open_answers::none(
            Question::OpenRandom,
            unit.is_some() && !few,
            rate.length,
        ));
    }

    /// Adds the finding that no AU stays open in random order, if both of two AUs are rewritten for every piece: a
    /// pause may make one of them slow.
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

    /// Counts the open AUs in this order, and adds the finding.
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
        // Few rates confirm a likely number.
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
                // More interleaved AUs are not faster.
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
            // Older open AUs may have made the first rate low.
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

    /// Rates by number of AUs, the plan of the measurement, and the length of the pieces, bytes.
    fn measured<T: Target>(
        &self,
        probing: &mut Probing<'_, T>,
        order: Order,
        (one, likely): (&Rate, Option<u32>),
    ) -> Result<(Measured, OpenAu, u64), ProbeError> {
        let seen = self.layout.unit;
        let (mut plan, low) = self.plan(probing, order);
        // Fast streams need less time than `BUDGET`.
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
            // More AUs fit if the possibly special first ones are included.
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

    /// The likely number: a card keeps as many AUs open in random order as in sequential order, unless it rewrites them.
    fn likely(&self, order: Order) -> Option<u32> {
        match self.linear?.knee {
            Knee::At { units, .. } if order == Order::Random => Some(units),
            _ => None,
        }
    }

    /// Searches the FAT area.
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

/// If AUs were counted with long pieces, measures the cost of short ones too, to compare patterns of all devices.
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

/// Adds a finding, before that for random order if the latter was found first.
fn add<T: Target>(probing: &mut Probing<'_, T>, finding: Finding) {
    let findings = &mut probing.report.findings;
    let later = findings
        .iter()
        .position(|f| f.question == Question::OpenRandom);
    findings.insert(later.unwrap_or(findings.len()), finding);
}

const SPENT: &str = "the budget of time or writes is spent";
const REWRITES: &str = "but a single unit alone is slower than sequential writes, as if it were rewritten for each piece";
pub(super) const UNPLACED: &str = "the start of the first allocation unit is unknown";
const SMALL: &str = "the target is too small for allocation units far apart from each other";

/// A share of the total time.
fn share<T: Target>(probing: &Probing<'_, T>, share: f64) -> Nanos {
    Nanos((probing.options.time.0 as f64 * share) as u64)
}

fn curve(order: Order, rates: &[Rate]) -> Option<Curve> {
    let points: Vec<(u32, f64)> = rates.iter().map(|r| (r.units, r.bytes_per_s)).collect();
    curve_of(order, &points)
}

/// Least cost of a random piece in an AU that is rewritten for it, as a share of the time to write the whole AU: on average a
/// third of its pages are copied, by a controller that may be a few times as fast as the link.
const REWRITTEN: f64 = 0.05;

/// Number of pieces per AU below which opening the next AU costs as much as rewriting.
const SMALL_PIECES: u64 = 8;

/// Least rate of long random pieces in an AU that is not rewritten, as a share of the sequential rate.
const AS_QUICK: f64 = 0.8;

/// Whether the random rate of one AU shows that it is rewritten for every piece; `rate` is the sequential rate, bytes per second.
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
        // A sequential piece takes 6.6 ms, an AU of 4 MiB 0.42 s.
        let rate = 10e6;
        let more = |more_s: f64| of(65536.0 / (65536.0 / rate + more_s));
        assert!(rewrites(&more(0.03), rate, Some(4 << 20)));
        // Cost of a page and the state of an AU, without a copy.
        assert!(!rewrites(&more(0.01), rate, Some(4 << 20)));
        // Less than half of the rate, with an unknown AU.
        assert!(rewrites(&of(4e6), rate, None) && !rewrites(&of(6e6), rate, None));
    }
}
