//! The rates of each mode in the tests that the suite is for, or of a run the fastest read and write, in a sentence and in
//! key figures.

use super::headline::{self, Headline, Purpose};
use super::statements::{Overview, Paragraph, tile};
use crate::names::capital;
use crate::number::{short, with_unit};
use nandscope_result::{Figure, JobResult, Operation, ResultDocument, StepResult, slug};

/// Rates of one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Speeds {
    /// Name of the mode; `None` where the document has none.
    pub mode: Option<String>,
    /// Its tests in the order of the verdict.
    pub tests: Vec<Rates>,
    /// Whether data was moved, but nowhere long enough for a rate.
    pub too_short: bool,
}

/// Rates of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Rate of reading.
    pub read: Option<f64>,
    /// Rate of writing.
    pub write: Option<f64>,
    /// Their unit.
    pub unit: &'static str,
    /// Name of the test.
    pub name: String,
    /// Name for a key figure.
    pub label: String,
    /// Whether the rates are the greatest of several jobs.
    pub greatest: bool,
}

/// The rates of a mode.
pub fn of(document: &ResultDocument, mode: Option<&str>) -> Speeds {
    let tests = match headline::purpose(&document.procedure) {
        Some(purpose) => of_suite(document, mode, &purpose),
        None => of_run(document, mode),
    };
    let mut jobs = document
        .steps
        .iter()
        .filter(|s| s.mode.as_deref() == mode)
        .flat_map(|s| &s.jobs);
    Speeds {
        mode: mode.map(str::to_string),
        too_short: tests.is_empty() && jobs.any(|job| moved(job) > 0 && is_short(job)),
        tests,
    }
}

/// The tests of a suite that were measured.
fn of_suite(document: &ResultDocument, mode: Option<&str>, purpose: &Purpose) -> Vec<Rates> {
    let value = |test: &Headline, id: Option<&str>| {
        let id = match mode {
            Some(mode) => format!("{}.{}", slug(mode), id?),
            None => id?.to_string(),
        };
        let is_it = |f: &&Figure| {
            f.mode.as_deref() == mode && f.id == id && f.unit == test.unit && f.value.is_finite()
        };
        let measured = document.steps.iter().filter(|step| !is_too_short(step));
        let mut figures = measured
            .flat_map(|step| &step.figures)
            .chain(&document.figures);
        figures.find(is_it).map(|f| f.value)
    };
    let tests = purpose.tests.iter().map(|test| Rates {
        read: value(test, test.read),
        write: value(test, test.write),
        unit: test.unit,
        name: test.name.to_string(),
        label: test.short.to_string(),
        greatest: false,
    });
    tests
        .filter(|t| t.read.is_some() || t.write.is_some())
        .collect()
}

/// Shortest time, s, and least amount, bytes, from which a rate is stated: below both, the buffers of host and device count.
const SHORTEST: (f64, u64) = (0.5, 50_000_000);

/// Whether no job of a step took long enough, or moved enough, for a rate. A step without jobs is judged by its own time.
fn is_too_short(step: &StepResult) -> bool {
    if step.jobs.is_empty() {
        return step.end_s - step.start_s < SHORTEST.0;
    }
    step.jobs.iter().all(is_short)
}

fn is_short(job: &JobResult) -> bool {
    job.runtime_s < SHORTEST.0 && moved(job) < SHORTEST.1
}

/// Bytes that a job read, wrote and discarded.
fn moved(job: &JobResult) -> u64 {
    job.directions.iter().map(|d| d.bytes).sum()
}

/// The fastest read and the fastest write of the jobs of a run.
fn of_run(document: &ResultDocument, mode: Option<&str>) -> Vec<Rates> {
    let steps = document.steps.iter();
    let of_mode: Vec<&StepResult> = steps.filter(|s| s.mode.as_deref() == mode).collect();
    let of_kind = |kind: Operation| {
        let (mb_s, name, others) = fastest(&of_mode, &kind)?;
        let (read, write) = match kind {
            Operation::Read => (Some(mb_s), None),
            _ => (None, Some(mb_s)),
        };
        Some(Rates {
            read,
            write,
            unit: "MB/s",
            label: name.clone(),
            name,
            greatest: others,
        })
    };
    let found = [of_kind(Operation::Read), of_kind(Operation::Write)];
    found.into_iter().flatten().collect()
}

