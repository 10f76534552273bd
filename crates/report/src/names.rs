//! Names that are valid for files, anchors and element ids, whatever the document contains. Two
//! different names never become the same one within a [`Unique`] set.

use nandscope_result::{ResultDocument, slug};
use std::collections::BTreeSet;

/// Longest name, characters; the rest is cut.
const LONGEST: usize = 72;

/// The [`slug`] of a text, of at most 72 characters and never empty.
pub fn valid_name(text: &str) -> String {
    let mut name = slug(text);
    name.truncate(LONGEST);
    name.truncate(name.trim_end_matches('-').len());
    match name.is_empty() {
        true => "unnamed".to_string(),
        false => name,
    }
}

/// Gives out each name once.
#[derive(Debug, Default)]
pub struct Unique {
    taken: BTreeSet<String>,
}

impl Unique {
    /// The valid name of `text`, followed by a number if it was returned before.
    pub fn unique(&mut self, text: &str) -> String {
        let base = valid_name(text);
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
            assert_eq!(valid_name(text), name);
        }
    }

    #[test]
    fn same_names_are_told_apart() {
        let mut unique = Unique::default();
        assert_eq!(unique.unique("a b"), "a-b");
        assert_eq!(unique.unique("a/b"), "a-b-2");
        assert_eq!(unique.unique("A.B"), "a-b-3");
    }

    proptest! {
        #[test]
        fn always_fit_for_a_file_name(text in ".*") {
            let name = valid_name(&text);
            prop_assert!(!name.is_empty() && name.len() <= LONGEST);
            prop_assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            prop_assert!(!name.starts_with('-') && !name.ends_with('-'));
        }
    }
}
