//! Bar charts of figures: repeated figures with the range of their repeats, the same figure in
//! several modes side by side, the published value where there is one. Positions are given in
//! percent of the axis, so that the page needs no script for them.

use super::matrix::{Body, Cell, Matrix, Row};
use crate::names::capital;
use crate::number::{short, tick_step, with_unit};
use nandscope_result::{Figure, StepResult};

/// A chart: rows of bars over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// Heading.
    pub title: String,
    /// Unit of the axis.
    pub unit: String,
    /// Rows, in the order of the document.
    pub rows: Vec<BarRow>,
    /// End of the axis, in the unit.
    pub end: f64,
    /// Ticks: place in percent, and text.
    pub ticks: Vec<(String, String)>,
}

/// Which values of a quantity are the better ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Rates.
    More,
    /// Times, power, energy and temperature.
    Less,
}

/// Which values of a unit are the better ones; `None` where that depends on the quantity.
pub fn better(unit: &str) -> Option<Better> {
    match unit {
        "MB/s" | "IOPS" | "MB/s/W" | "GB/s" => Some(Better::More),
        "ns" | "µs" | "ms" | "s" | "W" | "J/GB" | "kJ" | "J" | "°C" => Some(Better::Less),
        _ => None,
    }
}

/// The bars of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct BarRow {
    /// What the bars show.
    pub label: String,
    /// One for each mode.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Mode, where the figure has one.
    pub mode: Option<String>,
    /// Index of the mode in the document's list, for its colour and hatching.
    pub mode_index: usize,
    /// The value itself.
    pub value: f64,
    /// Value as text, with unit.
    pub text: String,
    /// Range of the repeats, low and high.
    pub repeats: Option<(f64, f64)>,
    /// Published value.
    pub published: Option<f64>,
    /// Length in percent.
    pub length: String,
    /// Start and length of the range of the repeats in percent.
    pub whisker: Option<(String, String)>,
    /// Place of the published value in percent.
    pub published_at: Option<String>,
    /// What else is to be said of it.
    pub note: String,
}

/// One of several drives in a chart of one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// Value of the figure.
    pub value: f64,
    /// Ratio or difference to the baseline.
    pub note: String,
    /// The others are compared with it.
    pub baseline: bool,
}

/// A chart of one figure of several drives, in the order given.
pub fn of_subjects(title: &str, unit: &str, subjects: &[Subject]) -> BarChart {
    let rows = subjects.iter().map(|s| {
        let figure = Figure {
            value: s.value,
            unit: unit.to_string(),
            ..Figure::default()
        };
        let note = if s.baseline { "baseline" } else { &s.note };
        BarRow {
            label: s.name.clone(),
            bars: vec![Bar {
                mode_index: usize::from(!s.baseline) * OTHERS,
                note: note.to_string(),
                ..bar(&figure, None, &[])
            }],
        }
    });
    chart(title, unit, rows.collect())
}

/// Colour of the bars that are not the baseline.
const OTHERS: usize = 4;

impl BarChart {
    /// Sorts the rows, the best first: the shortest time, the highest rate.
    pub fn rank(&mut self) {
        let best = |row: &BarRow| row.bars.first().map_or(f64::NAN, |b| b.value);
        match better(&self.unit) {
            Some(Better::Less) => self.rows.sort_by(|a, b| best(a).total_cmp(&best(b))),
            Some(Better::More) => self.rows.sort_by(|a, b| best(b).total_cmp(&best(a))),
            None => {}
        }
    }

    /// True where bars differ from each other, from their repeats or from a published value.
    pub fn compares(&self) -> bool {
        let mut bars = self.rows.iter().flat_map(|r| &r.bars);
        let Some(first) = bars.next() else {
            return false;
        };
        let mut others = bars.peekable();
        let is_several = others.peek().is_some();
        let differs = others.any(|b| b.text != first.text);
        differs || is_several && (self.has_repeats() || self.has_published())
    }

    /// True where a bar shows repeats.
    pub fn has_repeats(&self) -> bool {
        self.rows
            .iter()
            .flat_map(|r| &r.bars)
            .any(|b| b.whisker.is_some())
    }

    /// True where a name of a mode needs more room than a short word.
    pub fn has_long_modes(&self) -> bool {
        let mut bars = self.rows.iter().flat_map(|r| &r.bars);
        bars.any(|b| {
            let mode = b.mode.as_deref().unwrap_or_default();
            mode.split([' ', '-']).any(|word| word.chars().count() > 10)
        })
    }

