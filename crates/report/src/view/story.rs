//! The summary and verdict: what the numbers say in plain words, and the handful of them that a
//! reader looks for first. Every sentence follows from values that the document holds; where they
//! are missing the sentence is left out.

use super::course::{self, WriteCourse};
use super::published;
use crate::number::{short, with_unit};
use nandscope_measure::result::{ResultDocument, StepResult};

/// A key figure in large type.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// What it is.
    pub label: String,
    /// The number.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// Where it comes from, or what to compare it with.
    pub note: String,
}

/// A paragraph of the verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Paragraph {
    /// In bold before the text; a mode, or what the paragraph is about.
    pub lead: String,
    /// Whole sentences.
    pub text: String,
}

/// What the numbers say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// The verdict, the most important first.
    pub paragraphs: Vec<Paragraph>,
    /// Key figures.
    pub tiles: Vec<Tile>,
}

/// Reads the story out of a document.
pub fn of(document: &ResultDocument) -> Story {
    let mut story = Story::default();
    let modes = modes(document);
    let mut best_reads = Vec::new();
    for mode in &modes {
        let steps: Vec<&StepResult> = document
            .steps
            .iter()
            .filter(|s| s.mode.as_deref() == mode.as_deref())
            .collect();
        let lead = mode.clone().unwrap_or_else(|| "Speed".to_string());
        speed(&mut story, &lead, mode.is_some(), &steps, &mut best_reads);
    }
    heat(&mut story, document);
    power(&mut story, document);
    modes_against_each_other(&mut story, &best_reads);
    published_score(&mut story, document);
    story
}

