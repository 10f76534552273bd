//! docs/validation.md: scores, misses by reason, closed forms, and measurements that are not compared; and the table of
//! a single device.

use super::{Basis, Comparison, Coverage, Row};
use crate::closed_forms::ClosedForm;
use nandscope_device::profile::{explain, library};
use nandscope_result::{Relation, ToleranceKind};
use nandscope_units::number::significant;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Number of rows within their tolerance, and of all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Number of facts within their tolerance.
    pub met: usize,
    /// Number of all facts.
    pub all: usize,
}

impl Score {
    pub(super) fn count(&mut self, met: bool) {
        self.met += usize::from(met);
        self.all += 1;
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.met, self.all)
    }
}

/// Scores of the two kinds of rows: a calibrated row shows that the model can be fitted to a fact, a predicted row that
/// it agrees without fitting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// Rows with parameters fitted to them.
    pub calibrated: Score,
    /// Rows without fitted parameters.
    pub predicted: Score,
}

impl Scores {
    /// Counts the rows; a check without a figure is not a row, and makes validation fail.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut scores = Scores::default();
        for row in rows {
            match row.basis {
                Basis::Calibrated(_) => scores.calibrated.count(row.published.met),
                Basis::Predicted => scores.predicted.count(row.published.met),
            }
        }
        scores
    }

    /// Scores that count any row, separated by commas.
    fn in_short(&self) -> String {
        let parts = [
            ("predicted", self.predicted),
            ("calibrated", self.calibrated),
        ];
        let counted = parts.iter().filter(|(_, score)| score.all > 0);
        let words: Vec<String> = counted
            .map(|(name, score)| format!("{name} {score}"))
            .collect();
        words.join(", ")
    }

    /// Both scores, one sentence each.
    pub fn in_words(&self) -> String {
        format!(
            "Predicted rows: {} are met. Calibrated rows: {} are met.",
            self.predicted, self.calibrated
        )
    }
}

/// Both scores of all devices together, then of each device by its name.
pub fn all_scores<'a>(devices: impl Iterator<Item = (&'a str, &'a Comparison)> + Clone) -> String {
    let all = Scores::of(devices.clone().flat_map(|(_, c)| &c.rows));
    let mut text = format!(
        "{}\nRows used in fitting: {} are met. By device, bounds and values set by link or host included:\n\n",
        super::score::predicted(devices.clone()),
        all.calibrated
    );
    for (name, comparison) in devices {
        let scores = Scores::of(&comparison.rows);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {name}: {}", scores.in_short());
    }
    text
}

/// Rows whose titles differ in one number only, such as the queue depth: they share a line.
struct Series<'a> {
    rows: Vec<&'a Row>,
}