    /// True where a bar has a published value beside it.
    pub fn has_published(&self) -> bool {
        self.rows
            .iter()
            .flat_map(|r| &r.bars)
            .any(|b| b.published.is_some())
    }
}

/// Parts the charts that compare something from those that do not: single bars and bars of one value become rows of a
/// table.
pub fn without_singles(charts: Vec<BarChart>) -> (Vec<BarChart>, Option<Matrix>) {
    let (several, others): (Vec<_>, Vec<_>) = charts.into_iter().partition(BarChart::compares);
    let rows: Vec<Row> = others.iter().flat_map(table_rows).collect();
    let table = (!rows.is_empty()).then(|| Matrix {
        title: "Figures".into(),
        corner: "Figure".into(),
        heads: Vec::new(),
        columns: vec!["Value".into()],
        bodies: vec![Body {
            title: String::new(),
            rows,
        }],
    });
    (several, table)
}

/// A chart as rows of a table: one for its only bar, or one that says how many bars have its value.
fn table_rows(chart: &BarChart) -> Vec<Row> {
    let row = |label: String, bar: &Bar, remark: String| Row {
        label,
        cells: vec![Cell {
            text: bar.text.clone(),
            remark,
        }],
    };
    let bars: Vec<(&BarRow, &Bar)> = chart
        .rows
        .iter()
        .flat_map(|row| row.bars.iter().map(move |bar| (row, bar)))
        .collect();
    match bars.as_slice() {
        [] => Vec::new(),
        [(only, bar)] => {
            let label = match () {
                () if only.label.contains(&chart.title) => only.label.clone(),
                () if chart.title.contains(&only.label) => chart.title.clone(),
                () => format!("{}, {}", chart.title, only.label),
            };
            vec![row(label, bar, bar.remark())]
        }
        [(_, first), ..] => vec![row(
            chart.title.clone(),
            first,
            format!("in all {}", bars.len()),
        )],
    }
}

impl Bar {
    /// Repeats and published value in words, for the line beside the value.
    pub fn remark(&self) -> String {
        let mut parts = Vec::new();
        if let Some((low, high)) = self.repeats {
            parts.push(format!("{} to {}", short(low), short(high)));
        }
        if let Some(published) = self.published {
            parts.push(format!("published {}", short(published)));
        }
        if !self.note.is_empty() {
            parts.push(self.note.clone());
        }
        parts.join(", ")
    }
}

/// One figure of one step, on its way into a chart.
struct Entry<'a> {
    step: &'a str,
    label: String,
    figure: &'a Figure,
    mode: Option<&'a str>,
}

/// Charts of the figures that the steps of one chapter hold. Where the steps all hold the same
/// kinds of figures, each kind is a chart with a row for each step; where a chapter has steps of
/// many figures, each step is.
pub fn of_steps(steps: &[&StepResult], modes: &[String]) -> Vec<BarChart> {
    let entries: Vec<Entry> = steps
        .iter()
        .flat_map(|step| {
            // What is an answer stands in words among the answers; a yes or no has no length.
            let answered = |f: &&Figure| step.conclusions.iter().any(|c| c.id == f.id);
            step.figures
                .iter()
                .filter(move |f| !answered(f))
                .map(|figure| Entry {
                    step: &step.title,
                    label: figure.title.clone(),
                    figure,
                    mode: figure.mode.as_deref().or(step.mode.as_deref()),
                })
        })
        .filter(|e| e.figure.value.is_finite())
        .collect();
    let (mut charts, entries) = by_depth(entries, modes);
    charts.extend(by_step_or_kind(entries, modes));
    charts
}

/// The test and the queue depth of a figure at one of several.
fn depth(entry: &Entry) -> Option<(String, u32)> {
    let (test, last) = entry.figure.id.rsplit_once('.')?;
    let depth = last.strip_prefix("qd")?.parse().ok()?;
    // The name of a mode stands before the test.
    let without_mode = test.split_once('.').filter(|_| entry.mode.is_some());
    let test = without_mode.map_or(test, |(_, test)| test);
    Some((test.replace('.', " "), depth))
}

