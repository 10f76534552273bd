//! The summary of a result for programs: the terminal's summary as JSON. Series, histograms and jobs are only in the
//! result document.

use crate::view::page_context::Rank;
use crate::view::statements::Paragraph;
use crate::view::{notice, overview, published, ranking};
use nandscope_result::{Conclusion, ResultDocument};
use serde_json::{Value, json};

/// Verdict, answers and figures of a document, with the ranks of its device among others.
pub fn of(document: &ResultDocument, ranks: &[Rank]) -> Value {
    let target = &document.target;
    let notices = notice::all(document).into_iter().map(|n| {
        let steps: Vec<String> = n.steps.into_iter().map(|(_, title)| title).collect();
        json!({ "level": n.level, "text": n.text, "steps": steps })
    });
    let overview = overview::of(document, ranks);
    let texts = |paragraphs: Vec<Paragraph>| -> Vec<Value> {
        let texts = paragraphs.into_iter();
        texts
            .map(|p| json!({ "about": p.lead, "text": p.text }))
            .collect()
    };
    let answers: Vec<&Conclusion> = document.steps.iter().flat_map(|s| &s.conclusions).collect();
    let mut figures = published::all_figures(document);
    figures.sort_by_key(|p| ranking::rank(&p.figure.id));
    let figures = figures
        .iter()
        .map(|p| json!({ "step": p.step, "figure": p.figure }));
    json!({
        "title": document.title,
        "procedure": document.procedure,
        "seed": document.seed,
        "generator": document.generator,
        "complete": document.complete,
        "target": {
            "name": target.name,
            "kind": target.kind,
            "model": target.model,
            "capacity_bytes": target.capacity_bytes,
        },
        "notices": notices.collect::<Vec<_>>(),
        "verdict": texts(overview.paragraphs),
        "findings": texts(overview.findings),
        "answers": answers,
        "figures": figures.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{Figure, StepResult};

    #[test]
    fn it_holds_answers_and_figures_once() {
        let mut document = crate::blank::document();
        let figure = Figure {
            id: "read".into(),
            value: 93.5,
            unit: "MB/s".into(),
            ..Figure::default()
        };
        document.figures = vec![figure.clone()];
        document.complete = false;
        document.steps = vec![StepResult {
            title: "Reads".into(),
            figures: vec![figure],
            conclusions: vec![Conclusion {
                question: "Allocation unit".into(),
                answer: "4 MiB".into(),
                ..Conclusion::default()
            }],
            ..StepResult::default()
        }];
        let json = of(&document, &[]);
        assert_eq!(json["figures"].as_array().map(Vec::len), Some(1));
        assert_eq!(json["figures"][0]["figure"]["value"], 93.5);
        assert_eq!(json["answers"][0]["answer"], "4 MiB");
        assert_eq!(json["notices"][0]["level"], "error");
    }
}
