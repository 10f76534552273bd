//! Escapes foreign text, such as names and titles in files, for display: no character of it may control
//! a terminal, change the writing direction of the text after it, or be missing from XML 1.0.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces characters that cannot be shown by their escapes, such as `\u{1b}`. Line breaks and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unprintable(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// As [`printable`], with line breaks and tabs escaped as well.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    match printable(text) {
        shown if shown.contains(['\n', '\t']) => {
            Cow::Owned(shown.replace('\n', "\\n").replace('\t', "\\t"))
        }
        shown => shown,
    }
}

/// Control characters (but line breaks and tabs), marks and overrides of the writing direction, separators
/// of lines, tags, and noncharacters.
fn is_unprintable(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{fffe}'
        | '\u{ffff}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_as_itself_is_escaped() {
        for (text, shown) in [
            ("plain µ – 中文 עברית\n\tx", "plain µ – 中文 עברית\n\tx"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
            ("a\r\u{9b}2J\u{7f}\0", "a\\u{d}\\u{9b}2J\\u{7f}\\u{0}"),
            (
                "\u{2066}\u{2028}\u{feff}\u{ffff}",
                "\\u{2066}\\u{2028}\\u{feff}\\u{ffff}",
            ),
        ] {
            assert_eq!(printable(text), shown);
            assert_eq!(printable(shown), shown, "shown twice");
        }
        assert_eq!(printable_line("a\nb\t\u{1b}"), "a\\nb\\t\\u{1b}");
    }
}