/// Charts of figures at several queue depths, a row for each, and the other figures.
fn by_depth<'a>(entries: Vec<Entry<'a>>, modes: &[String]) -> (Vec<BarChart>, Vec<Entry<'a>>) {
    let (deep, rest): (Vec<_>, Vec<_>) = entries.into_iter().partition(|e| depth(e).is_some());
    let mut tests: Vec<String> = Vec::new();
    let labelled: Vec<Entry> = deep
        .into_iter()
        .filter_map(|e| {
            let (test, depth) = depth(&e)?;
            if !tests.contains(&test) {
                tests.push(test);
            }
            let label = format!("queue depth {depth}");
            Some(Entry { label, ..e })
        })
        .collect();
    let names: Vec<&str> = tests.iter().map(String::as_str).collect();
    let of_test = |e: &Entry| depth(e).and_then(|(test, _)| names.iter().position(|n| *n == test));
    let mut charts = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let members: Vec<&Entry> = labelled.iter().filter(|e| of_test(e) == Some(i)).collect();
        for unit in &distinct(members.iter().map(|e| e.figure.unit.as_str())) {
            let rows = rows(&members, unit, |e| e.label.clone(), modes);
            charts.push(chart(&capital(name), unit, rows));
        }
    }
    (charts, rest)
}

fn by_step_or_kind(entries: Vec<Entry>, modes: &[String]) -> Vec<BarChart> {
    let steps = distinct(entries.iter().map(|e| e.step));
    let titles = distinct(entries.iter().map(|e| e.figure.title.as_str()));
    let kinds = distinct(entries.iter().map(|e| kind(e.figure)));
    if titles.len() < steps.len() {
        grouped(
            entries,
            &titles,
            modes,
            |e| &e.figure.title,
            |e, _| e.step.to_string(),
        )
    } else if !kinds.contains(&"") && (kinds.len() < steps.len() || is_crosswise(&entries, &kinds))
    {
        by_kind(entries, &kinds, modes)
    } else {
        grouped(entries, &steps, modes, |e| e.step, |e, _| e.label.clone())
    }
}

/// Whether most kinds are in several steps, and none is in a step twice: then a reader compares the steps.
fn is_crosswise(entries: &[Entry], kinds: &[&str]) -> bool {
    let of_kind = |k: &str| -> Vec<(&str, Option<&str>)> {
        let entries = entries.iter().filter(|e| kind(e.figure) == k);
        entries.map(|e| (e.step, e.mode)).collect()
    };
    let mut shared = 0;
    for k in kinds {
        let places = of_kind(k);
        if places
            .iter()
            .any(|p| places.iter().filter(|q| *q == p).count() > 1)
        {
            return false;
        }
        shared += usize::from(places.iter().any(|p| p.0 != places[0].0));
    }
    2 * shared > kinds.len()
}

/// The last part of a figure's identifier says what kind it is.
fn kind(figure: &Figure) -> &str {
    figure.id.rsplit('.').next().unwrap_or_default()
}

/// A chart for each kind, headed by the words in which the titles of its figures end; the rest of
/// each title is the label of its row.
fn by_kind(entries: Vec<Entry>, kinds: &[&str], modes: &[String]) -> Vec<BarChart> {
    let ends: Vec<(String, String)> = kinds
        .iter()
        .map(|k| {
            let titles = entries
                .iter()
                .filter(|e| kind(e.figure) == *k)
                .map(|e| e.figure.title.as_str());
            ((*k).to_string(), common_end(&titles.collect::<Vec<_>>()))
        })
        .collect();
    let end = |k: &str| ends.iter().find(|e| e.0 == k).map_or("", |e| e.1.as_str());
    let label = |e: &Entry, k: &str| {
        let rest = e
            .figure
            .title
            .strip_suffix(end(k))
            .unwrap_or(&e.figure.title);
        match rest.trim_end_matches([' ', ',', ':']) {
            "" => e.step.to_string(),
            text => text.to_string(),
        }
    };
    let mut charts = grouped(entries, kinds, modes, |e| kind(e.figure), label);
    for chart in &mut charts {
        without_common_start(&mut chart.rows);
        let words = end(&chart.title).trim_start_matches([' ', ',']);
        chart.title = capital(if words.is_empty() {
            &chart.title
        } else {
            words
        });
    }
    charts
}

/// Leaves out what stands before the same comma in all labels: the chapter says it.
fn without_common_start(rows: &mut [BarRow]) {
    let Some((start, _)) = rows.first().and_then(|r| r.label.split_once(", ")) else {
        return;
    };
    let start = format!("{start}, ");
    if rows.len() > 1 && rows.iter().all(|r| r.label.starts_with(&start)) {
        for row in rows {
            row.label = row.label.split_off(start.len());
        }
    }
}

