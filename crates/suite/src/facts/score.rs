//! Score of the rows that no parameter was chosen by: share met and errors, by kind of measurement and by class of
//! device. Bounds, and values that link or host set, are easy to meet and are counted apart.

use super::page::Score;
use super::{Basis, Comparison, Row, measured, series};
use crate::step_runner::SuiteError;
use nandscope_result::Relation;
use nandscope_units::number::significant;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Kind of a compared row, by what meeting it proves about the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A value or a range, of the device itself.
    Value,
    /// A bound on one side.
    Bound,
    /// A value that link or host set.
    Limited,
}

impl Evidence {
    /// The kind of a row, calibrated or predicted.
    pub fn of(row: &Row) -> Self {
        match row.published.op {
            _ if row.limited => Evidence::Limited,
            Relation::Below | Relation::AtMost | Relation::Above | Relation::AtLeast => {
                Evidence::Bound
            }
            _ => Evidence::Value,
        }
    }
}

/// Kinds of measurements, in the order of the table.
const KINDS: [&str; 8] = [
    "sequential",
    "random read",
    "random write",
    "mixed and traces",
    "percentiles",
    "power",
    "fill",
    "sizes and other",
];

/// Error below which a row is near enough for many uses, as a share.
const NEAR: f64 = 0.2;

/// Kind of a row, by the identifier and the unit of its figure.
fn kind(row: &Row) -> &'static str {
    let id = row.figure.id.as_str();
    let has = |words: &[&str]| words.iter().any(|word| id.contains(word));
    match row.figure.unit.as_str() {
        "W" | "MB/s/W" | "mW" | "J" => return "power",
        _ if has(&["power", "efficiency"]) => return "power",
        _ if has(&["fill.", ".plateau", "fio.fresh.write", "fio.write"]) => return "fill",
        _ if has(&[".p1", ".p25", ".p5", ".p75", ".p9"]) => return "percentiles",
        _ if has(&["atsb", "trace", "folder"]) => return "mixed and traces",
        _ => {}
    }
    let is_write = has(&["write"]);
    match () {
        () if has(&["rand", "rnd4k", "burst.", "sustained."]) && is_write => "random write",
        () if has(&["rand", "rnd4k", "burst.", "sustained."]) => "random read",
        () if row.figure.unit == "MB/s" && (is_write || has(&["read", "seq"])) => "sequential",
        () => "sizes and other",
    }
}

/// Classes of devices, in the order of the table.
const CLASSES: [&str; 4] = ["memory card", "eMMC", "SATA drive", "NVMe drive"];

/// Class of a device, by its first link that decides.
fn class(device: &str) -> &'static str {
    let links = measured::spec(device).map_or_else(
        |_| Vec::new(),
        |spec| spec.profile.interface.into_iter().map(|i| i.link).collect(),
    );
    let any = |start: &str| links.iter().any(|link: &String| link.starts_with(start));
    match () {
        () if any("sd-") || any("uhs") => "memory card",
        () if any("emmc") => "eMMC",
        () if any("sata") => "SATA drive",
        () => "NVMe drive",
    }
}

/// Rows with a score: number and share met, median error, share near the value.
#[derive(Default)]
struct Group {
    score: Score,
    /// Absolute errors as shares, of rows with one value.
    errors: Vec<f64>,
}

impl Group {
    fn add(&mut self, row: &Row) {
        self.score.count(row.published.met);
        if row.published.op != Relation::Range {
            self.errors
                .extend(row.error_percent().map(|e| e.abs() / 100.0));
        }
    }

    fn median_error(&self) -> Option<f64> {
        let mut sorted = self.errors.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            n if n % 2 == 1 => Some(sorted[middle]),
            _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
        }
    }

    fn near(&self) -> Option<f64> {
        let near = self.errors.iter().filter(|e| **e <= NEAR).count();
        (!self.errors.is_empty()).then(|| near as f64 / self.errors.len() as f64)
    }

    fn line(&self, name: &str) -> String {
        let percent = |share: Option<f64>| match share {
            Some(share) => significant(share * 100.0, 3, 0),
            None => "–".to_string(),
        };
        let met = self.score.met as f64 / self.score.all.max(1) as f64;
        format!(
            "| {name} | {} | {} | {} | {} |\n",
            self.score,
            percent(Some(met)),
            percent(self.median_error()),
            percent(self.near())
        )
    }
}

