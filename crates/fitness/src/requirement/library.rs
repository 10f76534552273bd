//! The requirement files that nandscope carries.

use super::{Requirement, RequirementFault, parse};

/// A requirement file of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryRequirement {
    /// Name, such as `dashcam`.
    pub name: &'static str,
    /// The text of the file.
    pub text: &'static str,
}

macro_rules! entry {
    ($name:literal) => {
        LibraryRequirement {
            name: $name,
            text: include_str!(concat!("../../../../requirements/", $name, ".toml")),
        }
    };
}

/// All of them, by name.
pub const REQUIREMENTS: &[LibraryRequirement] = &[
    entry!("camera-4k-400mbit"),
    entry!("camera-4k-40mbit"),
    entry!("ci-runner"),
    entry!("dashcam"),
    entry!("drone-log"),
    entry!("etcd"),
    entry!("game-console"),
    entry!("home-assistant"),
    entry!("llm-cache"),
    entry!("logger-512b-1khz"),
    entry!("pi-root-database"),
    entry!("postgresql-wal"),
];

impl LibraryRequirement {
    /// Comment at the head of the file: the application in a sentence.
    pub fn about(&self) -> String {
        let comments = self.text.lines().map_while(|line| line.strip_prefix('#'));
        let words: Vec<&str> = comments.map(str::trim).collect();
        words.join(" ")
    }

    /// The requirement.
    ///
    /// # Errors
    /// The faults of the file; a test reads all of them.
    pub fn requirement(&self) -> Result<Requirement, Vec<RequirementFault>> {
        parse(self.name, self.text)
    }
}

/// The requirement file of that name, with or without `.toml`.
pub fn find(name: &str) -> Option<&'static LibraryRequirement> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    REQUIREMENTS.iter().find(|r| r.name == name)
}
