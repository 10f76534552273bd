//! Charts of made-up figures.

use super::*;
use nandscope_result::{Figure, Published, StepResult};

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
