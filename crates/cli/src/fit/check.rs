//! `nandscope fit --check`: measured beside predicted, for kinds of measurements that a fit did not see.

use super::Search;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use nandscope_twin::holdout::{self, Predicted, Score, score};
use nandscope_twin::observation::Figure;
use nandscope_twin::search::Task;
use nandscope_units::number::short;
use serde::Serialize;

#[derive(Serialize)]
struct Row<'a> {
    left_out: &'a str,
    cell: String,
    figure: String,
    measured: f64,
    predicted: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

/// Fits without each kind, and prints how well it is predicted.
///
/// # Errors
/// `Exit::Partial` if no kind can be left out; `Exit::Interrupted`.
pub fn run(
    task: &Task<'_>,
    search: Search<'_>,
    json: bool,
    console: &Console,
) -> Result<Exit, Failure> {
    if holdout::kinds(task.observations).is_empty() {
        return Err(Failure::new(
            Exit::Partial,
            "cannot tell: no kind of measurements (depths, blocks, mixes, states) can be left out with enough others; measure more",
        ));
    }
    let predicted = search.run(|options, caller| holdout::check(task, options, caller))?;
    match json {
        true => console.print_json(&rows_json(&predicted)?)?,
        false => console.print(&text(&predicted, console))?,
    }
    Ok(Exit::Done)
}

fn rows_json(predicted: &[Predicted]) -> Result<String, Failure> {
    let row = |one: &Predicted| {
        serde_json::to_value(Row {
            left_out: &one.kind,
            cell: one.cell.to_string(),
            figure: one.figure.to_string(),
            measured: one.measured,
            predicted: one.predicted.map(|p| p.value),
            low: one.predicted.map(|p| p.low),
            high: one.predicted.map(|p| p.high),
        })
    };
    let rows: Result<Vec<_>, _> = predicted.iter().map(row).collect();
    let rows = rows.map_err(Failure::internal)?;
    serde_json::to_string_pretty(&rows).map_err(Failure::internal)
}

fn text(predicted: &[Predicted], console: &Console) -> String {
    let header = [
        "left out",
        "cell",
        "figure",
        "measured",
        "predicted",
        "90 % interval",
        "error",
    ];
    let mut cells = console.table(&header);
    for one in predicted {
        let (value, interval, error) = match (one.predicted, one.error()) {
            (Some(p), Some(error)) => (
                short(p.value),
                format!("{} to {}", short(p.low), short(p.high)),
                format!("{:+.0} %", 100.0 * error),
            ),
            _ => ("cannot run".to_string(), String::new(), String::new()),
        };
        cells.add_row([
            one.kind.clone(),
            one.cell.to_string(),
            one.figure.to_string(),
            short(one.measured),
            value,
            interval,
            error,
        ]);
    }
    let header = [
        "left out",
        "figures",
        "number",
        "median error",
        "90 % within",
        "inside interval",
    ];
    let mut scores = console.table(&header);
    let mut kinds: Vec<&str> = predicted.iter().map(|one| one.kind.as_str()).collect();
    kinds.dedup();
    let mut add = |kind: Option<&str>| {
        let is_of = |one: &&Predicted| kind.is_none_or(|kind| one.kind == kind);
        for (name, is_rate) in [("rates", true), ("percentiles", false)] {
            let of_name = |one: &&Predicted| (one.figure == Figure::Iops) == is_rate;
            let found = score(predicted.iter().filter(is_of).filter(of_name));
            if let Some(found) = found {
                scores.add_row(score_row(kind.unwrap_or("all"), name, found));
            }
        }
    };
    for kind in kinds {
        add(Some(kind));
    }
    add(None);
    format!("{}\n{}", lines_of(&cells), lines_of(&scores))
}

fn score_row(kind: &str, name: &str, score: Score) -> [String; 6] {
    [
        kind.to_string(),
        name.to_string(),
        score.count.to_string(),
        format!("{:.1} %", 100.0 * score.median),
        format!("{:.0} %", 100.0 * score.p90),
        format!("{:.0} %", 100.0 * score.coverage),
    ]
}
