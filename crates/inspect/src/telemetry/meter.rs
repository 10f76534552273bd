//! Power from a USB meter whose program writes a table during the measurement. The file is followed like
//! with `tail -f`. Column order and names differ between meters, so the first line decides; it must name
//! power, or voltage and current.
//!
//! Cells are separated by commas, semicolons or tabs. With semicolons and tabs, a comma may be the
//! decimal separator. Units in the titles (`Current(mA)`, `power_mW`) are used.

use super::{Absent, Reading};
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Limit of one read; the rest follows with the next call.
const MOST_BYTES: u64 = 1 << 20;
/// Longest line of a table, bytes; longer ones are invalid.
const LONGEST_LINE: usize = 64 << 10;

/// One line of the meter's table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeterSample {
    /// Seconds on the meter's clock, if the table has such a column.
    pub seconds: Option<f64>,
    /// Power, W.
    pub watts: f64,
    /// Volts, if available.
    pub volts: Option<f64>,
    /// Amperes, if available.
    pub amperes: Option<f64>,
}

/// Why a table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MeterError {
    /// The first line names neither power nor both voltage and current.
    #[error(
        "line 1 `{0}` names neither power nor voltage and current; give the columns titles such as `time_s,voltage_V,current_A`"
    )]
    Columns(String),
}

/// The columns of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    separator: char,
    seconds: Option<Column>,
    volts: Option<Column>,
    amperes: Option<Column>,
    watts: Option<Column>,
}

/// Index of a quantity's column, and its scale to the base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Column {
    at: usize,
    scale: f64,
}

impl Columns {
    /// Parses the title line.
    ///
    /// # Errors
    /// `MeterError::Columns` if a required column is missing.
    pub fn parse(line: &str) -> Result<Self, MeterError> {
        let line = line.trim_start_matches('\u{feff}').trim();
        let separator = [';', '\t']
            .into_iter()
            .find(|c| line.contains(*c))
            .unwrap_or(',');
        let titles: Vec<_> = line.split(separator).map(title).collect();
        let find = |names: &[&str]| {
            let at = titles
                .iter()
                .position(|(name, _)| names.contains(&name.as_str()))?;
            Some(Column {
                at,
                scale: titles[at].1,
            })
        };
        let columns = Columns {
            separator,
            seconds: find(&[
                "time",
                "t",
                "timestamp",
                "elapsed",
                "elapsed time",
                "seconds",
            ]),
            volts: find(&["voltage", "volts", "volt", "u", "vbus", "v"]),
            amperes: find(&["current", "amperes", "amps", "amp", "i", "ibus", "a"]),
            watts: find(&["power", "watts", "watt", "p", "w"]),
        };
        let enough = columns.watts.is_some() || columns.volts.and(columns.amperes).is_some();
        if enough {
            Ok(columns)
        } else {
            Err(MeterError::Columns(line.chars().take(80).collect()))
        }
    }

    /// Parses one line of numbers; `None` if it has another form.
    pub fn sample(&self, line: &str) -> Option<MeterSample> {
        let cells: Vec<_> = line.trim().split(self.separator).collect();
        let value = |column: Option<Column>| {
            let column = column?;
            let cell = cells.get(column.at)?.trim().trim_matches('"');
            let number = if self.separator == ',' {
                cell.parse::<f64>()
            } else {
                cell.replace(',', ".").parse::<f64>()
            };
            number
                .ok()
                .map(|n| n * column.scale)
                .filter(|n| n.is_finite())
        };
        let (volts, amperes) = (value(self.volts), value(self.amperes));
        let product = || Some(volts? * amperes?).filter(|n| n.is_finite());
        Some(MeterSample {
            seconds: value(self.seconds),
            watts: if self.watts.is_some() {
                value(self.watts)?
            } else {
                product()?
            },
            volts,
            amperes,
        })
    }
}

