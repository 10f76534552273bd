//! Finds page and AU boundaries by reads across them. The measurement is that of flashbench, within the range written before,
//! with odd multiples of powers of two, and with more tries if the answer is not clear.

use super::Probing;
use super::confidence::Strength;
use super::filled::Filled;
use super::finding::{Finding, Value, size};
use super::layout::{Layout, PAGE_MAX, SECTOR};
use super::opened::{self, Opened};
use super::question::Question;
use super::writes::SPAN;
use crate::flashbench::{
    AlignPlan, AlignRow, Boundaries, BoundaryPeriod, CardStep, Certainty, align,
    boundaries as judge, boundaries_above, every_one, explains, faint_unit, page_period,
    unit_period, visible_steps,
};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};

/// Odd factors of the boundaries.
const FACTORS: [u64; 5] = [1, 3, 5, 7, 9];
/// Tries per place in the first pass and in the second.
const TRIES: [u32; 2] = [5, 20];
/// Divisor of the total time: limit of the second pass, unless the first took longer, and of each search for boundaries at any
/// offset.
const PASS: u32 = 6;
/// Approximate number of reads in a search for boundaries at any offset.
const SEARCH: f64 = 40e3;
/// Most period searches: from pages to larger pages, and to the AU.
const LEVELS: usize = 3;
/// Assumed page size if it is not known, bytes.
const SMALLEST_PAGE: u64 = 16 << 10;

/// Finds page and AU by reads within the first `span` bytes, and by writes after them; `filled` has the times of the writes to
/// `span`.
pub(super) fn boundaries<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
    filled: &Filled,
) -> Result<Layout, ProbeError> {
    let overlaps = probing.overlaps();
    // A slow card was written only in part. Reads beyond that part may still show AUs, and cannot mislead, since the reads before
    // and after a boundary lie there as well.
    probing.target.show(match &overlaps {
        None => Bytes(span.0.max(SPAN)),
        Some(_) => span,
    });
    let found = at_multiples(probing, overlaps.is_some())?;
    let known = found.page.filter(|s| s.certainty() != Certainty::None);
    let step = probing.clock.as_micros_f64();
    let mut phase = known.map(|s| (s.at, 0));
    let mut pages_found = pages_below(&found, found.unit.map(|u| u.0.at), overlaps.is_some(), step);
    let (mut unit, mut offset, mut layout) = if let Some(why) = &overlaps {
        (
            Question::Unit.unknown(why.clone()),
            Question::Offset.unknown(why.clone()),
            Layout::default(),
        )
    } else if let Some((step, finding)) = borne_out(probing, &found, known)? {
        let layout = Layout {
            unit: Some(step.at),
            first: 0,
            placed: true,
            written: false,
        };
        (finding, offset_of(0, step.at), layout)
    } else {
        let (pages, units) = match found.read_s * SEARCH * f64::from(PASS) {
            all if all > probing.options.time.as_secs_f64() => (None, None),
            _ => anywhere(probing, known)?,
        };
        phase = pages.map_or(phase, |p| Some((p.period, p.first)));
        let costs = |p: &BoundaryPeriod| p.across_us - p.between_us >= PAGE_US.max(step);
        if let Some(pages) = pages.filter(costs) {
            let page = match pages.period >= PAGE_LARGEST_STEP && units.is_none() {
                true => {
                    let why = "it may be an allocation unit: none was found above it";
                    let found = of_period(Question::Page, &pages);
                    Question::Page.unknown(format!("{}: {why}", found.evidence))
                }
                false => of_period(Question::Page, &pages),
            };
            pages_found = Pages::without_larger(page);
        }
        match units {
            Some(units) => {
                if pages_found.page.value.is_none() {
                    pages_found = pages_below(&found, Some(units.period), false, step);
                }
                let layout = Layout {
                    unit: Some(units.period),
                    first: units.first,
                    placed: true,
                    written: false,
                };
                let offset = offset_of(units.first, units.period);
                (of_period(Question::Unit, &units), offset, layout)
            }
            None => {
                let why = "no boundary of an allocation unit was seen, neither at multiples nor at other equal distances";
                let offset = Question::Offset.unknown(why);
                (unclear(found.judged), offset, Layout::default())
            }
        }
    };
    // After an SLC cache, writes would show AUs only with a far larger write budget.
    let card = filled.end.is_none();
    let mut ended = Ok(());
    if overlaps.is_none() && card && !probing.options.read_only {
        probing.target.show(probing.target.whole());
        let larger = pages_found.largest().unwrap_or(SMALLEST_PAGE);
        let larger = |(page, first): (u64, u64)| (page.max(larger), first);
        let phase_or_none = larger(phase.unwrap_or((SMALLEST_PAGE, 0)));
        let opened = opened::units(probing, span.0, phase_or_none, &filled.gaps, layout.unit);
        let opened = so_far(opened, &mut ended);
        // An AU consists of whole pages.
        let whole = |o: &Opened| phase.is_none_or(|(page, _)| o.unit.is_multiple_of(page));
        if let Some(opened) = opened.filter(whole) {
            let known = layout.unit.is_some();
            let first = match known {
                true => None,
                false => so_far(first_of(probing, &opened, phase), &mut ended),
            };
            (unit, offset, layout) = with_writes((unit, offset, layout), &opened, first);
            pages_found = pages_beside(pages_found, &found, &opened, step);
        }
    }
    probing.target.show(probing.target.whole());
    let Pages { page, large } = pages_found;
    for finding in [page, large, unit, offset] {
        probing.add(finding);
    }
    ended.map(|()| layout)
}

