//! Reads the reports of iostat: a table for each interval, a row for each disk.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use thiserror::Error;

/// A sector of iostat's older columns, bytes.
const SECTOR: f64 = 512.0;
const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;
/// Largest rate that is believed, in the unit of its column: a thousand times what any disk does.
const MOST_RATE: f64 = 1e12;

/// Why output of iostat cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IostatError {
    /// No table of devices.
    #[error("{0} has no table of iostat; record one with `iostat -x -k 60 > FILE`")]
    NoTable(String),
    /// A table without the columns for writes.
    #[error(
        "{file}:{line}: the table has no {column}; record it with `iostat -x -k 60`, whose extended table has it"
    )]
    NoColumn {
        /// File.
        file: String,
        /// Line of the head of the table, from 1; 0 in JSON.
        line: usize,
        /// Missing column.
        column: &'static str,
    },
    /// A cell that is no number, or no rate of a disk.
    #[error("{file}:{line}: `{text}` is not a rate; was the file edited or cut off?")]
    NotANumber {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Text of the cell.
        text: String,
    },
    /// JSON that sysstat did not write.
    #[error("{file}: {why}; record it with `iostat -x -k -o JSON 60`")]
    Json {
        /// File.
        file: String,
        /// Reason.
        why: String,
    },
}

/// One interval of one disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// Writes per second, as the device got them.
    pub writes_per_s: f64,
    /// Bytes written per second.
    pub bytes_per_s: f64,
    /// Flushes per second; `None` if this iostat does not count them.
    pub flushes_per_s: Option<f64>,
}

/// The intervals of one disk.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiskLoad {
    /// Name, such as `mmcblk0`.
    pub disk: String,
    /// Intervals of equal length, in the order of the file. The first report of iostat, an average since the machine
    /// started, is not among them if others follow.
    pub intervals: Vec<Interval>,
}

impl DiskLoad {
    /// Means of all intervals.
    pub fn mean(&self) -> Interval {
        let count = self.intervals.len().max(1) as f64;
        let sum = |of: fn(&Interval) -> f64| self.intervals.iter().map(of).sum::<f64>() / count;
        let flushes = self.intervals.iter().all(|i| i.flushes_per_s.is_some());
        Interval {
            writes_per_s: sum(|i| i.writes_per_s),
            bytes_per_s: sum(|i| i.bytes_per_s),
            flushes_per_s: flushes.then(|| sum(|i| i.flushes_per_s.unwrap_or(0.0))),
        }
    }
}

/// Reads the output of `iostat -x`, with any of `-k`, `-m`, `-t`, `-y`, `-z` and `-o JSON`. `file` is its name in
/// messages. Disks are in the order of their names.
///
/// # Errors
/// [`IostatError`] if it is not such output.
pub fn parse(file: &str, text: &str) -> Result<Vec<DiskLoad>, IostatError> {
    let reports = match text.trim_start().starts_with('{') {
        true => json_reports(file, text)?,
        false => text_reports(file, text)?,
    };
    if reports.is_empty() {
        return Err(IostatError::NoTable(file.to_string()));
    }
    let since_start = usize::from(reports.len() > 1);
    let mut disks: BTreeMap<String, Vec<Interval>> = BTreeMap::new();
    let later = &reports[since_start..];
    for report in later {
        for name in report.keys() {
            disks.entry(name.clone()).or_default();
        }
    }
    // With -z a disk without I/O has no row: that interval is zero.
    for report in later {
        for (name, intervals) in &mut disks {
            intervals.push(report.get(name).copied().unwrap_or_default());
        }
    }
    let loads = disks
        .into_iter()
        .map(|(disk, intervals)| DiskLoad { disk, intervals });
    Ok(loads.collect())
}

/// One report: the row of each disk.
type Report = BTreeMap<String, Interval>;

/// Columns of a table in which the numbers are.
struct Columns {
    writes: usize,
    bytes: (usize, f64),
    flushes: Option<usize>,
}

