//! Reads tables of flashbench recorded on real cards: `facts/flashbench/*.csv`, one number per line, columns identified by their
//! headings. Fields contain no quotes and no commas.

use super::RecordError;
use super::boundary::{AlignRow, medians};
use crate::quantile::median;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::str::FromStr;

/// Identifies a run of a card.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    /// Name of the card, such as `wb-card03`.
    pub card: String,
    /// Number of the run.
    pub run: u32,
}

/// All recorded runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// `flashbench -a`: a table for each trial.
    pub align: BTreeMap<RunId, Vec<RecordedAlign>>,
    /// `flashbench --open-au`: rates of linear and random order.
    pub open_au: BTreeMap<RunId, Vec<RecordedRate>>,
    /// `flashbench --find-fat`: rates of the first AUs.
    pub find_fat: BTreeMap<RunId, Vec<RecordedUnit>>,
}

/// One trial of `flashbench -a`.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAlign {
    /// Number of the trial.
    pub trial: u32,
    /// Length of a read, bytes.
    pub block: u64,
    /// Reads of each place.
    pub tries: u32,
    /// Rows in the printed order.
    pub rows: Vec<AlignRow>,
}

/// One rate of `flashbench --open-au`.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRate {
    /// `linear` or `random`, possibly followed by a remark.
    pub mode: String,
    /// Interleaved AUs.
    pub units: u32,
    /// AU size given to flashbench, bytes.
    pub unit: u64,
    /// Length of a piece, bytes.
    pub length: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

/// One rate of `flashbench --find-fat`.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedUnit {
    /// Number of the trial.
    pub trial: u32,
    /// Length of a piece, bytes.
    pub length: u64,
    /// Number of the AU, from 0.
    pub unit: u32,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

impl Recorded {
    /// Adds the tables of an `align.csv`; `name` is the file name in errors.
    ///
    /// # Errors
    /// [`RecordError`] with the file, line and column that cannot be read.
    pub fn read_align(&mut self, name: &str, text: &str) -> Result<(), RecordError> {
        for line in lines(name, text)? {
            let row = AlignRow {
                align: line.number("align_bytes")?,
                // Times cut off at the edge of a screen are missing; the difference is always there.
                pre_us: line.optional("pre_us")?.unwrap_or(f64::NAN),
                on_us: line.optional("on_us")?.unwrap_or(f64::NAN),
                post_us: line.optional("post_us")?.unwrap_or(f64::NAN),
                diff_us: line.number("diff_us")?,
                off_boundary: 0,
            };
            let (trial, block, tries) = (
                line.number("trial")?,
                line.number("blocksize")?,
                line.number("count")?,
            );
            let tables = self.align.entry(line.run()?).or_default();
            match tables.iter_mut().find(|t| t.trial == trial) {
                Some(table) => table.rows.push(row),
                None => tables.push(RecordedAlign {
                    trial,
                    block,
                    tries,
                    rows: vec![row],
                }),
            }
        }
        Ok(())
    }

    /// Adds the rates of an `openau.csv`.
    ///
    /// # Errors
    /// As [`Recorded::read_align`].
    pub fn read_open_au(&mut self, name: &str, text: &str) -> Result<(), RecordError> {
        for line in lines(name, text)? {
            let rate = RecordedRate {
                mode: line.text("mode")?.to_string(),
                units: line.number("open_aus")?,
                unit: line.number("erasesize")?,
                length: line.number("block_bytes")?,
                bytes_per_s: line.number("bytes_per_s")?,
            };
            self.open_au.entry(line.run()?).or_default().push(rate);
        }
        Ok(())
    }

    /// Adds the rates of a `findfat.csv`.
    ///
    /// # Errors
    /// As [`Recorded::read_align`].
    pub fn read_find_fat(&mut self, name: &str, text: &str) -> Result<(), RecordError> {
        for line in lines(name, text)? {
            let unit = RecordedUnit {
                trial: line.number("trial")?,
                length: line.number("block_bytes")?,
                unit: line.number("erase_block_index")?,
                bytes_per_s: line.number("bytes_per_s")?,
            };
            self.find_fat.entry(line.run()?).or_default().push(unit);
        }
        Ok(())
    }

    /// The table of `flashbench -a` with the median over the trials of the runs in every cell.
    pub fn median_align(&self, runs: &[RunId]) -> Option<Vec<AlignRow>> {
        let tables = runs.iter().filter_map(|r| self.align.get(r)).flatten();
        let rows: Vec<AlignRow> = tables.flat_map(|t| t.rows.iter().copied()).collect();
        (!rows.is_empty()).then(|| medians(&rows))
    }

    /// The rates of `flashbench --find-fat`: the median over the trials, by length from the longest
    /// down, and by unit.
    pub fn find_fat_rates(&self, run: &RunId) -> Option<Vec<Vec<f64>>> {
        let recorded = self.find_fat.get(run)?;
        let mut cells: BTreeMap<(Reverse<u64>, u32), Vec<f64>> = BTreeMap::new();
        for r in recorded {
            let cell = cells.entry((Reverse(r.length), r.unit)).or_default();
            cell.push(r.bytes_per_s);
        }
        let mut rows: BTreeMap<Reverse<u64>, Vec<f64>> = BTreeMap::new();
        for ((length, _), values) in cells {
            rows.entry(length).or_default().push(median(&values));
        }
        Some(rows.into_values().collect())
    }
}

