//! The script that the kernel starts as its first process: a common beginning and end around every job,
//! and lines for the start of each phase.

use crate::process::START_OF_DAY_S;
use crate::reason::Reason;
use nandscope_units::Nanos;

/// Beginning of every script; its functions are available to jobs, including a user's own.
const FUNCTIONS: &str = include_str!("guest/functions.sh");
/// The machine inside the kernel: its mounts, and how it is switched off.
const MACHINE: &str = include_str!("guest/machine.sh");
/// End of every script.
const END: &str = include_str!("guest/end.sh");
/// The line that says that a script came to its end.
const DONE: &str = "@done";
/// The beginning of a line that says that something failed.
const FAILED: &str = "@failed ";

/// A whole script: settings as shell variables, the beginning, the job, the end.
pub fn script(settings: &[(&str, String)], job: &str) -> String {
    assembled(settings, MACHINE, job)
}

/// A whole script on this `machine`, which defines `off`.
pub(crate) fn assembled(settings: &[(&str, String)], machine: &str, job: &str) -> String {
    let mut text = String::from("#!/bin/bash\n");
    for (name, value) in settings {
        text.push_str(&format!("{name}={}\n", quoted(value)));
    }
    text + FUNCTIONS + machine + job + "\n" + END
}

/// Quotes text for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Start of a phase of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseStart {
    /// Name of the phase that starts.
    pub name: String,
    /// When, on the kernel's clock.
    pub at: Nanos,
}

/// The starts of phases in what a script said: lines `@mark NAME SECONDS.MICROSECONDS`, the time of day.
pub fn phase_starts(console: &str) -> Vec<PhaseStart> {
    phase_starts_since(console, START_OF_DAY_S)
}

/// The same, counted from this second of the time of day.
pub(crate) fn phase_starts_since(console: &str, start_s: u64) -> Vec<PhaseStart> {
    console
        .lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("@mark ")?.split_whitespace();
            let (name, time) = (words.next()?, words.next()?);
            let (seconds, micros) = time.split_once('.')?;
            let seconds: u64 = seconds.parse().ok()?;
            let micros: u64 = micros.parse().ok()?;
            let since = seconds.checked_sub(start_s)?;
            Some(PhaseStart {
                name: name.to_string(),
                at: Nanos::from_secs(since) + Nanos::from_micros(micros),
            })
        })
        .collect()
}

/// Values in what a script said: lines `@value NAME NUMBER`.
pub fn values(console: &str) -> Vec<(String, f64)> {
    console
        .lines()
        .filter_map(|line| {
            let mut words = line.strip_prefix("@value ")?.split_whitespace();
            Some((words.next()?.to_string(), words.next()?.parse().ok()?))
        })
        .collect()
}

/// True if a line reports a failure.
pub fn is_failure(line: &str) -> bool {
    line.starts_with(FAILED)
}

/// Checks whether a script reported a failure.
///
/// # Errors
/// The [`Reason`] that the script reported.
pub fn check_failed(console: &str) -> Result<(), Reason> {
    match console.lines().find_map(|l| l.strip_prefix(FAILED)) {
        Some(what) => Err(Reason::Script(what.to_string())),
        None => Ok(()),
    }
}

/// Checks that a kernel ended after its script.
///
/// # Errors
/// The [`Reason`] that the script reported; `Reason::Died` if it did not report its end.
pub fn check_end(console: &str, status: &str) -> Result<(), Reason> {
    check_failed(console)?;
    if console.lines().any(|line| line == DONE) {
        Ok(())
    } else {
        Err(Reason::Died(status.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_count_from_the_start_of_the_kernel() {
        let said = "noise\n@mark mount 1421366401.250000\n@mark bad 12\n@value files 12\n";
        let start = PhaseStart {
            name: "mount".to_string(),
            at: Nanos::from_millis(1250),
        };
        assert_eq!(phase_starts(said), [start]);
        assert_eq!(values(said), [("files".to_string(), 12.0)]);
    }

    #[test]
    fn only_a_script_that_says_so_is_done() {
        assert!(check_end("a\n@done\n", "exit status: 0").is_ok());
        let died = check_end("a\n", "signal: 11").unwrap_err().to_string();
        assert!(died.contains("signal: 11"), "{died}");
        let failed = check_end("@failed mkfs\n@done\n", "").unwrap_err();
        assert!(failed.to_string().contains("mkfs"));
    }

    #[test]
    fn settings_cannot_break_out_of_their_quotes() {
        let text = script(&[("NAME", "it's; rm".to_string())], "true");
        assert!(text.contains(r"NAME='it'\''s; rm'"), "{text}");
    }
}
