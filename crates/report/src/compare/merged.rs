//! Charts of a comparison: tests of one benchmark in the same direction share a chart, since their charts would look alike.

use super::letter;
use super::row::{PRICE, Row};
use crate::names::capital;
use crate::view::bars::{self, BarChart, DriveValue, SharedRow};

/// Benchmarks by the first part of their identifiers.
const BENCHMARKS: [(&str, &str); 5] = [
    ("cdm", "CrystalDiskMark"),
    ("fio", "Sequential across the device"),
    ("folders", "Folders"),
    ("traces", "Application traces"),
    ("sustained", "Sustained access"),
];

/// Key of a chart of several tests: benchmark, direction and unit that they share.
#[derive(PartialEq)]
struct Group<'a> {
    benchmark: &'static str,
    direction: &'a str,
    unit: &'a str,
}

/// Group of a figure; `None` if it has a chart of its own.
fn group(row: &Row) -> Option<Group<'_>> {
    let (first, _) = row.id.split_once('.')?;
    let (_, benchmark) = *BENCHMARKS.iter().find(|b| b.0 == first)?;
    let direction = ["read", "write"];
    let direction = direction
        .into_iter()
        .find(|d| row.id.split('.').any(|part| part == *d));
    Some(Group {
        benchmark,
        direction: direction.unwrap_or_default(),
        unit: &row.unit,
    })
}

/// Charts of figures in the order of their first figures; titles end with the host, since each chart can be saved alone.
pub(super) fn charts(rows: &[&Row], names: &[String], host: &str) -> Vec<BarChart> {
    let mut groups: Vec<(Option<Group>, Vec<&Row>)> = Vec::new();
    for row in rows {
        let own = group(row);
        match groups.iter_mut().find(|g| g.0.is_some() && g.0 == own) {
            Some((_, members)) => members.push(row),
            None => groups.push((own, vec![row])),
        }
    }
    groups
        .iter()
        .filter_map(|(group, members)| match (group, members.as_slice()) {
            (Some(group), [_, _, ..]) => Some(of_group(group, members, host)),
            _ => members.first().map(|row| of_row(row, names, host)),
        })
        .collect()
}

/// A row of each test with a bar of each document.
fn of_group(group: &Group, members: &[&Row], host: &str) -> BarChart {
    let title = match group.direction {
        "" => group.benchmark.to_string(),
        direction => format!("{}, {direction}", group.benchmark),
    };
    let rows = members.iter().map(|row| SharedRow {
        label: capital(&row.title),
        values: (0..row.values.len())
            .filter_map(|i| {
                Some((
                    letter(i),
                    i,
                    row.values.get(i).copied().flatten()?,
                    row.change(i),
                ))
            })
            .collect(),
    });
    bars::of_shared(
        &format!("{title}{host}"),
        group.unit,
        &rows.collect::<Vec<_>>(),
    )
}

/// A bar of each document, the best first.
fn of_row(row: &Row, names: &[String], host: &str) -> BarChart {
    let drives: Vec<DriveValue> = row
        .ranked()
        .into_iter()
        .map(|(i, value)| DriveValue {
            name: names.get(i).cloned().unwrap_or_default(),
            value,
            note: match i == row.baseline {
                true => "baseline".to_string(),
                false => row.change(i),
            },
            highlighted: i == row.baseline,
        })
        .collect();
    // A price is the same on every host.
    let host = if row.id == PRICE { "" } else { host };
    bars::of_drives(&format!("{}{host}", row.title), &row.unit, &drives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_one_benchmark_and_direction_share_a_chart() {
        let row = |id: &str, unit: &str| Row {
            title: id.into(),
            unit: unit.into(),
            values: vec![Some(1.0), Some(2.0)],
            id: id.into(),
            answer: false,
            baseline: 0,
        };
        let rows = [
            row("cdm.fresh.seq.read", "MB/s"),
            row("cdm.fresh.seq.write", "MB/s"),
            row("cdm.fresh.rnd.read", "MB/s"),
            row("power.peak", "W"),
            row("traces.browser.latency", "µs"),
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        let names = ["A: a", "B: b"].map(String::from);
        let charts = charts(&rows, &names, " on X");
        let shown: Vec<(&str, usize, usize)> = charts
            .iter()
            .map(|c| (c.title.as_str(), c.rows.len(), c.rows[0].bars.len()))
            .collect();
        assert_eq!(
            shown,
            [
                ("CrystalDiskMark, read on X", 2, 2),
                ("cdm.fresh.seq.write on X", 2, 1),
                ("power.peak on X", 2, 1),
                ("traces.browser.latency on X", 2, 1),
            ]
        );
        let modes: Vec<_> = charts[0].rows[0]
            .bars
            .iter()
            .map(|b| b.mode.as_deref())
            .collect();
        assert_eq!(modes, [Some("A"), Some("B")]);
    }
}