/// The result of a search; `None` if the budget ended it. `ended` then holds the error, and earlier findings are still reported.
fn so_far<R>(
    found: Result<Option<R>, ProbeError>,
    ended: &mut Result<(), ProbeError>,
) -> Option<R> {
    found.unwrap_or_else(|why| {
        *ended = Err(why);
        None
    })
}

/// Start of the first AU: the page that is slow every time, or the only multiple of 1 MiB in the possible range if pages begin at
/// multiples of their size. If the two disagree, or neither is conclusive, the range is narrowed by bisection.
fn first_of<T: Target>(
    probing: &mut Probing<'_, T>,
    opened: &Opened,
    phase: Option<(u64, u64)>,
) -> Result<Option<u64>, ProbeError> {
    let (page, first) = phase.unwrap_or((SMALLEST_PAGE, 0));
    let end = probing.target.now() + Nanos(probing.options.time.0 / opened::TIME);
    let mut exact = None;
    // Writes of partial pages copy the AU, which hides the cost of opening it; longer writes do not.
    let pages = std::iter::successors(Some(page), |page| Some(LONGER * page));
    let longest = EXACT[usize::from(phase.is_some_and(|(page, first)| first.is_multiple_of(page)))];
    for page in pages.take_while(|p| *p == page || *p <= longest) {
        exact = opened::first_page(probing, opened, (page, first), end)?.or(exact);
        if exact.is_some_and(|e| e.alone) {
            break;
        }
    }
    let round = opened
        .first(PAGE_MAX)
        .filter(|_| first.is_multiple_of(page));
    let answer = match (exact, round) {
        (Some(exact), Some(round)) => {
            completes(exact.at, round, opened.unit, exact.page).then_some(round)
        }
        (Some(exact), None) => {
            let each = exact.alone && exact.page == page && phase.is_some();
            Some(exact.at).filter(|_| each)
        }
        (None, round) => round.filter(|_| phase.is_some()),
    };
    if answer.is_some() {
        return Ok(answer);
    }
    let end = probing.target.now() + Nanos(probing.options.time.0 / opened::TIME);
    opened::halved(probing, opened, phase.unwrap_or((SECTOR, 0)), end)
}

/// Factor by which writes near a boundary grow while shorter writes show nothing, up to `EXACT` bytes: the first limit
/// if pages may begin anywhere, as such a boundary is at a round address by chance; the second if pages begin at
/// multiples of their size, which are few.
const LONGER: u64 = 4;
const EXACT: [u64; 2] = [64 << 10, PAGE_MAX];

/// Whether the slow writes of `page` bytes at `exact` complete the first page of an AU that begins at `round`, or the previous
/// AU. The first page is one write or a power of two of them, programmed together.
fn completes(exact: u64, round: u64, unit: u64, page: u64) -> bool {
    let programmed = (exact + page + unit - round) % unit;
    let times = programmed / page.max(1);
    let one = times == 0 || times.is_power_of_two();
    programmed.is_multiple_of(page) && one && programmed <= PAGE_MAX
}

