//! All series and curves of a document as one table of columns, for programs that read Parquet: a line for each value,
//! with everything that identifies it.

use nandscope_files::parquet::{Column, Table};
use nandscope_result::{ResultDocument, StepResult};

/// The columns while they are filled.
#[derive(Default)]
struct Columns {
    texts: [Vec<Option<String>>; 8],
    x: Vec<Option<f64>>,
    y: Vec<Option<f64>>,
}

const TEXTS: [&str; 8] = [
    "step",
    "step_title",
    "mode",
    "kind",
    "name",
    "unit",
    "x_name",
    "x_unit",
];

impl Columns {
    fn add(&mut self, step: &StepResult, about: [&str; 5], xs: &[f64], ys: &[f64]) {
        let [kind, name, unit, x_name, x_unit] = about.map(|text| Some(text.to_string()));
        let (id, title) = (Some(step.id.clone()), Some(step.title.clone()));
        let lines = xs.len().min(ys.len());
        let all = [
            id,
            title,
            step.mode.clone(),
            kind,
            name,
            unit,
            x_name,
            x_unit,
        ];
        for (column, text) in self.texts.iter_mut().zip(all) {
            column.extend(std::iter::repeat_n(text, lines));
        }
        let finite = |v: &f64| Some(*v).filter(|v| v.is_finite());
        self.x.extend(xs.iter().take(lines).map(finite));
        self.y.extend(ys.iter().take(lines).map(finite));
    }
}

/// The table: series over time on the target's clock, then curves over a varied quantity, step by step. `None` if there
/// are neither series nor curves.
pub fn of_document(document: &ResultDocument) -> Option<Table> {
    let mut columns = Columns::default();
    for step in &document.steps {
        for s in &step.series {
            columns.add(
                step,
                ["series", &s.name, &s.unit, "time", "s"],
                &s.t_s,
                &s.v,
            );
        }
        for c in &step.curves {
            // Curves of one quantity differ by their names.
            let name = format!("{}: {}", c.y_name, c.name);
            columns.add(
                step,
                ["curve", &name, &c.y_unit, &c.x_name, &c.x_unit],
                &c.x,
                &c.y,
            );
        }
    }
    if columns.x.is_empty() {
        return None;
    }
    let named = TEXTS.into_iter().zip(columns.texts);
    let table = named.fold(Table::new(), |table, (name, texts)| {
        table.with(name, Column::Text(texts))
    });
    let table = table.with("x", Column::Real(columns.x));
    Some(table.with("value", Column::Real(columns.y)))
}
