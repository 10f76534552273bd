//! Grouping of figures into charts: those of one kind over steps, queue depths or modes. Nothing is placed on an axis.

use super::scale::{bar, chart};
use super::{BarChart, BarRow};
use crate::names::capital;
use nandscope_result::{Figure, StepResult};

/// One figure of one step, before its chart is known.
struct Entry<'a> {
    step: &'a str,
    label: String,
    figure: &'a Figure,
    mode: Option<&'a str>,
}

/// Charts of the figures of one chapter's steps. If all steps have the same kinds of figures, each kind is a chart with
/// a row for each step; in a chapter with many figures per step, each step is a chart.
pub fn of_steps(steps: &[&StepResult], modes: &[String]) -> Vec<BarChart> {
    let entries: Vec<Entry> = steps
        .iter()
        .flat_map(|step| {
            // Answers are listed as text among the answers; a yes or no has no length.
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

/// Test and queue depth of a figure at one of several depths.
fn depth(entry: &Entry) -> Option<(String, u32)> {
    let (test, last) = entry.figure.id.rsplit_once('.')?;
    let depth = last.strip_prefix("qd")?.parse().ok()?;
    // The name of a mode precedes the test.
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

/// Whether most kinds occur in several steps, and none twice in a step: then steps are compared.
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

/// Kind of a figure: the last part of its identifier.
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

/// Removes the common text before the comma from all labels, as the chapter has it.
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

/// Charts of figures with individual labels, one per unit.
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
