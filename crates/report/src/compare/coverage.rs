//! Sentences on what a comparison lacks: results of different suites, and steps that an incomplete result does not have.

use super::hosts::Alignment;
use super::letter;
use super::row::Row;
use super::rows::all_rows;
use crate::names;
use nandscope_result::{ResultDocument, StepResult};
use std::collections::BTreeSet;

/// Steps that are named for a result; of the others, the number is given.
const MOST_NAMED: usize = 4;

/// A step of the same name on the same host in several results.
type StepKey<'a> = (usize, &'a str, &'a str);

/// Sentences on what cannot be compared; none if all results are complete and of the same suite. `rows` are the
/// compared figures.
pub(super) fn sentences(
    documents: &[&ResultDocument],
    alignment: &Alignment,
    rows: &[Row],
) -> Vec<String> {
    let differ = suites_differ(documents);
    let mut said = Vec::new();
    if differ {
        let suites = documents.iter().enumerate();
        let suites =
            suites.map(|(i, d)| format!("{} is a result of `{}`", letter(i), names::test(d)));
        let suites: Vec<String> = suites.collect();
        said.push(format!("The suites differ: {}.", suites.join("; ")));
    }
    let incomplete = (0..documents.len()).filter(|i| !documents[*i].complete);
    let incomplete: Vec<usize> = incomplete.collect();
    said.extend(
        incomplete
            .iter()
            .map(|i| missing_steps(documents, alignment, *i)),
    );
    if differ || !incomplete.is_empty() {
        said.extend(single_figures(documents, alignment));
    }
    if rows.is_empty() {
        let remedy = if differ {
            "run the same suite or job file on each target"
        } else {
            "a job must have the same name in each job file"
        };
        said.push(format!("The results have no figure in common; {remedy}."));
    }
    said
}

fn suites_differ(documents: &[&ResultDocument]) -> bool {
    let suites: BTreeSet<&str> = documents.iter().map(|d| d.procedure.as_str()).collect();
    suites.len() > 1
}

fn key<'a>(alignment: &Alignment, i: usize, step: &'a StepResult) -> Option<StepKey<'a>> {
    let host = alignment.place(i, step.mode.as_deref())?;
    Some((host, &step.section, &step.title))
}

/// Sentence on the incomplete result `i`: steps that other results of the same suite have on the same hosts and it does not,
/// and steps that it did not finish.
fn missing_steps(documents: &[&ResultDocument], alignment: &Alignment, i: usize) -> String {
    let own = documents[i];
    let has: BTreeSet<StepKey> = own
        .steps
        .iter()
        .filter_map(|s| key(alignment, i, s))
        .collect();
    let others = documents
        .iter()
        .enumerate()
        .filter(|(j, d)| *j != i && d.procedure == own.procedure);
    let mut missing: Vec<&str> = Vec::new();
    let mut seen = has;
    for (j, other) in others {
        for step in &other.steps {
            if key(alignment, j, step).is_some_and(|key| seen.insert(key)) {
                missing.push(&step.title);
            }
        }
    }
    let stopped = own.steps.iter().filter(|s| s.incomplete.is_some());
    let stopped: Vec<&str> = stopped.map(|s| s.title.as_str()).collect();
    let mut parts = Vec::new();
    if !missing.is_empty() {
        parts.push(format!("missing steps: {}", named(&missing)));
    }
    if !stopped.is_empty() {
        parts.push(format!("unfinished steps: {}", named(&stopped)));
    }
    if parts.is_empty() {
        parts.push(match own.steps.last() {
            Some(last) => format!("its last step is {}", last.title),
            None => "it has no step".to_string(),
        });
    }
    format!("{} is incomplete; {}.", letter(i), parts.join("; "))
}

fn named(titles: &[&str]) -> String {
    let mut text = titles[..titles.len().min(MOST_NAMED)].join(", ");
    let more = titles.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// Numbers of figures that only one result has.
fn single_figures(documents: &[&ResultDocument], alignment: &Alignment) -> Option<String> {
    let mut counts = vec![0usize; documents.len()];
    for row in all_rows(documents, alignment) {
        let mut having = row.values.iter().enumerate().filter(|(_, v)| v.is_some());
        if let (Some((i, _)), None) = (having.next(), having.next()) {
            counts[i] += 1;
        }
    }
    let counts = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let counts: Vec<String> = counts
        .map(|(i, count)| format!("{count} of {}", letter(i)))
        .collect();
    (!counts.is_empty()).then(|| {
        format!(
            "Figures not compared, because no other result has them: {}.",
            counts.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Basis, rows};
    use super::*;
    use nandscope_result::{Figure, StopReason, procedure};

    fn document(procedure: &str, steps: &[&str]) -> ResultDocument {
        let mut document = crate::blank::document();
        document.procedure = procedure.to_string();
        document.complete = true;
        let step = |title: &&str| StepResult {
            id: title.to_lowercase(),
            title: (*title).to_string(),
            figures: vec![Figure {
                id: format!("{}.read", title.to_lowercase()),
                title: (*title).to_string(),
                value: 1.0,
                unit: "MB/s".into(),
                ..Figure::default()
            }],
            ..StepResult::default()
        };
        document.steps = steps.iter().map(step).collect();
        document
    }

    fn said(documents: &[&ResultDocument]) -> Vec<String> {
        let alignment = Alignment::of(documents, false).unwrap();
        sentences(
            documents,
            &alignment,
            &rows(documents, &Basis::default()).unwrap(),
        )
    }

    #[test]
    fn complete_results_of_one_suite_need_no_explanation() {
        let a = document(procedure::FILL, &["First", "Second"]);
        assert_eq!(said(&[&a, &a]), [""; 0]);
        let other = document(procedure::FILL, &["Third"]);
        assert!(said(&[&a, &other])[0].contains("no figure in common; a job must"));
    }

    #[test]
    fn different_suites_are_named() {
        let a = document(procedure::FILL, &["First"]);
        let b = document(procedure::PROBE, &["Answers", "Others"]);
        assert_eq!(
            said(&[&a, &b]),
            [
                "The suites differ: A is a result of `fill`; B is a result of `probe`.",
                "Figures not compared, because no other result has them: 1 of A, 2 of B.",
                "The results have no figure in common; run the same suite or job file on each target.",
            ]
        );
    }

    #[test]
    fn steps_that_an_incomplete_result_lacks_are_named() {
        let a = document(procedure::FILL, &["A", "B", "C", "D", "E", "F", "G"]);
        let mut b = document(procedure::FILL, &["A", "B"]);
        b.complete = false;
        b.steps[1].incomplete = Some(StopReason::Interrupted);
        assert_eq!(
            said(&[&a, &b]),
            [
                "B is incomplete; missing steps: C, D, E, F and 1 more; unfinished steps: B.",
                "Figures not compared, because no other result has them: 5 of A.",
            ]
        );
        let mut alone = document(procedure::PROBE, &["A"]);
        alone.complete = false;
        assert_eq!(
            said(&[&a, &alone])[1],
            "B is incomplete; its last step is A."
        );
    }
}
