//! The job files that nandscope carries, so that they need no file of their own.

use std::path::Path;

/// A job file of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryJob {
    /// Name by which it is asked for, such as `rand-read`.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

macro_rules! entry {
    ($name:literal) => {
        LibraryJob {
            name: $name,
            text: include_str!(concat!("../../../../jobs/", $name, ".fio")),
        }
    };
}

/// All of them. Those below `extensions/` use options that fio lacks.
pub const JOBS: &[LibraryJob] = &[
    entry!("jesd219-enterprise"),
    entry!("limited"),
    entry!("mixed"),
    entry!("rand-read"),
    entry!("rand-write"),
    entry!("sd-card"),
    entry!("seq-read"),
    entry!("seq-write"),
    entry!("steady-state"),
    entry!("trim"),
    entry!("zipf"),
    entry!("extensions/bursts"),
    entry!("extensions/nearly-full"),
];

impl LibraryJob {
    /// Comment at the head of the file, which says what the job does.
    pub fn about(&self) -> String {
        let comments = self.text.lines().map_while(|line| line.strip_prefix(';'));
        let words: Vec<&str> = comments.map(str::trim).collect();
        words.join(" ")
    }
}

/// The job file of the library that a path names: `rand-read`, `rand-read.fio` or `jobs/rand-read.fio`.
pub fn find(path: &Path) -> Option<&'static LibraryJob> {
    let text = path.to_str()?;
    let text = text.strip_prefix("jobs/").unwrap_or(text);
    let name = text.strip_suffix(".fio").unwrap_or(text);
    JOBS.iter().find(|job| job.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_found_by_its_name_with_and_without_its_folder() {
        for path in ["rand-read", "rand-read.fio", "jobs/rand-read.fio"] {
            let found = find(Path::new(path)).expect("is in the library");
            assert_eq!(found.name, "rand-read");
        }
        for path in [
            "",
            ".fio",
            "/jobs/rand-read.fio",
            "rand",
            "jobs/jobs/rand-read.fio",
        ] {
            assert_eq!(find(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn every_job_says_what_it_does() {
        for job in JOBS {
            assert!(job.about().len() > 20, "{}", job.name);
        }
    }
}
