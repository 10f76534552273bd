//! The summary and verdict: what the numbers say in plain words, and the handful of them that a
//! reader looks for first. Every sentence follows from values that the document holds; where they
//! are missing the sentence is left out.

use super::curves;
use super::power_and_heat;
use super::published;
use super::regions::{self, Region};
use crate::names::capital;
use crate::number::{short, with_unit};
use nandscope_result::throughput_profile::{self, ThroughputProfile};
use nandscope_result::{Figure, Operation, ResultDocument, StepResult, procedure};

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
    /// Where the page says more: element id, and the words of the link.
    pub link: Option<(&'static str, &'static str)>,
}

impl Paragraph {
    /// A paragraph without a link.
    pub fn new(lead: &str, text: String) -> Self {
        Paragraph {
            lead: lead.to_string(),
            text,
            link: None,
        }
    }
}

/// What the numbers say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// The verdict, the most important first.
    pub paragraphs: Vec<Paragraph>,
    /// Key figures.
    pub tiles: Vec<Tile>,
}

/// The verdicts of a verification, each with its reasons; its curves are evidence only.
fn verdict(document: &ResultDocument) -> Overview {
    let conclusions = document.steps.iter().flat_map(|s| &s.conclusions);
    let verdicts = conclusions.filter(|c| c.passed.is_some());
    let paragraphs = verdicts.map(|c| Paragraph::new(&c.answer, format!("{}.", c.evidence)));
    Overview {
        paragraphs: paragraphs.collect(),
        tiles: Vec::new(),
    }
}

