//! The table of published against simulated (or measured) values: each figure with its published
//! counterpart, the difference, whether it is met, and why not.

use super::matrix::{ANSWER, Cell, answer, is_answer};
use crate::number::{short, with_unit};
use nandscope_result::{Figure, Published, Relation, ResultDocument, ToleranceKind};

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRow {
    /// Title of the figure.
    pub title: String,
    /// Name of the mode; empty if the document has no modes.
    pub mode: String,
    /// As published, with operator and unit.
    pub published: String,
    /// Allowed difference.
    pub tolerance: String,
    /// Value of the document, with unit.
    pub value: String,
    /// Difference, signed, in percent of the published value.
    pub error: String,
    /// Within the tolerance.
    pub met: bool,
    /// Reason where not met.
    pub why: String,
    /// Source of the publication.
    pub source: String,
    /// Identifier of the fact.
    pub fact: String,
}

impl PublishedRow {
    /// Title and mode, value and published value.
    pub fn in_words(&self) -> String {
        let mode = if self.mode.is_empty() {
            String::new()
        } else {
            format!(", {}", self.mode)
        };
        format!(
            "{}{mode}: {} instead of {}",
            self.title, self.value, self.published
        )
    }
}

/// Sources in the order in which rows name them; a row shows the number of its source.
pub fn sources(rows: &[PublishedRow]) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    for row in rows {
        if !row.source.is_empty() && !out.contains(&row.source.as_str()) {
            out.push(&row.source);
        }
    }
    out
}

/// A figure and the title of its step, if it belongs to one.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// Title of the step.
    pub step: Option<&'a str>,
    /// Figure of the document.
    pub figure: &'a Figure,
    /// Whether the title is clear without that of the step: it begins like the step's title, and no other figure of the
    /// mode has it.
    pub speaks_alone: bool,
}

impl Placed<'_> {
    /// Title with the step, as the same figure may occur in several steps.
    pub fn title(&self) -> String {
        match self.step {
            Some(step)
                if !step.is_empty() && !self.speaks_alone && !says(&self.figure.title, step) =>
            {
                format!("{step}: {}", self.figure.title)
            }
            _ => self.figure.title.clone(),
        }
    }

    /// Title with the step and the mode.
    pub fn title_with_mode(&self) -> String {
        match &self.figure.mode {
            Some(mode) => format!("{}, {mode}", self.title()),
            None => self.title(),
        }
    }
}

/// True if two titles begin with the same two words, in singular or plural: `Updates of the file system` and `Update of
/// the file system, longest`.
fn begin_alike(title: &str, step: &str) -> bool {
    let start = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().take(2);
        words
            .map(|w| w.trim_end_matches([',', 's']).to_lowercase())
            .collect()
    };
    let words = start(title);
    words.len() == 2 && words == start(step)
}

/// Whether a title already contains the part of the step's title after its comma, the state.
fn says(title: &str, step: &str) -> bool {
    let state = step.rsplit(", ").next().unwrap_or(step);
    // `Application trace: Copying photos` adds to `Copying photos, time` only what kind of step it was.
    if step
        .rsplit_once(": ")
        .is_some_and(|(_, name)| title.contains(name))
    {
        return true;
    }
    title.contains(step) || (step.contains(", ") && title.contains(&format!(", {state}")))
}

/// Every figure once, in the order of the document: those of the whole, then those of the steps.
/// A figure in both places counts at the first.
pub fn all_figures(document: &ResultDocument) -> Vec<Placed<'_>> {
    let mut seen = std::collections::BTreeSet::new();
    let own = document.figures.iter().map(|figure| (None, figure));
    let of_steps = document
        .steps
        .iter()
        .flat_map(|s| s.figures.iter().map(|f| (Some(s.title.as_str()), f)));
    let all: Vec<(Option<&str>, &Figure)> = own
        .chain(of_steps)
        .filter(|(_, f)| f.id.is_empty() || seen.insert((f.id.as_str(), f.mode.as_deref())))
        .collect();
    let name = |f: &'_ Figure| (f.title.clone(), f.mode.clone());
    let mut times = std::collections::BTreeMap::new();
    for (_, figure) in &all {
        *times.entry(name(figure)).or_insert(0usize) += 1;
    }
    all.into_iter()
        .map(|(step, figure)| Placed {
            step,
            figure,
            speaks_alone: step.is_some_and(|step| begin_alike(&figure.title, step))
                && times.get(&name(figure)) == Some(&1),
        })
        .collect()
}

