//! Boundaries of pages and allocation units, from reads that cross them. The measurement is that of
//! flashbench, inside of what has been written, with odd multiples of powers of two and with more tries where
//! the answer is not clear.

use super::Probing;
use super::finding::{Finding, LIKELY, SURE, Value, size};
use crate::flashbench::{
    AlignPlan, AlignRow, CardStep, Certainty, Comb, align, boundaries as judge, every_one,
    explains, faint_unit, page_comb, unit_comb,
};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};

/// Odd factors of boundaries.
const FACTORS: [u64; 4] = [1, 3, 5, 9];
/// Tries of each place in the first pass and in the second.
const TRIES: [u32; 2] = [5, 20];
/// Where the page is not known.
const SMALLEST_PAGE: u64 = 16 << 10;

/// What was found of the structure.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    /// The allocation unit.
    pub(super) unit: Option<u64>,
    /// The first boundary of one, less than a unit from the beginning; 0 where it is not known.
    pub(super) first: u64,
}

/// Looks for page and unit within the first `span` bytes.
pub(super) fn boundaries<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<Layout, ProbeError> {
    probing.target.show(span);
    let overlaps = super::units::overlaps(probing);
    let found = at_multiples(probing)?;
    let known = found.page.filter(|s| s.certainty() != Certainty::None);
    let mut page = answer("page", "Page", found.page);
    let (unit, offset, layout) = if let Some(why) = &overlaps {
        (
            Finding::cannot_tell("unit", UNIT, why.clone()),
            Finding::cannot_tell("offset", OFFSET, why.clone()),
            Layout::default(),
        )
    } else if let Some((step, finding)) = borne_out(probing, &found, known)? {
        let layout = Layout {
            unit: Some(step.at),
            first: 0,
        };
        (finding, offset_of(0, step.at), layout)
    } else {
        let (pages, units) = anywhere(probing, known)?;
        if let Some(pages) = pages {
            page = combed("page", "Page", &pages);
        }
        match units {
            Some(units) => {
                let layout = Layout {
                    unit: Some(units.period),
                    first: units.first,
                };
                let offset = offset_of(units.first, units.period);
                (combed("unit", UNIT, &units), offset, layout)
            }
            None => {
                let why = "no boundary of an allocation unit was seen, neither at multiples nor at other equal distances";
                let offset = Finding::cannot_tell("offset", OFFSET, why);
                (unclear(found.judged), offset, Layout::default())
            }
        }
    };
    probing.target.show(probing.target.whole());
    for finding in [page, unit, offset] {
        probing.add(finding);
    }
    Ok(layout)
}

const UNIT: &str = "Allocation unit";
const OFFSET: &str = "Where the first boundary lies";

/// What reads across multiples say.
struct AtMultiples {
    page: Option<CardStep>,
    /// The unit that the tables name.
    judged: Option<CardStep>,
    /// The same where everything agrees with it, and whether its step is a faint one.
    unit: Option<(CardStep, bool)>,
}

/// Reads before, across and behind multiples, as flashbench does.
fn at_multiples<T: Target>(probing: &mut Probing<'_, T>) -> Result<AtMultiples, ProbeError> {
    // Two passes, so that a stall in one of them makes no boundary.
    let first = families(probing, TRIES[0])?;
    let families = families(probing, TRIES[1])?;
    let found = judge(&families);
    let (earlier, faint) = (judge(&first), faint_unit(&families));
    let agrees = |unit: &CardStep| {
        let other = earlier.unit.filter(|s| s.certainty() == Certainty::Clear);
        other.is_none_or(|other| other.at == unit.at)
    };
    let clear =
        |s: &CardStep| s.certainty() != Certainty::None && agrees(s) && explains(s, &families);
    let seen = found.unit.filter(clear);
    // The faint one counts where it says the same as the first pass, or neither says anything.
    let faint = faint.filter(|f| seen.is_none() && agrees(f) && explains(f, &families));
    let powers = families.first().map(Vec::as_slice).unwrap_or_default();
    probing.report.curves.push(curve(powers));
    Ok(AtMultiples {
        page: found.page,
        judged: found.unit,
        unit: seen
            .map(|s| (s, false))
            .or_else(|| faint.map(|s| (s, true))),
    })
}

