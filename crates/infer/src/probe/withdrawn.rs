//! Takes back what reads say where the writes that follow do not bear it out. It measures nothing.

use super::Report;
use super::finding::Finding;
use super::layout::{Layout, MAPPED};

/// Withdraws what rests on an allocation unit if writes show none: in either order, writing to ever more of them never
/// became slow. Boundaries that only reads see are those of map pages or stripes as well.
pub(super) fn not_borne_out(report: &mut Report, layout: Layout) {
    let ids: &[&str] = match layout.stacked {
        true => &["unit", "offset", "page"],
        false => &["unit", "offset"],
    };
    withdraw(
        report,
        ids,
        "writes show no unit: to no number of them at once they become slow; such boundaries may be those of map pages or stripes",
    );
}

/// Withdraws the SLC cache of a device that does one read after another, if idle time did not empty it, or the
/// device throttles.
pub(super) fn no_cache(report: &mut Report) {
    withdraw(
        report,
        &["slc"],
        "idle time does not bring the rate back, or reads are slower, too; a card with fast units at the beginning, one that closes units once all that stay open are in use, and a device that throttles look alike",
    );
}

/// Withdraws a page as small as what drives map, unless the writes show that there are allocation units.
pub(super) fn may_be_mapped(report: &mut Report) {
    let units = ["open-linear", "open-random"];
    let shown = units.iter().any(|id| report.count(id).is_some());
    if !shown && report.bytes("page").is_some_and(|p| p <= MAPPED) {
        let why = "drives map units of this size, and nothing shows that this is none";
        withdraw(report, &["page"], why);
    }
}

fn withdraw(report: &mut Report, ids: &[&str], why: &str) {
    let stated = report.findings.iter_mut().filter(|f| f.value.is_some());
    for finding in stated.filter(|f| ids.contains(&f.id)) {
        let why = format!("{}: {why}", finding.evidence);
        *finding = Finding::cannot_tell(finding.id, finding.question, why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flashbench::Order;
    use crate::probe::confidence::Strength;
    use crate::probe::finding::{Value, size};
    use crate::probe::flash::{OFFSET, PAGE, UNIT};
    use crate::probe::open_answers;

    fn report(page: u64) -> Report {
        let found = |id, question, bytes| {
            let answer = size(bytes);
            Finding::new(
                id,
                question,
                Value::Bytes(bytes),
                answer,
                Strength::Strong,
                "seen".to_string(),
            )
        };
        Report {
            findings: vec![
                found("page", PAGE, page),
                found("unit", UNIT, 2 << 20),
                found("offset", OFFSET, 0),
            ],
            ..Report::default()
        }
    }

    #[test]
    fn a_unit_that_writes_do_not_show_is_withdrawn() {
        let told = |report: &Report| {
            report
                .findings
                .iter()
                .map(|f| f.value.is_some())
                .collect::<Vec<_>>()
        };
        let mut plain = report(16 << 10);
        not_borne_out(&mut plain, Layout::default());
        assert_eq!(told(&plain), [true, false, false]);
        assert!(
            plain.findings[1]
                .evidence
                .starts_with("seen: writes show no unit")
        );
        let mut stacked = report(512 << 10);
        let layout = Layout {
            stacked: true,
            ..Layout::default()
        };
        not_borne_out(&mut stacked, layout);
        assert_eq!(told(&stacked), [false, false, false]);
    }

    #[test]
    fn a_page_as_small_as_a_mapped_unit_needs_open_units() {
        let mut small = report(MAPPED);
        may_be_mapped(&mut small);
        assert_eq!(small.bytes("page"), None);
        let mut larger = report(2 * MAPPED);
        may_be_mapped(&mut larger);
        assert_eq!(larger.bytes("page"), Some(2 * MAPPED));
        let mut card = report(MAPPED);
        let (id, question) = open_answers::question(Order::Linear);
        let count = Finding::new(
            id,
            question,
            Value::Count(4),
            "4".to_string(),
            Strength::Strong,
            String::new(),
        );
        card.findings.push(count);
        may_be_mapped(&mut card);
        assert_eq!(card.bytes("page"), Some(MAPPED));
    }

    #[test]
    fn a_cache_that_idle_time_does_not_empty_is_withdrawn() {
        let mut report = report(16 << 10);
        let size = Value::Bytes(256 << 20);
        let cache = Finding::new(
            "slc",
            "SLC cache",
            size,
            "256 MiB".to_string(),
            Strength::Strong,
            "the rate falls".to_string(),
        );
        report.findings.push(cache);
        no_cache(&mut report);
        assert_eq!(report.bytes("slc"), None);
        assert!(report.bytes("unit").is_some());
        let finding = report.finding("slc").unwrap();
        assert!(finding.evidence.starts_with("the rate falls: idle time"));
    }
}