impl Columns {
    /// The columns of a head; the number of words is that of a row.
    fn of(file: &str, line: usize, head: &[&str]) -> Result<Self, IostatError> {
        let at = |name: &str| head.iter().position(|word| *word == name);
        let missing = |column| IostatError::NoColumn {
            file: file.to_string(),
            line,
            column,
        };
        let bytes = [("wkB/s", KIB), ("wMB/s", MIB), ("wsec/s", SECTOR)];
        let bytes = bytes
            .iter()
            .find_map(|(name, unit)| Some((at(name)?, *unit)));
        Ok(Columns {
            writes: at("w/s").ok_or_else(|| missing("w/s"))?,
            bytes: bytes.ok_or_else(|| missing("wkB/s"))?,
            flushes: at("f/s"),
        })
    }
}

fn text_reports(file: &str, text: &str) -> Result<Vec<Report>, IostatError> {
    let mut reports: Vec<Report> = Vec::new();
    let mut columns: Option<Columns> = None;
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.first() {
            Some(&("Device" | "Device:")) => {
                columns = Some(Columns::of(file, number + 1, &words)?);
                reports.push(Report::new());
            }
            Some(disk) => {
                if let (Some(columns), Some(report)) = (&columns, reports.last_mut()) {
                    let row = row(file, number + 1, &words, columns)?;
                    report.insert((*disk).to_string(), row);
                }
            }
            // An empty line ends a table.
            None => columns = None,
        }
    }
    Ok(reports)
}

fn row(
    file: &str,
    line: usize,
    words: &[&str],
    columns: &Columns,
) -> Result<Interval, IostatError> {
    let number = |index: usize| {
        let text = words.get(index).copied().unwrap_or("");
        // Some languages write a comma.
        let number = text.replace(',', ".").parse::<f64>().ok();
        let number = number.filter(|n| (0.0..=MOST_RATE).contains(n));
        number.ok_or_else(|| IostatError::NotANumber {
            file: file.to_string(),
            line,
            text: text.to_string(),
        })
    };
    Ok(Interval {
        writes_per_s: number(columns.writes)?,
        bytes_per_s: number(columns.bytes.0)? * columns.bytes.1,
        flushes_per_s: columns.flushes.map(number).transpose()?,
    })
}

fn json_reports(file: &str, text: &str) -> Result<Vec<Report>, IostatError> {
    let wrong = |why: String| IostatError::Json {
        file: file.to_string(),
        why,
    };
    let root: Value = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    let statistics = root.pointer("/sysstat/hosts/0/statistics");
    let statistics = statistics.and_then(Value::as_array);
    let statistics = statistics.ok_or_else(|| wrong("this JSON is not from iostat".to_string()))?;
    let disks = statistics.iter().filter_map(|s| s.get("disk")?.as_array());
    disks
        .map(|rows| rows.iter().map(|row| json_row(file, row)).collect())
        .collect()
}

