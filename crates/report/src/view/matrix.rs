//! Tables of figures: a row for each measured quantity, a column for each mode or state of the
//! device. A reader compares many similar figures faster in a table than in bars.

use crate::number::{self, short, with_unit};
use nandscope_result::{DataColumn, DataTable, Figure};

/// A table with a heading for each row and column.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Title of the table.
    pub title: String,
    /// Heading of the column of labels.
    pub corner: String,
    /// Headings over several columns, each with their number; an empty text for none.
    pub heads: Vec<(String, usize)>,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Groups of rows.
    pub bodies: Vec<Body>,
}

impl Matrix {
    /// Heading of a column with the heading above it, for readers who see one row at a time.
    fn label(&self, column: usize) -> String {
        let own = self.columns.get(column).map_or("", String::as_str);
        let mut end = 0;
        let head = self.heads.iter().find(|(_, span)| {
            end += span;
            column < end
        });
        match head {
            Some((head, _)) => format!("{head}, {own}"),
            None => own.to_string(),
        }
    }

    /// The labels of all columns.
    pub fn labels(&self) -> Vec<String> {
        (0..self.columns.len()).map(|i| self.label(i)).collect()
    }

    /// Whether a phone has no room for its columns side by side.
    pub fn is_wide(&self) -> bool {
        self.columns.len() > 2
    }

    /// Converts a table of the document; the headings of the columns include the units.
    pub fn of_data(table: &DataTable) -> Matrix {
        let heading = |c: &DataColumn| match c.unit.as_str() {
            "" => c.name.clone(),
            unit => format!("{} ({unit})", c.name),
        };
        let is_count: Vec<bool> = (0..table.columns.len())
            .map(|i| is_count(table, i))
            .collect();
        let cell = |i: usize, v: Option<f64>| match is_count.get(i) {
            Some(true) => v.map_or_else(String::new, count),
            _ => v.map_or_else(String::new, short),
        };
        let rows = table.rows.iter().map(|r| Row {
            label: r.label.clone(),
            cells: (0..table.columns.len())
                .map(|i| Cell {
                    text: cell(i, r.cells.get(i).copied().flatten()),
                    remark: String::new(),
                })
                .collect(),
        });
        Matrix {
            title: table.title.clone(),
            corner: table.corner.clone(),
            heads: Vec::new(),
            columns: table.columns.iter().map(heading).collect(),
            bodies: vec![Body {
                title: String::new(),
                rows: rows.collect(),
            }],
        }
    }
}

/// Whether a column has counts: whole numbers without a unit, shown without decimals.
fn is_count(table: &DataTable, column: usize) -> bool {
    let unit = table.columns.get(column).map_or("", |c| c.unit.as_str());
    let cells = table.rows.iter().filter_map(|r| r.cells.get(column));
    let mut values = cells.flatten();
    unit.is_empty() && values.all(|v| v.fract() == 0.0 && (0.0..1e15).contains(v))
}

/// A count with its digits in groups of three.
fn count(value: f64) -> String {
    number::count(value as u64)
}

/// Rows under one heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// The heading; empty for none.
    pub title: String,
    /// Rows under the heading.
    pub rows: Vec<Row>,
}

/// One row with a cell for each column of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Measured quantity.
    pub label: String,
    /// Values.
    pub cells: Vec<Cell>,
}

/// One value; empty if nothing was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Formatted value.
    pub text: String,
    /// In small type beneath it.
    pub remark: String,
}

impl Cell {
    /// Cell of a figure with its unit and its published value.
    pub fn of(figure: &Figure) -> Cell {
        let unit = &figure.unit;
        Cell {
            text: if is_answer(figure) {
                answer(figure.value).to_string()
            } else {
                with_unit(figure.value, unit)
            },
            remark: figure.published.as_ref().map_or_else(String::new, |p| {
                let value = if is_answer(figure) {
                    answer(p.value).to_string()
                } else {
                    short(p.value)
                };
                format!("published {value}")
            }),
        }
    }
}

/// Suffix of the title of a figure that answers a question, which a page leaves out.
pub const ANSWER: &str = " (1 yes, 0 no)";

/// True where a figure is a yes or a no rather than a quantity.
pub fn is_answer(figure: &Figure) -> bool {
    figure.yes_or_no
}

/// The value of such a figure in words.
pub fn answer(value: f64) -> &'static str {
    if value == 0.0 { "no" } else { "yes" }
}

/// Words in the identifiers of figures that decide under which heading they are listed.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Power", &["power", "energy"]),
    ("Temperature", &["temperature", "throttle"]),
    ("Formatting", &["format"]),
];

fn group(id: &str) -> &'static str {
    let has = |words: &[&str]| id.split('.').any(|part| words.contains(&part));
    GROUPS
        .iter()
        .find(|(_, words)| has(words))
        .map_or("Speed and size", |(name, _)| name)
}