/// A line and the headings of its file.
pub struct Line<'a> {
    name: &'a str,
    number: usize,
    headings: Rc<[&'a str]>,
    fields: Vec<&'a str>,
}

/// All lines after the headings, without empty ones.
///
/// # Errors
/// [`RecordError`] if the text is empty, or a line does not have as many fields as there are columns.
pub fn lines<'a>(name: &'a str, text: &'a str) -> Result<Vec<Line<'a>>, RecordError> {
    let mut all = text.lines().enumerate();
    let Some((_, heading)) = all.next() else {
        return Err(RecordError(format!(
            "{name} is empty; its first line names the columns"
        )));
    };
    let headings: Rc<[&str]> = heading.split(',').collect();
    let mut lines = Vec::new();
    for (i, text) in all.filter(|(_, text)| !text.is_empty()) {
        let fields: Vec<&str> = text.split(',').collect();
        if fields.len() != headings.len() || text.contains('"') {
            return Err(RecordError(format!(
                "{name}, line {}: {} fields for {} columns; fields hold no commas and no quotes",
                i + 1,
                fields.len(),
                headings.len()
            )));
        }
        lines.push(Line {
            name,
            number: i + 1,
            headings: Rc::clone(&headings),
            fields,
        });
    }
    Ok(lines)
}

impl Line<'_> {
    /// The field of a column.
    ///
    /// # Errors
    /// [`RecordError`] if the line has no such column.
    pub fn text(&self, column: &str) -> Result<&str, RecordError> {
        let at = self.headings.iter().position(|h| *h == column);
        at.and_then(|i| self.fields.get(i).copied())
            .ok_or_else(|| RecordError(format!("{} has no column `{column}`", self.name)))
    }

    /// The field of a column as a number.
    ///
    /// # Errors
    /// [`RecordError`] if the line has no such column, or its field is not a valid number.
    pub fn number<N: FromStr + Sane>(&self, column: &str) -> Result<N, RecordError> {
        self.optional(column)?.ok_or_else(|| self.fault(column))
    }

    /// The field of a column as a number; `None` if the field is empty.
    ///
    /// # Errors
    /// [`RecordError`] if the line has no such column, or its field is neither empty nor a valid number.
    pub fn optional<N: FromStr + Sane>(&self, column: &str) -> Result<Option<N>, RecordError> {
        match self.text(column)? {
            "" => Ok(None),
            text => {
                let number = text.parse::<N>().ok().filter(Sane::sane);
                number.map(Some).ok_or_else(|| self.fault(column))
            }
        }
    }

    /// The field of a column as a number above 0.
    ///
    /// # Errors
    /// [`RecordError`] if the line has no such column, or its field is not a valid number.
    pub fn positive(&self, column: &str) -> Result<u64, RecordError> {
        match self.number(column)? {
            0 => Err(self.fault(column)),
            number => Ok(number),
        }
    }

    /// The card and run of the line.
    ///
    /// # Errors
    /// [`RecordError`] if a column of the card or the run is missing or invalid.
    pub fn run(&self) -> Result<RunId, RecordError> {
        Ok(RunId {
            card: self.text("card")?.to_string(),
            run: self.number("run")?,
        })
    }

    fn fault(&self, column: &str) -> RecordError {
        RecordError(format!(
            "{}, line {}: `{}` in column `{column}` is not a valid number",
            self.name,
            self.number,
            self.text(column).unwrap_or_default()
        ))
    }
}

/// Numbers that may be checked for use in calculations.
pub trait Sane {
    /// True if the number is usable: finite.
    fn sane(&self) -> bool;
}

impl Sane for u32 {
    fn sane(&self) -> bool {
        true
    }
}

impl Sane for u64 {
    fn sane(&self) -> bool {
        true
    }
}

impl Sane for f64 {
    fn sane(&self) -> bool {
        self.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_name_file_line_and_column() {
        let head = "card,run,trial,block_bytes,erase_block_index,bytes_per_s\n";
        let cases = [
            ("", "f.csv is empty"),
            ("card,run\nx,1\n", "f.csv has no column `trial`"),
            (
                &format!("{head}x,0,1,4096,0\n"),
                "f.csv, line 2: 5 fields for 6 columns",
            ),
            (
                &format!("{head}x,0,1,4096,0,1\nx,0,1,4096,0,inf\n"),
                "f.csv, line 3: `inf` in column `bytes_per_s`",
            ),
            (&format!("{head}x,0,1,4096,-1,5\n"), "f.csv, line 2: `-1`"),
        ];
        for (text, expected) in cases {
            let error = Recorded::default()
                .read_find_fat("f.csv", text)
                .unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
        }
        let mut good = Recorded::default();
        good.read_find_fat("f.csv", &format!("{head}x,2,1,4096,3,5e6\n"))
            .unwrap();
        let run = RunId {
            card: "x".into(),
            run: 2,
        };
        assert_eq!(good.find_fat[&run][0].bytes_per_s, 5e6);
    }
}