/// Tables of the predicted rows of all devices, by kind and by class.
pub fn predicted<'a>(devices: impl Iterator<Item = (&'a str, &'a Comparison)>) -> String {
    let rows: Vec<(&str, &Row)> = devices
        .flat_map(|(name, comparison)| {
            let class = class(name);
            comparison.rows.iter().map(move |row| (class, row))
        })
        .filter(|(_, row)| row.basis == Basis::Predicted)
        .collect();
    let group = |of: &dyn Fn(&(&str, &Row)) -> bool| {
        let mut group = Group::default();
        rows.iter()
            .filter(|row| of(row))
            .for_each(|(_, row)| group.add(row));
        group
    };
    let is = |evidence: Evidence| move |(_, row): &(&str, &Row)| Evidence::of(row) == evidence;
    let values = is(Evidence::Value);
    let mut text = String::from(
        "| values not used in fitting | met | met, % | median error, % | within 20 %, % |\n|---|---|---|---|---|\n",
    );
    text.push_str(&group(&values).line("all"));
    for name in KINDS {
        let of_kind = group(&|row| values(row) && kind(row.1) == name);
        if of_kind.score.all > 0 {
            text.push_str(&of_kind.line(name));
        }
    }
    for name in CLASSES {
        let of_class = group(&|row| values(row) && row.0 == name);
        if of_class.score.all > 0 {
            text.push_str(&of_class.line(name));
        }
    }
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\nCounted apart, because they are easy to meet: {} bounds on one side, and {} values that link or host set.\n",
        group(&is(Evidence::Bound)).score,
        group(&is(Evidence::Limited)).score,
    );
    text
}

/// Number of rows of recorded series, and a table of their scores by class of device and by device.
///
/// # Errors
/// `Facts` if the series cannot be read.
pub fn recorded<'a>(
    devices: impl Iterator<Item = (&'a str, &'a Comparison)>,
) -> Result<String, SuiteError> {
    let ids: BTreeSet<String> = series::facts()?.into_iter().map(|fact| fact.id).collect();
    let rows: Vec<(&str, &Row)> = devices
        .flat_map(|(name, comparison)| comparison.rows.iter().map(move |row| (name, row)))
        .filter(|(_, row)| ids.contains(&row.published.fact))
        .collect();
    let mut text = format!(
        "{} rows are of recorded series:\n\n\
        | recorded series | values not used in fitting | set by link or host | used in fitting |\n|---|---|---|---|\n",
        rows.len()
    );
    text.push_str(&recorded_line("all", &rows));
    let devices: Vec<&[(&str, &Row)]> = rows.chunk_by(|a, b| a.0 == b.0).collect();
    for name in CLASSES {
        let of_class = devices.iter().filter(|rows| class(rows[0].0) == name);
        let of_class: Vec<(&str, &Row)> = of_class.flat_map(|rows| rows.iter().copied()).collect();
        if !of_class.is_empty() {
            text.push_str(&recorded_line(name, &of_class));
        }
    }
    for rows in devices {
        text.push_str(&recorded_line(rows[0].0, rows));
    }
    Ok(text)
}

/// Rows met of the values not used in fitting, of those of them that link or host set, and of the fitted ones.
fn recorded_line(name: &str, rows: &[(&str, &Row)]) -> String {
    let (mut values, mut limited, mut fitted) =
        (Score::default(), Score::default(), Score::default());
    for (_, row) in rows {
        let score = match (&row.basis, Evidence::of(row)) {
            (Basis::Calibrated(_), _) => &mut fitted,
            (Basis::Predicted, Evidence::Limited) => &mut limited,
            (Basis::Predicted, _) => &mut values,
        };
        score.count(row.published.met);
    }
    format!("| {name} | {values} | {limited} | {fitted} |\n")
}
