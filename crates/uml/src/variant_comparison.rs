//! Compares variants of one file system with its default: the gain of each for a workload, as rows of a
//! table and in a sentence. It evaluates cells and errors of runs; it runs nothing.

use crate::cell::Cell;
use crate::filesystem::FileSystem;
use crate::variants::{AT_ONE_AU, Variant};
use nandscope_result::{Conclusion, DataColumn, DataRow, DataTable, Figure};
use nandscope_units::number::duration;
use std::error::Error;

/// Share of the time below which a variant is not worth changing an option.
const WORTH: f64 = 0.02;

/// A cell of a sweep, or what went wrong in it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// Variant of the cell.
    pub variant: &'a Variant,
    /// The cell, or the error of a failed run.
    pub result: Result<&'a Cell, &'a dyn Error>,
}

/// Result of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    /// Variant of the row.
    pub variant: &'a Variant,
    /// Duration of the work in seconds, mean over the seeds; `None` if a cell failed.
    pub seconds: Option<f64>,
    /// That over the default's.
    pub ratio: Option<f64>,
    /// Whether the next two are known: the card is simulated.
    pub is_simulated: bool,
    /// Bytes in flash per byte to the card, mean over the seeds.
    pub card: f64,
    /// Number of reopened allocation units, mean over the seeds.
    pub reopened: f64,
    /// Why it failed.
    pub failure: Option<String>,
}

/// A row for each variant, in the order in which they come first.
pub fn rows<'a>(outcomes: &[Outcome<'a>]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for outcome in outcomes {
        if rows.iter().all(|row| row.variant != outcome.variant) {
            let mine = outcomes.iter().filter(|o| o.variant == outcome.variant);
            rows.push(row(outcome.variant, mine.map(|o| o.result)));
        }
    }
    let default = rows.iter().find(|row| row.variant.is_default());
    let reference = default.and_then(|row| row.seconds).filter(|s| *s > 0.0);
    for row in &mut rows {
        row.ratio = row.seconds.zip(reference).map(|(own, of)| own / of);
    }
    rows
}

fn row<'a>(
    variant: &'a Variant,
    results: impl Iterator<Item = Result<&'a Cell, &'a dyn Error>>,
) -> Row<'a> {
    let (mut cells, mut failure) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(cell) => cells.push(cell),
            Err(why) => failure = failure.or_else(|| Some(why.to_string())),
        }
    }
    let mean = |of: &dyn Fn(&Cell) -> f64| {
        cells.iter().map(|cell| of(cell)).sum::<f64>() / cells.len().max(1) as f64
    };
    Row {
        variant,
        seconds: failure.is_none().then(|| mean(&|c| c.time.as_secs_f64())),
        ratio: None,
        is_simulated: cells.iter().all(|cell| cell.is_simulated()),
        card: mean(&|c| c.counters.write_amplification()),
        reopened: mean(&|c| c.pattern.reopened_units() as f64),
        failure,
    }
}

/// The fastest of the rows that came to their end; the first of several.
pub fn best<'r, 'a>(rows: impl IntoIterator<Item = &'r Row<'a>>) -> Option<&'r Row<'a>>
where
    'a: 'r,
{
    let done = rows.into_iter().filter_map(|row| Some((row, row.seconds?)));
    done.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(row, _)| row)
}