/// Rows of the table: what is not met first, then in the order of the document.
pub fn rows(document: &ResultDocument) -> Vec<PublishedRow> {
    let mut rows: Vec<PublishedRow> = all_figures(document)
        .into_iter()
        .filter_map(|f| f.figure.published.as_ref().map(|p| row(&f, p)))
        .collect();
    rows.sort_by_key(|r| r.met);
    rows
}

/// Number of published figures, and of those that are met.
pub fn score(document: &ResultDocument) -> (usize, usize) {
    let all = all_figures(document);
    let published = || all.iter().filter_map(|f| f.figure.published.as_ref());
    (published().filter(|p| p.met).count(), published().count())
}

/// Number of published figures to which no parameter was fitted, and of those that are met.
pub fn predicted(document: &ResultDocument) -> (usize, usize) {
    let all = all_figures(document);
    let published = || all.iter().filter_map(|f| f.figure.published.as_ref());
    let predicted = || published().filter(|p| p.predicted);
    (predicted().filter(|p| p.met).count(), predicted().count())
}

/// Sentence on the number of predictions among the figures, which shows what meeting a publication is worth.
pub fn predictions(met: usize, all: usize) -> String {
    match (met, all) {
        (_, 0) => "None is a prediction: parameters were chosen by each of them.".to_string(),
        (0, 1) => {
            "One is a prediction, by which no parameter was chosen; it is not met.".to_string()
        }
        (_, 1) => "One is a prediction, by which no parameter was chosen; it is met.".to_string(),
        _ => format!(
            "{all} are predictions, by which no parameter was chosen; {met} of these are met."
        ),
    }
}

fn row(placed: &Placed, published: &Published) -> PublishedRow {
    let figure = placed.figure;
    PublishedRow {
        title: placed.title().trim_end_matches(ANSWER).to_string(),
        mode: figure.mode.clone().unwrap_or_default(),
        published: if is_answer(figure) {
            answer(published.value).to_string()
        } else {
            with_operator(published, &figure.unit)
        },
        tolerance: if is_answer(figure) || published.tolerance == 0.0 {
            String::new()
        } else {
            tolerance(published, &figure.unit)
        },
        value: Cell::of(figure).text,
        error: error(figure.value, published),
        met: published.met,
        why: published.why.clone(),
        source: published.source.clone(),
        fact: published.fact.clone(),
    }
}

fn with_operator(published: &Published, unit: &str) -> String {
    let value = with_unit(published.value, unit);
    match published.op {
        Relation::About => format!("about {value}"),
        Relation::Below => format!("below {value}"),
        Relation::AtMost => format!("at most {value}"),
        Relation::Above => format!("above {value}"),
        Relation::AtLeast => format!("at least {value}"),
        Relation::Range => format!("middle of range {value}"),
        _ => value,
    }
}

fn tolerance(published: &Published, unit: &str) -> String {
    match published.tolerance_kind {
        ToleranceKind::Absolute => format!("± {}", with_unit(published.tolerance, unit)),
        _ => format!("± {}", with_unit(published.tolerance * 100.0, "%")),
    }
}

/// The published value with the symbol of its relation, for a narrow column.
pub fn with_symbol(published: &Published, ascii: bool) -> String {
    let value = short(published.value);
    match (&published.op, ascii) {
        (Relation::About, _) => format!("~ {value}"),
        (Relation::Below, _) => format!("< {value}"),
        (Relation::AtMost, false) => format!("≤ {value}"),
        (Relation::AtMost, true) => format!("<= {value}"),
        (Relation::Above, _) => format!("> {value}"),
        (Relation::AtLeast, false) => format!("≥ {value}"),
        (Relation::AtLeast, true) => format!(">= {value}"),
        _ => value,
    }
}

