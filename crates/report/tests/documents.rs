//! Results written by version 0.1 are read, written back unchanged, reported and compared; their terminal output is
//! compared with snapshots (`INSTA_UPDATE=always cargo test -p nandscope-report` writes them).

use nandscope_report::compare::Basis;
use nandscope_report::terminal::{Options, summary};
use nandscope_report::{compare, html, summary::step_summary};
use nandscope_result::{
    DirectionResult, Event, EventKind, Figure, JobResult, Notice, Operation, Published,
    ResultDocument, Series, StepResult, StopReason, TargetInfo, TargetKind, json, series,
};
use serde_json::Value;
use std::path::Path;

/// A result of each kind, shortened: a tenth of the steps, the first points of every series.
const KINDS: [(&str, &str); 7] = [
    ("run", include_str!("data/v0.1/run.json")),
    ("review", include_str!("data/v0.1/review.json")),
    ("suite", include_str!("data/v0.1/suite.json")),
    ("sweep", include_str!("data/v0.1/sweep.json")),
    ("probe", include_str!("data/v0.1/probe.json")),
    ("verify", include_str!("data/v0.1/verify.json")),
    ("fs", include_str!("data/v0.1/fs.json")),
];

pub fn documents() -> impl Iterator<Item = (&'static str, ResultDocument)> {
    KINDS.into_iter().map(|(kind, text)| {
        let document = json::from_json(text, Path::new(kind)).unwrap();
        (kind, document)
    })
}

/// Whether a value contains all of an older one; objects may have new fields.
fn holds(newer: &Value, older: &Value) -> bool {
    match (newer, older) {
        (Value::Object(newer), Value::Object(older)) => {
            let mut fields = older.iter();
            fields.all(|(name, value)| newer.get(name).is_some_and(|v| holds(v, value)))
        }
        (Value::Array(newer), Value::Array(older)) => {
            newer.len() == older.len() && newer.iter().zip(older).all(|(n, o)| holds(n, o))
        }
        (newer, older) => newer == older,
    }
}

/// Puts confidences back into the answers, where version 1 had them.
fn with_confidences(conclusions: &mut Value) {
    for conclusion in conclusions.as_array_mut().into_iter().flatten() {
        if let Some(confidence) = conclusion["confidence"].as_f64() {
            let answer = conclusion["answer"].as_str().unwrap();
            conclusion["answer"] = format!("{answer} ({:.0} %)", 100.0 * confidence).into();
        }
    }
}

#[test]
fn results_of_version_0_1_are_written_back_with_all_that_they_hold() {
    for ((kind, document), (_, text)) in documents().zip(KINDS) {
        let before: Value = serde_json::from_str(text).unwrap();
        let mut after: Value = serde_json::from_str(&json::to_json(&document).unwrap()).unwrap();
        assert_eq!(after["version"], 2);
        after["version"] = 1.into();
        for step in after["steps"].as_array_mut().unwrap() {
            with_confidences(&mut step["conclusions"]);
        }
        assert!(holds(&after, &before), "{kind}");
    }
}

#[test]
fn results_of_version_0_1_contain_no_unknown_words() {
    for (kind, document) in documents() {
        assert!(
            !matches!(document.target.kind, TargetKind::Other(_)),
            "{kind}"
        );
        for step in &document.steps {
            let directions = step.jobs.iter().flat_map(|j| &j.directions);
            let operations = directions.map(|d| &d.kind);
            assert!(
                operations
                    .into_iter()
                    .all(|o| !matches!(o, Operation::Other(_)))
            );
            let mut events = step.events.iter();
            assert!(events.all(|e| !matches!(e.kind, EventKind::Other(_))));
        }
    }
}

#[test]
fn results_of_version_0_1_are_reported() {
    for (kind, document) in documents() {
        let page = html::render(&document).unwrap();
        assert!(page.contains("</html>"), "{kind}");
        insta::assert_snapshot!(
            format!("summary_{kind}"),
            summary(&document, &[], &Options::default())
        );
    }
}

/// Counts the sentences of a text, except those in brackets, which are names of tests.
fn sentences(text: &str) -> usize {
    let mut depth = 0;
    let outside: String = text
        .chars()
        .filter(|c| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth == 0
        })
        .collect();
    outside.split_inclusive(". ").count()
}

#[test]
fn no_verdict_has_more_than_three_sentences() {
    let mut whole = 0;
    for (kind, document) in documents() {
        let summary = nandscope_report::summary_json::of(&document, &[]);
        let texts = |key: &str| -> Vec<String> {
            let parts = summary[key].as_array().unwrap().iter();
            parts
                .map(|p| p["text"].as_str().unwrap().to_string())
                .collect()
        };
        let count: usize = texts("verdict").iter().map(|t| sentences(t)).sum();
        assert!(count <= 3, "{kind}: {count} sentences");
        whole += usize::from(count == 3);
        // The page has the same statements, with the findings folded.
        let page = html::render(&document).unwrap();
        let verdict = page.split("<div class=\"verdict\">").nth(1).unwrap();
        let verdict = verdict.split("</div>").next().unwrap();
        assert_eq!(
            verdict.matches("<p>").count(),
            texts("verdict").len(),
            "{kind}"
        );
        assert_eq!(
            page.contains("<div class=\"findings\">"),
            !texts("findings").is_empty()
        );
    }
    assert!(whole > 0);
}

#[test]
fn results_of_version_0_1_are_compared() {
    for (kind, document) in documents() {
        let rows = compare::rows(&[&document, &document], &Basis::default()).unwrap();
        let same = rows.iter().all(|row| row.ratio(1).is_none_or(|r| r == 1.0));
        assert!(same, "{kind}");
        let text = compare::text(
            &[&document, &document],
            &Basis::default(),
            &Options::default(),
        )
        .unwrap();
        insta::assert_snapshot!(format!("comparison_{kind}"), text);
    }
}

#[test]
fn jobs_are_summarized_in_fios_words() {
    let (_, run) = documents().next().unwrap();
    let text: String = run.steps.iter().map(step_summary).collect();
    insta::assert_snapshot!("jobs", text);
}

/// A document with the words that decide something.
fn small() -> ResultDocument {
    let step = StepResult {
        id: "one".into(),
        title: "One".into(),
        end_s: 2.0,
        incomplete: Some(StopReason::Interrupted),
        jobs: vec![JobResult {
            name: "job".into(),
            runtime_s: 2.0,
            directions: vec![DirectionResult {
                kind: Operation::Write,
                operations: 2,
                bytes: 8192,
                ..DirectionResult::default()
            }],
            ..JobResult::default()
        }],
        series: vec![Series {
            name: series::of(&Operation::Write, series::BANDWIDTH),
            unit: "MB/s".into(),
            interval_s: 1.0,
            t_s: vec![1.0, 2.0],
            v: vec![0.5, 1e-7],
        }],
        events: vec![Event {
            kind: EventKind::Throttling,
            t_s: 1.0,
            until_s: Some(2.0),
            text: "the device throttles".into(),
        }],
        figures: vec![Figure {
            id: "one.rate".into(),
            value: 1.5,
            published: Some(Published::default()),
            ..Figure::default()
        }],
        ..StepResult::default()
    };
    ResultDocument {
        generator: "nandscope VERSION".into(),
        complete: false,
        steps: vec![step],
        notices: vec![Notice::warning("shortened")],
        ..ResultDocument::begin("run", "A test".into(), 1, TargetInfo::default())
    }
}

#[test]
fn a_document_keeps_its_form() {
    insta::assert_snapshot!("document", json::to_json(&small()).unwrap());
}
