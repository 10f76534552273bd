//! How the steps of a document are laid out for a reader: chapters in the order in which they
//! first appear, the figures of a chapter over all modes together, then mode by mode the time line
//! over time and the steps themselves.

use super::answer::{Answer, place_of_answer};
use super::bars::{self, BarChart};
use super::matrix::Matrix;
use super::modes::modes;
use super::plot::{Plot, ROWS_OF_A_PLOT};
use super::requirements;
use super::step::Step;
use super::strip::{self, Strip};
use super::{speed, states, time};
use crate::csv;
use crate::names::Unique;
use crate::number;
use nandscope_result::{Conclusion, Operation, ResultDocument, StepResult, procedure};

/// Maximum number of steps with plots that a mode's part of a chapter shows unfolded; more are folded, with their joint
/// time line above.
const UNFOLDED: usize = 3;
/// Plots of the only chapter of a document that are shown unfolded, and therefore printed: two to three fill a page of paper,
/// and a report should have at most twelve.
const UNFOLDED_PLOTS: usize = 12;
/// Values over all plots of a page, at about eight bytes each: a page must stay light enough for
/// a phone, below 3 MB.
pub const VALUES_OF_A_PAGE: usize = 250_000;
/// Maximum number of plotted values on a page of a site, which has many pages.
pub const VALUES_ON_A_SITE: usize = 60_000;
/// Minimum number of rows of a plot.
const FEWEST_ROWS: usize = 100;

/// A chapter of the report.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// Heading.
    pub title: String,
    /// Element id.
    pub anchor: String,
    /// Whether the chapter is unfolded: the only chapter of a document is.
    pub open: bool,
    /// Summary of the chapter, in a line.
    pub verdict: String,
    /// Chart for the first page; other charts are in the chapter.
    pub glance: Option<BarChart>,
    /// Address ranges of all its steps.
    pub strips: Vec<Strip>,
    /// Answers of all its steps.
    pub answers: Vec<Answer>,
    /// Figures of all its steps.
    pub charts: Vec<BarChart>,
    /// Tables of figures, before the charts.
    pub tables: Vec<Matrix>,
    /// Further tables, folded.
    pub details: Vec<Matrix>,
    /// Steps of the chapter, by mode.
    pub parts: Vec<Part>,
}

/// The steps of one chapter in one mode.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name of the mode, or an empty text where the document has none.
    pub mode: String,
    /// Element id.
    pub anchor: String,
    /// Plots over all steps together, if there are many steps.
    pub time_lines: Vec<Plot>,
    /// Steps of this mode, in order.
    pub steps: Vec<Step>,
}

/// Lays a document out. Plots are reduced such that the page stays light.
pub fn all(document: &ResultDocument) -> Vec<Chapter> {
    within(document, VALUES_OF_A_PAGE)
}

/// Chapters whose plots have about `most_values` values in total.
pub fn within(document: &ResultDocument, most_values: usize) -> Vec<Chapter> {
    let modes = modes(document);
    let mode_names: Vec<String> = modes.iter().flatten().cloned().collect();
    let mut titles: Vec<&str> = Vec::new();
    for step in &document.steps {
        if !titles.contains(&step.section.as_str()) {
            titles.push(&step.section);
        }
    }
    let mut names = Unique::default();
    let mut chapters: Vec<Chapter> = titles
        .into_iter()
        .map(|title| {
            let steps: Vec<&StepResult> = document
                .steps
                .iter()
                .filter(|s| s.section == title)
                .collect();
            let of_step = |s: &&StepResult| strip::of_step(s, document.target.capacity_bytes);
            Chapter {
                strips: steps.iter().flat_map(of_step).collect(),
                ..chapter(title, &steps, &modes, &mode_names, &mut names)
            }
        })
        .collect();
    if let ([only], procedure::SPEED_CLASS) = (chapters.as_mut_slice(), document.procedure.as_str())
    {
        let all: Vec<&StepResult> = document.steps.iter().collect();
        only.charts
            .splice(0..0, requirements::charts(&answers(&all)));
    }
    reduce(&mut chapters, most_values);
    number_series(&mut chapters, document, &modes);
    if let [only] = chapters.as_mut_slice() {
        only.open = true;
        let mut plots = 0;
        for step in only.parts.iter_mut().flat_map(|p| &mut p.steps) {
            plots += step.plots.len();
            step.open &= plots <= UNFOLDED_PLOTS;
        }
    }
    let rank = document.procedure == procedure::FILE_SYSTEMS;
    for chapter in chapters
        .iter_mut()
        .filter(|c| !c.charts.is_empty())
        .take(MOST_GLANCES)
    {
        let mut chart = chapter.charts.remove(0);
        if rank {
            chart.rank();
        }
        chapter.glance = Some(chart);
    }
    chapters
}