/// Makes the overview of a document.
pub fn of(document: &ResultDocument) -> Overview {
    if document.procedure == procedure::VERIFY {
        return verdict(document);
    }
    let mut overview = Overview::default();
    let modes = modes(document);
    let mut best_reads = Vec::new();
    for mode in &modes {
        let steps: Vec<&StepResult> = document
            .steps
            .iter()
            .filter(|s| s.mode.as_deref() == mode.as_deref())
            .collect();
        let lead = mode.clone().unwrap_or_else(|| "Speed".to_string());
        let several = modes.len() > 1;
        speed(&mut overview, &lead, several, &steps, &mut best_reads);
        power_and_heat::tiles(&mut overview, document, mode.as_deref(), several);
    }
    modes_against_each_other(&mut overview, &best_reads);
    overview.paragraphs.extend(curves::in_words(document));
    overview
        .paragraphs
        .extend(power_and_heat::paragraphs(document));
    published_score(&mut overview, document);
    overview
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

/// The fastest that a mode reads or writes, MB/s, and what did so. Figures are what a procedure
/// meant to measure; jobs, which may only prepare something, count where there are no figures.
fn fastest(steps: &[&StepResult], kind: &Operation) -> Option<(f64, String)> {
    let ending = format!(".{kind}");
    let figures = steps
        .iter()
        .flat_map(|s| s.figures.iter().map(move |f| (*s, f)))
        .filter(|(_, f)| f.id.ends_with(&ending) && f.unit == "MB/s" && f.value.is_finite())
        .map(|(s, f)| (f.value, figure_name(s, f)));
    let jobs = || {
        steps
            .iter()
            .flat_map(|s| &s.jobs)
            .flat_map(|j| j.directions.iter().map(move |d| (j, d)))
            .filter(|(_, d)| d.kind == *kind && d.bandwidth_bytes_per_s.is_finite() && d.bytes > 0)
            .map(|(j, d)| (d.bandwidth_bytes_per_s / 1e6, j.name.clone()))
    };
    let found: Vec<(f64, String)> = figures.collect();
    let all = if found.is_empty() {
        jobs().collect()
    } else {
        found
    };
    let greatest = all.iter().map(|f| f.0).fold(0.0, f64::max);
    all.into_iter().find(|f| f.0 >= greatest * AS_FAST)
}

/// From this share of the greatest on, two speeds are the same to a reader; the first is named.
const AS_FAST: f64 = 0.995;

/// A figure's title, after the title of its chapter where it does not name it.
fn figure_name(step: &StepResult, figure: &Figure) -> String {
    if step.section.is_empty() || figure.title.contains(&step.section) {
        figure.title.clone()
    } else {
        format!("{}, {}", step.section, figure.title)
    }
}

/// The longest write of a mode.
fn longest_write(steps: &[&StepResult]) -> Option<(ThroughputProfile, String)> {
    steps
        .iter()
        .filter_map(|s| throughput_profile::of_step(s).map(|c| (c, s.title.clone())))
        .max_by(|a, b| a.0.written_gb.total_cmp(&b.0.written_gb))
}

/// The regions of the first write of a mode that has more than one, or else of the first that has any.
fn first_regions(steps: &[&StepResult]) -> Option<(Vec<Region>, String)> {
    let found: Vec<(Vec<Region>, String)> = steps
        .iter()
        .map(|s| (regions::of_step(s), s.title.clone()))
        .filter(|(r, _)| !r.is_empty())
        .collect();
    let several = found.iter().find(|(r, _)| r.len() > 1).or(found.first());
    several.cloned()
}

fn speed(
    overview: &mut Overview,
    lead: &str,
    several: bool,
    steps: &[&StepResult],
    best_reads: &mut Vec<(String, f64)>,
) {
    let mut sentences = Vec::new();
    let label = |what: &str| {
        if several {
            format!("{lead}: {what}")
        } else {
            capital(what)
        }
    };
    let read = fastest(steps, &Operation::Read);
    let write = fastest(steps, &Operation::Write);
    if let Some((mb_s, what)) = &read {
        let tile = tile(label("fastest read"), *mb_s, "MB/s", what.clone());
        overview.tiles.push(tile);
        best_reads.push((lead.to_string(), *mb_s));
    }
    sentences.extend(in_short(&read, &write));
    if let Some((regions, title)) = first_regions(steps) {
        sentences.push(regions_in_words(&regions));
        region_tiles(overview, &label, &regions, title);
    } else if let Some((profile, title)) = longest_write(steps) {
        sentences.push(profile_in_words(&profile));
        profile_tiles(overview, &label, &profile, title);
    } else if let Some((mb_s, what)) = write {
        let tile = tile(label("fastest write"), mb_s, "MB/s", what);
        overview.tiles.push(tile);
    }
    if !sentences.is_empty() {
        let paragraph = Paragraph::new(lead, sentences.join(" "));
        overview.paragraphs.push(paragraph);
    }
}

/// The fastest read and write in one sentence.
fn in_short(read: &Option<(f64, String)>, write: &Option<(f64, String)>) -> Option<String> {
    let part = |verb: &str, best: &(f64, String)| {
        format!("{verb} at up to {} ({})", with_unit(best.0, "MB/s"), best.1)
    };
    match (read, write) {
        (Some(r), Some(w)) => Some(format!("{} and {}.", part("Reads", r), part("writes", w))),
        (Some(r), None) => Some(format!("{}.", part("Reads", r))),
        (None, Some(w)) => Some(format!("{}.", part("Writes", w))),
        (None, None) => None,
    }
}

/// A fast write cache shows as a first region much faster than the second.
const CACHE_FACTOR: f64 = 1.5;

/// Size of the first region, where it looks like a cache.
fn cache_gb(regions: &[Region]) -> Option<f64> {
    let (first, second) = (regions.first()?, regions.get(1)?);
    first
        .end_gb
        .filter(|_| first.mb_s > CACHE_FACTOR * second.mb_s)
}

fn regions_in_words(regions: &[Region]) -> String {
    let mut text = format!(
        "Written from end to end without pause it takes {}.",
        regions::in_words(regions)
    );
    if let Some(gb) = cache_gb(regions) {
        let size = with_unit(gb, "GB");
        text.push_str(&format!(
            " The first {size} behave like a fast write cache."
        ));
    }
    text
}

fn region_tiles(
    overview: &mut Overview,
    label: &dyn Fn(&str) -> String,
    regions: &[Region],
    title: String,
) {
    let Some(first) = regions.first() else { return };
    let note = match first.end_gb {
        Some(gb) if regions.len() > 1 => format!("for the first {}; {title}", with_unit(gb, "GB")),
        _ => title,
    };
    let what = if regions.len() > 1 {
        "fast write"
    } else {
        "write"
    };
    overview
        .tiles
        .push(tile(label(what), first.mb_s, "MB/s", note));
    // The region that holds most of the data is what lasts.
    let starts = std::iter::once(0.0).chain(regions.iter().filter_map(|r| r.end_gb));
    let longest = regions
        .iter()
        .zip(starts)
        .filter_map(|(r, start)| r.end_gb.map(|end| (r, start, end)))
        .max_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)));
    if let (Some((region, start, end)), true) = (longest, regions.len() > 1) {
        let note = format!("from {} to {}", short(start), with_unit(end, "GB"));
        overview
            .tiles
            .push(tile(label("long write"), region.mb_s, "MB/s", note));
    }
}

