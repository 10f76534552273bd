//! Text in lines and fields, with line numbers for errors. Input is bytes, so that a file that is not UTF-8 is reported
//! by line instead of being refused as a whole.

use super::TraceError;

/// One line of a file with its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) file: &'a str,
    /// Line number, from 1.
    pub(super) number: u64,
    pub(super) text: &'a str,
}

impl Line<'_> {
    pub(super) fn error(&self, what: impl Into<String>) -> TraceError {
        TraceError::Line {
            file: self.file.to_string(),
            line: self.number,
            what: what.into(),
        }
    }

    /// A field that must be a whole number.
    pub(super) fn number(&self, field: &str, meaning: &str) -> Result<u64, TraceError> {
        field.trim().parse().map_err(|_| {
            self.error(format!(
                "{meaning} `{}` is not a whole number below 2^64",
                shortened(field)
            ))
        })
    }
}

/// Enough of a text for an error message.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return text.to_string();
    }
    text.chars().take(MOST).chain(['…']).collect()
}

/// The lines of a file that are not empty.
pub(super) fn lines<'a>(
    file: &'a str,
    bytes: &'a [u8],
) -> impl Iterator<Item = Result<Line<'a>, TraceError>> {
    bytes
        .split(|&b| b == b'\n')
        .zip(1u64..)
        .filter_map(move |(raw, number)| match std::str::from_utf8(raw) {
            Ok(text) if text.trim().is_empty() => None,
            Ok(text) => Some(Ok(Line {
                file,
                number,
                text: text.trim_end_matches('\r'),
            })),
            Err(_) => Some(Err(TraceError::Line {
                file: file.to_string(),
                line: number,
                what: "is not UTF-8 text".to_string(),
            })),
        })
}