/// The unit at multiples with its answer, unless single boundaries contradict: where units begin elsewhere, some of
/// the multiples can be boundaries of larger ones, and the mean of a row does not tell.
fn borne_out<T: Target>(
    probing: &mut Probing<'_, T>,
    found: &AtMultiples,
    page: Option<CardStep>,
) -> Result<Option<(CardStep, Finding)>, ProbeError> {
    let Some((step, faint)) = found.unit else {
        return Ok(None);
    };
    let page = page.map_or(SMALLEST_PAGE, |s| s.at);
    let seed = probing.options.seed;
    let each = probing.timed(|p| every_one(p, step.at, page, seed))?;
    if each == Some(false) {
        return Ok(None);
    }
    let finding = if faint {
        faintly(step)
    } else {
        let mut finding = answer("unit", UNIT, Some(step));
        // Two passes agree, and every row bears it out: that is more than the ratio of one step says.
        finding.confidence = SURE;
        finding
    };
    Ok(Some((step, finding)))
}

/// Pages where they are not known yet, and units, wherever they begin.
fn anywhere<T: Target>(
    probing: &mut Probing<'_, T>,
    page: Option<CardStep>,
) -> Result<(Option<Comb>, Option<Comb>), ProbeError> {
    if probing.time_left() < Nanos(probing.options.time.0 / 10 * 3) {
        return Ok((None, None));
    }
    let seed = probing.options.seed;
    // A page that begins elsewhere can look like one of another size at multiples.
    let base = probing.target.capacity().0 / 4;
    let pages = probing.timed(|p| page_comb(p, base, seed))?;
    let known = pages.map(|p| (p.period, p.first));
    let Some((page, first)) = known.or(page.map(|s| (s.at, 0))) else {
        return Ok((None, None));
    };
    let units = probing.timed(|p| unit_comb(p, page, first, seed))?;
    // Every page of a row takes as long where there is no unit.
    Ok((pages, units.filter(|u| u.period > page)))
}

fn combed(id: &'static str, question: &'static str, comb: &Comb) -> Finding {
    Finding::new(
        id,
        question,
        Value::Bytes(comb.period),
        size(comb.period),
        SURE,
        format!(
            "a read across takes {:.0} µs at every place that lies {} bytes behind a multiple of it, and {:.0} µs elsewhere",
            comb.across_us, comb.first, comb.between_us
        ),
    )
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
            format!("{first} bytes behind the beginning: not aligned"),
            format!(
                "boundaries of {} were seen from there on, and none at multiples from the beginning on",
                size(unit)
            ),
        )
    };
    Finding::new(
        "offset",
        OFFSET,
        Value::Bytes(first),
        answer,
        SURE,
        evidence,
    )
}

/// Tables of all families.
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

/// There is no step, or one that does not fit the other rows.
fn unclear(step: Option<CardStep>) -> Finding {
    let found = answer("unit", UNIT, step);
    let why = format!(
        "{}; the other rows and the first pass do not bear it out",
        found.evidence
    );
    Finding::cannot_tell(found.id, found.question, why)
}

fn faintly(step: CardStep) -> Finding {
    let (id, question) = ("unit", UNIT);
    let evidence = format!(
        "the extra time of a read across lies at {:.1} µs below {} and at {:.1} µs from there on: a small step, but many times the scatter of the rows",
        step.from_us,
        size(step.at),
        step.to_us
    );
    Finding::new(
        id,
        question,
        Value::Bytes(step.at),
        size(step.at),
        SURE,
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
    }
}

pub(super) fn answer(id: &'static str, question: &'static str, step: Option<CardStep>) -> Finding {
    let Some(step) = step else {
        return Finding::cannot_tell(id, question, "no boundaries to compare");
    };
    let rise = format!(
        "the extra time of a read across rises from {:.1} to {:.1} µs at {}, ratio {:.2}",
        step.from_us,
        step.to_us,
        size(step.at),
        step.ratio
    );
    let confidence = match step.certainty() {
        Certainty::Clear => SURE,
        Certainty::Weak => LIKELY,
        Certainty::None => {
            return Finding::cannot_tell(id, question, format!("largest step: {rise}"));
        }
    };
    Finding::new(
        id,
        question,
        Value::Bytes(step.at),
        size(step.at),
        confidence,
        rise,
    )
}