/// Figures of the whole document: a column for each mode, rows by what they are about. A figure
/// that only says that nothing was throttled is left out.
pub fn of_figures(title: &str, figures: &[&Figure]) -> Option<Matrix> {
    let quiet = |f: &Figure| {
        f.published.is_none() && f.unit == "%" && f.value >= 100.0 && f.id.contains(".throttle")
    };
    let all_quiet = |t: &str| figures.iter().filter(|f| f.title == t).all(|f| quiet(f));
    let shown: Vec<&Figure> = figures
        .iter()
        .copied()
        .filter(|f| f.value.is_finite() && !all_quiet(&f.title))
        .collect();
    let mut columns: Vec<String> = Vec::new();
    let mut bodies: Vec<Body> = Vec::new();
    for f in &shown {
        let column = f.mode.clone().unwrap_or_default();
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    for name in GROUPS.iter().map(|g| g.0).chain(["Speed and size"]) {
        let mut rows: Vec<Row> = Vec::new();
        for f in shown.iter().filter(|f| group(&f.id) == name) {
            let label = f.title.trim_end_matches(ANSWER).to_string();
            let at = columns
                .iter()
                .position(|c| *c == f.mode.clone().unwrap_or_default())
                .unwrap_or(0);
            place(&mut rows, label, at, columns.len(), Cell::of(f));
        }
        if !rows.is_empty() {
            bodies.push(Body {
                title: name.to_string(),
                rows,
            });
        }
    }
    if columns == [""] {
        columns = vec!["Value".into()];
    }
    (!bodies.is_empty()).then(|| Matrix {
        title: title.to_string(),
        corner: "Figure".into(),
        heads: Vec::new(),
        columns,
        bodies,
    })
}

/// Puts a cell into the row of its label, or into a new row if its column is used already.
fn place(rows: &mut Vec<Row>, label: String, at: usize, columns: usize, cell: Cell) {
    let free = |r: &&mut Row| r.label == label && r.cells.get(at) == Some(&Cell::default());
    if let Some(row) = rows.iter_mut().find(free) {
        row.cells[at] = cell;
        return;
    }
    let mut cells = vec![Cell::default(); columns];
    if let Some(slot) = cells.get_mut(at) {
        *slot = cell;
    }
    rows.push(Row { label, cells });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(id: &str, title: &str, mode: &str, value: f64, unit: &str) -> Figure {
        Figure {
            id: id.into(),
            title: title.into(),
            mode: Some(mode.into()),
            value,
            unit: unit.into(),
            ..Figure::default()
        }
    }

    fn answered(id: &str, mode: &str, value: f64) -> Figure {
        Figure {
            yes_or_no: true,
            ..figure(id, "Restores (1 yes, 0 no)", mode, value, "")
        }
    }

    #[test]
    fn figures_stand_by_mode_and_group_and_say_yes_and_no() {
        let all = [
            figure("e.power.peak", "Peak", "E", 4.5, "W"),
            answered("e.format.restores", "E", 1.0),
            figure("u.power.peak", "Peak", "U", 1.3, "W"),
            answered("u.format.restores", "U", 0.0),
        ];
        let all: Vec<&Figure> = all.iter().collect();
        let m = of_figures("Key", &all).unwrap();
        assert_eq!(m.columns, ["E", "U"]);
        let titles: Vec<&str> = m.bodies.iter().map(|b| b.title.as_str()).collect();
        assert_eq!(titles, ["Power", "Formatting"]);
        let row = &m.bodies[1].rows[0];
        assert_eq!(row.label, "Restores");
        assert_eq!(
            (row.cells[0].text.as_str(), row.cells[1].text.as_str()),
            ("yes", "no")
        );
    }

    #[test]
    fn tables_of_the_document_keep_units_and_empty_places() {
        let table: DataTable = serde_json::from_value(serde_json::json!({
            "title": "t", "corner": "align",
            "columns": [{"name": "diff", "unit": "µs"}, {"name": "places", "unit": ""}],
            "rows": [{"label": "4 MiB", "cells": [317.25, null]}, {"label": "2 MiB", "cells": [171.0]}],
        }))
        .unwrap();
        let m = Matrix::of_data(&table);
        assert_eq!(m.columns, ["diff (µs)", "places"]);
        let texts: Vec<Vec<&str>> = m.bodies[0]
            .rows
            .iter()
            .map(|r| r.cells.iter().map(|c| c.text.as_str()).collect())
            .collect();
        assert_eq!(texts, [["317", ""], ["171", ""]]);
    }

    #[test]
    fn full_speed_is_left_out_only_where_it_holds_in_every_mode() {
        let cool = [
            figure("e.throttle.min", "Throttle", "E", 100.0, "%"),
            figure("u.throttle.min", "Throttle", "U", 100.0, "%"),
        ];
        let all: Vec<&Figure> = cool.iter().collect();
        assert_eq!(of_figures("Key", &all), None);
        let hot = figure("u.throttle.min", "Throttle", "U", 50.0, "%");
        let m = of_figures("Key", &[&cool[0], &hot]).unwrap();
        assert_eq!(m.bodies[0].rows[0].cells[0].text, "100\u{202f}%");
    }

    #[test]
    fn a_column_has_the_heading_above_it() {
        let matrix = Matrix {
            title: String::new(),
            corner: "Test".into(),
            heads: vec![("Read".into(), 2), ("Write".into(), 1)],
            columns: ["fresh", "used", "fresh"].map(String::from).into(),
            bodies: Vec::new(),
        };
        assert_eq!(
            matrix.labels(),
            ["Read, fresh", "Read, used", "Write, fresh"]
        );
        assert!(matrix.is_wide());
        let plain = Matrix {
            heads: Vec::new(),
            ..matrix
        };
        assert_eq!(plain.labels(), ["fresh", "used", "fresh"]);
    }
}
