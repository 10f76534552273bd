//! Measurements from a table of comma-separated values with a header. docs/twins.md lists the columns.

use crate::observation::{Cell, Direction, Figures, Interleaved, Observation, Pattern, State};
use nandscope_units::Bytes;
use nandscope_units::{SizeBase, parse_size};
use thiserror::Error;

/// Columns that a table may have.
pub const COLUMNS: [&str; 16] = [
    "op",
    "pattern",
    "block",
    "depth",
    "jobs",
    "read_percent",
    "region",
    "aus",
    "au",
    "state",
    "order",
    "iops",
    "mb_per_s",
    "p50_us",
    "p90_us",
    "p99_us",
];
/// Most rows of a table.
const MOST_ROWS: usize = 100_000;
/// Largest block, bytes.
const LARGEST_BLOCK: u64 = 1 << 30;

/// A table cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {what}")]
pub struct TableError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, fault and remedy in words.
    pub what: String,
}

/// Reads a table; `file` is for messages. `state` holds for rows without one.
///
/// # Errors
/// [`TableError`] with the first fault: an unknown, missing or repeated column, or a value that is no such quantity.
pub fn read(file: &str, text: &str, state: State) -> Result<Vec<Observation>, TableError> {
    let fault = |line, what: String| TableError {
        file: file.to_string(),
        line,
        what,
    };
    let mut lines = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let Some((at, header)) = lines.next() else {
        let known = COLUMNS.join(",");
        return Err(fault(
            1,
            format!("the table is empty; its first line names columns: {known}"),
        ));
    };
    let header = header.trim_start_matches('\u{feff}');
    let columns = columns(header).map_err(|what| fault(at + 1, what))?;
    let mut observations = Vec::new();
    for (at, line) in lines {
        if observations.len() == MOST_ROWS {
            return Err(fault(
                at + 1,
                format!("more than {MOST_ROWS} rows; leave some out"),
            ));
        }
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let row = match fields.len() == columns.len() {
            true => Row {
                columns: &columns,
                fields: &fields,
            }
            .observation(state),
            false => Err(format!(
                "{} fields in a table of {} columns",
                fields.len(),
                columns.len()
            )),
        };
        let mut row = row.map_err(|what| fault(at + 1, what))?;
        row.place = format!("{file}:{}", at + 1);
        observations.push(row);
    }
    Ok(observations)
}

/// Columns of the table, in its order.
fn columns(header: &str) -> Result<Vec<&'static str>, String> {
    let mut found: Vec<&'static str> = Vec::new();
    for name in header.split(',').map(str::trim) {
        let known = COLUMNS.iter().find(|column| **column == name);
        let Some(known) = known else {
            let near = nandscope_units::nearest(name, COLUMNS.iter().copied(), 3);
            let meant = near
                .first()
                .map_or(String::new(), |n| format!(" (did you mean `{n}`?)"));
            return Err(format!(
                "unknown column `{name}`{meant}; use {}",
                COLUMNS.join(", ")
            ));
        };
        if found.contains(known) {
            return Err(format!("the column `{name}` occurs twice; remove one"));
        }
        found.push(known);
    }
    for needed in ["op", "pattern", "block"] {
        if !found.contains(&needed) {
            return Err(format!("the column `{needed}` is missing; add it"));
        }
    }
    if !found.contains(&"iops") && !found.contains(&"mb_per_s") {
        return Err("no rates: add the column `iops` or `mb_per_s` (10^6 bytes)".to_string());
    }
    Ok(found)
}

/// A line of the table.
struct Row<'a> {
    columns: &'a [&'static str],
    fields: &'a [&'a str],
}