/// Combines the AU that reads show, if any, with the AU that sequential writes show; `first` is the start of the latter, if
/// known.
fn with_writes(
    (unit, offset, layout): (Finding, Finding, Layout),
    opened: &Opened,
    first: Option<u64>,
) -> (Finding, Finding, Layout) {
    let said = format!(
        "of writes in order {} took {:.1} ms longer, all {} apart",
        opened.seen,
        opened.extra_s * 1e3,
        size(opened.unit)
    );
    if let Some(seen) = layout.unit {
        if seen == opened.unit {
            let evidence = format!("{}; {said}", unit.evidence);
            let unit = Finding { evidence, ..unit }.resting_on(Strength::Strong);
            let layout = Layout {
                written: true,
                ..layout
            };
            return (unit, offset, layout);
        }
        let why = format!("{}; but {said}", unit.evidence);
        let cannot = |question: Question| question.unknown(why.clone());
        return (
            cannot(Question::Unit),
            cannot(Question::Offset),
            Layout::default(),
        );
    }
    let bytes = Value::Bytes(opened.unit);
    let answer = size(opened.unit);
    let unit = Question::Unit.answer(bytes, answer, Strength::Fair, said.clone());
    let offset = match first {
        Some(first) => offset_of(first, opened.unit).resting_on(Strength::Weak),
        None => {
            let why = format!("{said}: too coarse to locate the first boundary");
            Question::Offset.unknown(why)
        }
    };
    let layout = Layout {
        unit: Some(opened.unit),
        first: first.unwrap_or(0),
        placed: first.is_some(),
        written: true,
    };
    (unit, offset, layout)
}

/// Least step of a larger page, as a share of the first page's step.
pub(super) const LARGER: f64 = 0.3;
/// Least extra time of a read across pages, µs, as a host's clock has steps of about this size.
const PAGE_US: f64 = 3.0;

/// The page, and a larger one below the AU.
struct Pages {
    page: Finding,
    large: Finding,
}

impl Pages {
    fn without_larger(page: Finding) -> Self {
        let large = Question::LargePage.unknown("no larger step below an allocation unit was seen");
        Pages { page, large }
    }

    /// Size of the larger page if there is one, or of the page, bytes.
    fn largest(&self) -> Option<u64> {
        self.large.bytes().or(self.page.bytes())
    }
}

/// The pages after writes have shown the AU: pages not smaller than that AU are searched again below it, and so is a larger page
/// if none was seen.
fn pages_beside(pages: Pages, found: &AtMultiples, opened: &Opened, clock_us: f64) -> Pages {
    let again = pages_below(found, Some(opened.unit), false, clock_us);
    match pages.largest() {
        Some(at) if at < opened.unit && pages.large.value.is_some() => pages,
        Some(at) if at < opened.unit && again.page.value != pages.page.value => pages,
        _ => again,
    }
}

/// The page: the largest step. The larger page: the largest one above it and below the AU, of several program units.
fn pages_below(found: &AtMultiples, unit: Option<u64>, drive: bool, clock_us: f64) -> Pages {
    let finding = answer(Question::Page, found.page);
    let Some(step) = found.page.filter(|_| finding.value.is_some()) else {
        return Pages::without_larger(finding);
    };
    let least = PAGE_US.max(clock_us);
    let (step, finding) = match smaller_page(found, step, least) {
        Some(smaller) => (smaller, answer(Question::Page, Some(smaller))),
        None => (step, finding),
    };
    let cannot = |why: &str| {
        let why = format!("{}: {why}", finding.evidence);
        Pages::without_larger(Question::Page.unknown(why))
    };
    if !found.page_twice {
        return cannot("the first pass shows another page size");
    }
    let rise = step.to_us - step.from_us;
    if rise < least {
        return cannot("too small a difference for a page");
    }
    if step.from_us >= least + NOISY * rise {
        return cannot(
            "reads across smaller boundaries take longer as well, and it is not clear from which size on",
        );
    }
    if drive {
        return cannot(
            "on a drive, neighbouring pages may lie on different dies, and boundaries show how the data were written",
        );
    }
    // Without a known AU, a larger step may be that of the AU.
    let unit = unit.unwrap_or(0);
    if step.at == unit {
        return cannot("writes show an allocation unit of that size");
    }
    let larger = found
        .steps
        .iter()
        .filter(|s| s.at > step.at && s.at <= PAGE_MAX && s.at < unit);
    // If an AU is not a power of two, multiples of the largest power of two that divides it, and of larger ones, are partly AU
    // boundaries.
    let divides = |s: &&CardStep| unit.is_power_of_two() || unit.is_multiple_of(2 * s.at);
    let larger = larger.filter(divides);
    // A page that is not a power of two causes part of its step at a power of two, but none at five times that.
    let fivefold = |s: &&CardStep| found.fivefold.iter().any(|f| f.at == 5 * s.at);
    let larger = larger
        .filter(|s| s.to_us - s.from_us >= LARGER * rise)
        .filter(fivefold)
        .max_by_key(|s| s.at);
    match larger {
        None if step.at >= PAGE_LARGEST_STEP && unit == 0 => {
            cannot("the largest page size that is tested; it may be an allocation unit")
        }
        None => Pages::without_larger(finding),
        Some(larger) => Pages {
            large: answer(Question::LargePage, Some(*larger)).resting_on(Strength::Fair),
            page: finding,
        },
    }
}

