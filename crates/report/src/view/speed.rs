//! The fastest read and write of each mode, in a sentence and in tiles.

use super::statements::{Overview, Paragraph, Tile, tile};
use crate::names::capital;
use crate::number::{short, with_unit};
use nandscope_result::{Figure, JobResult, Operation, StepResult};

/// From this share of the greatest speed of all jobs on, the greatest figure is named instead: a figure of repeated runs
/// is a little below the best of them.
const AS_FAST: f64 = 0.995;
/// Last parts of identifiers of figures that are extremes of single intervals, not speeds of a test.
const EXTREMES: [&str; 2] = ["high", "low"];

/// Part of identifiers of figures of fills, which are writes.
const FILL: &str = "fill";

/// A speed, and what ran at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fastest {
    /// Bandwidth, MB/s.
    pub mb_s: f64,
    /// The figure or job in words.
    pub what: String,
}

/// The fastest read and write of one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Speeds {
    /// Name of the mode; `None` where the document has none.
    pub mode: Option<String>,
    /// Fastest read.
    pub read: Option<Fastest>,
    /// Fastest write.
    pub write: Option<Fastest>,
}

/// The fastest read and write among all figures and jobs of the steps of a mode.
pub fn of(mode: Option<&str>, steps: &[&StepResult]) -> Speeds {
    Speeds {
        mode: mode.map(str::to_string),
        read: fastest(steps, &Operation::Read),
        write: fastest(steps, &Operation::Write),
    }
}

fn fastest(steps: &[&StepResult], kind: &Operation) -> Option<Fastest> {
    let figures: Vec<(f64, String)> = steps
        .iter()
        .flat_map(|s| s.figures.iter().map(move |f| (*s, f)))
        .filter(|(_, f)| is_speed(f, kind))
        .map(|(s, f)| (f.value, figure_name(s, f)))
        .collect();
    let jobs: Vec<(f64, String)> = steps
        .iter()
        .flat_map(|s| s.jobs.iter().map(move |j| (*s, j)))
        .flat_map(|(s, j)| j.directions.iter().map(move |d| (s, j, d)))
        .filter(|(_, _, d)| d.kind == *kind && d.bandwidth_bytes_per_s.is_finite() && d.bytes > 0)
        .map(|(s, j, d)| (d.bandwidth_bytes_per_s / 1e6, job_name(s, j)))
        .collect();
    match (greatest(figures), greatest(jobs)) {
        (Some(figure), Some(job)) if figure.mb_s < job.mb_s * AS_FAST => Some(job),
        (figure, job) => figure.or(job),
    }
}

/// The greatest speed; of several that are shown alike the first.
fn greatest(all: Vec<(f64, String)>) -> Option<Fastest> {
    let greatest = all.iter().map(|s| s.0).fold(0.0, f64::max);
    let shown = short(greatest);
    all.into_iter()
        .find(|(mb_s, _)| *mb_s > 0.0 && short(*mb_s) == shown)
        .map(|(mb_s, what)| Fastest { mb_s, what })
}

fn is_speed(figure: &Figure, kind: &Operation) -> bool {
    let names = |part: &str| figure.id.split('.').any(|p| p == part);
    let last = figure.id.rsplit('.').next().unwrap_or_default();
    let is_of_kind = names(kind.as_str()) || (*kind == Operation::Write && names(FILL));
    figure.unit == "MB/s" && figure.value.is_finite() && is_of_kind && !EXTREMES.contains(&last)
}

/// A figure's title, after the title of its chapter where it does not name it.
fn figure_name(step: &StepResult, figure: &Figure) -> String {
    within(&step.section, &figure.title)
}

/// The title of a job's step, and its own name where the step has several.
fn job_name(step: &StepResult, job: &JobResult) -> String {
    let title = within(&step.section, &step.title);
    match step.jobs.len() {
        1 if !title.is_empty() => title,
        _ if title.is_empty() || title == job.name => job.name.clone(),
        _ => format!("{title}, {}", job.name),
    }
}

fn within(section: &str, title: &str) -> String {
    if section.is_empty() || title.contains(section) {
        title.to_string()
    } else {
        format!("{section}, {title}")
    }
}

/// One sentence about all modes: the first is described in full, the others where they differ.
pub fn in_words(all: &[Speeds]) -> Option<String> {
    let several = all.len() > 1;
    let clauses: Vec<String> = all.iter().filter_map(|s| clause(s, several)).collect();
    (!clauses.is_empty()).then(|| format!("{}.", capital(&clauses.join("; "))))
}

