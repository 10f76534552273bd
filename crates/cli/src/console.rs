//! Standard output and error: what they can show, and writing to them without ever panicking.
//! Nothing else in the program writes to them, apart from the progress bar and clap.

use crate::failure::Failure;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Columns where there is no terminal to ask.
const COLUMNS: usize = 80;
/// Wider lines than this are hard to read.
const MOST_COLUMNS: usize = 120;

/// What standard output and error can show.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// Columns for text.
    pub width: usize,
    /// Errors may be coloured.
    pub colour: bool,
}

impl Console {
    /// Asks the system. Colour only on a terminal, and not against `NO_COLOR` or `TERM=dumb`.
    pub fn detect() -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        let columns = if io::stdout().is_terminal() {
            terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
        } else {
            None
        };
        Console {
            width: columns.unwrap_or(COLUMNS).clamp(40, MOST_COLUMNS),
            colour: io::stderr().is_terminal() && !no_colour,
        }
    }

    /// Writes text to standard output. A reader that went away is no error: what the command does
    /// besides goes on.
    ///
    /// # Errors
    /// If it cannot be written for another reason.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(e) if !is_reader_gone(&e) => Err(Failure::file(format!(
                "cannot write to standard output: {e}"
            ))),
            _ => Ok(()),
        }
    }

    /// Says something beside the output.
    pub fn note(&self, text: &str) {
        // Where standard error is closed there is nobody left to tell.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Says why the command did not do what it was asked.
    pub fn complain(&self, failure: &Failure) {
        match (failure.text.as_str(), failure.rendered, self.colour) {
            (text, true, _) => self.note(text),
            (text, false, true) => self.note(&format!("\u{1b}[1;31merror\u{1b}[0m: {text}")),
            (text, false, false) => self.note(&format!("error: {text}")),
        }
    }

    /// A paragraph, wrapped and indented.
    pub fn paragraph(&self, text: &str, indent: &str) -> String {
        let options = textwrap::Options::new(self.width)
            .initial_indent(indent)
            .subsequent_indent(indent)
            .break_words(false);
        let mut text = textwrap::fill(text, options);
        text.push('\n');
        text
    }

    /// A table without borders that keeps to the width.
    pub fn table(&self, header: &[&str]) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table
            .load_preset(comfy_table::presets::NOTHING)
            .set_content_arrangement(comfy_table::ContentArrangement::Dynamic)
            .set_width(self.width as u16);
        if !header.is_empty() {
            table.set_header(header.iter().copied());
        }
        table
    }
}

/// Whether an error of standard output means that nobody reads it any more: a pipe that was closed, or a
/// terminal that is gone with its session.
fn is_reader_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe || (is_gone_terminal(error) && is_character_device())
}

#[cfg(target_os = "linux")]
fn is_gone_terminal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// Whether standard output is a terminal, or was one. A terminal that is gone does not say so any more.
#[cfg(target_os = "linux")]
fn is_character_device() -> bool {
    use rustix::fs::{FileType, fstat};
    let stat = fstat(io::stdout());
    stat.is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::CharacterDevice)
}

#[cfg(not(target_os = "linux"))]
fn is_gone_terminal(_: &io::Error) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn is_character_device() -> bool {
    false
}

/// The lines of a table without the blanks that fill them up.
pub fn lines_of(table: &comfy_table::Table) -> String {
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}