/// The whole words in which all titles end.
fn common_end(titles: &[&str]) -> String {
    let Some(first) = titles.first() else {
        return String::new();
    };
    let ends = first.match_indices(' ').map(|(i, _)| &first[i..]);
    ends.into_iter()
        .find(|end| titles.iter().all(|t| t.ends_with(end)))
        .unwrap_or_default()
        .to_string()
}

/// A chart for each group and unit.
fn grouped(
    entries: Vec<Entry>,
    groups: &[&str],
    modes: &[String],
    group_of: impl for<'a> Fn(&'a Entry<'a>) -> &'a str,
    label: impl Fn(&Entry, &str) -> String,
) -> Vec<BarChart> {
    let mut charts = Vec::new();
    for group in groups {
        let members: Vec<&Entry> = entries.iter().filter(|e| group_of(e) == *group).collect();
        for unit in &distinct(members.iter().map(|e| e.figure.unit.as_str())) {
            let rows = rows(&members, unit, |e| label(e, group), modes);
            charts.push(chart(group, unit, rows));
        }
    }
    charts
}

/// Charts of figures with labels of their own, one for each unit.
pub fn of_labelled(
    title: &str,
    figures: &[(String, &Figure, Option<&str>)],
    modes: &[String],
) -> Vec<BarChart> {
    let entries: Vec<Entry> = figures
        .iter()
        .filter(|(_, f, _)| f.value.is_finite())
        .map(|(label, figure, mode)| Entry {
            step: title,
            label: label.clone(),
            figure,
            mode: *mode,
        })
        .collect();
    grouped(entries, &[title], modes, |e| e.step, |e, _| e.label.clone())
}

fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for text in texts {
        if !out.contains(&text) {
            out.push(text);
        }
    }
    out
}

fn rows(
    members: &[&Entry],
    unit: &str,
    label: impl Fn(&Entry) -> String,
    modes: &[String],
) -> Vec<BarRow> {
    let mut rows: Vec<BarRow> = Vec::new();
    for e in members.iter().filter(|e| e.figure.unit == unit) {
        let label = label(e);
        let bar = bar(e.figure, e.mode, modes);
        let place = rows.iter_mut().find(|r| {
            r.label == label
                && e.mode.is_some()
                && r.bars.iter().all(|b| b.mode.as_deref() != e.mode)
        });
        match place {
            Some(row) => row.bars.push(bar),
            None => rows.push(BarRow {
                label,
                bars: vec![bar],
            }),
        }
    }
    rows
}

fn bar(figure: &Figure, mode: Option<&str>, modes: &[String]) -> Bar {
    let repeats = match (figure.low, figure.high) {
        // Repeats that read the same as the value say nothing.
        (Some(low), Some(high))
            if low.is_finite() && high.is_finite() && low <= high && short(low) != short(high) =>
        {
            Some((low, high))
        }
        _ => None,
    };
    Bar {
        mode: mode.map(str::to_string),
        mode_index: modes
            .iter()
            .position(|m| Some(m.as_str()) == mode)
            .unwrap_or(0),
        value: figure.value,
        text: with_unit(figure.value, &figure.unit),
        repeats,
        published: figure
            .published
            .as_ref()
            .map(|p| p.value)
            .filter(|v| v.is_finite()),
        length: String::new(),
        whisker: None,
        published_at: None,
        note: String::new(),
    }
}

/// From here on microseconds are shown as milliseconds.
const LONG_US: f64 = 10_000.0;

/// Shows long latencies in milliseconds; other units stay.
fn readable_unit<'a>(unit: &'a str, rows: &mut [BarRow]) -> &'a str {
    let bars = || rows.iter().flat_map(|r| &r.bars);
    if unit != "µs" || bars().all(|b| b.value < LONG_US) {
        return unit;
    }
    for bar in rows.iter_mut().flat_map(|r| &mut r.bars) {
        bar.value /= 1e3;
        bar.repeats = bar.repeats.map(|(low, high)| (low / 1e3, high / 1e3));
        bar.published = bar.published.map(|p| p / 1e3);
        bar.text = with_unit(bar.value, "ms");
    }
    "ms"
}