impl Row<'_> {
    /// Text of a field; `None` if it is empty or the table lacks the column.
    fn text(&self, column: &str) -> Option<&str> {
        let at = self.columns.iter().position(|c| *c == column)?;
        let text = self.fields.get(at)?;
        (!text.is_empty()).then_some(*text)
    }

    fn needed(&self, column: &str) -> Result<&str, String> {
        self.text(column)
            .ok_or_else(|| format!("{column}: the field is empty; give a value"))
    }

    /// A number above 0.
    fn positive(&self, column: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        let number = text.parse::<f64>().ok();
        let number = number.filter(|n| n.is_finite() && *n > 0.0 && *n < 1e15);
        let wrong = || format!("{column}: `{text}` is not a number above 0");
        number.map(Some).ok_or_else(wrong)
    }

    fn count(&self, column: &str) -> Result<u32, String> {
        let Some(text) = self.text(column) else {
            return Ok(1);
        };
        let number = text.parse::<u32>().ok();
        let number = number.filter(|n| (1..=65_536).contains(n));
        number.ok_or_else(|| format!("{column}: `{text}` is not a whole number from 1 to 65536"))
    }

    fn size(&self, column: &str) -> Result<Option<Bytes>, String> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        let size = parse_size(text, SizeBase::Binary).map_err(|e| format!("{column}: {e}"))?;
        match size.0 {
            0 => Err(format!(
                "{column}: `{text}` is no size; give at least 512 bytes"
            )),
            n if !n.is_multiple_of(512) => {
                Err(format!("{column}: `{text}` is not a multiple of 512 bytes"))
            }
            _ => Ok(Some(size)),
        }
    }

    fn observation(&self, state: State) -> Result<Observation, String> {
        let block = self.size("block")?;
        let block = block.ok_or("block: the field is empty; give a size such as 4k")?;
        if block.0 > LARGEST_BLOCK {
            return Err(format!("block: {block} is more than 1 GiB"));
        }
        let mb_per_s = self.positive("mb_per_s")?;
        let iops = match (self.positive("iops")?, mb_per_s) {
            (Some(iops), _) => iops,
            (None, Some(mb)) => mb * 1e6 / block.0 as f64,
            (None, None) => return Err("iops: no rate; fill iops or mb_per_s".to_string()),
        };
        let figures = Figures {
            iops,
            p50_us: self.positive("p50_us")?,
            p90_us: self.positive("p90_us")?,
            p99_us: self.positive("p99_us")?,
        };
        Ok(Observation {
            place: String::new(),
            cell: self.cell(block, state)?,
            figures,
            mb_per_s,
            order: match self.text("order") {
                None => None,
                Some(text) => Some(number(text).ok_or(format!("order: `{text}` is not a number"))?),
            },
        })
    }

    fn interleaved(
        &self,
        block: Bytes,
        direction: Direction,
    ) -> Result<Option<Interleaved>, String> {
        if self.text("aus").is_none() {
            return Ok(None);
        }
        let unit = self
            .size("au")?
            .ok_or("au: give the size of the AUs that `aus` counts")?;
        if direction == Direction::Read || block > unit {
            return Err(format!(
                "aus: {direction}s of {block} into AUs of {unit}; use writes that fit"
            ));
        }
        let units = self.count("aus")?;
        Ok(Some(Interleaved { units, unit }))
    }

    fn cell(&self, block: Bytes, state: State) -> Result<Cell, String> {
        let direction = match self.needed("op")? {
            "read" => Direction::Read,
            "write" => Direction::Write,
            other => return Err(format!("op: `{other}`; use read or write")),
        };
        let pattern = match self.needed("pattern")? {
            "random" => Pattern::Random,
            "sequential" => Pattern::Sequential,
            other => return Err(format!("pattern: `{other}`; use random or sequential")),
        };
        let read_percent = match self.text("read_percent") {
            None => None,
            Some(text) => {
                let percent = text.parse::<u8>().ok().filter(|p| *p <= 100);
                let percent = percent.ok_or_else(|| {
                    format!("read_percent: `{text}` is not a whole number from 0 to 100")
                })?;
                let matches = match direction {
                    Direction::Read => percent > 0,
                    Direction::Write => percent < 100,
                };
                if !matches {
                    return Err(format!(
                        "read_percent: {percent} % reads in a row of {direction}s"
                    ));
                }
                Some(percent).filter(|p| (1..=99).contains(p))
            }
        };
        Ok(Cell {
            direction,
            pattern,
            block,
            depth: self.count("depth")?,
            jobs: self.count("jobs")?,
            read_percent,
            region: self.size("region")?,
            interleaved: self.interleaved(block, direction)?,
            state: match self.text("state") {
                None => state,
                Some("fresh") => State::Fresh,
                Some("filled") => State::Filled,
                Some("steady") => State::Steady,
                Some(other) => {
                    return Err(format!("state: `{other}`; use fresh, filled or steady"));
                }
            },
        })
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|n| n.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_cell_with_its_figures() {
        let text = "# a sweep\nop,pattern,block,depth,jobs,iops,mb_per_s,p99_us,order\n\
                    read, random, 4k, 32, 2, 50000, 204.8, 900, 3\nwrite,sequential,1m,,,,100,,\n";
        let rows = read("a.csv", text, State::Filled).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].cell.outstanding(), 64);
        assert_eq!(rows[0].figures.p99_us, Some(900.0));
        assert_eq!(
            (rows[0].place.as_str(), rows[0].order),
            ("a.csv:3", Some(3.0))
        );
        assert!((rows[1].figures.iops - 100e6 / 1_048_576.0).abs() < 1e-9);
        assert_eq!(rows[1].cell.depth, 1);
    }

    #[test]
    fn faults_name_their_line_and_column() {
        let head = "op,pattern,block,depth,iops,read_percent,state\n";
        for (text, part) in [
            ("", ":1: the table is empty"),
            ("op,pattern,block,iosp\n", "did you mean `iops`"),
            ("op,pattern,block\n", "no rates"),
            ("op,op\n", "occurs twice"),
            ("op,block,iops\n", "`pattern` is missing"),
            ("read,random,4k,1\n", ":2: 4 fields in a table of 7 columns"),
            ("read,random,4k,1,nan,,\n", ":2: iops: `nan`"),
            ("read,random,4k,1,-5,,\n", "iops: `-5`"),
            ("read,random,4k,0,5,,\n", "depth: `0`"),
            ("read,random,4q,1,5,,\n", "block: "),
            ("read,random,100,1,5,,\n", "multiple of 512"),
            ("read,random,4k,1,,,\n", "no rate"),
            ("trim,random,4k,1,5,,\n", "op: `trim`"),
            ("read,random,4k,1,5,0,\n", "read_percent: 0 % reads"),
            ("read,random,4k,1,5,,aged\n", "state: `aged`"),
        ] {
            let whole = match text.starts_with("op") || text.is_empty() {
                true => text.to_string(),
                false => format!("{head}{text}"),
            };
            let error = read("a.csv", &whole, State::Filled)
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("a.csv:") && error.contains(part),
                "{error}"
            );
        }
    }
}
