//! The summary and verdict: conclusions from the numbers in plain words, and the most important figures. Every sentence
//! follows from values in the document; if they are missing, the sentence is left out.

use super::answer::{Answer, INSIDE, is_answer_to};
use super::curves;
use super::headline;
use super::modes::modes;
use super::page_context::Rank;
use super::power_and_heat;
use super::published;
use super::statements::{MOST_SENTENCES, Overview, Paragraph};
use super::{speed, sustained, weaknesses};
use crate::names::capital;
use nandscope_result::Ranked;
use nandscope_result::{ResultDocument, StepResult, procedure};

/// The verdicts of a verification, each with its reasons; its curves are evidence only.
fn verdict(document: &ResultDocument) -> Overview {
    let conclusions = document.steps.iter().flat_map(|s| &s.conclusions);
    let verdicts = conclusions.filter(|c| c.passed.is_some());
    let paragraphs = verdicts.map(|c| Paragraph {
        class: if c.passed == Some(true) {
            "pass"
        } else {
            "fail"
        },
        ..Paragraph::new(&capital(&c.answer), format!("{}.", capital(&c.evidence)))
    });
    Overview {
        paragraphs: paragraphs.collect(),
        ..Overview::default()
    }
}

/// Lead of the paragraph of passed and failed tests, which a semicolon parts.
pub const TESTS: &str = "Tests";

