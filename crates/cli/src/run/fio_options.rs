//! Options of fio's command line that concern the command and not its jobs: what is printed, where, how often,
//! and which sections of the job file run.

use crate::failure::Failure;
use nandscope_report::fio::{Format, TerseVersion};
use nandscope_units::{Nanos, parse_duration};
use std::path::PathBuf;

/// Options of fio's command line that concern the command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioOptions {
    /// File for what is printed in fio's formats (`--output`); standard output without it.
    pub output: Option<PathBuf>,
    /// Formats to print; empty prints the summary of nandscope.
    pub formats: Vec<Format>,
    /// Version of the terse format.
    pub terse_version: TerseVersion,
    /// Sections of the job file that run; empty runs all.
    pub sections: Vec<String>,
    /// Time between two results while the jobs run, on the clock of the target.
    pub status_interval: Option<Nanos>,
}

/// Names of the options, and whether a value follows.
const NAMES: [(&str, bool); 7] = [
    ("output", true),
    ("output-format", true),
    ("minimal", false),
    ("terse-version", true),
    ("section", true),
    ("status-interval", true),
    // fio's display of the time left; nandscope has its own on a terminal.
    ("eta", true),
];

impl FioOptions {
    /// Takes these options from the words of a command line; the other words are options of jobs.
    ///
    /// # Errors
    /// `Exit::Usage` if an option lacks its value or has one that means nothing.
    pub fn take(words: &[String]) -> Result<(FioOptions, Vec<String>), Failure> {
        let mut options = FioOptions::default();
        let mut rest = Vec::new();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            // With one hyphen or two, as in fio.
            let bare = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
            let (name, value) = match bare.unwrap_or_default().split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (bare.unwrap_or_default(), None),
            };
            let Some((name, has_value)) = NAMES.iter().find(|(known, _)| *known == name) else {
                rest.push(word.clone());
                continue;
            };
            let value = match has_value {
                true => value.or_else(|| words.next().cloned()),
                false => Some(String::new()),
            };
            let Some(value) = value else {
                return Err(Failure::usage(format!(
                    "`--{name}` needs a value; write `--{name}=VALUE`"
                )));
            };
            options.set(name, &value)?;
        }
        Ok((options, rest))
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let refused = |what: &str| Failure::usage(format!("`--{name}={value}`: {what}"));
        match name {
            "output" if value.is_empty() => return Err(refused("name a file")),
            "output" => self.output = Some(PathBuf::from(value)),
            "output-format" => {
                let formats = value.split(',').map(|name| Format::find(name.trim()));
                let formats: Option<Vec<Format>> = formats.collect();
                let known = "use normal, terse, json or json+, separated by commas";
                self.formats = formats.ok_or_else(|| refused(known))?;
            }
            "minimal" => self.formats = vec![Format::Terse],
            "terse-version" => {
                let version = value.parse().ok().and_then(TerseVersion::of);
                self.terse_version = version.ok_or_else(|| refused("use 3, 4 or 5"))?;
            }
            "section" => self.sections.push(value.to_string()),
            "status-interval" => self.status_interval = Some(interval(value).map_err(refused)?),
            _ => {}
        }
        Ok(())
    }

    /// Adds the sections of `other`, and its options that are not given here. With an output file or an interval but no
    /// format, fio's normal format is used.
    pub fn or(self, other: FioOptions) -> FioOptions {
        let first = |mine: Vec<Format>, theirs| if mine.is_empty() { theirs } else { mine };
        let mut both = FioOptions {
            output: self.output.or(other.output),
            formats: first(self.formats, other.formats),
            terse_version: self.terse_version.max(other.terse_version),
            sections: [self.sections, other.sections].concat(),
            status_interval: self.status_interval.or(other.status_interval),
        };
        if both.formats.is_empty() && (both.output.is_some() || both.status_interval.is_some()) {
            both.formats.push(Format::Normal);
        }
        both
    }
}

/// Parses a time between results; without a unit it is in seconds, as in fio.
///
/// # Errors
/// The remedy for a time that is too short or none.
pub fn interval(text: &str) -> Result<Nanos, &'static str> {
    const SECOND: u64 = 1_000_000_000;
    // At shorter intervals the run would only print.
    const SHORTEST: Nanos = Nanos::from_millis(10);
    match parse_duration(text, SECOND) {
        Ok(time) if time >= SHORTEST => Ok(time),
        Ok(_) => Err("give 10 ms or more"),
        Err(_) => Err("give a time such as 1 or 500ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(words: &[&str]) -> Result<(FioOptions, Vec<String>), Failure> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        FioOptions::take(&words)
    }

    #[test]
    fn options_of_the_command_are_taken_from_those_of_jobs() {
        let (options, rest) = take(&[
            "--name=a",
            "--output=x.json",
            "-output-format",
            "normal,json+",
            "--section",
            "b",
            "--section=c",
            "--rw",
            "read",
            "--status-interval=500ms",
            "--terse-version=5",
            "--eta=never",
        ])
        .unwrap();
        assert_eq!(rest, ["--name=a", "--rw", "read"]);
        assert_eq!(options.output, Some("x.json".into()));
        assert_eq!(options.formats, [Format::Normal, Format::JsonPlus]);
        assert_eq!(options.sections, ["b", "c"]);
        assert_eq!(options.status_interval, Some(Nanos::from_millis(500)));
        assert_eq!(options.terse_version, TerseVersion::Five);
        let (minimal, rest) = take(&["--minimal", "--rw=read"]).unwrap();
        assert_eq!((minimal.formats, rest.len()), (vec![Format::Terse], 1));
    }

    #[test]
    fn options_without_a_meaning_say_what_to_do() {
        for (words, remedy) in [
            (&["--output-format=xml"][..], "json+"),
            (&["--output"], "--output=VALUE"),
            (&["--output="], "name a file"),
            (&["--status-interval=never"], "500ms"),
            (&["--status-interval=0"], "10 ms"),
            (&["--terse-version=2"], "3, 4 or 5"),
        ] {
            let failure = take(words).unwrap_err();
            assert!(failure.text.contains(remedy), "{}", failure.text);
        }
    }

    #[test]
    fn a_file_without_a_format_has_that_for_people() {
        let (options, _) = take(&["--output=x"]).unwrap();
        let both = FioOptions::default().or(options);
        assert_eq!(both.formats, [Format::Normal]);
        assert!(
            FioOptions::default()
                .or(FioOptions::default())
                .formats
                .is_empty()
        );
    }
}
