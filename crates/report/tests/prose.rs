//! The report reads no sentence: with every sentence of a document replaced by a meaningless word, the page has the same
//! elements, plots and numbers.

use crate::fixture;
use nandscope_report::{html, write_all};
use nandscope_result::{
    BlockState, Conclusion, Curve, Requirement, ResultDocument, Series, StateCode, StepResult, json,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Fields that hold sentences or titles, by their path in the document.
const PROSE: [&str; 28] = [
    "figures.published.source",
    "figures.published.why",
    "figures.title",
    "notices.text",
    "steps.conclusions.answer",
    "steps.conclusions.evidence",
    "steps.conclusions.question",
    "steps.conclusions.ranked.workload",
    "steps.conclusions.requirements.what",
    "steps.curves.name",
    "steps.curves.x_name",
    "steps.curves.y_name",
    "steps.description",
    "steps.figures.published.source",
    "steps.figures.published.why",
    "steps.figures.title",
    "steps.marks.text",
    "steps.section",
    "steps.tables.columns.name",
    "steps.tables.corner",
    "steps.tables.rows.label",
    "steps.tables.title",
    "steps.title",
    "target.description",
    "target.model",
    "target.parameters.reason",
    "target.sources",
    "title",
];

/// Fields that hold identifiers, units, numbers, or names that are part of identifiers. Stages of the path from host to
/// device are names with a rate, which ranks need.
const KEPT: [&str; 35] = [
    "environment",
    "figures.id",
    "figures.mode",
    "figures.published.fact",
    "figures.published.op",
    "figures.published.tolerance_kind",
    "figures.unit",
    "format",
    "generator",
    "notices.level",
    "notices.step",
    "procedure",
    "steps.conclusions.id",
    "steps.conclusions.mode",
    "steps.conclusions.requirements.unit",
    "steps.curves.states.state",
    "steps.curves.x_unit",
    "steps.curves.y_unit",
    "steps.id",
    "steps.figures.id",
    "steps.figures.mode",
    "steps.figures.published.fact",
    "steps.figures.published.op",
    "steps.figures.published.tolerance_kind",
    "steps.figures.unit",
    "steps.jobs",
    "steps.marks.kind",
    "steps.mode",
    "steps.series.name",
    "steps.series.unit",
    "steps.tables.columns.unit",
    "target.kind",
    "target.modes",
    "target.name",
    "target.profile_sha256",
];

/// Replaces sentences by words of letters, the same sentence by the same word.
#[derive(Default)]
struct Placeholders(BTreeMap<String, String>);

impl Placeholders {
    fn of(&mut self, text: &str) -> String {
        let number = self.0.len();
        let word = || {
            let digits = format!("{number:04}");
            let letters = digits.bytes().map(|d| char::from(d - b'0' + b'a'));
            format!("z{}", letters.collect::<String>())
        };
        self.0.entry(text.to_string()).or_insert_with(word).clone()
    }

    /// Replaces the sentences of a value at this path. A text that neither list has fails: a new field must be in one.
    fn replace(&mut self, value: &mut Value, path: &str) {
        let below = ["target.parameters.", "wall."];
        let is_kept = |path: &str| {
            below.iter().any(|p| path.starts_with(p))
                || KEPT.iter().any(|kept| {
                    let rest = path.strip_prefix(kept);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                })
        };
        match value {
            Value::String(text) if text.is_empty() => {}
            Value::String(text) if PROSE.contains(&path) => *text = self.of(text),
            Value::String(_) => assert!(is_kept(path), "is `{path}` a sentence?"),
            Value::Array(values) => values.iter_mut().for_each(|v| self.replace(v, path)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    let below = match path {
                        "" => name.clone(),
                        path => format!("{path}.{name}"),
                    };
                    self.replace(value, &below);
                }
            }
            _ => {}
        }
    }
}

fn without_sentences(document: &ResultDocument) -> ResultDocument {
    let mut value = serde_json::to_value(document).unwrap();
    let mut words = Placeholders::default();
    words.replace(&mut value, "");
    assert!(words.0.len() > 5, "{:?}", words.0);
    serde_json::from_value(value).unwrap()
}

/// A test with limits, and the states of an address range.
fn tested() -> ResultDocument {
    let requirement = |what: &str, value: f64, limit: f64, unit: &str| Requirement {
        what: what.into(),
        value,
        limit,
        unit: unit.into(),
        at_most: unit == "ms",
    };
    let class = |name: &str, limit: f64| Conclusion {
        passed: Some(limit < 20.0),
        requirements: vec![
            requirement("", 20.0, limit, "MB/s"),
            requirement("longest write", 12.5, 250.0, "ms"),
        ],
        ..Conclusion::new(name, name, "pass", "20 MB/s, at most 250 ms")
    };
    let recording = StepResult {
        id: "recording".into(),
        title: "Recording into empty areas".into(),
        section: "Speed classes".into(),
        end_s: 5.0,
        series: vec![Series {
            name: "write bandwidth".into(),
            unit: "MB/s".into(),
            interval_s: 1.0,
            t_s: vec![1.0, 2.0, 3.0, 4.0, 5.0],
            v: vec![20.0, 22.0, 21.0, 20.0, 23.0],
        }],
        conclusions: vec![
            class("Class 10", 10.0),
            class("U1", 10.0),
            class("V30", 30.0),
            Conclusion::new("probe.unit", "Allocation unit", "cannot tell", "no step"),
        ],
        ..StepResult::default()
    };
    let code = |value: f64, state: BlockState| StateCode { value, state };
    let states = StepResult {
        id: "states".into(),
        title: "Is it genuine?".into(),
        section: "Authenticity".into(),
        curves: vec![Curve {
            name: "tagged blocks".into(),
            x_name: "place".into(),
            x_unit: "GB".into(),
            y_name: "state of the block".into(),
            x: vec![1.0, 40.0, 200.0],
            y: vec![3.0, 3.0, 1.0],
            states: vec![code(3.0, BlockState::Genuine), code(1.0, BlockState::Lost)],
            ..Curve::default()
        }],
        ..StepResult::default()
    };
    let mut document = fixture::document();
    document.procedure = "speed-class".into();
    document.steps = vec![recording, states];
    document
}

