//! The outer grammar of a job file: sections, assignments, comments. It does not know the
//! options.

use super::error::Fault;
use std::ops::Range;

/// `key=value` or a bare `key`, with its position.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    /// `None` for a flag without `=`.
    pub(crate) value: Option<String>,
    pub(crate) line: usize,
    pub(crate) span: Range<usize>,
}

/// `[name]` and what follows up to the next section.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) span: Range<usize>,
    pub(crate) assignments: Vec<Assignment>,
}

/// Splits a file into its sections. Lines that cannot be understood become faults, and the rest
/// is read all the same.
pub(crate) fn sections(file: &str, text: &str, faults: &mut Vec<Fault>) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let (content, span) = content_of(raw);
        if content.is_empty() {
            continue;
        }
        let mut fault = |key: &str, message: String, remedy: &str| {
            faults.push(Fault {
                file: file.to_string(),
                line,
                span: span.clone(),
                key: key.to_string(),
                message,
                remedy: remedy.to_string(),
            });
        };
        if let Some(rest) = content.strip_prefix('[') {
            match section_name(rest) {
                Ok(name) => sections.push(Section {
                    name: name.to_string(),
                    line,
                    span,
                    assignments: Vec::new(),
                }),
                Err((message, remedy)) => {
                    fault("", message, remedy);
                    // The options that follow belong to a section all the same: one fault is enough.
                    sections.push(Section {
                        name: rest.trim_end_matches(']').trim().to_string(),
                        line,
                        span,
                        assignments: Vec::new(),
                    });
                }
            }
            continue;
        }
        if content == "include" || content.starts_with("include ") {
            fault(
                "include",
                "`include` is not supported".into(),
                "put the included text into this file",
            );
            continue;
        }
        let assignment = assignment(content, line, span.clone());
        if assignment.key.is_empty() {
            fault(
                "",
                "a value without an option name".into(),
                "write `option=value`",
            );
            continue;
        }
        match sections.last_mut() {
            Some(section) => section.assignments.push(assignment),
            None => fault(
                &assignment.key,
                format!(
                    "option `{}` stands before the first section",
                    assignment.key
                ),
                "put `[global]` or `[name of the job]` above it",
            ),
        }
    }
    sections
}

/// The line without comment and blanks. As in fio, `;` and `#` begin a comment anywhere in a line.
fn content_of(raw: &str) -> (&str, Range<usize>) {
    let end = raw.find([';', '#']).unwrap_or(raw.len());
    let content = raw[..end].trim();
    let start = raw[..end].len() - raw[..end].trim_start().len();
    (content, start..start + content.len())
}

fn section_name(rest: &str) -> Result<&str, (String, &'static str)> {
    let Some(name) = rest.strip_suffix(']') else {
        return Err((
            "the section name is not closed".to_string(),
            "write `[name]` alone on the line",
        ));
    };
    if name.trim().is_empty() {
        return Err((
            "a section without a name".to_string(),
            "give the job a name",
        ));
    }
    if name != "global" && name.starts_with("global") {
        return Err((
            format!("fio takes `[{name}]` for another `[global]` section"),
            "rename the job, or write `[global]`",
        ));
    }
    Ok(name)
}

fn assignment(content: &str, line: usize, span: Range<usize>) -> Assignment {
    let (key, value) = match content.split_once('=') {
        Some((key, value)) => (key.trim_end(), Some(value.trim_start().to_string())),
        None => (content, None),
    };
    Assignment {
        key: key.to_string(),
        value,
        line,
        span,
    }
}