/// Share of a step below it that counts as noise.
const NOISY: f64 = 0.02;

/// A clear step below the largest one, from which on reads take longer by most of what they take below the latter.
fn smaller_page(found: &AtMultiples, page: CardStep, least_us: f64) -> Option<CardStep> {
    let below = found.steps.iter().filter(|s| s.at < page.at);
    let clear = below.filter(|s| s.certainty() == Certainty::Clear);
    let mut rises = clear.filter(|s| {
        let rise = s.to_us - s.from_us;
        rise >= least_us && rise >= page.from_us / 2.0
    });
    rises.next().copied()
}

/// Largest boundary at which the first step of a page is searched, bytes.
const PAGE_LARGEST_STEP: u64 = 128 << 10;

/// Results of reads across multiples of a size.
struct AtMultiples {
    /// Mean time per read, including pauses, s.
    read_s: f64,
    page: Option<CardStep>,
    /// Whether the first pass has no clear page step, or a step at the page of the second pass.
    page_twice: bool,
    /// The AU according to the tables.
    judged: Option<CardStep>,
    /// The AU if all rows agree with it, and whether its step is faint.
    unit: Option<(CardStep, bool)>,
    /// Whether a larger step lies below the AU: that of a larger page.
    beside_larger: bool,
    /// All visible steps at powers of two.
    steps: Vec<CardStep>,
    /// All visible steps at five times powers of two.
    fivefold: Vec<CardStep>,
}

/// Reads before, across and after multiples, as flashbench does.
fn at_multiples<T: Target>(
    probing: &mut Probing<'_, T>,
    drive: bool,
) -> Result<AtMultiples, ProbeError> {
    // Two passes, so that a stall in one of them is not taken for a boundary.
    let (began, ended) = (probing.target.now(), probing.target.ended());
    let first = families(probing, TRIES[0])?;
    let spent = probing.target.now().saturating_sub(began).as_secs_f64();
    let reads = probing.target.ended() - ended;
    // Fewer tries if pauses of the host make reads long.
    let may = probing.options.time.as_secs_f64() / f64::from(PASS) / spent.max(1e-9);
    let most = f64::from(TRIES[1]);
    let tries = (f64::from(TRIES[0]) * may).clamp(f64::from(TRIES[0]), most);
    let families = families(probing, tries as u32)?;
    let found = judged(&families, drive);
    let earlier = judged(&first, drive);
    let faint = [PAGE_LARGEST_STEP, PAGE_MAX].map(|most| faint_unit(&families, most));
    let faint = faint.into_iter().flatten().find(|f| f.at > PAGE_MAX);
    let agrees = |unit: &CardStep| {
        let other = earlier.unit.filter(|s| s.certainty() == Certainty::Clear);
        other.is_none_or(|other| other.at == unit.at)
    };
    // A step at the largest boundary has no rows above that confirm it, and that of a page of several program units looks like
    // that of a small AU.
    let rows = families.iter().flatten().filter(|r| r.off_boundary == 0);
    let top = rows.map(|r| r.align).max().unwrap_or(0);
    let clear = |s: &CardStep| {
        let inside = s.at > PAGE_MAX && s.at * 2 <= top;
        inside && s.certainty() != Certainty::None && agrees(s) && explains(s, &families)
    };
    let seen = found.unit.filter(clear);
    // The faint step counts only if no other step was seen and the first pass does not contradict it.
    let faint = faint.filter(|f| {
        let inside = f.at > PAGE_MAX && f.at * 2 <= top;
        seen.is_none() && inside && agrees(f) && explains(f, &families)
    });
    let powers = families.first().map(Vec::as_slice).unwrap_or_default();
    let fives = FACTORS.iter().zip(&families).find(|f| *f.0 == 5);
    probing.report.curves.push(curve(powers));
    Ok(AtMultiples {
        steps: visible_steps(powers),
        fivefold: fives.map_or_else(Vec::new, |(_, rows)| visible_steps(rows)),
        page_twice: {
            let before = earlier.page.filter(|s| s.certainty() == Certainty::Clear);
            before.is_none_or(|s| found.page.is_some_and(|p| p.at == s.at))
        },
        page: found.page,
        read_s: spent / reads.max(1) as f64,
        judged: found.unit,
        beside_larger: seen.is_some() && judge(&families).unit != seen,
        unit: seen
            .map(|s| (s, false))
            .or_else(|| faint.map(|s| (s, true))),
    })
}

