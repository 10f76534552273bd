//! The controller page: what the controller reads, maps and programs as one, one program unit or several. Reads that cross its
//! boundary take longer, as do those that cross a boundary of flash pages.

use super::Probing;
use super::confidence::Strength;
use super::finding::{Finding, Value, size};
use super::flash::{AtMultiples, PASS, answer};
use super::layout::{MAPPED, PAGE_MAX};
use super::opened::Opened;
use crate::flashbench::{BoundaryPeriod, CardStep, page_of_pages};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;

/// The question.
pub(super) const PAGE: &str = "Controller page, handled as one";

/// A step of a larger page is this share of the first one's at least.
pub(super) const LARGER: f64 = 0.3;
/// A page costs a read across this much at least, µs: the clock of a host is not finer.
pub(super) const PAGE_US: f64 = 3.0;

/// The page: the step that is largest, and one of a larger page that consists of several program units, if there is one
/// below the allocation unit.
pub(super) fn page_answer(found: &AtMultiples, drive: bool, clock_us: f64) -> Finding {
    page_below(found, found.unit.map(|u| u.0.at), drive, clock_us)
}

/// The page once writes have shown the unit: what was as large as an allocation unit is a page, or the unit.
pub(super) fn page_beside(
    page: Finding,
    found: &AtMultiples,
    opened: &Opened,
    clock_us: f64,
) -> Finding {
    match page.value {
        Some(Value::Bytes(at)) if at < opened.unit => page,
        _ => page_below(found, Some(opened.unit), false, clock_us),
    }
}

pub(super) fn page_below(
    found: &AtMultiples,
    unit: Option<u64>,
    drive: bool,
    clock_us: f64,
) -> Finding {
    let finding = answer("page", PAGE, found.page);
    let Some(step) = found.page.filter(|_| finding.value.is_some()) else {
        return finding;
    };
    let cannot = |why: &str| {
        let why = format!("{}: {why}", finding.evidence);
        Finding::cannot_tell("page", PAGE, why)
    };
    if !found.page_twice {
        return cannot("the first pass shows another one");
    }
    let rise = step.to_us - step.from_us;
    if rise < PAGE_US.max(clock_us) {
        return cannot("too little to tell a page from anything else");
    }
    if drive && step.at <= MAPPED {
        return cannot("the mapping unit shows, and no page");
    }
    if drive {
        return cannot(
            "it maps single pages, and a flash page, a program unit and a stripe look alike",
        );
    }
    // Without a unit a larger step may be that of the unit.
    let unit = unit.unwrap_or(0);
    if step.at == unit {
        return cannot("writes show an allocation unit of that size");
    }
    let larger = found
        .steps
        .iter()
        .filter(|s| s.at > step.at && s.at <= PAGE_MAX && s.at < unit);
    // Of multiples of a power of two some are boundaries of a unit that is none, from the largest that divides it on.
    let divides = |s: &&CardStep| unit.is_power_of_two() || unit.is_multiple_of(2 * s.at);
    let larger = larger.filter(divides);
    // A page that is not a power of two shows a part of its step at one; at five times that it shows none.
    let fivefold = |s: &&CardStep| found.fivefold.iter().any(|f| f.at == 5 * s.at);
    let larger = larger
        .filter(|s| s.to_us - s.from_us >= LARGER * rise)
        .filter(fivefold)
        .max_by_key(|s| s.at);
    match larger {
        None if step.at >= PAGE_LARGEST_STEP && unit == 0 => {
            cannot("the largest page that is looked for; it may be an allocation unit")
        }
        None => finding,
        Some(larger) => Finding::new(
            "page",
            PAGE,
            Value::Bytes(larger.at),
            format!("{}, in program units of {}", size(larger.at), size(step.at)),
            Strength::Fair,
            format!(
                "{}; it rises once more, to {:.1} µs, at {}",
                finding.evidence,
                larger.to_us,
                size(larger.at)
            ),
        ),
    }
}

/// The largest boundary at which the first step is looked for.
pub(super) const PAGE_LARGEST_STEP: u64 = 128 << 10;

/// Reads of a search for pages of pages, about.
const LARGER_SEARCH: f64 = 30e3;

