//! Parses the output of flashbench as copied from a terminal: `align 4194304 pre 1.1ms on 1.4ms post 1.1ms diff 300µs` of `-a`,
//! `4MiB 8.79M/s` of `--open-au` below its command line, and `4MiB 22.7M/s 19.1M/s …` of `--find-fat`; also tables of `-a` with
//! commas and times in µs.

use crate::flashbench::recorded::lines;
use crate::flashbench::{AlignRow, Order, RecordError};
use nandscope_units::{SizeBase, parse_size};

/// AU size of `--open-au` and `--find-fat` if the command line does not state one, bytes.
pub const DEFAULT_UNIT: u64 = 4 << 20;

/// One rate of `--open-au`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenRate {
    /// Order of the pieces within an AU.
    pub order: Order,
    /// Interleaved AUs.
    pub units: u32,
    /// AU size given to flashbench, or its default, bytes.
    pub unit: u64,
    /// Length of a piece, bytes.
    pub length: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

/// All measurements in a file.
#[derive(Default)]
pub struct Transcript {
    /// Rows of all trials of `-a`.
    pub align: Vec<AlignRow>,
    /// Length of a read for each row of `align`, bytes; `None` if the file does not state it.
    pub align_lengths: Vec<Option<u64>>,
    /// Rates of `--open-au`.
    pub open: Vec<OpenRate>,
    /// Trials of `--find-fat`: lengths, bytes, each with a rate per AU, bytes per second.
    pub fat: Vec<Vec<(u64, Vec<f64>)>>,
}

/// Options of the last command line.
#[derive(Clone, Copy, Default)]
struct Said {
    units: Option<u32>,
    unit: Option<u64>,
    length: Option<u64>,
    at_random: bool,
}

/// The first column of a table of `-a` with commas.
const HEADING: &str = "align_bytes";

/// Reads flashbench's output; `name` is for messages.
///
/// # Errors
/// [`RecordError`] if no line of flashbench is found, or with the line that cannot be read.
pub fn read(name: &str, text: &str) -> Result<Transcript, RecordError> {
    let mut all = Transcript::default();
    if text
        .lines()
        .next()
        .is_some_and(|l| l.split(',').any(|column| column == HEADING))
    {
        (all.align, all.align_lengths) = table(name, text)?;
        return Ok(all);
    }
    let mut said = Said::default();
    let mut carried = String::new();
    for (i, line) in text.lines().enumerate() {
        // A command may continue on the next line.
        if let Some(head) = line.trim_end().strip_suffix('\\') {
            carried.push_str(head);
            carried.push(' ');
            continue;
        }
        let line = std::mem::take(&mut carried) + line;
        let fault = |why: &str| RecordError(format!("{name}, line {}: {why}", i + 1));
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"align") {
            let row = row(&words).ok_or_else(|| {
                fault("no line of `flashbench -a`, which has `align N pre T on T post T diff T`")
            })?;
            all.align.push(row);
            all.align_lengths.push(said.length);
        } else if words.iter().any(|w| w.ends_with("flashbench")) {
            said = command(&words);
        } else if let Some((length, rates)) = rates(&words) {
            match (&rates[..], said.units) {
                (&[rate], Some(units)) => {
                    let order = if said.at_random {
                        Order::Random
                    } else {
                        Order::Linear
                    };
                    all.open.push(OpenRate {
                        order,
                        units,
                        unit: said.unit.unwrap_or(DEFAULT_UNIT),
                        length,
                        bytes_per_s: rate,
                    });
                }
                (&[_], None) => {
                    return Err(fault(
                        "a rate of `flashbench --open-au`, and no command line with `--open-au-nr=N` above it says of how many units",
                    ));
                }
                _ => all.add_fat(length, rates),
            }
        }
    }
    if all.align.is_empty() && all.open.is_empty() && all.fat.is_empty() {
        return Err(RecordError(format!(
            "{name} holds no output of flashbench: lines of `-a` begin with `align`, those of `--open-au` and `--find-fat` with a size and rates"
        )));
    }
    Ok(all)
}

impl Transcript {
    /// Adds a row of `--find-fat`. Lengths decrease within a trial; another length starts a new trial.
    fn add_fat(&mut self, length: u64, rates: Vec<f64>) {
        match self.fat.last_mut() {
            Some(trial) if trial.last().is_some_and(|row| length < row.0) => {
                trial.push((length, rates));
            }
            _ => self.fat.push(vec![(length, rates)]),
        }
    }
}