/// The best variant and its gain in a sentence or two; `None` if the default failed.
pub fn finding(rows: &[Row]) -> Option<String> {
    let default = rows.iter().find(|row| row.variant.is_default())?;
    let reference = default.seconds?;
    let others = || rows.iter().filter(|row| !row.variant.is_default());
    let options = || others().filter(|row| row.variant.partition.is_none());
    let mut text = match best(options()).and_then(|row| Some((row, row.ratio?, row.seconds?))) {
        None => "no variant completed.".to_string(),
        Some((row, ratio, _)) if ratio > 1.0 - WORTH => format!(
            "no option saves more than {:.0} % of the time; the best is {} (`{}`, {}).",
            WORTH * 100.0,
            row.variant.name,
            row.variant.options(),
            change(ratio)
        ),
        Some((row, ratio, seconds)) => {
            let place = others().find(|r| r.variant.name == AT_ONE_AU);
            let by_place = place.and_then(|r| r.ratio).map_or(0.0, |r| (r - 1.0).abs());
            let caution = if 1.0 - ratio <= by_place {
                ", which is not more than the effect of another aligned offset"
            } else {
                ""
            };
            let flash = if row.is_simulated {
                format!(
                    "; the card writes {:.1} bytes for each instead of {:.1}",
                    row.card, default.card
                )
            } else {
                String::new()
            };
            format!(
                "of the options {} (`{}`: {}) helps most{caution}: {} instead of {}, {}{flash}.",
                row.variant.name,
                row.variant.options(),
                row.variant.purpose,
                duration(seconds),
                duration(reference),
                change(ratio)
            )
        }
    };
    text.push_str(&places(rows).unwrap_or_default());
    Some(text)
}

/// Effect of the partition's location: one that starts at an AU is compared with the whole card, and the
/// others with that one, since a partition alone can change more than its alignment.
fn places(rows: &[Row]) -> Option<String> {
    let aligned = rows.iter().find(|row| row.variant.name == AT_ONE_AU)?;
    let (seconds, ratio) = (aligned.seconds?, aligned.ratio?);
    let mut text = format!(
        " A partition that begins with an AU takes {} ({})",
        duration(seconds),
        change(ratio)
    );
    let others: Vec<_> = rows
        .iter()
        .filter(|row| row.variant.partition.is_some() && row.variant.name != AT_ONE_AU)
        .filter_map(|row| {
            let against = row.seconds? / seconds.max(1e-9);
            Some(format!("{} {}", row.variant.name, change(against)))
        })
        .collect();
    if !others.is_empty() {
        text.push_str(&format!("; against that, {}", others.join(", ")));
    }
    Some(text + ".")
}

/// A ratio of times in words.
fn change(ratio: f64) -> String {
    match (ratio - 1.0) * 100.0 {
        c if c <= -0.5 => format!("{:.0} % less time", -c),
        c if c >= 0.5 => format!("{c:.0} % more time"),
        _ => "the same time".to_string(),
    }
}

/// The rows as a table of the result document; cells are empty where a variant failed.
pub fn table(rows: &[Row]) -> DataTable {
    let column = |name: &str, unit: &str| DataColumn {
        name: name.to_string(),
        unit: unit.to_string(),
    };
    DataTable {
        title: "Variants of mkfs options and alignment".to_string(),
        corner: "Variant".to_string(),
        columns: vec![
            column("Time", "s"),
            column("Time over the default's", ""),
            column("Write amplification of the card", ""),
            column("Allocation units reopened", ""),
        ],
        rows: rows
            .iter()
            .map(|row| {
                let done = |value: f64| row.seconds.filter(|_| row.is_simulated).map(|_| value);
                DataRow {
                    label: row.variant.label(),
                    cells: vec![row.seconds, row.ratio, done(row.card), done(row.reopened)],
                }
            })
            .collect(),
    }
}

/// Ratios of the variants' times to the default's, a figure for each that ended.
pub fn figures(workload: &str, fs: FileSystem, rows: &[Row]) -> Vec<Figure> {
    let others = rows.iter().filter(|row| !row.variant.is_default());
    others
        .filter_map(|row| {
            Some(Figure {
                id: format!(
                    "fs.{workload}-{}-{}.over-default",
                    fs.name(),
                    row.variant.slug()
                ),
                title: format!(
                    "{workload}, {}, {}: time over the default's",
                    fs.title(),
                    row.variant.name
                ),
                value: row.ratio?,
                ..Figure::default()
            })
        })
        .collect()
}

