//! What must be known of a run before its numbers are read: errors, warnings, remarks. The same
//! words about several steps become one notice that lists the steps.

use super::step;
use crate::names::capital;
use nandscope_result::{Level, ResultDocument};

/// A notice as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `error`, `warning` or `info`.
    pub level: &'static str,
    /// The word before it.
    pub word: &'static str,
    /// Text of the notice.
    pub text: String,
    /// Steps that it is about: element id and title.
    pub steps: Vec<(String, String)>,
}

/// Errors before warnings, warnings before remarks; an unfinished run is an error of its own.
pub fn all(document: &ResultDocument) -> Vec<Notice> {
    let mut out: Vec<Notice> = Vec::new();
    for n in &document.notices {
        let (level, word) = match n.level {
            Level::Error => ("error", "Error"),
            Level::Warning => ("warning", "Warning"),
            Level::Info | Level::Other(_) => ("info", "Note"),
        };
        let step = n.step.as_deref().and_then(|id| step(document, id));
        add(&mut out, level, word, &n.text, step);
    }
    for s in &document.steps {
        if let Some(reason) = &s.incomplete {
            add(
                &mut out,
                "error",
                "Unfinished step",
                reason.as_str(),
                step(document, &s.id),
            );
        }
    }
    if !document.complete {
        let text = "The run is incomplete; steps that are not shown were not measured.";
        add(&mut out, "error", "Unfinished", text, None);
    }
    out.sort_by_key(|n| {
        ["error", "warning", "info"]
            .iter()
            .position(|l| *l == n.level)
    });
    out
}

fn add(
    out: &mut Vec<Notice>,
    level: &'static str,
    word: &'static str,
    text: &str,
    step: Option<(String, String)>,
) {
    let mut text = capital(text.trim());
    if !text.ends_with(['.', '!', '?', ':']) {
        text.push('.');
    }
    let same = |n: &&mut Notice| n.word == word && n.level == level && n.text == text;
    if let Some(notice) = out.iter_mut().find(same) {
        notice.steps.extend(step);
    } else {
        out.push(Notice {
            level,
            word,
            text,
            steps: step.into_iter().collect(),
        });
    }
}

/// Element id and title of a step, with its mode where it has one.
fn step(document: &ResultDocument, id: &str) -> Option<(String, String)> {
    let step = document.steps.iter().find(|s| s.id == id)?;
    let title = match &step.mode {
        Some(mode) => format!("{}, {mode}", step.title),
        None => step.title.clone(),
    };
    Some((step::step_anchor(&step.id), title))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{Notice as Given, StepResult};

    #[test]
    fn the_same_words_become_one_notice_with_its_steps() {
        let mut document = crate::blank::document();
        let step = |id: &str| StepResult {
            id: id.into(),
            title: id.into(),
            ..StepResult::default()
        };
        document.steps = vec![step("a"), step("b")];
        let given = |level: &str, text: &str, step: &str| Given {
            level: level.into(),
            text: text.into(),
            step: Some(step.into()),
        };
        document.notices = vec![
            given("warning", "no trim", "a"),
            given("warning", "no trim", "b"),
            given("error", "no trim", "b"),
        ];
        let all = all(&document);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].level, "error");
        assert_eq!(all[1].text, "No trim.");
        let titles: Vec<&str> = all[1].steps.iter().map(|s| s.1.as_str()).collect();
        assert_eq!(titles, ["a", "b"]);
    }
}
