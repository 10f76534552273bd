//! Options as words of a command line, parsed as fio does with getopt: one hyphen or two, the value after `=` or as the
//! next word, and names abbreviated as long as they are unique. A `#` is no comment here.

use super::lines::{Assignment, Section};
use super::option::{is_known, known_names};
use super::surroundings::Override;
use std::rc::Rc;

/// Options of fio whose value is optional, so that only `=` gives them one: the next word is never theirs.
const VALUE_IS_OPTIONAL: [&str; 14] = [
    "bs_unaligned",
    "blocksize_unaligned",
    "exitall",
    "exitall_on_error",
    "group_reporting",
    "new_group",
    "norandommap",
    "refill_buffers",
    "stonewall",
    "thread",
    "time_based",
    "verify_only",
    "wait_for_previous",
    "zero_buffers",
];

/// Smallest number of letters in an abbreviated name.
const LEAST_LETTERS: usize = 3;

impl Override {
    /// Reads the words of a command line: each option with its value.
    #[must_use]
    pub fn of_words(words: &[String]) -> Vec<Override> {
        let mut all = Vec::new();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let mut option = Override::parse(word.trim_start_matches('-'));
            option.key = whole_name(&option.key);
            if option.value.is_none() && !VALUE_IS_OPTIONAL.contains(&option.key.as_str()) {
                let next = words.next_if(|next| !is_option(next));
                option.value = next.map(|value| value.trim().to_string());
            }
            all.push(option);
        }
        all
    }

    /// The option as a line of a job file.
    fn line(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={}", self.key, value.replace(['\n', '\r'], " ")),
            None => self.key.clone(),
        }
    }
}

/// Whether a word begins an option. A value may have a hyphen too, such as a number below zero.
fn is_option(word: &str) -> bool {
    let Some(option) = word.strip_prefix('-') else {
        return false;
    };
    let option = Override::parse(option.trim_start_matches('-'));
    word.starts_with("--") || is_known(&whole_name(&option.key))
}

/// The name that begins with `key`, if there is only one; otherwise `key`.
fn whole_name(key: &str) -> String {
    if key.len() >= LEAST_LETTERS && !is_known(key) {
        let mut found = known_names().filter(|name| name.starts_with(key));
        if let (Some(name), None) = (found.next(), found.next()) {
            return name.to_string();
        }
    }
    key.to_string()
}

/// The jobs of a command line: `--name` begins one, and options before the first apply to all. Also gives a text in
/// which each option has the line that messages name.
pub(super) fn sections(file: &str, words: &[String]) -> (String, Vec<Section>) {
    let file: Rc<str> = Rc::from(file);
    let mut text = "[global]\n".to_string();
    let section = |name: &str, line: usize| Section {
        name: name.to_string(),
        file: file.clone(),
        line,
        span: 0..name.len() + 2,
        assignments: Vec::new(),
    };
    let mut all = vec![section("global", 1)];
    for (option, line) in Override::of_words(words).into_iter().zip(2..) {
        match (&option.key[..], &option.value) {
            ("name", Some(name)) if !name.is_empty() => {
                text.push_str(&format!("[{name}]\n"));
                all.push(section(name, line));
            }
            _ => {
                let written = option.line();
                text.push_str(&format!("{written}\n"));
                let assignments = all.last_mut().map(|section| &mut section.assignments);
                assignments.into_iter().for_each(|list| {
                    list.push(Assignment {
                        key: option.key.clone(),
                        value: option.value.clone(),
                        file: file.clone(),
                        line,
                        span: 0..written.len(),
                    });
                });
            }
        }
    }
    if all.iter().all(Section::is_global) {
        let line = text.lines().count() + 1;
        text.push_str("[job]\n");
        all.push(section("job", line));
    }
    (text, all)
}