/// The name and the scale out of a title such as `Current(mA)`, `"Power [W]"` or `voltage_mV`.
fn title(text: &str) -> (String, f64) {
    let text = text
        .trim()
        .trim_matches('"')
        .replace(['(', '[', ')', ']', '_', '/'], " ");
    let words: Vec<_> = text.split_whitespace().collect();
    let scale = |unit: &str| match unit {
        "mA" | "mV" | "mW" | "ms" => Some(1e-3),
        "uA" | "µA" | "uV" | "uW" | "µW" | "us" => Some(1e-6),
        "A" | "V" | "W" | "s" | "S" | "sec" => Some(1.0),
        _ => None,
    };
    match words.split_last() {
        Some((unit, name)) if !name.is_empty() => match scale(unit) {
            Some(scale) => (name.join(" ").to_lowercase(), scale),
            None => (words.join(" ").to_lowercase(), 1.0),
        },
        _ => (words.join(" ").to_lowercase(), 1.0),
    }
}

/// A file that is being written by a meter's program.
#[derive(Clone, Debug)]
pub struct MeterFile {
    path: PathBuf,
    offset: u64,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
    columns: Option<Columns>,
}

impl MeterFile {
    /// The file at this path, which may be written later.
    pub fn new(path: &Path) -> Self {
        MeterFile {
            path: path.to_path_buf(),
            offset: 0,
            rest: Vec::new(),
            columns: None,
        }
    }

    /// Returns the samples added since the last call. A shorter file counts as a new one.
    ///
    /// # Errors
    /// `Absent` if the file cannot be read or is not such a table.
    pub fn poll(&mut self) -> Reading<Vec<MeterSample>> {
        let absent = |e: std::io::Error| Absent::file(&self.path, &e);
        let mut file = File::open(&self.path).map_err(absent)?;
        let length = file.metadata().map_err(absent)?.len();
        if length < self.offset {
            (self.offset, self.columns) = (0, None);
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(self.offset)).map_err(absent)?;
        let mut added = Vec::new();
        file.take(MOST_BYTES)
            .read_to_end(&mut added)
            .map_err(absent)?;
        self.offset += added.len() as u64;
        self.take(&added)
    }

    /// Parses bytes appended to the file.
    ///
    /// # Errors
    /// `Absent` if the first line is not that of such a table.
    pub fn take(&mut self, added: &[u8]) -> Reading<Vec<MeterSample>> {
        let mut samples = Vec::new();
        for part in added.split_inclusive(|b| *b == b'\n') {
            if self.rest.len() <= LONGEST_LINE {
                self.rest.extend_from_slice(part);
            }
            if part.last() != Some(&b'\n') {
                continue;
            }
            let bytes = std::mem::take(&mut self.rest);
            let line = String::from_utf8_lossy(&bytes);
            match &self.columns {
                _ if line.trim().is_empty() => {}
                Some(columns) => samples.extend(columns.sample(&line)),
                None => {
                    let columns = Columns::parse(&line);
                    let columns =
                        columns.map_err(|e| Absent(format!("{}: {e}", self.path.display())))?;
                    self.columns = Some(columns);
                }
            }
        }
        Ok(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(text: &str) -> Vec<MeterSample> {
        MeterFile::new(Path::new("m"))
            .take(text.as_bytes())
            .unwrap()
    }

    #[test]
    fn titles_units_and_separators() {
        for text in [
            "time_s,voltage_V,current_A,power_W\n1.5,5.0,0.2,1.0\n",
            "Time(ms),Voltage(mV),Current(mA)\r\n1500,5000,200\r\n",
            "\u{feff}\"Time [s]\";\"U\";\"I [mA]\"\n1,5;5,0;200\n",
            "t\tV\tA\n1.5\t5\t0.2\n",
        ] {
            let all = samples(text);
            assert_eq!(all.len(), 1, "{text}");
            let sample = all[0];
            assert!((sample.watts - 1.0).abs() < 1e-12, "{text}");
            assert_eq!(sample.seconds, Some(1.5), "{text}");
            assert!((sample.amperes.unwrap() - 0.2).abs() < 1e-12, "{text}");
        }
        assert!(Columns::parse("a column,another").is_err());
        assert!(Columns::parse("voltage").is_err());
    }

    #[test]
    fn a_line_counts_when_it_is_whole() {
        let mut file = MeterFile::new(Path::new("m"));
        assert_eq!(file.take(b"pow").unwrap().len(), 0);
        assert_eq!(file.take(b"er\n1.").unwrap().len(), 0);
        let sample = file.take(b"5\nbroken\n2\n3").unwrap();
        assert_eq!(
            sample.iter().map(|s| s.watts).collect::<Vec<_>>(),
            [1.5, 2.0]
        );
    }
}
