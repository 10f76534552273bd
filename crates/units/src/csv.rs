//! Comma-separated values (RFC 4180).

use std::borrow::Cow;

/// One field, in quotes if it contains a comma, a quote or a line break.
#[must_use]
pub fn csv_field(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// A line of fields with its line feed.
#[must_use]
pub fn csv_line(fields: &[&str]) -> String {
    let fields: Vec<Cow<'_, str>> = fields.iter().map(|text| csv_field(text)).collect();
    fields.join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_inside_a_field_are_quoted() {
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv_line(&["a b", "", "1,5"]), "a b,,\"1,5\"\n");
    }
}