/// Page and AU from one pass. Up to the largest page, a step on a card is not an AU: the AU is searched above it.
fn judged(families: &[Vec<AlignRow>], drive: bool) -> Boundaries {
    let found = judge(families);
    let unit = found.unit.filter(|s| s.certainty() != Certainty::None);
    match drive || unit.is_some_and(|s| s.at > PAGE_MAX) {
        true => found,
        false => boundaries_above(families, PAGE_MAX),
    }
}

/// The AU at multiples, with its finding, unless single boundaries contradict it: if AUs begin elsewhere, some multiples may be
/// boundaries of larger units, which the mean of a row does not show.
fn borne_out<T: Target>(
    probing: &mut Probing<'_, T>,
    found: &AtMultiples,
    page: Option<CardStep>,
) -> Result<Option<(CardStep, Finding)>, ProbeError> {
    let Some((step, faint)) = found.unit else {
        return Ok(None);
    };
    let page = page.map_or(SMALLEST_PAGE, |s| s.at);
    // AU boundaries are compared with those of the largest page below the AU, since reads across these take longer than across
    // parts of a page.
    let larger = found.steps.iter().map(|s| s.at);
    let larger =
        larger.filter(|at| *at <= PAGE_MAX && *at < step.at && step.at.is_multiple_of(*at));
    let page = larger.max().map_or(page, |at| at.max(page));
    let seed = probing.options.seed;
    let each = probing.timed(|p| every_one(p, step.at, page, seed))?;
    if each == Some(false) || found.beside_larger && each.is_none() {
        return Ok(None);
    }
    let finding = if faint {
        faintly(step)
    } else {
        // Two passes and all rows agree, which is stronger evidence than the ratio of one step.
        answer(Question::Unit, Some(step)).resting_on(Strength::Strong)
    };
    Ok(Some((step, finding)))
}

/// Periods of page boundaries and of AU boundaries at any offset.
fn anywhere<T: Target>(
    probing: &mut Probing<'_, T>,
    page: Option<CardStep>,
) -> Result<(Option<BoundaryPeriod>, Option<BoundaryPeriod>), ProbeError> {
    if probing.time_left() < Nanos(probing.options.time.0 / 10 * 3) {
        return Ok((None, None));
    }
    let seed = probing.options.seed;
    // A page at an offset may look like a page of another size at multiples.
    let base = probing.target.capacity().0 / 4;
    let pages = probing.timed(|p| page_period(p, base, seed))?;
    let known = pages.map(|p| (p.period, p.first));
    // Without a visible page, an AU may still be visible: it begins at a multiple of a small page, unless a partition does not.
    let (mut page, mut first) = known
        .or(page.map(|s| (s.at, 0)))
        .unwrap_or((SMALLEST_PAGE, 0));
    let mut units = None;
    for _ in 0..LEVELS {
        units = probing.timed(|p| unit_period(p, page, first, seed))?;
        match units {
            // A page of several program units; AUs consist of whole pages.
            Some(larger) if larger.period <= PAGE_MAX && larger.period > page => {
                (page, first) = (larger.period, larger.first);
            }
            _ => break,
        }
    }
    // Periods up to the largest page are pages of several program units, not AUs.
    Ok((pages, units.filter(|u| u.period > page.max(PAGE_MAX))))
}

