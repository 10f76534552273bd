//! Converts answers to and from the result document.

use super::{Basis, Finding, Question, Report, Value};
use nandscope_result::{BYTES, Conclusion, Figure, ResultDocument, StepResult, YES_OR_NO, step_id};
use nandscope_units::Bytes;

/// The step of the result document with all answers.
pub fn step(report: &Report) -> StepResult {
    let conclusion = |f: &Finding| Conclusion {
        id: format!("probe.{}", f.question.id()),
        question: f.question.wording().to_string(),
        answer: f.answer.clone(),
        unknown: f.value.is_none(),
        confidence: f.value.map(|_| f.confidence),
        evidence: f.evidence.clone(),
        ..Conclusion::default()
    };
    StepResult {
        id: step_id::PROBE.to_string(),
        title: "What is inside?".to_string(),
        section: "Inference".to_string(),
        description: described(report),
        end_s: report.elapsed_s,
        incomplete: report.cut_short.clone(),
        conclusions: report.findings.iter().map(conclusion).collect(),
        figures: report.findings.iter().filter_map(figure).collect(),
        curves: report.curves.clone(),
        tables: report.tables.clone(),
        ..StepResult::default()
    }
}

fn described(report: &Report) -> String {
    match report.basis {
        Basis::Simulated => {
            let doubts = report.doubts.iter().map(|d| format!("; {d}"));
            format!(
                "Concluded from times of operations alone, with {} written. The confidence in brackets is the share of right answers with such evidence on simulated devices whose truth is known{}.",
                Bytes(report.written),
                doubts.collect::<String>()
            )
        }
        Basis::Recorded => "Concluded from a recorded output of flashbench. The confidence in brackets is how often answers with such evidence agree with other recorded runs of the same card."
            .to_string(),
    }
}

/// The answer as a number for programs; `None` for "cannot tell".
fn figure(finding: &Finding) -> Option<Figure> {
    let (value, unit) = match finding.value? {
        Value::Bytes(bytes) => (bytes as f64, BYTES),
        Value::Count(count) => (f64::from(count), ""),
        Value::BytesPerS(rate) => (rate / 1e6, "MB/s"),
        Value::Seconds(time) => (time * 1e6, "µs"),
        Value::Flag(flag) => (f64::from(u8::from(flag)), YES_OR_NO),
        Value::Factor(factor) => (factor, "times"),
        Value::Range(low, high) => (f64::from(low + (high - low.min(high)) / 2), "about"),
        Value::Celsius(degrees) => (degrees, "°C"),
    };
    Some(Figure {
        id: format!("probe.{}", finding.question.id()),
        title: finding.question.wording().to_string(),
        value,
        unit: unit.to_string(),
        ..Figure::default()
    })
}

/// Answers that advice uses, and that are read from a stored result.
const KNOWN: [Question; 10] = [
    Question::Unit,
    Question::Page,
    Question::LargePage,
    Question::OpenLinear,
    Question::OpenRandom,
    Question::Offset,
    Question::Fat,
    Question::Discard,
    Question::DiscardSpeed,
    Question::Worst,
];

/// The answers of a stored result that advice uses; `None` if it is not a result of a probe.
pub fn from_document(document: &ResultDocument) -> Option<Report> {
    let step = document.steps.iter().find(|s| s.id == step_id::PROBE)?;
    let mut report = Report::default();
    for question in KNOWN {
        let name = format!("probe.{}", question.id());
        let said = step.conclusions.iter().find(|c| c.id == name);
        let Some(said) = said else { continue };
        let value = step.figures.iter().find(|f| f.id == name).and_then(value);
        report.findings.push(Finding {
            question,
            value,
            answer: said.answer.clone(),
            confidence: 0.0,
            strength: None,
            evidence: said.evidence.clone(),
        });
    }
    Some(report)
}

fn value(figure: &Figure) -> Option<Value> {
    let v = figure.value;
    if !(v.is_finite() && v >= 0.0) {
        return None;
    }
    Some(match figure.unit.as_str() {
        BYTES => Value::Bytes(v as u64),
        "" => Value::Count(v as u32),
        YES_OR_NO => Value::Flag(v > 0.0),
        "times" => Value::Factor(v),
        _ => return None,
    })
}