fn clause(speeds: &Speeds, several: bool) -> Option<String> {
    let part = |verb: &str, best: &Option<Fastest>| {
        let best = best.as_ref()?;
        let speed = with_unit(best.mb_s, "MB/s");
        Some(format!("{verb} at up to {speed} ({})", best.what))
    };
    let parts: Vec<String> = [part("reads", &speeds.read), part("writes", &speeds.write)]
        .into_iter()
        .flatten()
        .collect();
    let place = match &speeds.mode {
        Some(mode) if several => format!("in {mode} it "),
        _ => String::new(),
    };
    (!parts.is_empty()).then(|| format!("{place}{}", parts.join(" and ")))
}

/// Tiles of the fastest read and write.
pub fn tiles(overview: &mut Overview, speeds: &Speeds, label: &dyn Fn(&str) -> String) {
    for (what, best) in [
        ("fastest read", &speeds.read),
        ("fastest write", &speeds.write),
    ] {
        if let Some(best) = best {
            let tile: Tile = tile(label(what), best.mb_s, "MB/s", best.what.clone());
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

    fn figure(id: &str, value: f64) -> Figure {
        Figure {
            id: id.into(),
            title: id.into(),
            value,
            unit: "MB/s".into(),
            ..Figure::default()
        }
    }

    fn job(name: &str, kind: &str, mb_s: f64) -> JobResult {
        JobResult {
            name: name.into(),
            directions: vec![DirectionResult {
                kind: kind.into(),
                bytes: 1,
                bandwidth_bytes_per_s: mb_s * 1e6,
                ..DirectionResult::default()
            }],
            ..JobResult::default()
        }
    }

    #[test]
    fn the_fastest_of_all_figures_and_jobs_is_named() {
        let step = StepResult {
            title: "queue depth 32".into(),
            section: "Sustained".into(),
            figures: vec![
                figure("e.burst.read", 61.3),
                figure("e.sustained.read.qd32", 904.0),
                figure("e.fio.write", 75.0),
                figure("e.fio.write.high", 411.0),
            ],
            jobs: vec![job("prepare", "write", 402.0)],
            ..StepResult::default()
        };
        let speeds = of(None, &[&step]);
        let read = speeds.read.clone().unwrap();
        assert_eq!(
            (read.mb_s, read.what.as_str()),
            (904.0, "Sustained, e.sustained.read.qd32")
        );
        let write = speeds.write.clone().unwrap();
        assert_eq!(
            (write.mb_s, write.what.as_str()),
            (402.0, "Sustained, queue depth 32")
        );
        assert_eq!(
            in_words(&[speeds]).unwrap().replace('\u{202f}', " "),
            "Reads at up to 904 MB/s (Sustained, e.sustained.read.qd32) and writes at up to 402 MB/s (Sustained, queue depth 32)."
        );
    }

    #[test]
    fn a_fill_writes() {
        let step = StepResult {
            figures: vec![
                figure("sde.fill.pass-1", 75.0),
                figure("sde.fill.pass-1.plateau-1", 411.0),
                figure("sde.fill.pass-1.high", 500.0),
            ],
            ..StepResult::default()
        };
        let speeds = of(None, &[&step]);
        assert_eq!(speeds.write.unwrap().mb_s, 411.0);
        assert!(speeds.read.is_none());
    }

    #[test]
    fn no_figure_is_faster_than_the_one_that_is_named() {
        let step = StepResult {
            figures: vec![
                figure("q8t1.write", 9.937),
                figure("q1t1.write", 9.951),
                figure("q1t1.again.write", 9.954),
            ],
            ..StepResult::default()
        };
        let write = of(None, &[&step]).write.unwrap();
        assert_eq!((write.mb_s, write.what.as_str()), (9.951, "q1t1.write"));
    }

    #[test]
    fn a_figure_is_named_rather_than_the_job_it_comes_from() {
        let step = StepResult {
            figures: vec![figure("cdm.read", 899.0)],
            jobs: vec![job("run 1", "read", 900.0), job("run 2", "read", 880.0)],
            ..StepResult::default()
        };
        assert_eq!(of(None, &[&step]).read.unwrap().what, "cdm.read");
        let none = of(None, &[&StepResult::default()]);
        assert_eq!((none.read.is_none(), in_words(&[none])), (true, None));
    }
}