/// Passed and failed tests; `None` without tests.
fn tests(document: &ResultDocument, several: bool) -> Option<Paragraph> {
    let conclusions = document.steps.iter().flat_map(|s| &s.conclusions);
    let answers: Vec<Answer> = conclusions.map(|c| Answer::of(c, several)).collect();
    let with = |class: &str, word: &str| {
        let questions = answers.iter().filter(|a| a.class == class);
        let questions: Vec<&str> = questions.map(|a| a.question.as_str()).collect();
        (!questions.is_empty()).then(|| format!("{word}: {}", questions.join(", ")))
    };
    let parts = [with("pass", "passed"), with("fail", "failed")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let text = || format!("{}.", capital(&parts.join("; ")));
    (!parts.is_empty()).then(|| Paragraph::new(TESTS, text()))
}

/// The file systems of each workload, the fastest first.
fn file_systems(document: &ResultDocument) -> Overview {
    let mut workloads: Vec<(&str, Vec<&str>)> = Vec::new();
    for conclusion in document.steps.iter().flat_map(|s| &s.conclusions) {
        let Some(Ranked { workload, .. }) = &conclusion.ranked else {
            continue;
        };
        let answer = conclusion.answer.as_str();
        match workloads.iter_mut().find(|(w, _)| *w == workload) {
            Some((_, answers)) => answers.push(answer),
            None => workloads.push((workload, vec![answer])),
        }
    }
    let most = if workloads.len() > MOST_WHOLE {
        2
    } else {
        usize::MAX
    };
    let clauses: Vec<String> = workloads
        .into_iter()
        .map(|(workload, mut answers)| {
            answers.truncate(most);
            format!("{workload}: {}", answers.join(", "))
        })
        .collect();
    let paragraph = || Paragraph::new("Fastest first", format!("{}.", clauses.join("; ")));
    Overview {
        paragraphs: (!clauses.is_empty()).then(paragraph).into_iter().collect(),
        ..Overview::default()
    }
}

/// Workloads of which all file systems are named in the verdict; of more, the two fastest.
const MOST_WHOLE: usize = 3;

/// Internals of a device, from the answers of a probe or of flashbench; names the unanswered questions.
fn inside(document: &ResultDocument) -> Option<Paragraph> {
    let conclusions: Vec<_> = document.steps.iter().flat_map(|s| &s.conclusions).collect();
    let (mut told, mut unknown) = (Vec::new(), Vec::new());
    for (id, name) in INSIDE {
        let Some(conclusion) = conclusions.iter().find(|c| is_answer_to(&c.id, id)) else {
            continue;
        };
        // The confidence of an answer is in the table.
        match conclusion.unknown {
            true => unknown.push(name),
            false => told.push(format!("{name} {}", conclusion.answer)),
        }
    }
    let unknown = (!unknown.is_empty()).then(|| format!("cannot tell: {}", unknown.join(", ")));
    let told = (!told.is_empty()).then(|| told.join(", "));
    let parts: Vec<String> = told.into_iter().chain(unknown).collect();
    let text = || format!("{}.", capital(&parts.join("; ")));
    (!parts.is_empty()).then(|| Paragraph::new("Inside", text()))
}

/// Makes the overview of a document with these ranks among other drives.
pub fn of(document: &ResultDocument, ranks: &[Rank]) -> Overview {
    let mut overview = match document.procedure.as_str() {
        procedure::VERIFY => verdict(document),
        procedure::FILE_SYSTEMS => file_systems(document),
        _ => measured(document, ranks),
    };
    let most = overview.paragraphs.len().min(MOST_SENTENCES);
    overview.findings = overview.paragraphs.split_off(most);
    overview.findings.extend(published_score(document));
    overview
}

/// The overview of measured rates, before the verdict is cut.
fn measured(document: &ResultDocument, ranks: &[Rank]) -> Overview {
    let mut overview = Overview::default();
    overview.paragraphs.extend(inside(document));
    let modes = modes(document);
    let several = modes.len() > 1;
    overview.paragraphs.extend(tests(document, several));
    let (mut speeds, mut writes) = (Vec::new(), Vec::new());
    for mode in &modes {
        let steps: Vec<&StepResult> = document
            .steps
            .iter()
            .filter(|s| s.mode.as_deref() == mode.as_deref())
            .collect();
        let label = |what: &str| match mode {
            Some(mode) if several => format!("{mode}: {what}"),
            _ => capital(what),
        };
        let of_mode = speed::of(document, mode.as_deref());
        speed::tiles(&mut overview, &of_mode, &label);
        speeds.push(of_mode);
        if let Some(write) = sustained::of(mode.as_deref(), &steps) {
            sustained::tiles(&mut overview, &write, &label);
            writes.push(write);
        }
        power_and_heat::tiles(&mut overview, document, mode.as_deref(), several);
    }
    // In a suite that does not write for long on purpose, a long write prepares a test; a run has the writes of its jobs.
    let purpose = headline::purpose(&document.procedure);
    let on_purpose = purpose.is_none_or(|p| p.long_writes);
    let is_told = |write: &sustained::Sustained| write.course.is_some();
    let must_tell = purpose.is_some_and(|p| p.long_writes);
    let tells = must_tell || writes.iter().any(is_told);
    let sustained = sustained::paragraph(&writes).filter(|_| tells);
    let (before, after) = match on_purpose {
        true => (sustained, None),
        false => (None, sustained),
    };
    let paragraphs = [
        speed::paragraph(&speeds),
        weaknesses::paragraph(document, &modes, ranks),
        before,
        power_and_heat::paragraph(document),
        after,
    ];
    overview.paragraphs.extend(paragraphs.into_iter().flatten());
    overview.paragraphs.extend(curves::in_words(document));
    overview
        .paragraphs
        .extend(power_and_heat::formatting_paragraph(document));
    overview
}

fn published_score(document: &ResultDocument) -> Option<Paragraph> {
    let (met, all) = published::score(document);
    if all == 0 {
        return None;
    }
    let mut text = match (met, all) {
        (1, 1) => {
            "The published figure of the real device is met within its tolerance.".to_string()
        }
        (m, a) if m == a => {
            format!("All {a} published figures of the real device are met within their tolerances.")
        }
        _ => format!(
            "{met} of {all} published figures of the real device are met within their tolerances."
        ),
    };
    let (predicted_met, predicted) = published::predicted(document);
    text.push(' ');
    text.push_str(&published::predictions(predicted_met, predicted));
    let missed: Vec<String> = published::rows(document)
        .iter()
        .filter(|r| !r.met)
        .map(published::PublishedRow::in_words)
        .collect();
    match missed.len() {
        0 => {}
        1..=MOST_MISSED => text.push_str(&format!(" Not met: {}.", missed.join("; "))),
        n => text.push_str(&format!(
            " Not met: {}; and {} more.",
            missed[..MOST_MISSED].join("; "),
            n - MOST_MISSED
        )),
    }
    Some(Paragraph {
        link: Some(("published", "All published figures, one by one")),
        ..Paragraph::new("Against publication", text)
    })
}

/// Maximum number of missed figures named in a sentence.
const MOST_MISSED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blank::series;
    use nandscope_result::Series;

    fn document(series: Vec<Series>) -> ResultDocument {
        let mut document = crate::blank::document();
        document.steps = vec![StepResult {
            title: "s".into(),
            series,
            ..StepResult::default()
        }];
        document
    }

    #[test]
    fn an_empty_document_claims_nothing() {
        assert_eq!(of(&document(vec![]), &[]), Overview::default());
    }

    #[test]
    fn tests_are_parted_into_passed_and_failed() {
        let mut document = document(vec![]);
        let test = |question: &str, passed: bool| nandscope_result::Conclusion {
            question: question.into(),
            passed: Some(passed),
            ..Default::default()
        };
        document.steps[0].conclusions = vec![test("U1", true), test("U3", false), test("V6", true)];
        assert_eq!(
            of(&document, &[]).paragraphs[0].text,
            "Passed: U1, V6; failed: U3."
        );
    }

    #[test]
    fn file_systems_are_named_by_their_time() {
        let mut document = document(vec![]);
        document.procedure = procedure::FILE_SYSTEMS.into();
        let place = |workload: &str, place: u32, answer: &str| nandscope_result::Conclusion {
            ranked: Some(Ranked {
                workload: workload.into(),
                place,
            }),
            answer: answer.into(),
            ..Default::default()
        };
        document.steps[0].conclusions = vec![
            place("untar", 1, "NILFS2 (2.29s)"),
            place("untar", 2, "ext4 (9.47s)"),
            place("log", 1, "ext4 (1.00s)"),
        ];
        let paragraph = &of(&document, &[]).paragraphs[0];
        let text = "untar: NILFS2 (2.29s), ext4 (9.47s); log: ext4 (1.00s).";
        assert_eq!(
            (paragraph.lead.as_str(), paragraph.text.as_str()),
            ("Fastest first", text)
        );
    }

    #[test]
    fn a_verdict_has_three_sentences_and_the_rest_is_a_finding() {
        let mut document = document(vec![series("write bandwidth", "MB/s", vec![100.0; 60])]);
        let step = &mut document.steps[0];
        step.jobs = vec![nandscope_result::JobResult {
            options: [("rw".to_string(), "write".to_string())].into(),
            directions: vec![nandscope_result::DirectionResult {
                kind: "write".into(),
                bytes: 1,
                bandwidth_bytes_per_s: 1e8,
                ..Default::default()
            }],
            ..Default::default()
        }];
        step.series.push(series("power", "W", vec![2.0]));
        step.conclusions = vec![nandscope_result::Conclusion {
            question: "U1".into(),
            passed: Some(true),
            ..Default::default()
        }];
        step.figures = vec![nandscope_result::Figure {
            published: Some(nandscope_result::Published::default()),
            ..Default::default()
        }];
        let overview = of(&document, &[]);
        let leads = |paragraphs: &[Paragraph]| {
            let leads = paragraphs.iter().map(|p| p.lead.clone());
            leads.collect::<Vec<String>>()
        };
        assert_eq!(
            leads(&overview.paragraphs),
            ["Tests", "Speed", "Sustained write"]
        );
        assert_eq!(
            leads(&overview.findings),
            ["Power and heat", "Against publication"]
        );
        assert_eq!(overview.subjects(), "power and heat, against publication");
    }

    #[test]
    fn a_probe_says_first_what_is_inside() {
        let mut document = document(vec![]);
        let told = |id: &str, answer: &str| nandscope_result::Conclusion {
            id: id.into(),
            answer: answer.into(),
            confidence: Some(0.99),
            ..Default::default()
        };
        document.steps[0].conclusions = vec![
            told("probe.page", "16 KiB"),
            told("probe.unit", "4 MiB"),
            told("probe.open-linear", "6"),
            nandscope_result::Conclusion::new(
                "probe.buffer",
                "Write buffer",
                "cannot tell",
                "no pause",
            ),
        ];
        let first = &of(&document, &[]).paragraphs[0];
        assert_eq!(first.lead, "Inside");
        assert_eq!(
            first.text,
            "Allocation unit 4 MiB, page 16 KiB, open allocation units 6; cannot tell: write buffer."
        );
        document.steps[0].conclusions = vec![
            told("slot.align.page", "64 KiB"),
            told("slot.align.allocation-unit", "8 MiB"),
            told("slot.open-au.linear", "2"),
            told("slot.open-au.random", "none"),
        ];
        assert_eq!(
            of(&document, &[]).paragraphs[0].text,
            "Allocation unit 8 MiB, page 64 KiB, open allocation units 2, open in random order none."
        );
    }

    #[test]
    fn throttling_is_only_spoken_of_where_it_was_recorded() {
        let of = |series| of(&document(series), &[]);
        let silent = of(vec![series("device temperature", "°C", vec![40.0])]);
        assert_eq!(silent.paragraphs.len(), 1);
        assert!(!silent.paragraphs[0].text.contains("throttl"));
        let cool = of(vec![series("throttle", "%", vec![100.0; 4])]);
        assert!(cool.paragraphs[0].text.contains("shows no throttling"));
        let hot = of(vec![series("throttle", "", vec![1.0, 0.5, 0.5, 1.0])]);
        assert_eq!(hot.paragraphs[0].lead, "Weaknesses");
        assert!(
            hot.paragraphs[0].text.contains("50.0\u{202f}% of the time"),
            "{hot:?}"
        );
    }
}