fn json_row(file: &str, row: &Value) -> Result<(String, Interval), IostatError> {
    let columns = ["w/s", "wkB/s", "wMB/s", "wsec/s", "f/s"];
    for column in columns {
        let value = row.get(column).and_then(Value::as_f64);
        if value.is_some_and(|value| !(0.0..=MOST_RATE).contains(&value)) {
            return Err(IostatError::Json {
                file: file.to_string(),
                why: format!("`{column}` of a disk is not a rate"),
            });
        }
    }
    let number = |name: &str| row.get(name).and_then(Value::as_f64);
    let missing = |column| IostatError::NoColumn {
        file: file.to_string(),
        line: 0,
        column,
    };
    let bytes = [("wkB/s", KIB), ("wMB/s", MIB), ("wsec/s", SECTOR)];
    let bytes = bytes
        .iter()
        .find_map(|(name, unit)| Some(number(name)? * unit));
    let name = row.get("disk_device").and_then(Value::as_str);
    Ok((
        name.ok_or_else(|| missing("disk_device"))?.to_string(),
        Interval {
            writes_per_s: number("w/s").ok_or_else(|| missing("w/s"))?,
            bytes_per_s: bytes.ok_or_else(|| missing("wkB/s"))?,
            flushes_per_s: number("f/s"),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sysstat 12.6, `iostat -x -k 60`, shortened to the columns around those that are read.
    const TEXT: &str = "\
Linux 6.1.0 (pi) \t11/28/26 \t_aarch64_\t(4 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    1.00    0.50    0.00   97.50

Device            r/s     rkB/s     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     f/s f_await  %util
mmcblk0          9.00    100.00   90.00    900.00     1.00   0.00    1.00    10.00    1.00    5.00   1.00

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    1.00    0.50    0.00   97.50

Device            r/s     rkB/s     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     f/s f_await  %util
mmcblk0          0.00      0.00   20.00    200.00     1.00   0.00    1.00    10.00    2.00    5.00   1.00
sda              0.00      0.00    0.00      0.00     1.00   0.00    1.00     0.00    0.00    5.00   1.00

Device            r/s     rkB/s     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     f/s f_await  %util
mmcblk0          0.00      0.00   10,00     40,00     1.00   0.00    1.00    10.00    0.00    5.00   1.00
";

    #[test]
    fn the_report_since_the_start_is_left_out_and_absent_rows_are_zero() {
        let disks = parse("t", TEXT).unwrap();
        assert_eq!(disks[0].disk, "mmcblk0");
        let mean = disks[0].mean();
        assert_eq!(mean.writes_per_s, 15.0);
        assert_eq!(mean.bytes_per_s, 120.0 * 1024.0);
        assert_eq!(mean.flushes_per_s, Some(1.0));
        assert_eq!(disks[1].intervals.len(), 2);
    }

    #[test]
    fn older_columns_and_other_units_are_read() {
        let old = "Device:  rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz %util\nsda 0.00 1.00 0.00 4.00 0.00 32.00 8.00 0.10\n";
        let mean = parse("t", old).unwrap()[0].mean();
        assert_eq!((mean.writes_per_s, mean.bytes_per_s), (4.0, 16384.0));
        assert_eq!(mean.flushes_per_s, None);
        let mega = "Device r/s w/s rMB/s wMB/s\nsda 0 4 0 2\n";
        assert_eq!(parse("t", mega).unwrap()[0].mean().bytes_per_s, 2.0 * MIB);
    }

    #[test]
    fn json_is_read_as_the_text_is() {
        let report = |w: f64| {
            format!(
                "{{\"disk\": [{{\"disk_device\": \"sda\", \"r/s\": 0, \"w/s\": {w}, \"wkB/s\": 8.0, \"f/s\": 1}}]}}"
            )
        };
        let text = format!(
            "{{\"sysstat\": {{\"hosts\": [{{\"statistics\": [{}, {}]}}]}}}}",
            report(99.0),
            report(2.0)
        );
        let disks = parse("t", &text).unwrap();
        assert_eq!(disks[0].mean().writes_per_s, 2.0);
    }

    #[test]
    fn other_text_is_refused_with_line_and_remedy() {
        assert!(matches!(parse("t", "hello"), Err(IostatError::NoTable(_))));
        let plain = "\nDevice tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 1 2 3 4 5\n";
        let error = parse("t", plain).unwrap_err().to_string();
        assert!(
            error.starts_with("t:2:") && error.contains("iostat -x"),
            "{error}"
        );
        let cut = "Device r/s w/s rkB/s wkB/s\nsda 0 4\n";
        assert!(parse("t", cut).unwrap_err().to_string().starts_with("t:2:"));
        assert!(parse("t", "{\"a\": 1}").is_err());
        assert!(parse("t", "{").is_err());
    }
}