/// Greatest rate of the jobs, MB/s, its job, and whether there are others; of several that are shown alike, the first.
fn fastest(steps: &[&StepResult], kind: &Operation) -> Option<(f64, String, bool)> {
    let jobs = steps
        .iter()
        .flat_map(|s| s.jobs.iter().map(move |j| (*s, j)));
    let all: Vec<(f64, String)> = jobs
        .filter(|(s, j)| headline::is_test(s, j) && !is_short(j))
        .flat_map(|(s, j)| j.directions.iter().map(move |d| (s, j, d)))
        .filter(|(_, _, d)| d.kind == *kind && d.bandwidth_bytes_per_s.is_finite() && d.bytes > 0)
        .map(|(s, j, d)| (d.bandwidth_bytes_per_s / 1e6, job_name(s, j)))
        .collect();
    let others = all.len() > 1;
    let greatest = all.iter().map(|s| s.0).fold(0.0, f64::max);
    let shown = short(greatest);
    all.into_iter()
        .find(|(mb_s, _)| *mb_s > 0.0 && short(*mb_s) == shown)
        .map(|(mb_s, name)| (mb_s, name, others))
}

/// Greatest rate of the tests of some steps, without their pauses, MB/s; of the preparing jobs if there are no tests.
pub fn greatest(steps: &[&StepResult], kind: &Operation) -> Option<f64> {
    let of_jobs = |wanted: &dyn Fn(&StepResult, &JobResult) -> bool| {
        let jobs = steps
            .iter()
            .flat_map(|s| s.jobs.iter().map(move |j| (*s, j)));
        let rates = jobs.filter(|(s, j)| wanted(s, j)).filter_map(|(_, j)| {
            let direction = j.directions.iter().find(|d| d.kind == *kind)?;
            let busy_s = j.runtime_s - j.idle_s;
            let rate = match busy_s > 0.0 {
                true => direction.bytes as f64 / busy_s,
                false => direction.bandwidth_bytes_per_s,
            };
            (direction.bytes > 0 && rate.is_finite()).then_some(rate / 1e6)
        });
        rates.reduce(f64::max)
    };
    of_jobs(&headline::is_test).or_else(|| of_jobs(&|_, _| true))
}

/// Title of the step, name of the job, and how it accesses the device.
fn job_name(step: &StepResult, job: &JobResult) -> String {
    let option = |names: &[&str]| {
        let found = names.iter().find_map(|name| job.options.get(*name));
        found.filter(|v| !v.is_empty()).cloned()
    };
    let mut parts = vec![step.title.clone()];
    if !step.title.contains(&job.name) {
        parts.push(job.name.clone());
    }
    parts.extend(option(&["rw", "readwrite"]));
    parts.extend(option(&["bs", "blocksize"]));
    parts.retain(|p| !p.is_empty());
    parts.join(", ")
}

/// One sentence about all modes.
pub fn in_words(all: &[Speeds]) -> Option<String> {
    let several = all.len() > 1;
    let clauses: Vec<String> = all.iter().filter_map(|s| clause(s, several)).collect();
    let too_short = || {
        let (least_s, least) = (SHORTEST.0, SHORTEST.1 / 1_000_000);
        format!(
            "Not stated, as each job took less than {least_s}\u{202f}s and moved less than {least}\u{202f}MB."
        )
    };
    match clauses.is_empty() {
        true => all.iter().any(|s| s.too_short).then(too_short),
        false => Some(format!("{}.", capital(&clauses.join("; ")))),
    }
}

fn clause(speeds: &Speeds, several: bool) -> Option<String> {
    let parts: Vec<String> = speeds.tests.iter().map(test_in_words).collect();
    let place = match &speeds.mode {
        Some(mode) if several => format!("in {mode} it "),
        _ => String::new(),
    };
    (!parts.is_empty()).then(|| format!("{place}{}", parts.join(", ")))
}

/// `reads at 47.6 MB/s and writes at 20.6 MB/s (SEQ1M Q8T1, fresh, best run)`.
fn test_in_words(test: &Rates) -> String {
    let most = if test.greatest { "up to " } else { "" };
    let rates = [("reads", test.read), ("writes", test.write)];
    let rates = rates.into_iter().filter_map(|(verb, rate)| {
        let rate = with_unit(rate?, test.unit);
        Some(format!("{verb} at {most}{rate}"))
    });
    let rates: Vec<String> = rates.collect();
    format!("{} ({})", rates.join(" and "), test.name)
}