/// Modes in the document's order, those of steps that no one declared behind them.
pub fn modes(document: &ResultDocument) -> Vec<Option<String>> {
    let mut modes: Vec<Option<String>> = Vec::new();
    let declared = document.target.modes.iter().map(|m| Some(m.name.clone()));
    let used = document.steps.iter().map(|s| s.mode.clone());
    for mode in declared.chain(used) {
        let ran = document.steps.iter().any(|s| s.mode == mode);
        if ran && !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    modes
}

/// The fastest job of a kind: MB/s and name.
fn fastest(steps: &[&StepResult], kind: &str) -> Option<(f64, String)> {
    steps
        .iter()
        .flat_map(|s| &s.jobs)
        .flat_map(|j| j.directions.iter().map(move |d| (j, d)))
        .filter(|(_, d)| d.kind == kind && d.bandwidth_bytes_per_s.is_finite() && d.bytes > 0)
        .max_by(|a, b| {
            a.1.bandwidth_bytes_per_s
                .total_cmp(&b.1.bandwidth_bytes_per_s)
        })
        .map(|(j, d)| (d.bandwidth_bytes_per_s / 1e6, j.name.clone()))
}

/// The longest write of a mode.
fn longest_write(steps: &[&StepResult]) -> Option<(WriteCourse, String)> {
    steps
        .iter()
        .filter_map(|s| course::of_step(s).map(|c| (c, s.title.clone())))
        .max_by(|a, b| a.0.written_gb.total_cmp(&b.0.written_gb))
}

fn speed(
    story: &mut Story,
    lead: &str,
    several: bool,
    steps: &[&StepResult],
    best_reads: &mut Vec<(String, f64)>,
) {
    let mut sentences = Vec::new();
    let label = |what: &str| {
        if several {
            format!("{what}, {lead}")
        } else {
            what.to_string()
        }
    };
    let read = fastest(steps, "read");
    let write = fastest(steps, "write");
    if let Some((mb_s, job)) = &read {
        sentences.push(format!(
            "The fastest job reads at {} ({job}).",
            with_unit(*mb_s, "MB/s")
        ));
        story
            .tiles
            .push(tile(label("Fastest read"), *mb_s, "MB/s", job.clone()));
        best_reads.push((lead.to_string(), *mb_s));
    }
    if let Some((mb_s, job)) = &write {
        sentences.push(format!(
            "The fastest write reaches {} ({job}).",
            with_unit(*mb_s, "MB/s")
        ));
    }
    if let Some((course, title)) = longest_write(steps) {
        sentences.push(course_in_words(&course));
        let share = with_unit(course.sustained_mb_s / course.burst_mb_s * 100.0, "%");
        story
            .tiles
            .push(tile(label("Burst write"), course.burst_mb_s, "MB/s", title));
        let note = format!("{share} of the start; last quarter of the longest write");
        story.tiles.push(tile(
            label("Sustained write"),
            course.sustained_mb_s,
            "MB/s",
            note,
        ));
        if let (true, Some(gb)) = (course.slows(), course.fast_gb) {
            let note = "written before the speed falls; fits a cache".to_string();
            story.tiles.push(tile(label("Fast part"), gb, "GB", note));
        }
    } else if let Some((mb_s, job)) = write {
        story
            .tiles
            .push(tile(label("Fastest write"), mb_s, "MB/s", job));
    }
    if !sentences.is_empty() {
        story.paragraphs.push(Paragraph {
            lead: lead.to_string(),
            text: sentences.join(" "),
        });
    }
}

fn course_in_words(course: &WriteCourse) -> String {
    let burst = with_unit(course.burst_mb_s, "MB/s");
    let sustained = with_unit(course.sustained_mb_s, "MB/s");
    let all = with_unit(course.written_gb, "GB");
    let share = with_unit(course.sustained_mb_s / course.burst_mb_s * 100.0, "%");
    match course.fast_gb {
        Some(gb) if course.slows() => format!(
            "Written to without pause, it starts at {burst}, slows down after about {} and averages \
             {sustained} in the last quarter of {all}: {share} of its start. The change is consistent \
             with a fast write cache of about that size; plan long writes with the lower figure.",
            with_unit(gb, "GB"),
        ),
        _ => {
            let end = if course.sustained_mb_s >= 0.9 * course.burst_mb_s {
                ", with no lasting drop"
            } else {
                ""
            };
            format!(
                "Written to without pause, it starts at {burst} and averages {sustained} in the last \
                 quarter of {all}: {share} of its start{end}."
            )
        }
    }
}

fn tile(label: String, value: f64, unit: &str, note: String) -> Tile {
    Tile {
        label,
        value: short(value),
        unit: unit.to_string(),
        note,
    }
}

/// The greatest value of all series of a name, with the step it stands in.
fn peak<'a>(document: &'a ResultDocument, name: &str) -> Option<(f64, &'a StepResult)> {
    document
        .steps
        .iter()
        .flat_map(|step| step.series.iter().map(move |s| (step, s)))
        .filter(|(_, s)| s.name == name)
        .flat_map(|(step, s)| s.v.iter().map(move |v| (*v, step)))
        .filter(|(v, _)| v.is_finite())
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Share of the samples of `throttle` that lie below full speed, in percent; full speed is 100 in
/// percent and 1 otherwise.
fn throttled_percent(document: &ResultDocument) -> Option<f64> {
    let (mut all, mut throttled) = (0.0, 0.0);
    let series = document
        .steps
        .iter()
        .flat_map(|s| &s.series)
        .filter(|s| s.name == "throttle");
    for s in series {
        let full = if s.unit == "%" { 100.0 } else { 1.0 };
        let weight = if s.interval_s > 0.0 {
            s.interval_s
        } else {
            1.0
        };
        for v in s.v.iter().filter(|v| v.is_finite()) {
            all += weight;
            if *v < full * 0.999 {
                throttled += weight;
            }
        }
    }
    (all > 0.0).then(|| throttled / all * 100.0)
}

/// The step in words: its title and mode.
fn place(step: &StepResult) -> String {
    match &step.mode {
        Some(mode) => format!("{}, {mode}", step.title),
        None => step.title.clone(),
    }
}

fn heat(story: &mut Story, document: &ResultDocument) {
    let mut sentences = Vec::new();
    let inside = peak(document, "device temperature");
    let surface = peak(document, "surface temperature");
    if let Some((c, step)) = inside {
        sentences.push(format!(
            "The device reports up to {} ({}).",
            with_unit(c, "°C"),
            place(step)
        ));
    }
    if let Some((c, _)) = surface {
        sentences.push(format!("Its surface reaches {}.", with_unit(c, "°C")));
    }
    if let Some(percent) = throttled_percent(document) {
        sentences.push(if percent > 0.0 {
            let share = if percent < 0.1 {
                "less than 0.1\u{202f}%".into()
            } else {
                with_unit(percent, "%")
            };
            format!("It throttles for {share} of the time that was recorded.")
        } else {
            "It does not throttle at any time that was recorded.".to_string()
        });
    }
    if let Some((c, step)) = inside.or(surface) {
        let label = if inside.is_some() {
            "Hottest, inside"
        } else {
            "Hottest, surface"
        };
        story
            .tiles
            .push(tile(label.to_string(), c, "°C", place(step)));
    }
    if !sentences.is_empty() {
        story.paragraphs.push(Paragraph {
            lead: "Heat".into(),
            text: sentences.join(" "),
        });
    }
}

fn power(story: &mut Story, document: &ResultDocument) {
    if let Some((w, step)) = peak(document, "power") {
        story
            .tiles
            .push(tile("Peak power".into(), w, "W", place(step)));
        let text = format!("It draws up to {} ({}).", with_unit(w, "W"), place(step));
        story.paragraphs.push(Paragraph {
            lead: "Power".into(),
            text,
        });
    }
}

fn modes_against_each_other(story: &mut Story, reads: &[(String, f64)]) {
    let fastest = reads.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let slowest = reads.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    if let (Some((fast, a)), Some((slow, b))) = (fastest, slowest)
        && *b > 0.0
        && a / b >= 1.1
    {
        let text = format!(
            "The fastest read in {fast} is {} that in {slow}.",
            with_unit(a / b, "×")
        );
        story.paragraphs.push(Paragraph {
            lead: "Modes".into(),
            text,
        });
    }
}

fn published_score(story: &mut Story, document: &ResultDocument) {
    let (met, all) = published::score(document);
    if all == 0 {
        return;
    }
    let verb = published::verb(document);
    let text = match (met, all) {
        (1, 1) => format!(
            "The published figure of the real device is met by the {verb} one within its tolerance."
        ),
        (m, a) if m == a => {
            format!("All {a} published figures of the real device are met within their tolerances.")
        }
        _ => format!(
            "{met} of {all} published figures of the real device are met within their tolerances; the \
             table of published against {verb} values gives the reason for each other one, where it is known."
        ),
    };
    story.tiles.push(Tile {
        label: "Published figures met".into(),
        value: format!("{met}/{all}"),
        unit: String::new(),
        note: "within their tolerances".into(),
    });
    story.paragraphs.push(Paragraph {
        lead: "Against publication".into(),
        text,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_measure::result::Series;

    fn document(series: Vec<Series>) -> ResultDocument {
        let mut document = crate::blank::document();
        document.steps = vec![StepResult {
            title: "s".into(),
            series,
            ..StepResult::default()
        }];
        document
    }

    fn series(name: &str, unit: &str, v: Vec<f64>) -> Series {
        let t_s = (1..=v.len()).map(|i| i as f64).collect();
        Series {
            name: name.into(),
            unit: unit.into(),
            interval_s: 1.0,
            t_s,
            v,
        }
    }

    #[test]
    fn an_empty_document_claims_nothing() {
        assert_eq!(of(&document(vec![])), Story::default());
    }

    #[test]
    fn throttling_is_only_spoken_of_where_it_was_recorded() {
        let silent = of(&document(vec![series(
            "device temperature",
            "°C",
            vec![40.0],
        )]));
        assert_eq!(silent.paragraphs.len(), 1);
        assert!(!silent.paragraphs[0].text.contains("throttle"));
        let cool = of(&document(vec![series("throttle", "%", vec![100.0; 4])]));
        assert!(cool.paragraphs[0].text.contains("does not throttle"));
        let hot = of(&document(vec![series(
            "throttle",
            "",
            vec![1.0, 0.5, 0.5, 1.0],
        )]));
        assert!(
            hot.paragraphs[0].text.contains("50.0\u{202f}% of the time"),
            "{hot:?}"
        );
    }

    #[test]
    fn a_steady_write_is_not_called_a_cache() {
        let steady = of(&document(vec![series(
            "write bandwidth",
            "MB/s",
            vec![60.0; 100],
        )]));
        assert!(steady.paragraphs[0].text.contains("no lasting drop"));
        let mut v = vec![400.0; 20];
        v.extend(vec![40.0; 100]);
        let drops = of(&document(vec![series("write bandwidth", "MB/s", v)]));
        assert!(
            drops.paragraphs[0]
                .text
                .contains("slows down after about 8"),
            "{drops:?}"
        );
        assert!(
            drops
                .tiles
                .iter()
                .any(|t| t.label == "Fast part" && t.unit == "GB")
        );
    }
}
