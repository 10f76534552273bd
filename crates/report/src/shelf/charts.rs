//! A chart of each test over all drives, sorted with the best first.

use super::Drive;
use super::tests_of::TestSet;
use crate::compare::selection::charted;
use crate::view::bars::{self, DriveValue};

/// Maximum number of charts per kind of figure of a procedure; the comparison of two drives has all figures.
const MOST_OF_A_KIND: usize = 16;

/// A chart: a bar for each drive.
pub(super) struct Chart {
    /// Element id.
    pub id: String,
    /// Title of the figure.
    pub title: String,
    /// Unit of the values.
    pub unit: String,
    /// Bars in the order in which they are shown.
    pub bars: Vec<DriveBar>,
}

/// A drive's value in a chart, with a link to its page.
pub(super) struct DriveBar {
    /// Number of the drive.
    pub drive: usize,
    /// Title of the drive.
    pub name: String,
    /// Link to its report.
    pub link: String,
    /// Remark on the value: simulated, of a quick run, in which mode.
    pub note: String,
    /// Length in percent.
    pub length: String,
    /// The value with its unit.
    pub text: String,
}

/// Number of a drive, its value, and a remark on the value.
type Value = (usize, f64, String);

/// Names of the drives in a chart.
pub(super) struct Names<'a> {
    pub drives: &'a [Drive],
    pub titles: &'a [String],
    pub links: &'a [Vec<String>],
}

impl Names<'_> {
    /// A chart of these drives in this order: number, value, note.
    fn chart(&self, id: String, title: &str, unit: &str, values: &[Value]) -> Chart {
        let drives: Vec<DriveValue> = values
            .iter()
            .map(|(drive, value, note)| DriveValue {
                name: self.titles.get(*drive).cloned().unwrap_or_default(),
                value: *value,
                note: note.clone(),
                highlighted: false,
            })
            .collect();
        let chart = bars::of_drives(title, unit, &drives);
        let rows = chart.rows.into_iter().zip(values);
        let bars = rows.filter_map(|(row, (drive, _, note))| {
            let link = self.links.get(*drive).and_then(|l| l.first());
            let bar = row.bars.into_iter().next()?;
            Some(DriveBar {
                drive: *drive,
                name: row.label,
                link: link.cloned().unwrap_or_default(),
                note: note.clone(),
                length: bar.length,
                text: bar.text,
            })
        });
        Chart {
            id,
            title: chart.title,
            unit: chart.unit,
            bars: bars.collect(),
        }
    }
}

/// Charts of one procedure, under its name.
pub(super) struct Group {
    /// Name of the procedure.
    pub procedure: String,
    /// Its charts, in the order in which a reader asks for them.
    pub charts: Vec<Chart>,
}

/// Charts of the figures that at least two drives have and of which more or less is better, prices last.
pub(super) fn groups(names: &Names, sets: &[TestSet]) -> Vec<Group> {
    let mut number = 0;
    let mut next = || {
        number += 1;
        format!("chart-{number}")
    };
    let mut groups: Vec<Group> = sets
        .iter()
        .map(|set| Group {
            procedure: set.procedure.to_string(),
            charts: of_set(set, names, &mut next),
        })
        .collect();
    groups.push(Group {
        procedure: "price".to_string(),
        charts: prices(names, &mut next),
    });
    groups.retain(|g| !g.charts.is_empty());
    groups
}

fn of_set(set: &TestSet, names: &Names, next: &mut impl FnMut() -> String) -> Vec<Chart> {
    let of_drive = |i: usize| set.drives.get(i).copied().unwrap_or_default();
    charted(&set.rows, MOST_OF_A_KIND)
        .into_iter()
        .map(|row| {
            let ranked = row.ranked().into_iter();
            let values: Vec<_> = ranked
                .map(|(i, value)| (of_drive(i), value, note(set, i, names.drives)))
                .collect();
            names.chart(next(), &row.title, &row.unit, &values)
        })
        .collect()
}

/// Remark on a value: its host if the drives share none; whether it is simulated, or of a quick run.
fn note(set: &TestSet, i: usize, drives: &[Drive]) -> String {
    let drive = set.drives.get(i).and_then(|d| drives.get(*d));
    let simulated = drive.is_some_and(Drive::is_simulated);
    let quick = set.documents.get(i).is_some_and(|d| d.quick);
    let parts = [
        set.alignment.named().get(i).cloned().flatten(),
        simulated.then(|| "simulated".to_string()),
        quick.then(|| "quick run".to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Price per GB, a chart for each currency in which two drives have one; the cheapest first.
fn prices(names: &Names, next: &mut impl FnMut() -> String) -> Vec<Chart> {
    let mut by_currency: Vec<(&str, Vec<Value>)> = Vec::new();
    for (i, drive) in names.drives.iter().enumerate() {
        let (Some(price), Some(per_gb)) = (&drive.about.price, drive.price_per_gb()) else {
            continue;
        };
        let entry = (i, per_gb, String::new());
        match by_currency.iter_mut().find(|c| c.0 == price.currency) {
            Some(group) => group.1.push(entry),
            None => by_currency.push((&price.currency, vec![entry])),
        }
    }
    by_currency.retain(|c| c.1.len() > 1);
    by_currency
        .into_iter()
        .map(|(currency, mut members)| {
            members.sort_by(|a, b| a.1.total_cmp(&b.1));
            names.chart(next(), "Price per GB", &format!("{currency}/GB"), &members)
        })
        .collect()
}