fn of_period(question: Question, found: &BoundaryPeriod) -> Finding {
    question.answer(Value::Bytes(found.period), size(found.period), Strength::Fair, format!(
            "a read across a boundary takes {:.0} µs at {} bytes after each multiple of the AU size, and {:.0} µs elsewhere",
            found.across_us, found.first, found.between_us
        ))
}

fn offset_of(first: u64, unit: u64) -> Finding {
    let (answer, evidence) = if first == 0 {
        (
            "at the beginning: aligned".to_string(),
            "boundaries were seen at multiples of the allocation unit from the beginning on"
                .to_string(),
        )
    } else {
        (
            format!("{first} bytes after the beginning: not aligned"),
            format!(
                "boundaries of {} were seen from there on, and none at multiples from the beginning on",
                size(unit)
            ),
        )
    };
    let strength = match first {
        0 => Strength::Strong,
        _ => Strength::Fair,
    };
    Question::Offset.answer(Value::Bytes(first), answer, strength, evidence)
}

/// Tables of all families of boundaries.
fn families<T: Target>(
    probing: &mut Probing<'_, T>,
    tries: u32,
) -> Result<Vec<Vec<AlignRow>>, ProbeError> {
    let tables = FACTORS.iter().map(|factor| {
        let plan = AlignPlan {
            tries,
            factor: *factor,
            wrap: false,
            ..AlignPlan::default()
        };
        probing.timed(|p| align(p, &plan))
    });
    tables.collect()
}

/// Finding for an AU without a step, or with one that does not fit the other rows.
fn unclear(step: Option<CardStep>) -> Finding {
    let found = answer(Question::Unit, step);
    let why = format!(
        "{}; the other rows and the first pass do not confirm it",
        found.evidence
    );
    found.question.unknown(why)
}

fn faintly(step: CardStep) -> Finding {
    let question = Question::Unit;
    let evidence = format!(
        "the extra time of a read across lies at {:.1} µs below {} and at {:.1} µs from there on: a small step, but many times the scatter of the rows",
        step.from_us,
        size(step.at),
        step.to_us
    );
    question.answer(
        Value::Bytes(step.at),
        size(step.at),
        Strength::Weak,
        evidence,
    )
}

fn curve(rows: &[AlignRow]) -> Curve {
    let mut rows: Vec<&AlignRow> = rows.iter().collect();
    rows.sort_by_key(|r| r.align);
    Curve {
        name: "boundaries at powers of two".to_string(),
        x_name: "boundary".to_string(),
        x_unit: "KiB".to_string(),
        y_name: "extra time of a read across".to_string(),
        y_unit: "µs".to_string(),
        x: rows.iter().map(|r| r.align as f64 / 1024.0).collect(),
        y: rows.iter().map(|r| r.diff_us).collect(),
        threshold: None,
        ..Curve::default()
    }
}

pub(super) fn answer(question: Question, step: Option<CardStep>) -> Finding {
    let Some(step) = step else {
        return question.unknown("no boundaries to compare");
    };
    let rise = format!(
        "the extra time of a read across rises from {:.1} to {:.1} µs at {}, ratio {:.2}",
        step.from_us,
        step.to_us,
        size(step.at),
        step.ratio
    );
    let strength = match step.certainty() {
        Certainty::Clear => Strength::Strong,
        Certainty::Weak => Strength::Fair,
        Certainty::None => {
            return question.unknown(
                "the extra time of a read across rises by less than a fifth from any boundary to the next",
            );
        }
    };
    question.answer(Value::Bytes(step.at), size(step.at), strength, rise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_write_agrees_with_the_unit_whose_first_page_it_completes() {
        let (unit, page) = (4 << 20, 16 << 10);
        let at =
            |pages: u64| completes((1 << 20) + unit - page + pages * page, 1 << 20, unit, page);
        // The AU before the boundary, and pages of one, two, four and 32 writes.
        assert!([0, 1, 2, 4, 32].into_iter().all(at));
        assert!(![3, 5, 33, 64].into_iter().any(at));
        assert!(!completes((1 << 20) + 512, 1 << 20, unit, page));
    }
}