/// Tells each step which of all series are its own. Steps are in the order in which `within` lays them out: by chapter,
/// then by mode.
fn number_series(chapters: &mut [Chapter], document: &ResultDocument, modes: &[Option<String>]) {
    let numbers = csv::numbers(document);
    let mut laid_out = Vec::new();
    let mut sections: Vec<&str> = Vec::new();
    for step in &document.steps {
        if sections.contains(&step.section.as_str()) {
            continue;
        }
        sections.push(&step.section);
        for mode in modes {
            let steps = document.steps.iter().zip(&numbers);
            let own = steps.filter(|(s, _)| s.section == step.section && s.mode == *mode);
            laid_out.extend(own.map(|(_, numbers)| *numbers));
        }
    }
    let parts = chapters.iter_mut().flat_map(|c| &mut c.parts);
    for (step, numbers) in parts.flat_map(|p| &mut p.steps).zip(laid_out) {
        step.series = numbers;
    }
}

/// Maximum number of charts on the first page.
const MOST_GLANCES: usize = 6;

/// The answers of some steps: the most requested first, unanswered questions last.
fn answers<'a>(steps: &[&'a StepResult]) -> Vec<&'a Conclusion> {
    let mut all: Vec<&Conclusion> = steps.iter().flat_map(|s| &s.conclusions).collect();
    all.sort_by_key(|c| (c.unknown, place_of_answer(&c.id)));
    all
}