fn documents() -> Vec<(&'static str, ResultDocument)> {
    let mut all: Vec<_> = crate::documents::documents().collect();
    all.push(("fixture", json::upgraded(fixture::document())));
    all.push(("tested", tested()));
    all
}

/// Structure of a page without its words: elements, number cells, plot data.
#[derive(Default)]
struct Page {
    /// Elements in order, with their classes, and the attributes that place and scale them.
    elements: Vec<String>,
    /// Texts of the cells and labels that are numbers.
    cells: Vec<String>,
    /// All numbers of the text in order.
    numbers: Vec<String>,
    /// Data of the plots without names.
    plots: Vec<Value>,
    /// Number of files.
    files: usize,
}

/// Elements whose text is a number with a unit.
const NUMBERS: [&str; 5] = [
    "td.n",
    "span.tile-value",
    "span.bars-value",
    "p.tile-value",
    "span.step-time",
];

impl Page {
    /// The page of a report, with ranks among the library, and the number of the other files.
    fn with_files(document: &ResultDocument, name: &str) -> Page {
        let folder = format!("nandscope-prose-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let files = write_all(document, &folder).unwrap().len();
        let text = std::fs::read_to_string(folder.join("report.html")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        Page {
            files,
            ..Page::read(&text)
        }
    }

    fn read(text: &str) -> Page {
        let mut page = Page::default();
        let (_, body) = text.split_once("<main>").unwrap();
        let (body, _) = body.split_once("</main>").unwrap();
        for part in body.split('<').skip(1) {
            let (tag, text) = part.split_once('>').unwrap();
            page.part(tag, text);
        }
        page
    }

    fn part(&mut self, tag: &str, text: &str) {
        let attribute = |name: &str| {
            let value = tag.split_once(&format!(" {name}=\""))?.1;
            value.split('"').next()
        };
        let name = tag.split([' ', '\n']).next().unwrap();
        let element = match attribute("class") {
            Some(class) => format!("{name}.{class}"),
            None => name.to_string(),
        };
        if element == "script" && attribute("type").is_some() {
            let mut data: Value = serde_json::from_str(text).unwrap();
            without_texts(&mut data);
            self.plots.push(data);
        } else if name != "script" {
            if NUMBERS.contains(&element.as_str()) {
                self.cells.push(text.trim().to_string());
            }
            let digits = |c: char| !(c.is_ascii_digit() || c == '.');
            let numbers = text.split(digits).map(|n| n.trim_matches('.'));
            let numbers = numbers.filter(|n| !n.is_empty());
            self.numbers.extend(numbers.map(str::to_string));
        }
        let style = attribute("style").unwrap_or_default();
        self.elements.push(format!("{element} {style}"));
    }
}

/// Removes names, which are sentences in part, from the data of a plot.
fn without_texts(value: &mut Value) {
    match value {
        // Numbers of absent places and ticks are texts, too.
        Value::String(text) if text.starts_with(|c: char| c.is_alphabetic()) => text.clear(),
        Value::Array(values) => values.iter_mut().for_each(without_texts),
        Value::Object(fields) => {
            for name in ["name", "wide", "narrow", "before", "sync"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(without_texts);
        }
        _ => {}
    }
}

/// The first place at which two lists differ.
fn difference<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    differs.or((a.len() != b.len()).then_some(a.len().min(b.len())))
}

#[test]
fn a_page_without_sentences_has_the_same_structure_and_numbers() {
    for (kind, document) in documents() {
        // Drawing the many plots of the fixture takes long.
        let page = |document: &ResultDocument, which: &str| match kind {
            "fixture" => Page::read(&html::render(document).unwrap()),
            _ => Page::with_files(document, &format!("{kind}-{which}")),
        };
        let before = page(&document, "before");
        let after = page(&without_sentences(&document), "after");
        if let Some(i) = difference(&before.elements, &after.elements) {
            let around = |page: &Page| {
                page.elements[i.saturating_sub(5)..]
                    .iter()
                    .take(9)
                    .cloned()
                    .collect::<Vec<_>>()
            };
            panic!(
                "{kind}: {:#?} became {:#?}",
                around(&before),
                around(&after)
            );
        }
        assert_eq!(before.cells, after.cells, "{kind}");
        assert_eq!(before.plots, after.plots, "{kind}");
        assert_eq!(before.files, after.files, "{kind}");
        // The page has no number that it did not have, and none is elsewhere; those of sentences are gone.
        let mut all = before.numbers.iter();
        let added = after.numbers.iter().find(|n| !all.any(|known| known == *n));
        assert_eq!(added, None, "{kind}");
        assert!(
            !before.cells.is_empty() || !before.plots.is_empty(),
            "{kind}"
        );
    }
}