/// Rows of a table with commas; missing times are NaN.
fn table(name: &str, text: &str) -> Result<(Vec<AlignRow>, Vec<Option<u64>>), RecordError> {
    let rows = lines(name, text)?.into_iter().map(|line| {
        let time = |column| line.optional(column).map(|t| t.unwrap_or(f64::NAN));
        let row = AlignRow {
            align: line.positive(HEADING)?,
            pre_us: time("pre_us")?,
            on_us: time("on_us")?,
            post_us: time("post_us")?,
            diff_us: line.number("diff_us")?,
            off_boundary: 0,
        };
        // Tables with other columns than those of the project's own facts need not state the length.
        Ok((row, line.positive("blocksize").ok()))
    });
    let rows: Result<Vec<_>, RecordError> = rows.collect();
    Ok(rows?.into_iter().unzip())
}

/// Parses a command line of flashbench.
fn command(words: &[&str]) -> Said {
    let open =
        |w: &&&str| w.starts_with("--open-au") && !w.starts_with("--open-au-nr") || **w == "-O";
    let sized = |long: &str, short: &str| {
        words.iter().enumerate().find_map(|(i, word)| {
            let value = match word.strip_prefix(long) {
                Some(rest) => rest.strip_prefix('=').or(words.get(i + 1).copied()),
                None if *word == short => words.get(i + 1).copied(),
                None => None,
            };
            let size = parse_size(value?, SizeBase::Binary).ok()?;
            Some(size.0).filter(|size| *size > 0)
        })
    };
    let mut said = Said {
        units: None,
        unit: sized("--erasesize", "-e"),
        length: sized("--blocksize", "-b"),
        at_random: words.iter().any(|w| *w == "--random" || *w == "-R"),
    };
    if words.iter().any(|w| open(&w)) {
        // The default of flashbench is two AUs.
        said.units = Some(2);
    }
    for (i, word) in words.iter().enumerate() {
        if let Some(rest) = word.strip_prefix("--open-au-nr") {
            let number = rest.strip_prefix('=').or(words.get(i + 1).copied());
            said.units = number.and_then(|n| n.parse().ok()).filter(|n| *n > 0);
        }
    }
    said
}

/// Parses a line with a size and rates; `None` for other lines.
fn rates(words: &[&str]) -> Option<(u64, Vec<f64>)> {
    let (first, rest) = words.split_first()?;
    if rest.is_empty() || !first.ends_with('B') {
        return None;
    }
    let length = parse_size(first, SizeBase::Binary).ok()?;
    let rates: Option<Vec<f64>> = rest.iter().map(|w| rate(w)).collect();
    Some((length.0, rates?))
}

/// Parses a rate of flashbench, bytes per second: `8.79M/s`, `912K/s`, `1.2G/s`, `500B/s`.
fn rate(text: &str) -> Option<f64> {
    let text = text.strip_suffix("/s")?;
    let at = text.find(|c: char| c.is_alphabetic())?;
    let number: f64 = text[..at].parse().ok()?;
    let factor = match &text[at..] {
        "B" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

fn row(words: &[&str]) -> Option<AlignRow> {
    let after = |name: &str| {
        let at = words.iter().position(|w| *w == name)?;
        Some(words.get(at + 1).and_then(|w| micros(w)))
    };
    // A time cut off at the edge of a screen is missing together with its name; the difference is the last column.
    let time = |name: &str| after(name).unwrap_or(Some(f64::NAN));
    Some(AlignRow {
        align: words.get(1)?.parse().ok().filter(|a| *a > 0)?,
        pre_us: time("pre")?,
        on_us: time("on")?,
        post_us: time("post")?,
        diff_us: after("diff")??,
        off_boundary: 0,
    })
}

/// Parses a time of flashbench, µs: `-12ns`, `858µs`, `1.27ms`, `2s`.
fn micros(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_alphabetic())?;
    let number: f64 = text[..at].parse().ok()?;
    let factor = match &text[at..] {
        "ns" => 1e-3,
        "us" | "µs" | "\u{3bc}s" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    number.is_finite().then_some(number * factor)
}
