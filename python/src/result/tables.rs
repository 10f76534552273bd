//! The tables of a result document.

use crate::error::Failure;
use crate::table::{Table, schema};
use arrow_array::builder::{Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType::{Float64, UInt64, Utf8};
use arrow_schema::SchemaRef;
use nandscope_result::{ResultDocument, StepResult, histogram};
use nandscope_suite::facts::Comparison;
use std::sync::Arc;

/// The builders of a table of one part.
struct Builders {
    schema: SchemaRef,
    texts: Vec<StringBuilder>,
    floats: Vec<Float64Builder>,
    counts: Vec<UInt64Builder>,
}

/// A value of a row, before the type of its column is known.
enum Cell<'a> {
    Text(&'a str),
    NoText,
    Number(f64),
    Maybe(Option<f64>),
    Count(u64),
}

impl Builders {
    fn new(schema: SchemaRef) -> Self {
        let number_of = |kind| {
            schema
                .fields()
                .iter()
                .filter(|f| *f.data_type() == kind)
                .count()
        };
        Builders {
            texts: (0..number_of(Utf8)).map(|_| StringBuilder::new()).collect(),
            floats: (0..number_of(Float64))
                .map(|_| Float64Builder::new())
                .collect(),
            counts: (0..number_of(UInt64))
                .map(|_| UInt64Builder::new())
                .collect(),
            schema,
        }
    }

    /// Adds a row; cells of each type are in the order of the columns of that type.
    fn row(&mut self, cells: &[Cell<'_>]) {
        let (mut text, mut float, mut count) = (0, 0, 0);
        for cell in cells {
            match cell {
                Cell::Text(value) => self.texts[text].append_value(value),
                Cell::NoText => self.texts[text].append_null(),
                Cell::Number(value) => self.floats[float].append_value(*value),
                Cell::Maybe(value) => self.floats[float].append_option(*value),
                Cell::Count(value) => self.counts[count].append_value(*value),
            }
            match cell {
                Cell::Text(_) | Cell::NoText => text += 1,
                Cell::Number(_) | Cell::Maybe(_) => float += 1,
                Cell::Count(_) => count += 1,
            }
        }
    }

    fn table(mut self) -> Table {
        let mut texts = self.texts.iter_mut();
        let mut floats = self.floats.iter_mut();
        let mut counts = self.counts.iter_mut();
        let columns = self.schema.fields().iter().filter_map(|field| {
            let column: ArrayRef = match field.data_type() {
                Utf8 => Arc::new(texts.next()?.finish()),
                Float64 => Arc::new(floats.next()?.finish()),
                _ => Arc::new(counts.next()?.finish()),
            };
            Some(column)
        });
        match RecordBatch::try_new(self.schema.clone(), columns.collect()) {
            Ok(batch) => Table::of(batch),
            // Every row has a cell for each column, of its type.
            Err(error) => unreachable!("the columns fit their schema: {error}"),
        }
    }
}

fn optional(text: Option<&str>) -> Cell<'_> {
    text.map_or(Cell::NoText, Cell::Text)
}

/// Figures of the steps, then those of the document.
pub fn figures(document: &ResultDocument) -> Table {
    let mut table = Builders::new(schema(&[
        ("id", Utf8, false),
        ("title", Utf8, false),
        ("mode", Utf8, true),
        ("value", Float64, false),
        ("unit", Utf8, false),
        ("low", Float64, true),
        ("high", Float64, true),
    ]));
    for figure in document.all_figures() {
        table.row(&[
            Cell::Text(&figure.id),
            Cell::Text(&figure.title),
            optional(figure.mode.as_deref()),
            Cell::Text(&figure.unit),
            Cell::Number(figure.value),
            Cell::Maybe(figure.low),
            Cell::Maybe(figure.high),
        ]);
    }
    table.table()
}

/// A row for each value of each series.
pub fn series(document: &ResultDocument) -> Table {
    let mut table = Builders::new(schema(&[
        ("step", Utf8, false),
        ("name", Utf8, false),
        ("unit", Utf8, false),
        ("t_s", Float64, false),
        ("value", Float64, false),
    ]));
    for (step, series) in each(document, |s| &s.series) {
        for (t, value) in series.t_s.iter().zip(&series.v) {
            table.row(&[
                Cell::Text(&step.id),
                Cell::Text(&series.name),
                Cell::Text(&series.unit),
                Cell::Number(*t),
                Cell::Number(*value),
            ]);
        }
    }
    table.table()
}

/// A row for each job and kind of operation. As in fio, latencies count from the submission; those called `due` count from
/// the scheduled start, and are the same without a schedule.
///
/// # Errors
/// `Failure` if a histogram of the document is damaged.
pub fn jobs(document: &ResultDocument) -> Result<Table, Failure> {
    let mut table = Builders::new(schema(&[
        ("step", Utf8, false),
        ("job", Utf8, false),
        ("operation", Utf8, false),
        ("operations", UInt64, false),
        ("bytes", UInt64, false),
        ("runtime_s", Float64, false),
        ("mb_per_s", Float64, false),
        ("iops", Float64, false),
        ("min_us", Float64, false),
        ("mean_us", Float64, false),
        ("p50_us", Float64, false),
        ("p99_us", Float64, false),
        ("p99.9_us", Float64, false),
        ("p99.99_us", Float64, false),
        ("max_us", Float64, false),
        ("due_mean_us", Float64, false),
        ("due_p99_us", Float64, false),
        ("due_p99.9_us", Float64, false),
        ("due_max_us", Float64, false),
    ]));
    let us = |ns: u64| Cell::Number(ns as f64 / 1e3);
    for (step, job) in each(document, |s| &s.jobs) {
        for direction in &job.directions {
            let due = &direction.latency;
            let latency = direction.since_issue();
            let all = histogram::decode(&latency.histogram).map_err(Failure::input)?;
            let all_due = histogram::decode(&due.histogram).map_err(Failure::input)?;
            let kind = direction.kind.to_string();
            table.row(&[
                Cell::Text(&step.id),
                Cell::Text(&job.name),
                Cell::Text(&kind),
                Cell::Count(direction.operations),
                Cell::Count(direction.bytes),
                Cell::Number(job.runtime_s),
                Cell::Number(direction.bandwidth_bytes_per_s / 1e6),
                Cell::Number(direction.iops),
                us(latency.min_ns),
                Cell::Number(latency.mean_ns / 1e3),
                us(all.value_at_percentile(50.0)),
                us(all.value_at_percentile(99.0)),
                us(all.value_at_percentile(99.9)),
                us(all.value_at_percentile(99.99)),
                us(latency.max_ns),
                Cell::Number(due.mean_ns / 1e3),
                us(all_due.value_at_percentile(99.0)),
                us(all_due.value_at_percentile(99.9)),
                us(due.max_ns),
            ]);
        }
    }
    Ok(table.table())
}

/// A row for each counter of each step.
pub fn counters(document: &ResultDocument) -> Table {
    let mut table = Builders::new(schema(&[
        ("step", Utf8, false),
        ("name", Utf8, false),
        ("value", Float64, false),
    ]));
    for step in &document.steps {
        for (name, value) in &step.counters {
            table.row(&[Cell::Text(&step.id), Cell::Text(name), Cell::Number(*value)]);
        }
    }
    table.table()
}

/// A row for each event of each step.
pub fn events(document: &ResultDocument) -> Table {
    let mut table = Builders::new(schema(&[
        ("step", Utf8, false),
        ("kind", Utf8, false),
        ("t_s", Float64, false),
        ("until_s", Float64, true),
        ("text", Utf8, false),
    ]));
    for (step, event) in each(document, |s| &s.events) {
        let kind = event.kind.to_string();
        table.row(&[
            Cell::Text(&step.id),
            Cell::Text(&kind),
            Cell::Text(&event.text),
            Cell::Number(event.t_s),
            Cell::Maybe(event.until_s),
        ]);
    }
    table.table()
}

/// A row for each conclusion of each step.
pub fn conclusions(document: &ResultDocument) -> Table {
    let mut table = Builders::new(schema(&[
        ("step", Utf8, false),
        ("id", Utf8, false),
        ("question", Utf8, false),
        ("answer", Utf8, false),
        ("confidence", Float64, true),
        ("evidence", Utf8, false),
    ]));
    for (step, conclusion) in each(document, |s| &s.conclusions) {
        table.row(&[
            Cell::Text(&step.id),
            Cell::Text(&conclusion.id),
            Cell::Text(&conclusion.question),
            Cell::Text(&conclusion.answer),
            Cell::Maybe(conclusion.confidence),
            Cell::Text(&conclusion.evidence),
        ]);
    }
    table.table()
}

/// A row for each published value of each device.
pub fn comparisons(devices: &[(String, Comparison)]) -> Table {
    let mut table = Builders::new(schema(&[
        ("device", Utf8, false),
        ("figure", Utf8, false),
        ("unit", Utf8, false),
        ("simulated", Float64, false),
        ("published", Float64, false),
        ("error_percent", Float64, true),
        ("met", Utf8, false),
        ("predicted", Utf8, false),
        ("source", Utf8, false),
    ]));
    let word = |yes: bool| Cell::Text(if yes { "yes" } else { "no" });
    let rows = devices
        .iter()
        .flat_map(|(device, c)| c.rows.iter().map(move |row| (device, row)));
    for (device, row) in rows {
        table.row(&[
            Cell::Text(device),
            Cell::Text(&row.figure.id),
            Cell::Text(&row.figure.unit),
            Cell::Number(row.figure.value),
            Cell::Number(row.published.value),
            Cell::Maybe(row.error_percent()),
            word(row.published.met),
            word(row.published.predicted),
            Cell::Text(&row.published.source),
        ]);
    }
    table.table()
}

fn each<'a, T: 'a>(
    document: &'a ResultDocument,
    part: impl Fn(&'a StepResult) -> &'a Vec<T>,
) -> impl Iterator<Item = (&'a StepResult, &'a T)> {
    let of_step = move |step| part(step).iter().map(move |item| (step, item));
    document.steps.iter().flat_map(of_step)
}