/// The finding as a conclusion of the result document.
pub fn conclusion(workload: &str, fs: FileSystem, rows: &[Row]) -> Option<Conclusion> {
    let fastest = best(rows)?;
    Some(Conclusion {
        id: format!("fs.{workload}-{}.options", fs.name()),
        question: format!("{workload}, {}: the fastest variant", fs.title()),
        answer: fastest.variant.label(),
        evidence: finding(rows)?.replace('`', ""),
        ..Conclusion::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variants::variants;
    use nandscope_units::Bytes;

    /// Rows with these ratios, the default first; `None` means failed.
    fn made<'a>(all: &'a [Variant], ratios: &[(&str, Option<f64>)]) -> Vec<Row<'a>> {
        let row = |(name, ratio): &(&str, Option<f64>)| Row {
            variant: all.iter().find(|v| v.name == *name).unwrap(),
            seconds: ratio.map(|r| r * 10.0),
            ratio: *ratio,
            is_simulated: true,
            card: 4.0,
            reopened: 1.0,
            failure: ratio.is_none().then(|| "too small device".to_string()),
        };
        ratios.iter().map(row).collect()
    }

    #[test]
    fn the_finding_names_the_best_option_and_every_place() {
        let all = variants(FileSystem::Ext4, Bytes::mib(8), Bytes::kib(64));
        let rows = made(
            &all,
            &[
                ("default", Some(1.0)),
                ("no journal", Some(0.7)),
                ("64 joined groups", None),
                ("no joined groups", Some(1.2)),
                (AT_ONE_AU, Some(1.1)),
                ("at 1 MiB", Some(0.55)),
                ("at sector 63", Some(1.32)),
            ],
        );
        let text = finding(&rows).unwrap();
        assert!(
            text.contains("helps most: 7.00 s instead of 10.0 s, 30 % less time"),
            "{text}"
        );
        assert!(
            text.contains(
                "with an AU takes 11.0 s (10 % more time); against that, at 1 MiB 50 % less time, at sector 63 20 % more time."
            ),
            "{text}"
        );
        assert!(
            text.starts_with("of the options no journal (`-O ^has_journal`: "),
            "{text}"
        );
        // The best variant may be an alignment; a failed variant is excluded.
        assert_eq!(best(&rows).unwrap().variant.name, "at 1 MiB");
        let table = table(&rows);
        assert_eq!(table.rows[2].cells, [None, None, None, None]);
        assert_eq!(
            table.rows[1].cells,
            [Some(7.0), Some(0.7), Some(4.0), Some(1.0)]
        );
        let figures = figures("untar", FileSystem::Ext4, &rows);
        assert_eq!(figures.len(), 5);
        assert_eq!(figures[0].id, "fs.untar-ext4-no-journal.over-default");
    }

    #[test]
    fn small_differences_are_not_praised() {
        let all = variants(FileSystem::Ext4, Bytes::mib(8), Bytes::kib(64));
        let one = [("default", Some(1.0)), ("no journal", Some(0.99))];
        let text = finding(&made(&all, &one)).unwrap();
        assert!(text.starts_with("no option saves more than 2 %"), "{text}");
        let two = [
            ("default", Some(1.0)),
            ("no journal", Some(0.9)),
            (AT_ONE_AU, Some(1.15)),
        ];
        let text = finding(&made(&all, &two)).unwrap();
        assert!(
            text.contains("not more than the effect of another aligned offset"),
            "{text}"
        );
        assert_eq!(finding(&made(&all, &[("default", None)])), None);
    }

    #[test]
    fn a_variant_without_a_default_beside_it_has_no_ratio() {
        let all = variants(FileSystem::F2fs, Bytes::mib(8), Bytes::kib(64));
        let error = std::io::Error::other("the tool's words");
        let outcomes: Vec<_> = all[..2]
            .iter()
            .map(|variant| Outcome {
                variant,
                result: Err(&error),
            })
            .collect();
        let rows = rows(&outcomes);
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!((row.seconds, row.ratio), (None, None));
            assert_eq!(row.failure.as_deref(), Some("the tool's words"));
        }
    }
}
