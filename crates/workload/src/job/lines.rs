//! Outer grammar of a job file: sections, assignments, comments, included files. Independent of the options.

use super::error::Fault;
use super::surroundings::Surroundings;
use std::ops::Range;
use std::rc::Rc;

/// Maximum nesting of included files, as in fio.
const DEEPEST: usize = 16;
/// Maximum number of lines in all included files: files that include each other twice would grow without end.
const MOST_LINES: usize = 1 << 16;

/// `key=value` or a bare `key`, with its position.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) key: String,
    /// `None` for a flag without `=`.
    pub(crate) value: Option<String>,
    pub(crate) file: Rc<str>,
    /// Line number, from 1; 0 if the assignment is not from a file.
    pub(crate) line: usize,
    pub(crate) span: Range<usize>,
}

/// `[name]` and the lines up to the next section.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) file: Rc<str>,
    pub(crate) line: usize,
    pub(crate) span: Range<usize>,
    pub(crate) assignments: Vec<Assignment>,
}

impl Section {
    /// Whether the options apply to all jobs after the section. As in fio, only the beginning of the name counts.
    pub(crate) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// Splits a file into sections. Lines that cannot be parsed become faults, and the rest is parsed.
pub(crate) fn sections(
    file: &str,
    text: &str,
    around: &dyn Surroundings,
    faults: &mut Vec<Fault>,
) -> Vec<Section> {
    let mut splitter = Splitter {
        around,
        faults,
        sections: Vec::new(),
        lines: 0,
        includes: true,
    };
    splitter.read(&Rc::from(file), text, 0);
    splitter.sections
}

struct Splitter<'a> {
    around: &'a dyn Surroundings,
    faults: &'a mut Vec<Fault>,
    sections: Vec<Section>,
    lines: usize,
    /// Whether files are still included: false after the first one nested too deeply, since others would give equal
    /// faults.
    includes: bool,
}

impl Splitter<'_> {
    fn read(&mut self, file: &Rc<str>, text: &str, depth: usize) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, raw) in text.lines().enumerate() {
            let (content, span) = content_of(raw);
            if content.is_empty() {
                continue;
            }
            self.lines += 1;
            let place = Place {
                file,
                line: index + 1,
                span,
            };
            self.line(content, &place, depth);
        }
    }

    fn line(&mut self, content: &str, place: &Place<'_>, depth: usize) {
        if let Some(rest) = content.strip_prefix('[') {
            self.begin(rest, place);
        } else if let Some(name) = included(content) {
            self.include(name, place, depth);
        } else {
            self.assign(content, place);
        }
    }

    fn begin(&mut self, rest: &str, place: &Place<'_>) {
        // The following options belong to a section in any case, so that there is only one fault.
        let name = match section_name(rest) {
            Ok(name) => name,
            Err((message, remedy)) => {
                self.fault(place, "", message, remedy);
                rest.trim_end_matches(']').trim()
            }
        };
        self.sections.push(Section {
            name: name.to_string(),
            file: place.file.clone(),
            line: place.line,
            span: place.span.clone(),
            assignments: Vec::new(),
        });
    }

    /// Parses the text of another file at this point.
    fn include(&mut self, name: &str, place: &Place<'_>, depth: usize) {
        if !self.includes {
            return;
        }
        if depth >= DEEPEST || self.lines > MOST_LINES {
            self.includes = false;
            let message = format!("`include {name}`: more than {DEEPEST} files include each other");
            self.fault(place, "include", message, "include each file once");
            return;
        }
        match self.around.include(name, place.file) {
            Ok(other) => self.read(&Rc::from(other.name), &other.text, depth + 1),
            Err(why) => self.fault(
                place,
                "include",
                format!("`include {name}`: {why}"),
                "name a file beside this one",
            ),
        }
    }

    fn assign(&mut self, content: &str, place: &Place<'_>) {
        let (key, value) = match content.split_once('=') {
            Some((key, value)) => (key.trim_end(), Some(value.trim_start().to_string())),
            None => (content, None),
        };
        if key.is_empty() {
            let message = "a value without an option name".to_string();
            self.fault(place, "", message, "write `option=value`");
            return;
        }
        match self.sections.last_mut() {
            Some(section) => section.assignments.push(Assignment {
                key: key.to_string(),
                value,
                file: place.file.clone(),
                line: place.line,
                span: place.span.clone(),
            }),
            None => self.fault(
                place,
                key,
                format!("option `{key}` comes before the first section"),
                "put `[global]` or `[name of the job]` above it",
            ),
        }
    }

    fn fault(&mut self, place: &Place<'_>, key: &str, message: String, remedy: &str) {
        self.faults.push(Fault {
            file: place.file.to_string(),
            line: place.line,
            span: place.span.clone(),
            key: key.to_string(),
            message,
            remedy: remedy.to_string(),
        });
    }
}

struct Place<'a> {
    file: &'a Rc<str>,
    line: usize,
    span: Range<usize>,
}

/// The line without comment and blanks. As in fio, `;` and `#` begin a comment anywhere in a line.
fn content_of(raw: &str) -> (&str, Range<usize>) {
    let end = raw.find([';', '#']).unwrap_or(raw.len());
    let content = raw[..end].trim();
    let start = raw[..end].len() - raw[..end].trim_start().len();
    (content, start..start + content.len())
}

/// The file that a line includes.
fn included(content: &str) -> Option<&str> {
    let rest = content.strip_prefix("include")?;
    match rest.chars().next() {
        None => Some(""),
        Some(c) if c.is_whitespace() => Some(rest.trim()),
        Some(_) => None,
    }
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
    Ok(name)
}