/// Summary of a chapter in a line: answers of its steps, otherwise their rates.
fn verdict(steps: &[&StepResult]) -> String {
    let conclusions = answers(steps);
    let tests: Vec<&Conclusion> = conclusions
        .iter()
        .copied()
        .filter(|c| c.passed.is_some())
        .collect();
    if let [test] = tests.as_slice() {
        return test.answer.clone();
    }
    if !tests.is_empty() {
        let passed: Vec<&str> = tests
            .iter()
            .filter(|c| c.passed == Some(true))
            .map(|c| c.question.as_str())
            .collect();
        return match passed.as_slice() {
            [] => format!("none of {} tests passed", tests.len()),
            some => format!(
                "{} of {} tests passed: {}",
                some.len(),
                tests.len(),
                some.join(", ")
            ),
        };
    }
    if !conclusions.is_empty() {
        let told = conclusions.iter().filter(|c| !c.unknown);
        let told = told.take(MOST_TOLD).map(|c| Answer::of(c, false));
        let told: Vec<String> = told
            .map(|a| format!("{}: {}", a.question, a.answer))
            .collect();
        return told.join(" · ");
    }
    let part = |verb: &str, kind: Operation| {
        let mb_s = speed::greatest(steps, &kind)?;
        Some(format!("{verb} up to {}", number::with_unit(mb_s, "MB/s")))
    };
    let parts = [
        part("reads", Operation::Read),
        part("writes", Operation::Write),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Maximum number of answers in one line.
const MOST_TOLD: usize = 3;

fn chapter(
    title: &str,
    steps: &[&StepResult],
    modes: &[Option<String>],
    mode_names: &[String],
    names: &mut Unique,
) -> Chapter {
    let shown = if title.is_empty() {
        "Measurements"
    } else {
        title
    };
    let anchor = names.unique(&format!("chapter {shown}"));
    let parts = modes
        .iter()
        .map(|mode| {
            let of_mode: Vec<&StepResult> =
                steps.iter().filter(|s| s.mode == *mode).copied().collect();
            (mode, of_mode)
        })
        .filter(|(_, of_mode)| !of_mode.is_empty())
        .map(|(mode, of_mode)| part(&anchor, mode.as_deref(), &of_mode, names))
        .collect();
    let (mut tables, details, charts) = if let Some(c) = states::crystal(steps, mode_names) {
        (c.speeds, c.details, c.charts)
    } else if let Some(table) = states::across(steps) {
        (vec![table], Vec::new(), Vec::new())
    } else {
        (Vec::new(), Vec::new(), bars::of_steps(steps, mode_names))
    };
    let (mut charts, singles) = bars::without_singles(charts);
    if mode_names.len() < 2 {
        // A mode common to all bars is not repeated at each bar.
        let rows = charts.iter_mut().flat_map(|c| &mut c.rows);
        rows.flat_map(|r| &mut r.bars).for_each(|b| b.mode = None);
    }
    tables.extend(singles);
    Chapter {
        title: shown.to_string(),
        open: false,
        verdict: verdict(steps),
        glance: None,
        strips: Vec::new(),
        answers: answers(steps)
            .into_iter()
            .map(|c| Answer::of(c, modes.len() > 1))
            .collect(),
        charts,
        tables,
        details,
        parts,
        anchor,
    }
}

fn part(chapter: &str, mode: Option<&str>, steps: &[&StepResult], names: &mut Unique) -> Part {
    let mode = mode.unwrap_or_default();
    let anchor = names.unique(&format!("{chapter} {mode} part"));
    let with_series = steps.iter().filter(|s| !s.series.is_empty()).count();
    let many = with_series > UNFOLDED;
    let time_lines = if many {
        time::of_steps(&anchor, steps, names)
    } else {
        Vec::new()
    };
    Part {
        mode: mode.to_string(),
        time_lines,
        steps: steps
            .iter()
            .map(|s| Step::of(s, !many || requirements::has_limits(s), names))
            .collect(),
        anchor,
    }
}

/// Reduces the longest plots until the page holds no more values than it may.
fn reduce(chapters: &mut [Chapter], most_values: usize) {
    let sizes: Vec<(usize, usize)> = chapters
        .iter()
        .flat_map(|c| &c.parts)
        .flat_map(|p| {
            p.time_lines
                .iter()
                .chain(p.steps.iter().flat_map(|s| &s.plots))
        })
        .map(|p| (p.table.xs.len(), p.lines.len() + 1))
        .collect();
    let values = |rows: usize| {
        sizes
            .iter()
            .map(|(n, columns)| rows.min(*n) * columns)
            .sum::<usize>()
    };
    let mut rows = ROWS_OF_A_PLOT;
    while rows > FEWEST_ROWS && values(rows) > most_values {
        rows = (rows * 4 / 5).max(FEWEST_ROWS);
    }
    for part in chapters.iter_mut().flat_map(|c| &mut c.parts) {
        let of_steps = part.steps.iter_mut().map(|s| &mut s.plots);
        for list in std::iter::once(&mut part.time_lines).chain(of_steps) {
            *list = std::mem::take(list)
                .into_iter()
                .map(|p| p.reduce(rows))
                .collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Series;

    fn document(steps: Vec<StepResult>) -> ResultDocument {
        let mut document = crate::blank::document();
        document.steps = steps;
        document
    }

    fn step(section: &str, mode: &str, n: usize) -> StepResult {
        StepResult {
            id: format!("{section}-{mode}-{n}"),
            section: section.into(),
            mode: Some(mode.into()),
            start_s: n as f64 * 10.0,
            end_s: n as f64 * 10.0 + 5.0,
            series: vec![Series {
                name: "power".into(),
                unit: "W".into(),
                interval_s: 1.0,
                t_s: vec![n as f64 * 10.0 + 1.0],
                v: vec![1.0],
            }],
            ..StepResult::default()
        }
    }

    #[test]
    fn chapters_gather_their_steps_and_fold_where_there_are_many() {
        let mut steps = vec![step("A", "E", 0), step("B", "E", 1), step("A", "U", 2)];
        steps.extend((3..8).map(|n| step("B", "U", n)));
        let chapters = all(&document(steps));
        let titles: Vec<&str> = chapters.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, ["A", "B"]);
        assert!(chapters.iter().all(|c| !c.open));
        assert_eq!(chapters[0].parts.len(), 2);
        assert!(chapters[0].parts[0].steps[0].open);
        let crowded = &chapters[1].parts[1];
        assert!(crowded.steps.iter().all(|s| !s.open));
        assert_eq!(crowded.time_lines[0].marks.len(), 5);
    }

    #[test]
    fn a_long_only_chapter_shows_its_first_plots() {
        let mut long = step("A", "E", 0);
        long.series = (0..7)
            .map(|n| Series {
                name: format!("quantity {n}"),
                unit: format!("unit {n}"),
                t_s: vec![1.0, 2.0, 3.0],
                v: vec![1.0, 2.0, 3.0],
                ..long.series[0].clone()
            })
            .collect();
        let mut second = long.clone();
        second.mode = Some("U".into());
        let chapters = all(&document(vec![long, second]));
        assert_eq!(chapters[0].parts[0].steps[0].plots.len(), 7);
        let open: Vec<bool> = chapters[0]
            .parts
            .iter()
            .flat_map(|p| p.steps.iter().map(|s| s.open))
            .collect();
        assert!(chapters[0].open);
        assert_eq!(open, [true, false]);
    }

    #[test]
    fn every_anchor_and_plot_is_named_once() {
        let chapters = all(&document(vec![step("A", "E", 0)]));
        assert!(chapters[0].open);
        let chapters = all(&document(vec![
            step("A", "E", 0),
            step("A", "E", 0),
            step("A", "E", 0),
        ]));
        let mut ids: Vec<String> = chapters[0].parts[0]
            .steps
            .iter()
            .flat_map(|s| {
                s.plots
                    .iter()
                    .map(|p| p.id.clone())
                    .chain([s.anchor.clone()])
            })
            .collect();
        let n = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), n);
    }
}