fn profile_tiles(
    overview: &mut Overview,
    label: &dyn Fn(&str) -> String,
    profile: &ThroughputProfile,
    title: String,
) {
    let share = with_unit(profile.sustained_mb_s / profile.burst_mb_s * 100.0, "%");
    overview.tiles.push(tile(
        label("burst write"),
        profile.burst_mb_s,
        "MB/s",
        title,
    ));
    let note = format!("{share} of the start; last quarter of the longest write");
    let sustained = tile(
        label("sustained write"),
        profile.sustained_mb_s,
        "MB/s",
        note,
    );
    overview.tiles.push(sustained);
    if let (true, Some(gb)) = (profile.slows(), profile.fast_gb) {
        let note = "written before the speed falls; fits a cache".to_string();
        overview
            .tiles
            .push(tile(label("fast part"), gb, "GB", note));
    }
}

fn profile_in_words(profile: &ThroughputProfile) -> String {
    let burst = with_unit(profile.burst_mb_s, "MB/s");
    let sustained = with_unit(profile.sustained_mb_s, "MB/s");
    let all = with_unit(profile.written_gb, "GB");
    let share = with_unit(profile.sustained_mb_s / profile.burst_mb_s * 100.0, "%");
    match profile.fast_gb {
        Some(gb) if profile.slows() => format!(
            "Written to without pause, it starts at {burst}, slows down after about {} and averages \
             {sustained} in the last quarter of {all}: {share} of its start. The change is consistent \
             with a fast write cache of about that size; plan long writes with the lower figure.",
            with_unit(gb, "GB"),
        ),
        _ => {
            let end = if profile.sustained_mb_s >= 0.9 * profile.burst_mb_s {
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

pub(super) fn tile(label: String, value: f64, unit: &str, note: String) -> Tile {
    Tile {
        label,
        value: short(value),
        unit: unit.to_string(),
        note,
    }
}

/// Lead of the paragraph that compares modes.
pub const MODES: &str = "Modes";

fn modes_against_each_other(overview: &mut Overview, reads: &[(String, f64)]) {
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
        overview.paragraphs.push(Paragraph::new(MODES, text));
    }
}

fn published_score(overview: &mut Overview, document: &ResultDocument) {
    let (met, all) = published::score(document);
    if all == 0 {
        return;
    }
    let mut text = match (met, all) {
        (1, 1) => {
            "The published figure of the real device is met within its tolerance.".to_string()
        }
        (m, a) if m == a => {
            format!("All {a} published figures of the real device are met within their tolerances.")
        }
        _ => format!(
            "{met} of {all} published figures of the real device are met within their tolerances."
        ),
    };
    let missed: Vec<String> = published::rows(document)
        .iter()
        .filter(|r| !r.met)
        .map(published::PublishedRow::in_words)
        .collect();
    match missed.len() {
        0 => {}
        1..=MOST_MISSED => text.push_str(&format!(" Not met: {}.", missed.join("; "))),
        n => text.push_str(&format!(
            " Not met: {}; and {} more.",
            missed[..MOST_MISSED].join("; "),
            n - MOST_MISSED
        )),
    }
    overview.paragraphs.push(Paragraph {
        link: Some(("published", "All published figures, one by one")),
        ..Paragraph::new("Against publication", text)
    });
}

/// Missed figures that are named in a sentence; more would hide the rest of it.
const MOST_MISSED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Series;

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
        assert_eq!(of(&document(vec![])), Overview::default());
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
    fn figures_come_before_the_jobs_that_prepare_and_regions_name_the_cache() {
        let mut document = document(vec![]);
        let figure = |id: &str, value: f64, unit: &str| Figure {
            id: id.into(),
            title: id.into(),
            value,
            unit: unit.into(),
            ..Figure::default()
        };
        document.steps[0].figures = vec![
            figure("e.cdm.fresh.seq.write", 402.0, "MB/s"),
            figure("e.fio.fresh.write.plateau-1", 411.0, "MB/s"),
            figure("e.fio.fresh.write.plateau-1.end", 5.48, "GB"),
            figure("e.fio.fresh.write.plateau-2", 76.0, "MB/s"),
            figure("e.fio.fresh.write.plateau-2.end", 250.0, "GB"),
        ];
        document.steps[0].jobs = serde_json::from_value(serde_json::json!([{
            "name": "make test file", "options": {}, "start_s": 0.0, "runtime_s": 1.0, "errors": {},
            "directions": [],
        }]))
        .unwrap_or_default();
        let overview = of(&document);
        let text = overview.paragraphs[0].text.replace('\u{202f}', " ");
        assert!(text.contains("Writes at up to 402 MB/s"), "{text}");
        assert!(!text.contains("make test file"), "{text}");
        assert!(
            text.contains("first 5.48 GB behave like a fast write cache"),
            "{text}"
        );
        let labels: Vec<&str> = overview.tiles.iter().map(|t| t.label.as_str()).collect();
        assert_eq!(labels, ["Fast write", "Long write"]);
        assert_eq!(overview.tiles[1].value, "76.0");
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