/// Boundaries among those of pages at which a read takes longer still.
pub(super) fn larger_pages<T: Target>(
    probing: &mut Probing<'_, T>,
    found: &AtMultiples,
    phase: Option<(u64, u64)>,
) -> Result<Option<BoundaryPeriod>, ProbeError> {
    let takes = found.read_s * LARGER_SEARCH * f64::from(PASS);
    let Some((page, first)) = phase.filter(|_| takes <= probing.options.time.as_secs_f64()) else {
        return Ok(None);
    };
    let seed = probing.options.seed;
    probing.timed(|p| page_of_pages(p, page, first, seed))
}

/// The controller page: where reads see boundaries of flash pages, and of some of them again, these are the ones that it handles
/// as one; unless they are those of the allocation unit.
pub(super) fn whole_page(
    page: Finding,
    found: &AtMultiples,
    larger: Option<BoundaryPeriod>,
    (unit, clock_us): (Option<u64>, f64),
) -> Finding {
    let Some(Value::Bytes(at)) = page.value else {
        return page;
    };
    let costs = |p: &BoundaryPeriod| p.across_us - p.between_us >= PAGE_US.max(clock_us);
    let below_unit = |p: &BoundaryPeriod| unit.is_none_or(|unit| p.period < unit);
    let larger = larger.filter(|p| p.period > at && costs(p) && below_unit(p));
    let Some(larger) = larger else {
        // Two kinds of boundary may show already.
        return match found.page {
            Some(step) if step.at < at => page,
            _ => one_kind(page),
        };
    };
    let evidence = format!(
        "{}; of these boundaries, those {} apart take {:.0} µs and the others {:.0} µs",
        page.evidence,
        size(larger.period),
        larger.across_us,
        larger.between_us
    );
    let cannot = |why: &str| Finding::cannot_tell("page", PAGE, format!("{evidence}: {why}"));
    match unit {
        Some(unit) if !unit.is_multiple_of(larger.period) => {
            cannot("the allocation unit is no multiple of it")
        }
        None if larger.period >= PAGE_LARGEST_STEP => {
            cannot("it may be an allocation unit: none was found above it")
        }
        _ => Finding::new(
            "page",
            PAGE,
            Value::Bytes(larger.period),
            size(larger.period),
            Strength::Fair,
            evidence,
        ),
    }
}

/// Where boundaries of one kind show, those of a page of several may be hidden behind the transfer.
fn one_kind(page: Finding) -> Finding {
    let evidence = format!(
        "{}; boundaries of one kind show: a controller page of several of these would look alike if finding the next one takes no time",
        page.evidence
    );
    Finding { evidence, ..page }.resting_on(Strength::Weak)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(at: u64) -> Finding {
        let value = Value::Bytes(at);
        let evidence = "seen".to_string();
        Finding::new("page", PAGE, value, size(at), Strength::Strong, evidence)
    }

    fn period(period: u64) -> Option<BoundaryPeriod> {
        Some(BoundaryPeriod {
            period,
            first: 0,
            between_us: 940.0,
            across_us: 965.0,
        })
    }

    #[test]
    fn of_several_boundaries_the_largest_below_the_unit_is_that_of_the_controller_page() {
        let none = AtMultiples::default();
        let of = |larger, unit| whole_page(page(8 << 10), &none, period(larger), (unit, 0.0)).value;
        let bytes = |n: u64| Some(Value::Bytes(n));
        assert_eq!(of(24 << 10, Some(24 << 20)), bytes(24 << 10));
        assert_eq!(of(24 << 10, None), bytes(24 << 10));
        // Those of the unit are no pages.
        assert_eq!(of(256 << 10, Some(256 << 10)), bytes(8 << 10));
        assert_eq!(of(256 << 10, None), None);
        // A unit consists of whole pages.
        assert_eq!(of(24 << 10, Some(4 << 20)), None);
        // Less than the clock resolves: one kind of boundary.
        for (larger, clock_us) in [(None, 0.0), (period(24 << 10), 30.0)] {
            let found = whole_page(page(8 << 10), &none, larger, (None, clock_us));
            assert_eq!(found.value, bytes(8 << 10));
            assert_eq!(found.strength, Some(Strength::Weak));
        }
        let small = AtMultiples {
            page: Some(CardStep {
                at: 4 << 10,
                ratio: 9.0,
                from_us: 3.0,
                to_us: 27.0,
            }),
            ..AtMultiples::default()
        };
        let found = whole_page(page(8 << 10), &small, None, (None, 0.0));
        assert_eq!(found.strength, Some(Strength::Strong));
    }
}