impl<'a> Series<'a> {
    /// Groups all rows into series, in the order of their first rows.
    fn of(rows: &'a [Row]) -> Vec<Series<'a>> {
        let mut found: Vec<Series> = Vec::new();
        for row in rows {
            match found.iter_mut().find(|series| series.takes(row)) {
                Some(series) => series.rows.push(row),
                None => found.push(Series { rows: vec![row] }),
            }
        }
        found
    }

    fn takes(&self, row: &Row) -> bool {
        let same = |a: &Row, b: &Row| {
            let of = |row: &Row| {
                let mode = row.figure.mode.clone();
                (
                    mode,
                    row.figure.unit.clone(),
                    row.basis.clone(),
                    row.remark.clone(),
                    tolerance(row),
                )
            };
            of(a) == of(b)
        };
        let first = self.rows[0];
        let (Some(known), Some(new)) = (varied(&first.figure.title), varied(&row.figure.title))
        else {
            return false;
        };
        (known.0, known.2) == (new.0, new.2) && same(first, row)
    }

    fn title(&self) -> String {
        let first = &self.rows[0].figure.title;
        match (varied(first), self.rows.len()) {
            (Some((before, _, after)), 2..) => {
                let numbers = self.rows.iter().filter_map(|r| varied(&r.figure.title));
                let numbers: Vec<&str> = numbers.map(|(_, number, _)| number).collect();
                format!("{before}{}{after}", numbers.join(", "))
            }
            _ => first.clone(),
        }
    }

    /// Identifiers of the facts; of more than two consecutive ones only the first and last.
    fn facts(&self) -> String {
        let ids: Vec<&str> = self
            .rows
            .iter()
            .map(|r| r.published.fact.as_str())
            .collect();
        let number = |id: &str| id.rsplit('-').next().and_then(|n| n.parse::<u32>().ok());
        let follow = ids.windows(2).all(|pair| {
            let numbers = number(pair[0]).zip(number(pair[1]));
            numbers.is_some_and(|(a, b)| a + 1 == b)
        });
        match ids[..] {
            [first, _, .., last] if follow && ids.len() > 2 => format!("{first} to {last}"),
            _ => ids.join(", "),
        }
    }

    fn list(&self, of: impl Fn(&Row) -> String) -> String {
        let all: Vec<String> = self.rows.iter().map(|row| of(row)).collect();
        match all.iter().all(|value| *value == all[0]) {
            true => all[0].clone(),
            false => all.join(", "),
        }
    }
}

/// Splits a title at its first number with a binary unit: text before, number, text after.
fn varied(title: &str) -> Option<(&str, &str, &str)> {
    let is_start = |at: &usize| *at == 0 || title.as_bytes()[at - 1] == b' ';
    let digit = |c: char| c.is_ascii_digit();
    let start = title
        .match_indices(digit)
        .map(|(at, _)| at)
        .find(is_start)?;
    let rest = &title[start..];
    let digits = rest.find(|c| !digit(c)).unwrap_or(rest.len());
    let unit = [" KiB", " MiB", " GiB"]
        .iter()
        .find(|unit| rest[digits..].starts_with(*unit));
    let end = start + digits + unit.map_or(0, |unit| unit.len());
    Some((&title[..start], &title[start..end], &title[end..]))
}

/// Tolerance that is not printed, as a share.
const USUAL: f64 = 0.1;

/// Printed tolerance; empty for a bound met as printed, or for the usual tolerance.
fn tolerance(row: &Row) -> String {
    let p = &row.published;
    match (&p.tolerance_kind, &p.tolerance) {
        _ if p.op == Relation::Range => String::new(),
        (_, t) if *t == 0.0 => String::new(),
        (ToleranceKind::Relative, t) if *t == USUAL => String::new(),
        (ToleranceKind::Relative, t) => format!(" ({:.0})", t * 100.0),
        (_, t) => format!(" ({})", with_unit(&format!("± {t}"), &row.figure.unit)),
    }
}

/// Tolerance in words; empty for a bound met as printed.
pub(super) fn tolerance_in_words(row: &Row) -> String {
    let p = &row.published;
    match p.tolerance_kind {
        _ if p.op == Relation::Range || p.tolerance == 0.0 => String::new(),
        ToleranceKind::Relative => format!("{:.0} %", p.tolerance * 100.0),
        _ => with_unit(&format!("± {}", p.tolerance), &row.figure.unit),
    }
}

/// Signed difference in percent; `None` for ranges, and if the published value is zero.
pub(super) fn error_in_words(row: &Row) -> Option<String> {
    let error = row
        .error_percent()
        .filter(|_| row.published.op != Relation::Range);
    error.map(|e| match format!("{e:+.1}").as_str() {
        "+0.0" | "-0.0" => "0".to_string(),
        error => error.to_string(),
    })
}

/// Markdown table of the rows of one device, one line per fact or series of facts.
pub fn table(rows: &[Row]) -> String {
    let all = Series::of(rows);
    let mut notes: Vec<&str> = Vec::new();
    let modes: BTreeSet<&str> = rows
        .iter()
        .filter_map(|r| r.figure.mode.as_deref())
        .collect();
    let mut text = format!("Met: {}", Scores::of(rows).in_short());
    if let (1, Some(only)) = (modes.len(), modes.first()) {
        let _ = write!(text, ", mode {only}");
    }
    text.push_str(".\n\n");
    text.push_str(
        "| fact | figure | published | simulated | error, % | by |\n|---|---|---|---|---|---|\n",
    );
    for series in &all {
        let row = series.rows[0];
        let mode = row.figure.mode.as_deref().filter(|_| modes.len() > 1);
        let mode = mode.map_or(String::new(), |mode| format!("{mode}: "));
        let remark = match row.remark.as_str() {
            "" => String::new(),
            remark => {
                let known = notes.iter().position(|note| *note == remark);
                let at = known.unwrap_or_else(|| {
                    notes.push(remark);
                    notes.len() - 1
                });
                format!(" [{}]", at + 1)
            }
        };
        let simulated = |row: &Row| match (short(row.figure.value), row.published.met) {
            (value, true) => value,
            (value, false) => format!("**{value}**"),
        };
        let error = |row: &Row| error_in_words(row).unwrap_or_else(|| "–".to_string());
        let basis = match &row.basis {
            Basis::Predicted => "predicted".to_string(),
            Basis::Calibrated(by) => format!("`{}`", by.join("`, `")),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {mode}{}{remark} | {} | {} | {}{} | {basis} |",
            series.facts(),
            series.title(),
            with_unit(&series.list(value_as_printed), &row.figure.unit),
            series.list(simulated),
            series.list(error),
            tolerance(row),
        );
    }
    for (number, note) in notes.iter().enumerate() {
        let space = if number == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{space}{}. {note}", number + 1);
    }
    text
}

/// Markdown list of the missed facts, by reason.
pub fn misses<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows.into_iter().filter(|row| !row.published.met) {
        let (why, fact) = (row.published.why.as_str(), row.published.fact.as_str());
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, facts)) if facts.contains(&fact) => {}
            Some((_, facts)) => facts.push(fact),
            None => reasons.push((why, vec![fact])),
        }
    }
    let line = |(why, facts): (&str, Vec<&str>)| format!("- {}: {why}\n", in_ranges(&facts));
    reasons.into_iter().map(line).collect()
}