/// Signed difference in percent, or a dash if the published value is zero. Empty for a bound or range that is met: the
/// distance to it is no error.
pub fn error(value: f64, published: &Published) -> String {
    let is_value = matches!(published.op, Relation::Equal | Relation::About);
    if published.met && !is_value {
        return String::new();
    }
    let share = (value - published.value) / published.value.abs() * 100.0;
    if !share.is_finite() {
        return "–".to_string();
    }
    let sign = if share >= 0.05 {
        "+"
    } else if share <= -0.05 {
        "−"
    } else {
        ""
    };
    format!("{sign}{:.1}\u{202f}%", share.abs())
}

/// Verb for the values of the document: simulated or measured.
pub fn verb(document: &ResultDocument) -> &'static str {
    if document.target.is_simulated() {
        "simulated"
    } else {
        "measured"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_carry_their_sign() {
        let cases = [
            (878.0, 895.0, "−1.9\u{202f}%"),
            (900.0, 895.0, "+0.6\u{202f}%"),
            (895.0, 895.0, "0.0\u{202f}%"),
            (1.0, 0.0, "–"),
            (f64::NAN, 1.0, "–"),
        ];
        for (value, published, text) in cases {
            let published = Published {
                value: published,
                ..Published::default()
            };
            assert_eq!(error(value, &published), text);
        }
    }

    #[test]
    fn a_bound_that_is_met_has_no_error() {
        let bound = |met| Published {
            value: 6.0,
            op: ">=".into(),
            met,
            ..Published::default()
        };
        assert_eq!(error(14.5, &bound(true)), "");
        assert_eq!(error(3.0, &bound(false)), "−50.0\u{202f}%");
        assert_eq!(with_symbol(&bound(true), false), "≥ 6.00");
        assert_eq!(with_symbol(&bound(true), true), ">= 6.00");
    }

    #[test]
    fn a_figure_of_a_step_is_named_after_it() {
        let figure = Figure {
            title: "SEQ1M read".into(),
            mode: Some("UHS-I".into()),
            ..Figure::default()
        };
        let placed = |step| Placed {
            step,
            figure: &figure,
            speaks_alone: false,
        };
        assert_eq!(
            placed(Some("used")).title_with_mode(),
            "used: SEQ1M read, UHS-I"
        );
        assert_eq!(placed(Some("SEQ1M")).title(), "SEQ1M read");
        assert_eq!(placed(None).title(), "SEQ1M read");
    }

    #[test]
    fn a_title_that_begins_as_its_step_does_needs_no_step() {
        let figure = |id: &str, title: &str| Figure {
            id: id.into(),
            title: title.into(),
            ..Figure::default()
        };
        let step = |title: &str, figures: Vec<Figure>| nandscope_result::StepResult {
            title: title.into(),
            figures,
            ..Default::default()
        };
        let mut document = crate::blank::document();
        document.steps = vec![
            step(
                "Updates of the file system",
                vec![figure("u", "Update of the file system, longest")],
            ),
            step(
                "Sustained random read, queue depth 32",
                vec![figure("s", "Sustained random read, mean of three")],
            ),
            // Equal titles in two steps need the names of the steps.
            step("First pass", vec![figure("a", "First pass, mean")]),
            step("First pass again", vec![figure("b", "First pass, mean")]),
        ];
        let titles: Vec<String> = all_figures(&document).iter().map(Placed::title).collect();
        assert_eq!(titles[0], "Update of the file system, longest");
        assert_eq!(titles[1], "Sustained random read, mean of three");
        assert_eq!(titles[3], "First pass again: First pass, mean");
    }

    #[test]
    fn tolerances_and_operators_in_words() {
        let p = Published {
            value: 5.5,
            op: "~".into(),
            tolerance: 0.1,
            tolerance_kind: "relative".into(),
            ..Published::default()
        };
        assert_eq!(with_operator(&p, "GB"), "about 5.50\u{202f}GB");
        assert_eq!(tolerance(&p, "GB"), "± 10.0\u{202f}%");
        let p = Published {
            tolerance: 2.0,
            tolerance_kind: "absolute".into(),
            op: "<".into(),
            ..p
        };
        assert_eq!(with_operator(&p, "°C"), "below 5.50\u{202f}°C");
        assert_eq!(tolerance(&p, "°C"), "± 2.00\u{202f}°C");
    }
}