/// Lays the bars out over an axis that holds the longest of them.
fn chart(title: &str, unit: &str, mut rows: Vec<BarRow>) -> BarChart {
    let unit = readable_unit(unit, &mut rows);
    let longest = rows
        .iter()
        .flat_map(|r| &r.bars)
        .flat_map(|b| {
            [
                b.value,
                b.repeats.map_or(0.0, |r| r.1),
                b.published.unwrap_or(0.0),
            ]
        })
        .fold(0.0, f64::max);
    // Long numbers stand on one another where there are many.
    let step = tick_step(longest, if longest >= 10_000.0 { 2 } else { 4 });
    let end = if longest > 0.0 {
        libm::ceil(longest / step - 1e-9) * step
    } else {
        1.0
    };
    let percent = |v: f64| (v / end * 100.0).clamp(0.0, 100.0);
    for bar in rows.iter_mut().flat_map(|r| &mut r.bars) {
        bar.length = format!("{:.2}", percent(bar.value));
        bar.whisker = bar.repeats.map(|(low, high)| {
            (
                format!("{:.2}", percent(low)),
                format!("{:.2}", percent(high) - percent(low)),
            )
        });
        bar.published_at = bar.published.map(|p| format!("{:.2}", percent(p)));
    }
    let count = libm::round(end / step) as usize;
    let ticks = (0..=count.min(8))
        .map(|i| {
            (
                format!("{:.2}", percent(i as f64 * step)),
                axis_number(i as f64 * step),
            )
        })
        .collect();
    BarChart {
        title: title.to_string(),
        unit: unit.to_string(),
        rows,
        end,
        ticks,
    }
}

