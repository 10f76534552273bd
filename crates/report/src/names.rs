//! Names that are valid for files, anchors and element ids, whatever the document contains. Two
//! different names never become the same one within a [`Unique`] set.

use nandscope_result::ResultDocument;
use std::collections::BTreeSet;

/// Longest name, characters; the rest is cut.
const LONGEST: usize = 72;

/// Lower-case letters, digits and single hyphens: everything else becomes a hyphen.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() >= LONGEST {
            break;
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() {
        "unnamed".to_string()
    } else {
        out.to_string()
    }
}

/// Gives out each name once.
#[derive(Debug, Default)]
pub struct Unique {
    taken: BTreeSet<String>,
}

impl Unique {
    /// The slug of `text`, followed by a number if it was returned before.
    pub fn slug(&mut self, text: &str) -> String {
        let base = slug(text);
        let mut name = base.clone();
        let mut n = 2u64;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}-{n}");
            n += 1;
        }
        name
    }
}

/// The test that a result is of: `card review, quick`.
pub fn test(document: &ResultDocument) -> String {
    let quick = if document.quick { ", quick" } else { "" };
    format!("{}{quick}", document.procedure)
}

/// The first letter in upper case.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_names_become_plain() {
        let cases = [
            ("../../etc/passwd", "etc-passwd"),
            ("SLC cache used", "slc-cache-used"),
            ("<script>", "script"),
            ("\0\n", "unnamed"),
            ("µs", "s"),
        ];
        for (text, name) in cases {
            assert_eq!(slug(text), name);
        }
    }

    #[test]
    fn same_names_are_told_apart() {
        let mut unique = Unique::default();
        assert_eq!(unique.slug("a b"), "a-b");
        assert_eq!(unique.slug("a/b"), "a-b-2");
        assert_eq!(unique.slug("A.B"), "a-b-3");
    }

    proptest! {
        #[test]
        fn always_fit_for_a_file_name(text in ".*") {
            let name = slug(&text);
            prop_assert!(!name.is_empty() && name.len() <= LONGEST);
            prop_assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            prop_assert!(!name.starts_with('-') && !name.ends_with('-'));
        }
    }
}
