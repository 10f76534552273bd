//! Boundaries of pages and allocation units, from reads that cross them. The measurement is that of
//! flashbench, inside of what has been written, with odd multiples of powers of two and with more tries where
//! the answer is not clear.

use super::Probing;
use super::finding::{Finding, LIKELY, SURE, Value, size};
use crate::flashbench::{
    AlignPlan, AlignRow, Boundaries, CardStep, Certainty, align, boundaries as judge, explains,
    faint_unit,
};
use crate::timed::ProbeError;
use nandscope_measure::result::Curve;
use nandscope_measure::target::Target;
use nandscope_units::Bytes;

/// Odd factors of boundaries.
const FACTORS: [u64; 4] = [1, 3, 5, 9];
/// Tries of each place in the first pass and in the second.
const TRIES: [u32; 2] = [5, 20];

/// Looks for page and unit within the first `span` bytes.
pub(super) fn boundaries<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<Boundaries, ProbeError> {
    probing.target.show(span);
    // Two passes, so that a stall in one of them makes no boundary.
    let first = families(probing, TRIES[0])?;
    let families = families(probing, TRIES[1])?;
    let mut found = judge(&families);
    let judged = found.unit;
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
    found.unit = seen.or(faint);
    probing.target.show(probing.target.whole());
    let powers = families.first().map(Vec::as_slice).unwrap_or_default();
    probing.report.curves.push(curve(powers));
    probing.add(answer("page", "Page", found.page));
    let whole_pages = super::units::overlaps(probing);
    probing.add(match &whole_pages {
        Some(why) => Finding::cannot_tell("unit", "Allocation unit", why.clone()),
        None if faint.is_some() => faintly(faint),
        None if seen.is_none() => unclear(judged),
        None => answer("unit", "Allocation unit", seen),
    });
    if whole_pages.is_some() {
        found.unit = None;
    }
    if found
        .unit
        .is_some_and(|s| s.certainty() == Certainty::Clear)
    {
        probing.add(Finding::new(
            "offset",
            "Where the first boundary lies",
            Value::Bytes(0),
            "at the beginning of the target".to_string(),
            LIKELY,
            "boundaries were seen at multiples of the allocation unit from the beginning on"
                .to_string(),
        ));
    } else {
        probing.add(Finding::cannot_tell(
            "offset",
            "Where the first boundary lies",
            "no boundary of an allocation unit was seen; on a partition that does not begin at one there is none at multiples",
        ));
    }
    Ok(found)
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
    let found = answer("unit", "Allocation unit", step);
    let why = format!(
        "{}; the other rows and the first pass do not bear it out",
        found.evidence
    );
    Finding::cannot_tell(found.id, found.question, why)
}

fn faintly(step: Option<CardStep>) -> Finding {
    let (id, question) = ("unit", "Allocation unit");
    let Some(step) = step else {
        return Finding::cannot_tell(id, question, "no step");
    };
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