/// A round number without the digits that [`short`] would add.
fn axis_number(value: f64) -> String {
    let text = short(value);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Published;

    fn figure(title: &str, value: f64) -> Figure {
        Figure {
            title: title.into(),
            value,
            unit: "MB/s".into(),
            ..Figure::default()
        }
    }

    fn step(title: &str, mode: &str, figures: Vec<Figure>) -> StepResult {
        StepResult {
            title: title.into(),
            mode: Some(mode.into()),
            figures,
            ..StepResult::default()
        }
    }

    #[test]
    fn modes_of_one_figure_stand_in_one_row() {
        let a = step(
            "fresh",
            "E",
            vec![figure("seq", 878.0), figure("rnd", 30.0)],
        );
        let b = step(
            "fresh",
            "U",
            vec![figure("seq", 80.0), figure("rnd", f64::NAN)],
        );
        let charts = of_steps(&[&a, &b], &["E".into(), "U".into()]);
        assert_eq!(charts.len(), 1);
        assert_eq!(charts[0].rows.len(), 2);
        assert_eq!(charts[0].rows[0].bars[1].mode_index, 1);
        assert_eq!(charts[0].rows[1].bars.len(), 1);
        assert_eq!(charts[0].end, 1000.0);
        assert_eq!(charts[0].rows[0].bars[0].length, "87.80");
    }

    #[test]
    fn queue_depths_are_rows_of_one_chart() {
        let deep = |depth: u32, value: f64| {
            let id = format!("e.sustained.read.qd{depth}");
            step(
                "depth",
                "E",
                vec![Figure {
                    id,
                    ..figure("read", value)
                }],
            )
        };
        let (a, b, c) = (deep(1, 59.0), deep(2, 117.0), deep(32, 1475.0));
        let other = step("depth", "E", vec![figure("score", 136.0)]);
        let charts = of_steps(&[&a, &b, &c, &other], &["E".into()]);
        assert_eq!(
            (charts.len(), charts[0].title.as_str()),
            (2, "Sustained read")
        );
        let labels: Vec<&str> = charts[0].rows.iter().map(|r| r.label.as_str()).collect();
        assert_eq!(labels, ["queue depth 1", "queue depth 2", "queue depth 32"]);
    }

    #[test]
    fn steps_with_the_same_figures_are_compared_figure_by_figure() {
        let of = |fs: &str, time: f64| {
            let figure = |kind: &str, words: &str, value: f64, unit: &str| Figure {
                id: format!("fs.untar-{fs}.{kind}"),
                title: format!("untar, {fs}: {words}"),
                value,
                unit: unit.into(),
                ..Figure::default()
            };
            let mut figures = vec![
                figure("time", "time", time, "s"),
                figure("writes", "writes to the card", 7.0 * time, ""),
                figure("flushes", "flushes", 2.0 + time, ""),
            ];
            if fs == "nilfs2" {
                figures.push(figure("cleaned", "cleaned segments", 1.0, ""));
            }
            StepResult {
                title: format!("untar on {fs}"),
                figures,
                ..StepResult::default()
            }
        };
        let (a, b) = (of("ext4", 9.0), of("nilfs2", 2.0));
        let (mut charts, table) = without_singles(of_steps(&[&a, &b], &[]));
        let titles: Vec<&str> = charts.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, ["Time", "Writes to the card", "Flushes"]);
        charts[0].rank();
        let labels: Vec<&str> = charts[0].rows.iter().map(|r| r.label.as_str()).collect();
        assert_eq!(labels, ["nilfs2", "ext4"]);
        assert_eq!(table.unwrap().bodies[0].rows.len(), 1);
    }

    #[test]
    fn many_steps_with_one_figure_are_rows_of_one_chart() {
        let steps: Vec<StepResult> = (1..4)
            .map(|i| step(&format!("pass {i}"), "E", vec![figure("copy", 100.0)]))
            .collect();
        let steps: Vec<&StepResult> = steps.iter().collect();
        let charts = of_steps(&steps, &["E".into()]);
        assert_eq!(charts.len(), 1);
        assert_eq!(charts[0].title, "copy");
        assert_eq!(charts[0].rows[2].label, "pass 3");
    }

    #[test]
    fn repeats_and_published_values_are_placed_on_the_axis() {
        let f = Figure {
            low: Some(80.0),
            high: Some(100.0),
            published: Some(Published {
                value: 50.0,
                ..Published::default()
            }),
            ..figure("seq", 90.0)
        };
        let charts = of_labelled("key", &[(f.title.clone(), &f, None)], &[]);
        let bar = &charts[0].rows[0].bars[0];
        assert_eq!(bar.whisker, Some(("80.00".into(), "20.00".into())));
        assert_eq!(bar.published_at.as_deref(), Some("50.00"));
        assert_eq!(bar.remark(), "80.0 to 100, published 50.0");
    }

    #[test]
    fn a_single_bar_is_a_row_of_a_table() {
        let a = step(
            "copy",
            "E",
            vec![
                figure("seq", 878.0),
                Figure {
                    unit: "W".into(),
                    ..figure("power", 3.0)
                },
            ],
        );
        let b = step("copy", "E", vec![figure("rnd", 30.0)]);
        let (charts, table) = without_singles(of_steps(&[&a, &b], &["E".into()]));
        let bars = |c: &BarChart| c.rows.iter().map(|r| r.bars.len()).sum::<usize>();
        assert!(charts.iter().all(|c| bars(c) > 1));
        let rows = &table.unwrap().bodies[0].rows;
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].label.as_str(), rows[0].cells[0].text.as_str()),
            ("copy, power", "3.00\u{202f}W")
        );
        assert_eq!(without_singles(Vec::new()).1, None);
    }

    #[test]
    fn bars_of_one_value_are_a_row_of_a_table() {
        let of = |fs: &str, discards: f64, time: f64| StepResult {
            title: format!("untar on {fs}"),
            figures: vec![
                Figure {
                    id: format!("fs.untar-{fs}.discards"),
                    unit: String::new(),
                    ..figure(&format!("untar, {fs}: discards"), discards)
                },
                Figure {
                    id: format!("fs.untar-{fs}.time"),
                    unit: "s".into(),
                    ..figure(&format!("untar, {fs}: time"), time)
                },
            ],
            ..StepResult::default()
        };
        let titles = |last: f64| {
            let steps = [
                of("ext4", 0.0, 9.0),
                of("f2fs", 0.0, 4.0),
                of("btrfs", last, 5.0),
            ];
            let steps: Vec<&StepResult> = steps.iter().collect();
            let (charts, table) = without_singles(of_steps(&steps, &[]));
            let titles: Vec<String> = charts.into_iter().map(|c| c.title).collect();
            (titles, table)
        };
        let (charts, table) = titles(0.0);
        assert_eq!(charts, ["Time"]);
        let row = &table.unwrap().bodies[0].rows[0];
        assert_eq!(row.label, "Discards");
        let cell = (row.cells[0].text.as_str(), row.cells[0].remark.as_str());
        assert_eq!(cell, ("0", "in all 3"));
        assert_eq!(titles(7.0), (vec!["Discards".into(), "Time".into()], None));
    }

    #[test]
    fn nothing_but_zeros_still_has_an_axis() {
        let charts = of_labelled("key", &[("none".into(), &figure("none", 0.0), None)], &[]);
        assert_eq!(charts[0].end, 1.0);
        assert_eq!(charts[0].rows[0].bars[0].length, "0.00");
    }
}
