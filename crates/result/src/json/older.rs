//! Converts older documents to the current form. They had some values only as part of sentences; only this module parses
//! them.

use crate::{
    BlockState, CANNOT_TELL, Conclusion, Curve, FORMAT_VERSION, Figure, Ranked, ResultDocument,
    StateCode,
};

/// The document in the form of this version, whatever version it has, up to this one.
pub fn upgraded(document: ResultDocument) -> ResultDocument {
    let mut document = match document.version {
        1 => from_version_1(document),
        _ => document,
    };
    with_later_fields(&mut document);
    document
}

/// Section of the steps that prepare others.
const PREPARATION: &str = "Preparation";
/// End of the title of a figure that answers a question.
const YES_OR_NO: &str = " (1 yes, 0 no)";

/// Sets the fields that version 2 did not have from the beginning, from the texts that said the same.
fn with_later_fields(document: &mut ResultDocument) {
    for step in &mut document.steps {
        step.preparation |= step.section == PREPARATION;
        step.figures.iter_mut().for_each(yes_or_no);
        for curve in step.curves.iter_mut().filter(|c| c.states.is_empty()) {
            curve.states = states_in_name(curve);
        }
    }
    document.figures.iter_mut().for_each(yes_or_no);
}

fn yes_or_no(figure: &mut Figure) {
    figure.yes_or_no |= figure.unit.is_empty() && figure.title.ends_with(YES_OR_NO);
}

/// The states in the brackets of a name such as `state of the block (3 genuine, 0 unreadable)`; the first such curves
/// said `yes` and `no`.
fn states_in_name(curve: &Curve) -> Vec<StateCode> {
    let Some((_, inside)) = (curve.y_name.strip_suffix(')')).and_then(|n| n.split_once('(')) else {
        return Vec::new();
    };
    let codes = inside.split(", ").map(|pair| {
        let (value, word) = pair.split_once(' ')?;
        let state = match word {
            "yes" => BlockState::Genuine,
            "no" => BlockState::Lost,
            word => BlockState::from(word),
        };
        let value = value.parse::<f64>().ok()?;
        let is_known = value.is_finite() && !matches!(state, BlockState::Other(_));
        is_known.then_some(StateCode { value, state })
    });
    codes.collect::<Option<_>>().unwrap_or_default()
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
