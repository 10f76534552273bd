//! Converts documents of older versions to the current one. Version 1 had some values only as part of sentences; only this
//! module parses them.

use crate::{CANNOT_TELL, Conclusion, FORMAT_VERSION, Ranked, ResultDocument};

/// The document in the form of this version, whatever version it has, up to this one.
pub fn upgraded(document: ResultDocument) -> ResultDocument {
    match document.version {
        1 => from_version_1(document),
        _ => document,
    }
}

/// Quick runs, answers that could not be told, confidences, and places in rankings were in the texts.
fn from_version_1(mut document: ResultDocument) -> ResultDocument {
    document.version = FORMAT_VERSION;
    let mut notices = document.notices.iter();
    document.quick = notices.any(|n| n.text.starts_with("Quick "));
    let steps = document.steps.iter_mut();
    steps
        .flat_map(|s| &mut s.conclusions)
        .for_each(of_version_1);
    document
}

fn of_version_1(conclusion: &mut Conclusion) {
    conclusion.unknown = conclusion.answer.starts_with(CANNOT_TELL);
    if conclusion.id.starts_with("probe.")
        && let Some((answer, percent)) = confidence(&conclusion.answer)
    {
        conclusion.confidence = Some(percent / 100.0);
        conclusion.answer = answer;
    }
    if let Some((workload, place)) = conclusion.question.split_once(": place ")
        && let Ok(place) = place.parse()
    {
        conclusion.ranked = Some(Ranked {
            workload: workload.to_string(),
            place,
        });
    }
}

/// The two parts of `4 MiB (99 %)`.
fn confidence(answer: &str) -> Option<(String, f64)> {
    let (answer, percent) = answer.strip_suffix(" %)")?.rsplit_once(" (")?;
    Some((answer.to_string(), percent.parse().ok()?))
}
