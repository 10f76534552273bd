//! Writes a job as options in fio's names. Options with default values are left out, except access, block size and
//! depth, which readers look for.

use super::model::Job;
use super::option::supported;
use std::collections::BTreeMap;

const ALWAYS: [&str; 3] = ["rw", "bs", "iodepth"];

impl Job {
    /// Options of the job as parsed, including global ones: option and value in fio's names.
    pub fn options(&self) -> BTreeMap<String, String> {
        let default = Job::new("");
        let mut options = self.without_effect.clone();
        for option in supported() {
            let value = option.show(self).filter(|v| {
                ALWAYS.contains(&option.name) || option.show(&default).as_ref() != Some(v)
            });
            if let Some(value) = value {
                options.insert(option.name.to_string(), value);
            }
        }
        options
    }

    /// The job as a section of a job file. Extensions (`nandscope_…`) follow a comment; fio reads the section
    /// once those lines are removed.
    pub fn to_fio(&self) -> String {
        let options = self.options();
        let mut text = format!("[{}]\n", self.name);
        let (ours, fios): (Vec<_>, Vec<_>) = options
            .iter()
            .partition(|(key, _)| key.starts_with("nandscope_"));
        for (key, value) in fios {
            // For fio, a log without a prefix is a flag; an explicitly empty value stays empty.
            match value.as_str() {
                "" if !self.without_effect.contains_key(key) => text.push_str(&format!("{key}\n")),
                _ => text.push_str(&format!("{key}={value}\n")),
            }
        }
        if !ours.is_empty() {
            text.push_str("; extensions of nandscope: fio refuses them\n");
        }
        for (key, value) in ours {
            text.push_str(&format!("{key}={value}\n"));
        }
        text
    }
}
