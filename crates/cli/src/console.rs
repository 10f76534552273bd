//! Standard output and error: their capabilities, and writing to them without panics. Nothing else in the program
//! writes to them, except the progress bar and clap. Names and titles from outside may contain anything: text for users
//! goes through [`printable`], data only if it is shown on a terminal.

use crate::failure::Failure;
use nandscope_units::{printable, printable_line};
use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};

/// Width without a terminal, columns.
const COLUMNS: usize = 80;
/// Wider lines than this are hard to read.
const MOST_COLUMNS: usize = 120;

/// Capabilities of standard output and standard error.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    /// Columns for text.
    pub width: usize,
    /// Errors may be coloured.
    pub colour: bool,
    /// Verdicts on standard output may be coloured.
    pub verdicts: bool,
}

impl Console {
    /// Detects the capabilities. Colour only on a terminal, unless `NO_COLOR` or `TERM=dumb` is set.
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
            verdicts: io::stdout().is_terminal() && !no_colour,
        }
    }

    /// Writes text for users to standard output. A closed pipe is not an error: the command continues.
    ///
    /// # Errors
    /// `Exit::File` if it cannot be written for another reason.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        self.write(&printable(text))
    }

    /// Writes text with verdicts: on a terminal with colours, good ones in green and others in red.
    ///
    /// # Errors
    /// As [`Console::print`].
    pub fn print_verdicts(&self, text: &str) -> Result<(), Failure> {
        let text = printable(text);
        match self.verdicts {
            true => self.write(&coloured(&text)),
            false => self.write(&text),
        }
    }

    /// Writes text for other programs, such as a job file, to standard output: unchanged, except on a terminal.
    ///
    /// # Errors
    /// As [`Console::print`].
    pub fn print_data(&self, text: &str) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            return self.print(text);
        }
        self.write(text)
    }

    /// Writes JSON and a line break to standard output. On a terminal, unprintable characters are replaced by JSON
    /// escapes, which is equal JSON for a program.
    ///
    /// # Errors
    /// As [`Console::print`].
    pub fn print_json(&self, json: &str) -> Result<(), Failure> {
        let mut text = String::with_capacity(json.len() + 1);
        let mut units = [0; 2];
        for c in json.chars() {
            if printable(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8() {
                text.push(c);
            } else {
                let escapes = c.encode_utf16(&mut units).iter();
                text.extend(escapes.map(|unit| format!("\\u{unit:04x}")));
            }
        }
        text.push('\n');
        self.write(&text)
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(e) if !is_reader_gone(&e) => Err(Failure::file(format!(
                "cannot write to standard output: {e}"
            ))),
            _ => Ok(()),
        }
    }

    /// Prints a note on standard error.
    pub fn note(&self, text: &str) {
        self.write_error(&printable(text));
    }

    fn write_error(&self, text: &str) {
        // The error is ignored: it could only be reported on standard error, which failed.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Whether somebody can read a question and answer it: standard input and standard error are terminals.
    pub fn can_ask() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Shows a question on standard error and reads the answer, one line of standard input. Returns `None` if either of
    /// them is not a terminal.
    ///
    /// # Errors
    /// `io::Error` if the question cannot be shown or the answer not read.
    pub fn ask(question: &str) -> io::Result<Option<String>> {
        if !Self::can_ask() {
            return Ok(None);
        }
        let (mut stderr, stdin) = (io::stderr(), io::stdin());
        let mut answer = String::new();
        writeln!(stderr, "{}", printable(question))?;
        stdin.lock().read_line(&mut answer)?;
        Ok(Some(answer))
    }

    /// Prints the error of a command on standard error.
    pub fn complain(&self, failure: &Failure) {
        match (failure.text.as_str(), failure.rendered, self.colour) {
            // The text was rendered from printable texts, so its escapes are nandscope's own colours.
            (text, true, true) => {
                let pieces: Vec<_> = text.split('\u{1b}').map(printable).collect();
                self.write_error(&pieces.join("\u{1b}"));
            }
            (text, true, false) => self.note(text),
            (text, false, true) => {
                self.write_error(&format!("\u{1b}[1;31merror\u{1b}[0m: {}", printable(text)));
            }
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

    /// A table without borders that fits the width.
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

/// Verdicts at the end or the start of a line, and whether each is good.
const VERDICTS: [(&str, bool); 10] = [
    ("✓ met", true),
    ("✗ not met", false),
    ("pass", true),
    ("fail", false),
    ("Passed", true),
    ("Failed", false),
    ("Genuine", true),
    ("Fake", false),
    ("Failing", false),
    ("Suspicious", false),
];

/// The text with its verdicts coloured: a word at the end of a line, or before the colon at its start.
fn coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let shown = line.trim_end();
        let verdict = VERDICTS.iter().find_map(|(word, good)| {
            let starts = shown
                .strip_prefix(word)
                .is_some_and(|rest| rest.starts_with(':'));
            let before = shown.strip_suffix(word);
            let ends =
                before.is_some_and(|b| b.ends_with(": ") || (b.ends_with(' ') && !word.is_ascii()));
            let at = if starts {
                0
            } else {
                before.filter(|_| ends)?.len()
            };
            Some((at, word.len(), *good))
        });
        let Some((at, length, good)) = verdict else {
            out.push_str(line);
            continue;
        };
        let colour = if good { "\u{1b}[1;32m" } else { "\u{1b}[1;31m" };
        let (before, rest) = line.split_at(at);
        let (word, after) = rest.split_at(length);
        out.extend([before, colour, word, "\u{1b}[0m", after]);
    }
    out
}

/// Text for display on one line, such as the progress.
pub fn on_one_line(text: &str) -> String {
    printable_line(text).into_owned()
}

/// Whether an error of standard output means that its reader is gone: a closed pipe, or a terminal whose session has
/// ended.
fn is_reader_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe || (is_gone_terminal(error) && is_character_device())
}

#[cfg(target_os = "linux")]
fn is_gone_terminal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

/// Whether standard output is a character device, as a terminal is. A terminal that is gone is not reported as one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_coloured_and_nothing_else() {
        let text = "Class 10: pass\nU3: fail\nFake: the end is at 8 GB\n 15.5 MB/s ✗ not met \nbypass\nFakery\n";
        let green = |word: &str| format!("\u{1b}[1;32m{word}\u{1b}[0m");
        let red = |word: &str| format!("\u{1b}[1;31m{word}\u{1b}[0m");
        let expected = format!(
            "Class 10: {}\nU3: {}\n{}: the end is at 8 GB\n 15.5 MB/s {} \nbypass\nFakery\n",
            green("pass"),
            red("fail"),
            red("Fake"),
            red("✗ not met")
        );
        assert_eq!(coloured(text), expected);
    }
}
