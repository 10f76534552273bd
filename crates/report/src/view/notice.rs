//! Notices on a run: errors and warnings, which readers must know before its numbers, and notes. Equal texts about several
//! steps become one notice that lists the steps; differing numbers become ranges.

use super::step;
use crate::names::capital;
use nandscope_result::{Level, ResultDocument};
use std::cmp::Ordering;

/// A notice as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `error`, `warning` or `info`.
    pub level: &'static str,
    /// The word before it.
    pub word: &'static str,
    /// Text of the notice.
    pub text: String,
    /// Steps concerned: element identifier and title.
    pub steps: Vec<(String, String)>,
}

/// Errors before warnings, warnings before remarks; an unfinished run is an error of its own.
pub fn all(document: &ResultDocument) -> Vec<Notice> {
    let mut out: Vec<Notice> = Vec::new();
    for n in &document.notices {
        let (level, word) = match n.level {
            Level::Error => ("error", "Error"),
            Level::Warning => ("warning", "Warning"),
            Level::Info | Level::Other(_) => (INFO, "Note"),
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
        ["error", "warning", INFO]
            .iter()
            .position(|l| *l == n.level)
    });
    out
}

/// Errors and warnings, which stand before the answers, and the other notices, which do not.
pub fn apart(document: &ResultDocument) -> (Vec<Notice>, Vec<Notice>) {
    all(document).into_iter().partition(|n| n.level != INFO)
}

/// Level of notices that are no warnings.
const INFO: &str = "info";

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
    // A notice without a step may be about the line of a file, whose number is no measurement.
    let joined = |n: &Notice| match (&step, n.steps.is_empty()) {
        (Some(_), false) => ranges(&n.text, &text),
        _ => (n.text == text).then(|| text.clone()),
    };
    let same = out
        .iter_mut()
        .filter(|n| n.word == word && n.level == level)
        .find_map(|n| joined(n).map(|text| (n, text)));
    if let Some((notice, text)) = same {
        notice.text = text;
        notice
            .steps
            .extend(step.filter(|s| !notice.steps.contains(s)));
    } else {
        out.push(Notice {
            level,
            word,
            text,
            steps: step.into_iter().collect(),
        });
    }
}

/// Between the numbers of a range. Texts say "from 64 to 16" of something else.
const TO: &str = "–";

/// Both texts in one, with a range in place of each number that differs; `None` if they differ in more than numbers. The first
/// text may have ranges already.
fn ranges(first: &str, second: &str) -> Option<String> {
    let mut out = String::new();
    let (mut first, mut second) = (first, second);
    loop {
        let (words, after) = split_words(first);
        let (same, rest) = split_words(second);
        if words != same {
            return None;
        }
        out.push_str(words);
        let (Some((low, high, after)), Some((from, to, rest))) = (range(after), range(rest)) else {
            return after.is_empty().then_some(out).filter(|_| rest.is_empty());
        };
        let low = by(low, from, Ordering::Less);
        let high = by(high, to, Ordering::Greater);
        out.push_str(low);
        if high != low {
            out.push_str(TO);
            out.push_str(high);
        }
        (first, second) = (after, rest);
    }
}

/// The lesser, or greater, of two numbers as texts; the first one if they are equal.
fn by<'a>(first: &'a str, second: &'a str, wanted: Ordering) -> &'a str {
    let value = |text: &str| text.parse().unwrap_or(0.0_f64);
    match value(second).total_cmp(&value(first)) == wanted {
        true => second,
        false => first,
    }
}

/// The text up to the first number. Digits that follow a letter are part of a word, such as `QD32`.
fn split_words(text: &str) -> (&str, &str) {
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c.is_ascii_digit() && !before.is_alphanumeric() {
            return text.split_at(at);
        }
        before = c;
    }
    (text, "")
}

/// The number or the range with which a text begins, and the rest.
fn range(text: &str) -> Option<(&str, &str, &str)> {
    let (low, rest) = number(text)?;
    let high = rest.strip_prefix(TO).and_then(number);
    Some(match high {
        Some((high, rest)) => (low, high, rest),
        None => (low, low, rest),
    })
}

/// The number with which a text begins, without a point or comma after it, and the rest.
fn number(text: &str) -> Option<(&str, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let digits = text.get(..end)?.trim_end_matches('.');
    (!digits.is_empty()).then(|| text.split_at(digits.len()))
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

    #[test]
    fn numbers_that_differ_become_ranges() {
        let sizes = |asked: u32, kib: f64| {
            format!("the jobs made {asked} operations of {kib:.1} KiB at QD32: split.")
        };
        let first = ranges(&sizes(512, 4.0), &sizes(64, 4.0)).unwrap();
        assert_eq!(
            first,
            "the jobs made 64–512 operations of 4.0 KiB at QD32: split."
        );
        let second = ranges(&first, &sizes(1024, 128.0)).unwrap();
        assert_eq!(
            second,
            "the jobs made 64–1024 operations of 4.0–128.0 KiB at QD32: split."
        );
        assert_eq!(ranges(&second, &sizes(100, 8.0)).unwrap(), second);
        assert_eq!(ranges("1 read", "2 writes"), None);
        assert_eq!(ranges("at QD1", "at QD32"), None);
        assert_eq!(ranges("took 5", "took 5 s"), None);
        assert_eq!(ranges("of 3.", "of 7.").unwrap(), "of 3–7.");
        assert_eq!(ranges("", "").unwrap(), "");
        let falls = ranges("falls from 64 to 16", "falls from 60 to 20").unwrap();
        assert_eq!(falls, "falls from 60–64 to 16–20");
    }

    #[test]
    fn numbers_of_notices_without_a_step_stay() {
        let mut document = crate::blank::document();
        let given = |text: &str| Given {
            level: "warning".into(),
            text: text.into(),
            ..Given::default()
        };
        document.notices = vec![given("line 3: no effect"), given("line 5: no effect")];
        assert_eq!(all(&document).len(), 2);
    }
}
