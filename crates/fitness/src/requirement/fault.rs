//! Faults of a requirement file: file, line, key, remedy.

use std::fmt;
use std::ops::Range;

/// One fault of a requirement file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementFault {
    /// File as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Byte range of the faulty text.
    pub span: Range<usize>,
    /// Key, such as `stream.video.rate`; empty for a fault of syntax.
    pub key: String,
    /// Description of the fault.
    pub message: String,
    /// Suggested correction.
    pub remedy: String,
}

impl fmt::Display for RequirementFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; {}", self.message, self.remedy)
    }
}

impl std::error::Error for RequirementFault {}

/// Collects the faults of one text.
pub(super) struct Faults<'a> {
    file: &'a str,
    text: &'a str,
    pub(super) all: Vec<RequirementFault>,
}

impl<'a> Faults<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Faults {
            file,
            text,
            all: Vec::new(),
        }
    }

    /// Notes a fault of the text in `span`.
    pub(super) fn add(
        &mut self,
        span: Range<usize>,
        key: &str,
        message: impl Into<String>,
        remedy: &str,
    ) {
        let before = self.text.as_bytes().iter().take(span.start);
        self.all.push(RequirementFault {
            file: self.file.to_string(),
            line: 1 + before.filter(|b| **b == b'\n').count(),
            span,
            key: key.to_string(),
            message: message.into(),
            remedy: remedy.to_string(),
        });
    }

    /// Notes an error of TOML, or a key that does not exist.
    pub(super) fn syntax(&mut self, error: &toml::de::Error) {
        let message = error.message().to_string();
        let remedy = if message.starts_with("unknown field") {
            "correct the spelling or remove the key: no key is ignored"
        } else if message.starts_with("missing field") {
            "add the key to this table; `nandscope qualify --show camera-4k-40mbit` is an example"
        } else {
            "see `nandscope qualify --show camera-4k-40mbit` for an example"
        };
        self.add(error.span().unwrap_or(0..0), "", message, remedy);
    }
}