/// Key figures of the tests.
pub fn tiles(overview: &mut Overview, speeds: &Speeds, label: &dyn Fn(&str) -> String) {
    for test in &speeds.tests {
        for (what, rate) in [("read", test.read), ("write", test.write)] {
            let Some(rate) = rate else { continue };
            let of_run = test.greatest || test.label == test.name;
            let name = match of_run {
                true => what.to_string(),
                false => format!("{} {what}", test.label),
            };
            let name = if test.greatest {
                format!("fastest {name}")
            } else {
                name
            };
            let tile = tile(label(&name), rate, test.unit, test.name.clone());
            overview.tiles.push(tile);
        }
    }
}

/// The paragraph of the overview.
pub fn paragraph(all: &[Speeds]) -> Option<Paragraph> {
    in_words(all).map(|text| Paragraph::new("Speed", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::DirectionResult;

    fn figure(id: &str, unit: &str, value: f64) -> Figure {
        Figure {
            id: id.into(),
            title: id.into(),
            value,
            unit: unit.into(),
            ..Figure::default()
        }
    }

    fn job(name: &str, rw: &str, kind: &str, mb_s: f64) -> JobResult {
        JobResult {
            name: name.into(),
            options: [("rw".to_string(), rw.to_string())].into(),
            directions: vec![DirectionResult {
                kind: kind.into(),
                bytes: SHORTEST.1,
                bandwidth_bytes_per_s: mb_s * 1e6,
                ..DirectionResult::default()
            }],
            ..JobResult::default()
        }
    }

    fn document(procedure: &str, step: StepResult) -> ResultDocument {
        ResultDocument {
            procedure: procedure.into(),
            steps: vec![step],
            ..crate::blank::document()
        }
    }

    fn text(document: &ResultDocument) -> String {
        let text = in_words(&[of(document, None)]);
        text.unwrap_or_default().replace('\u{202f}', " ")
    }

    #[test]
    fn a_suite_names_the_tests_that_it_is_for() {
        // A random read and a preparing write are faster than what the suite measures.
        let step = StepResult {
            figures: vec![
                figure("speed-class.unfragmented", "MB/s", 13.3),
                figure("speed-class.fragmented.64k", "MB/s", 5.07),
                figure("speed-class.a1-like.read", "IOPS", 4_000.0),
            ],
            jobs: vec![job("sequential", "write", "write", 17.3)],
            ..StepResult::default()
        };
        assert_eq!(
            text(&document("speed-class", step.clone())),
            "Writes at 13.3 MB/s (recording into empty areas, slowest), writes at 5.07 MB/s (recording into areas half in use, 64 KiB, slowest), reads at 4000 IOPS (4 KiB random, queue depth 1)."
        );
        // Flashbench's inference has no rates, and this card review lacks its tests.
        assert_eq!(text(&document("flashbench", step.clone())), "");
        assert_eq!(text(&document("card review", step)), "");
    }

    #[test]
    fn of_a_run_the_fastest_jobs_are_named_with_their_access() {
        let mut warm = job("warm-up", "read", "read", 904.0);
        warm.options.insert("bs".into(), "1m".into());
        let step = StepResult {
            jobs: vec![
                warm,
                job("load", "randread", "read", 61.3),
                job("slow", "randread", "read", 60.0),
                job("fill", "write", "write", 402.0),
            ],
            ..StepResult::default()
        };
        assert_eq!(
            text(&document("run", step)),
            "Reads at up to 61.3 MB/s (load, randread), writes at 402 MB/s (fill, write)."
        );
    }

    #[test]
    fn a_moment_gives_no_rate() {
        // 28.9 MB in 17 ms: the buffers of the host, not the device.
        let mut fill = job("fill", "write", "write", 1674.0);
        fill.directions[0].bytes = 28_900_000;
        fill.runtime_s = 0.017;
        let mut step = StepResult {
            figures: vec![figure("fill.pass-1", "MB/s", 1674.0)],
            jobs: vec![fill],
            ..StepResult::default()
        };
        let untold = "Not stated, as each job took less than 0.5 s and moved less than 50 MB.";
        assert_eq!(text(&document("fill", step.clone())), untold);
        assert_eq!(text(&document("run", step.clone())), untold);
        step.jobs[0].runtime_s = SHORTEST.0;
        assert_eq!(
            text(&document("fill", step.clone())),
            "Writes at 1674 MB/s (first fill, mean)."
        );
        assert_eq!(
            text(&document("run", step)),
            "Writes at 1674 MB/s (fill, write)."
        );
    }

    #[test]
    fn a_document_without_rates_says_nothing() {
        assert_eq!(text(&document("run", StepResult::default())), "");
    }
}
