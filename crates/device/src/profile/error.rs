//! Errors of a profile: file, line, key, remedy.

use std::fmt;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// One fault of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError {
    /// File as it was named by the caller.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Byte range of the faulty text.
    pub span: Range<usize>,
    /// Key, such as `nand.planes`; empty for a fault of syntax.
    pub key: String,
    /// Description of the error.
    pub message: String,
    /// Suggested correction; may be empty.
    pub remedy: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for ProfileError {}

/// A fault at a key not yet located in the text. Numbers in the path are indices of tables in an array:
/// `interface.0.link`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) key: String,
    pub(super) message: String,
    pub(super) remedy: String,
}

impl ProfileError {
    pub(super) fn syntax(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().to_string();
        let remedy = if message.starts_with("unknown field") {
            "correct the spelling or remove the key: a key that nobody reads is never ignored"
        } else if message.starts_with("missing field") {
            "add the key to this table; `nandscope devices show` explains a profile that is complete"
        } else {
            "see docs/profiles.md for the form of a profile"
        };
        ProfileError {
            file: file.to_string(),
            line: line_of(text, span.start),
            span,
            key: String::new(),
            message,
            remedy: remedy.to_string(),
        }
    }

    pub(super) fn at_key(file: &str, text: &str, fault: Located) -> Self {
        let span = span_of(text, &fault.key).unwrap_or(0..0);
        ProfileError {
            file: file.to_string(),
            line: line_of(text, span.start),
            span,
            key: fault.key,
            message: fault.message,
            remedy: fault.remedy,
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text
        .as_bytes()
        .iter()
        .take(offset)
        .filter(|b| **b == b'\n')
        .count()
}

/// Byte range of the value of a dotted key; if its last part is absent, of the table that should contain it.
fn span_of(text: &str, key: &str) -> Option<Range<usize>> {
    let document = DeTable::parse(text).ok()?;
    let mut table = Some(document.get_ref());
    let mut list: Option<&toml::de::DeArray> = None;
    let mut span = 0..0;
    for part in key.split('.') {
        let value = if let Some(t) = table {
            t.get(part)
        } else {
            list.and_then(|l| part.parse::<usize>().ok().and_then(|i| l.get(i)))
        };
        let Some(value) = value else { break };
        span = value.span();
        (table, list) = match value.get_ref() {
            DeValue::Table(t) => (Some(t), None),
            DeValue::Array(a) => (None, Some(a)),
            _ => (None, None),
        };
    }
    Some(span)
}
