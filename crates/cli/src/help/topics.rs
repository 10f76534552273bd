//! The pages of the documentation that the program carries.

/// A page that `nandscope help` prints.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// The word for it after `nandscope help`.
    pub name: &'static str,
    /// Subject of the page, in a few words.
    pub about: &'static str,
    /// Text as in `docs`.
    pub markdown: &'static str,
}

/// A table of topics: the word, what it is about, the page in docs/.
macro_rules! topics {
    ($($name:literal, $about:literal, $file:literal;)*) => {
        [$(Topic {
            name: $name,
            about: $about,
            markdown: include_str!(concat!("../../../../docs/", $file)),
        },)*]
    };
}

/// All topics, in the listed order.
pub const TOPICS: [Topic; 17] = topics! {
    "targets", "names of targets; what is measured on real ones", "targets.md";
    "jobs", "fio job files: every option", "jobs.md";
    "faults", "faults that can be injected, and what a power cut leaves", "faults.md";
    "resume", "interrupted measurements", "resume.md";
    "exit-codes", "exit codes and output files", "exit-codes.md";
    "units", "units and terms (glossary)", "glossary.md";
    "profiles", "every key of a device or host profile", "profiles.md";
    "hosts", "hosts, ports and drivers", "hosts.md";
    "drive-suites", "suites and sweeps of drives", "drives.md";
    "card-suites", "suites of memory cards", "card-tests.md";
    "internals", "inferring the internals of a device", "probe.md";
    "fakes", "detecting fakes", "verify.md";
    "file-systems", "comparing Linux file systems", "fs.md";
    "serving", "serving a simulated card", "serve.md";
    "traces", "formats, rules and replay of traces", "traces.md";
    "reports", "reports, comparisons and the shelf", "report.md";
    "safety", "what nandscope refuses to write", "safety.md";
};

/// The list of topics, one per line.
pub fn list() -> String {
    let lines = TOPICS
        .iter()
        .map(|topic| format!("  {:<14}{}\n", topic.name, topic.about));
    lines.collect()
}
