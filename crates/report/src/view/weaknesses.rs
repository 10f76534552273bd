//! Weaknesses: small random access slower than that of a hard disk, last places among other drives, throttling. They
//! are reported next to the advertised rates.

use super::headline;
use super::page_context::Rank;
use super::power_and_heat;
use super::statements::Paragraph;
use crate::names::capital;
use crate::number::{short, with_unit};
use nandscope_result::{JobResult, Operation, ResultDocument, StepResult, procedure};

/// Random operations per second of a hard disk.
const HARD_DISK_IOPS: f64 = 100.0;
/// Number of drives, including this one, from which on the last place is meaningful.
const FEWEST_RANKED: usize = 5;
/// Last places that are named; the table of ranks has all.
const MOST_LAST: usize = 3;

/// The paragraph of the overview; `None` without weaknesses.
pub fn paragraph(
    document: &ResultDocument,
    modes: &[Option<String>],
    ranks: &[Rank],
) -> Option<Paragraph> {
    let several = modes.len() > 1;
    let mut clauses: Vec<String> = Vec::new();
    for mode in modes {
        let place = match mode {
            Some(mode) if several => format!("in {mode} "),
            _ => String::new(),
        };
        let of_mode = slow_operations(document, mode.as_deref());
        clauses.extend(of_mode.into_iter().map(|clause| format!("{place}{clause}")));
    }
    clauses.extend(last_places(ranks));
    clauses.extend(power_and_heat::throttles(document));
    (!clauses.is_empty())
        .then(|| Paragraph::new("Weaknesses", format!("{}.", capital(&clauses.join("; ")))))
}

/// Small random reads and writes of the tests of a suite, if they are slower than those of a hard disk. The jobs of a run
/// may be slow on purpose.
fn slow_operations(document: &ResultDocument, mode: Option<&str>) -> Vec<String> {
    if [procedure::RUN, procedure::FIO].contains(&document.procedure.as_str()) {
        return Vec::new();
    }
    let steps = document.steps.iter();
    let of_mode: Vec<&StepResult> = steps.filter(|s| s.mode.as_deref() == mode).collect();
    let of_kind = |kind: Operation| {
        let jobs = of_mode
            .iter()
            .flat_map(|s| s.jobs.iter().map(move |j| (*s, j)));
        let rates: Vec<f64> = jobs
            .filter(|(s, j)| headline::is_test(s, j))
            .filter_map(|(_, j)| small_random(j, &kind))
            .collect();
        let least = rates.iter().copied().reduce(f64::min)?;
        let greatest = rates.iter().copied().reduce(f64::max)?;
        let range = match short(least) == short(greatest) {
            true => with_unit(least, "IOPS"),
            false => format!("{} to {}", short(least), with_unit(greatest, "IOPS")),
        };
        (least < HARD_DISK_IOPS).then(|| {
            format!(
                "{range} in 4 KiB random {kind}s at queue depth 1 (a hard disk: about {HARD_DISK_IOPS})"
            )
        })
    };
    let found = [of_kind(Operation::Read), of_kind(Operation::Write)];
    found.into_iter().flatten().collect()
}

/// Operations per second of a job of 4 KiB at random, one at a time, without its pauses; `None` for any other job.
fn small_random(job: &JobResult, kind: &Operation) -> Option<f64> {
    let option = |name: &str| job.options.get(name).map(String::as_str);
    let is_random = option("rw") == Some(&format!("rand{kind}"));
    let is_small = matches!(option("bs"), Some("4k" | "4096"));
    let is_alone = matches!(option("iodepth"), None | Some("1"));
    let direction = job.directions.iter().find(|d| d.kind == *kind)?;
    let busy_s = job.runtime_s - job.idle_s;
    (is_random && is_small && is_alone && direction.operations > 0 && busy_s > 0.0)
        .then(|| direction.operations as f64 / busy_s)
}

/// Sentence on figures in which every other drive is better.
fn last_places(ranks: &[Rank]) -> Option<String> {
    let is_last = |r: &&Rank| r.place == r.of && r.of >= FEWEST_RANKED;
    let last: Vec<String> = ranks
        .iter()
        .filter(is_last)
        .map(|r| format!("{} ({}, {} of {})", r.title, r.value, r.place, r.of))
        .collect();
    let more = match last.len().saturating_sub(MOST_LAST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = last.get(..MOST_LAST).unwrap_or(&last).join(", ");
    (!last.is_empty()).then(|| format!("last place in {named}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::DirectionResult;

    fn job(name: &str, rw: &str, operations: u64) -> JobResult {
        let options = [("rw", rw), ("bs", "4k"), ("iodepth", "1")];
        let options = options.map(|(k, v)| (k.to_string(), v.to_string()));
        JobResult {
            name: name.into(),
            options: options.into(),
            runtime_s: 2.0,
            directions: vec![DirectionResult {
                kind: rw.trim_start_matches("rand").into(),
                operations,
                ..DirectionResult::default()
            }],
            ..JobResult::default()
        }
    }

    fn rank(title: &str, place: usize) -> Rank {
        Rank {
            title: title.into(),
            value: "36.1 J/GB".into(),
            place,
            of: 27,
            best: ("Other".into(), "1 J/GB".into()),
            bars: Vec::new(),
        }
    }

    #[test]
    fn slow_random_writes_and_last_places_are_named() {
        let mut document = crate::blank::document();
        document.procedure = "card review".into();
        document.steps = vec![StepResult {
            jobs: vec![
                job("write, warm-up", "randwrite", 2),
                job("write, run 1", "randwrite", 20),
                job("write, run 2", "randwrite", 10),
                job("read, run 1", "randread", 2000),
            ],
            ..StepResult::default()
        }];
        let text = |document: &ResultDocument, ranks: &[Rank]| {
            let paragraph = paragraph(document, &[None], ranks);
            paragraph.map(|p| p.text.replace('\u{202f}', " "))
        };
        let ranks = [rank("Energy per GB", 27), rank("Rate", 26)];
        assert_eq!(
            text(&document, &ranks).unwrap(),
            "5.00 to 10.0 IOPS in 4 KiB random writes at queue depth 1 (a hard disk: about 100); last place in Energy per GB (36.1 J/GB, 27 of 27)."
        );
        // The slow operations of a run may be intended by its job file.
        document.procedure = "run".into();
        assert_eq!(text(&document, &[]), None);
    }
}
