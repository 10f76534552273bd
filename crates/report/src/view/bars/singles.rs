//! Charts that compare nothing become rows of a table.

use super::{Bar, BarChart, BarRow};
use crate::view::matrix::{Body, Cell, Matrix, Row};

/// Separates charts with a comparison from others: single bars and bars of one value become rows of a table.
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
