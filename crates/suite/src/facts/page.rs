//! docs/validation.md: scores, a table for each device, and the measurements that are compared with nothing.

use super::{Basis, Comparison, Coverage, Row};
use crate::closed_forms::ClosedForm;
use nandscope_result::{Relation, ToleranceKind};
use nandscope_units::number::significant;
use std::fmt::Write;

/// Rows that are met, of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Met.
    pub met: usize,
    /// All.
    pub all: usize,
}

impl Score {
    fn count(&mut self, met: bool) {
        self.met += usize::from(met);
        self.all += 1;
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.met, self.all)
    }
}

/// The two scores, which say different things: a calibrated row shows that the model can be made to fit, a predicted
/// one that it holds where nobody fitted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// Rows that parameters were chosen by.
    pub calibrated: Score,
    /// Rows that none was chosen by.
    pub predicted: Score,
}

impl Scores {
    /// Counts the rows; a check without a figure is not counted here, since it makes validation fail.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut scores = Scores::default();
        for row in rows {
            match row.basis {
                Basis::Calibrated(_) => scores.calibrated.count(row.published.met),
                Basis::Predicted => scores.predicted.count(row.published.met),
            }
        }
        scores
    }

    /// Both in a sentence each.
    pub fn in_words(&self) -> String {
        format!(
            "Predicted rows: {} are met. Calibrated rows: {} are met.",
            self.predicted, self.calibrated
        )
    }
}

/// The two scores of every device, and of all together.
pub fn score_table(devices: &[(String, Comparison)]) -> String {
    let mut text = String::from("| device | predicted, met | calibrated, met |\n|---|---|---|\n");
    let cell = |score: Score| match score.all {
        0 => "–".to_string(),
        _ => score.to_string(),
    };
    let all: Scores = Scores::of(devices.iter().flat_map(|(_, c)| &c.rows));
    let each = devices
        .iter()
        .map(|(title, c)| (title.as_str(), Scores::of(&c.rows)));
    for (title, scores) in each.chain([("**all**", all)]) {
        let (predicted, calibrated) = (cell(scores.predicted), cell(scores.calibrated));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {title} | {predicted} | {calibrated} |");
    }
    text
}

/// Remarks that several rows of a table share: they are printed once, beneath it.
struct Notes<'a>(Vec<&'a str>);

impl<'a> Notes<'a> {
    fn of(rows: &'a [Row]) -> Notes<'a> {
        let why = |row: &'a Row| Some(row.published.why.as_str()).filter(|_| !row.published.met);
        let all = || {
            rows.iter()
                .flat_map(move |row| [Some(row.remark.as_str()), why(row)])
        };
        let mut shared: Vec<&str> = Vec::new();
        for text in all().flatten().filter(|text| !text.is_empty()) {
            let count = all().flatten().filter(|other| *other == text).count();
            if count > 1 && !shared.contains(&text) {
                shared.push(text);
            }
        }
        Notes(shared)
    }

    /// The number of a shared remark, or the remark.
    fn cell(&self, text: &str) -> String {
        match self.0.iter().position(|shared| *shared == text) {
            Some(at) => format!("note {}", at + 1),
            None => text.to_string(),
        }
    }

    fn list(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let notes = self.0.iter().enumerate();
        let notes = notes.map(|(i, text)| format!("{}. {text}\n", i + 1));
        format!("\nNotes:\n\n{}", notes.collect::<String>())
    }
}

/// The rows of one device in Markdown.
pub fn table(rows: &[Row]) -> String {
    let notes = Notes::of(rows);
    let mut text = String::from(
        "| fact | what | published | simulated | error | tolerance | basis | met |\n|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let (figure, p) = (&row.figure, &row.published);
        let mode = figure
            .mode
            .as_deref()
            .map(|m| format!("{m}: "))
            .unwrap_or_default();
        let remark = Some(row.remark.as_str()).filter(|r| !r.is_empty());
        let remark = remark.map_or_else(String::new, |r| format!(" ({})", notes.cell(r)));
        let error = row.error_percent().filter(|_| p.op != Relation::Range);
        let error = error.map_or("–".to_string(), |e| format!("{e:+.1} %"));
        let tolerance = match (&p.tolerance_kind, p.tolerance) {
            _ if p.op == Relation::Range => "as printed".to_string(),
            (_, 0.0) => "as printed".to_string(),
            (ToleranceKind::Relative, t) => format!("{:.0} %", t * 100.0),
            (_, t) => with_unit(&format!("± {t}"), &figure.unit),
        };
        let basis = match &row.basis {
            Basis::Predicted => "predicted".to_string(),
            Basis::Calibrated(by) => format!("calibrated: `{}`", by.join("`, `")),
        };
        let met = if p.met {
            "yes".to_string()
        } else {
            format!("no: {}", notes.cell(&p.why))
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {mode}{}{remark} | {} | {} | {error} | {tolerance} | {basis} | {met} |",
            p.fact,
            figure.title,
            with_unit(&value_as_printed(row), &figure.unit),
            with_unit(&short(figure.value), &figure.unit),
        );
    }
    text + &notes.list()
}

/// Theory beside simulation.
pub fn closed_forms(rows: &[ClosedForm]) -> String {
    let mut text = String::from(
        "| what | theory | expected | simulated | difference |\n|---|---|---|---|---|\n",
    );
    for row in rows {
        let cell = |value: f64| with_unit(&significant(value, 4, 2), row.unit);
        let difference = (row.simulated / row.expected - 1.0) * 100.0;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {difference:+.1} % |",
            row.what,
            row.theory,
            cell(row.expected),
            cell(row.simulated)
        );
    }
    text
}

/// The measurements without a check, by reason.
pub fn unchecked(coverage: &Coverage) -> String {
    let mut text = String::new();
    for group in &coverage.unchecked {
        let ids: Vec<&str> = group.facts.iter().map(|f| f.0.as_str()).collect();
        let _ = writeln!(text, "- {}: {}", group.reason, ids.join(", "));
    }
    text
}

fn value_as_printed(row: &Row) -> String {
    let p = &row.published;
    match p.op {
        Relation::Equal => short(p.value),
        Relation::Range => {
            let (low, high) = (p.value - p.tolerance, p.value + p.tolerance);
            format!("{} to {}", short(low), short(high))
        }
        _ => format!("{} {}", p.op, short(p.value)),
    }
}

fn with_unit(value: &str, unit: &str) -> String {
    format!("{value} {unit}").trim_end().to_string()
}

fn short(value: f64) -> String {
    let max_decimals = if value == value.trunc() { 0 } else { 2 };
    significant(value, 3, max_decimals)
}