/// Beginning of the remark of an unexplained parameter, after its source.
const UNEXPLAINED_CAP: &str = "an unexplained cap, not a size: ";

/// Markdown list of library parameters that represent no known mechanism, with their remarks: they do not explain the
/// facts to which they were fitted.
pub fn unexplained_caps() -> String {
    let mut text = String::new();
    for entry in library::DEVICES {
        for row in explain(entry.text) {
            let Some((_, remark)) = row.provenance() else {
                continue;
            };
            if let Some(remark) = remark.strip_prefix(UNEXPLAINED_CAP) {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    text,
                    "- `{}`: `{}.{} = {}`: {remark}",
                    entry.name, row.table, row.key, row.value
                );
            }
        }
    }
    text
}

/// Markdown table of theory and simulation; rows of one theory that differ in one number share a line.
pub fn closed_forms(rows: &[ClosedForm]) -> String {
    let mut text = String::from(
        "| what | theory | expected | simulated | difference, % |\n|---|---|---|---|---|\n",
    );
    let shape = |row: &ClosedForm| {
        let place =
            varied(&row.what).map(|(before, _, after)| (before.to_string(), after.to_string()));
        (row.theory.clone(), row.unit, place)
    };
    for group in rows.chunk_by(|a, b| shape(a) == shape(b)) {
        let list = |of: &dyn Fn(&ClosedForm) -> String| -> String {
            let all: Vec<String> = group.iter().map(of).collect();
            all.join(", ")
        };
        let first = &group[0];
        let what = match (varied(&first.what), group.len()) {
            (Some((before, _, after)), 2..) => {
                let number = |row: &ClosedForm| varied(&row.what).map_or("", |v| v.1).to_string();
                format!("{before}{}{after}", list(&number))
            }
            _ => first.what.clone(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {what} | {} | {} | {} | {} |",
            first.theory,
            with_unit(&list(&|row| significant(row.expected, 4, 2)), first.unit),
            list(&|row| significant(row.simulated, 4, 2)),
            list(&|row| format!("{:+.1}", (row.simulated / row.expected - 1.0) * 100.0)),
        );
    }
    text
}

/// Markdown list of the measurements without a check, by reason.
pub fn unchecked(coverage: &Coverage) -> String {
    let mut text = String::new();
    for group in &coverage.unchecked {
        let ids: Vec<&str> = group.facts.iter().map(|f| f.0.as_str()).collect();
        let _ = writeln!(text, "- {}: {}", group.reason, in_ranges(&ids));
    }
    text
}

/// Facts in the given order; three or more consecutive ones become a range.
fn in_ranges(facts: &[&str]) -> String {
    let number = |fact: &str| -> Option<(String, u32)> {
        let (group, number) = fact.rsplit_once('-')?;
        Some((group.to_string(), number.parse().ok()?))
    };
    let follows = |a: &&str, b: &&str| match (number(a), number(b)) {
        (Some((group, a)), Some((other, b))) => group == other && a + 1 == b,
        _ => false,
    };
    let ranges: Vec<String> = facts
        .chunk_by(follows)
        .map(|run| match run {
            [first, _, .., last] => format!("{first} to {last}"),
            few => few.join(", "),
        })
        .collect();
    ranges.join(", ")
}

pub(super) fn value_as_printed(row: &Row) -> String {
    let p = &row.published;
    match p.op {
        Relation::Equal => short(p.value),
        Relation::Range => {
            let (low, high) = (p.value - p.tolerance, p.value + p.tolerance);
            format!("{} to {}", short(low), short(high))
        }
        _ => format!("{} {}", p.op, short(p.value)),
    }
}

fn with_unit(value: &str, unit: &str) -> String {
    format!("{value} {unit}").trim_end().to_string()
}

pub(super) fn short(value: f64) -> String {
    let max_decimals = if value == value.trunc() { 0 } else { 2 };
    significant(value, 3, max_decimals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{Figure, Published};

    fn row(fact: &str, title: &str, published: f64, simulated: f64) -> Row {
        let met = (simulated / published - 1.0).abs() <= 0.1;
        Row {
            figure: Figure {
                title: title.to_string(),
                unit: "MB/s".to_string(),
                mode: Some("NVMe".to_string()),
                value: simulated,
                ..Figure::default()
            },
            published: Published {
                fact: fact.to_string(),
                value: published,
                op: Relation::Equal,
                tolerance: 0.1,
                tolerance_kind: ToleranceKind::Relative,
                met,
                predicted: true,
                why: if met {
                    String::new()
                } else {
                    "it differs".to_string()
                },
                source: String::new(),
            },
            basis: Basis::Predicted,
            limited: false,
            remark: String::new(),
        }
    }

    #[test]
    fn facts_of_a_series_share_a_line_and_misses_are_marked() {
        let rows = [
            row("D-1", "Read, queue depth 1, mean", 100.0, 101.0),
            row("D-2", "Read, queue depth 2, mean", 200.0, 250.0),
            row("D-3", "Read, queue depth 4, mean", 300.0, 300.0),
            row("D-4", "Write", 50.0, 50.0),
        ];
        let expected = "Met: predicted 3 of 4, mode NVMe.\n\n\
            | fact | figure | published | simulated | error, % | by |\n|---|---|---|---|---|---|\n\
            | D-1 to D-3 | Read, queue depth 1, 2, 4, mean | 100, 200, 300 MB/s | 101, **250**, 300 | +1.0, +25.0, 0 | predicted |\n\
            | D-4 | Write | 50 MB/s | 50 | 0 | predicted |\n";
        assert_eq!(table(&rows), expected);
        assert_eq!(misses(&rows), "- D-2: it differs\n");
    }

    #[test]
    fn caps_without_a_known_cause_are_named() {
        let text = unexplained_caps();
        let names = text.lines().map(|line| line.split('`').nth(1));
        let drives = ["hp-ex900-pro-1tb", "hp-ex920-1tb", "kingston-a2000-1tb"];
        let expected = drives.into_iter().chain(["sm2262en-2tb"]).map(Some);
        assert!(names.eq(expected), "{text}");
        // Every profile that says so uses these words.
        for entry in library::DEVICES {
            for row in explain(entry.text) {
                let says = row.remark.contains("unexplained");
                assert_eq!(says, row.remark.contains(UNEXPLAINED_CAP), "{}", row.key);
            }
        }
    }

    #[test]
    fn every_row_has_a_line_of_csv_and_every_device_its_scores() {
        let mut second = row("D-2", "Read, QD2", 200.0, 250.0);
        second.basis = Basis::Calibrated(vec!["nand.a".to_string(), "ftl.b".to_string()]);
        let comparison = Comparison {
            rows: vec![row("D-1", "Write", 50.0, 50.0), second],
            missing: Vec::new(),
        };
        let devices = [("drive-1tb", &comparison)];
        let expected = "drive-1tb,NVMe,D-1,Write,50,MB/s,10 %,50,0,yes,,,\n\
            drive-1tb,NVMe,D-2,\"Read, QD2\",200,MB/s,10 %,250,+25.0,no,nand.a; ftl.b,,it differs\n";
        let csv = crate::facts::rows::csv(devices.into_iter());
        assert_eq!(csv.split_once('\n').unwrap().1, expected);
        assert_eq!(
            all_scores(devices.into_iter()),
            "| values not used in fitting | met | met, % | median error, % | within 20 %, % |\n\
             |---|---|---|---|---|\n\
             | all | 1 of 1 | 100 | 0 | 100 |\n\
             | sizes and other | 1 of 1 | 100 | 0 | 100 |\n\
             | NVMe drive | 1 of 1 | 100 | 0 | 100 |\n\
             \nCounted apart, because they are easy to meet: 0 of 0 bounds on one side, and 0 of 0 values that link or host set.\n\
             \nRows used in fitting: 0 of 1 are met. By device, bounds and values set by link or host included:\n\n\
             - drive-1tb: predicted 1 of 1, calibrated 0 of 1\n"
        );
    }

    #[test]
    fn facts_that_follow_one_another_are_a_range() {
        for (facts, expected) in [
            (&[][..], ""),
            (&["S4-1"], "S4-1"),
            (&["S4-1", "S4-2"], "S4-1, S4-2"),
            (&["P-007", "S4-1", "S4-2", "S4-3"], "P-007, S4-1 to S4-3"),
            (
                &["S3-1", "S3-2", "S4-3", "D-010", "D-009"],
                "S3-1, S3-2, S4-3, D-010, D-009",
            ),
            (
                &["odd", "D-001", "D-002", "D-003", "D-005"],
                "odd, D-001 to D-003, D-005",
            ),
        ] {
            assert_eq!(in_ranges(facts), expected);
        }
    }
}
