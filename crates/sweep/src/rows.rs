//! The table of points as Parquet, for sweeps of one machine or many: a file for each result,
//! `version=…/device=…/seed=…/KEY.parquet`, so that folders of several machines can be copied into one, and readers
//! of hive partitions skip what a query does not need.
//!
//! A file has a row for each point with that result (points whose parameters have no effect share one): parameters,
//! metrics, whether the run is complete, and the key. Version, key, device and seed are in its metadata, too. It follows
//! from the result and the sweep alone, so that it can be written again at any time.

use crate::plan::Plan;
use crate::point::Point;
use crate::table::Outcome;
use nandscope_files::parquet::{Column, Table};
use nandscope_files::{
    Access, FollowLinks, WriteError, create_folder, create_folder_in, read_regular, write_in,
};
use nandscope_suite::at_once;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Number of characters of the device's key in the name of its folder.
const DEVICE: usize = 16;
/// Files that are written at once. Each waits for the disk, not for a processor.
const AT_ONCE: usize = 16;
/// Names of the columns that are neither parameters nor metrics; the name of the folder gives that of the seed.
const OWN: [&str; 5] = ["version", "device", "seed", "complete", "key"];

/// Type of a column: the narrowest that holds all of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Flag,
    Whole,
    Real,
    Text,
}

impl Kind {
    fn of<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Kind {
        let all = |is: fn(&str) -> bool| values.clone().all(is);
        if all(|v| flag(v).is_some()) {
            Kind::Flag
        } else if all(|v| v.parse::<i64>().is_ok()) {
            Kind::Whole
        } else if all(|v| real(v).is_some()) {
            Kind::Real
        } else {
            Kind::Text
        }
    }

    fn column(self, values: &[&str]) -> Column {
        let values = values.iter();
        match self {
            Kind::Flag => Column::Flag(values.map(|v| flag(v)).collect()),
            Kind::Whole => Column::Whole(values.map(|v| v.parse().ok()).collect()),
            Kind::Real => Column::Real(values.map(|v| real(v)).collect()),
            Kind::Text => Column::Text(values.map(|v| Some(v.to_string())).collect()),
        }
    }
}

fn flag(text: &str) -> Option<bool> {
    text.parse().ok()
}

fn real(text: &str) -> Option<f64> {
    text.parse().ok().filter(|v: &f64| v.is_finite())
}

/// The files of the rows of a sweep.
#[derive(Clone, Debug)]
pub struct RowFiles {
    folder: PathBuf,
    /// Name, place among the values of a point, and type of the columns.
    columns: Vec<(String, usize, Kind)>,
}

impl RowFiles {
    /// Files in the folder of a sweep with these parameters, of which `points` has the values of all points.
    pub fn new(folder: &Path, parameters: &[String], points: &[&[String]]) -> RowFiles {
        let mut columns = Vec::new();
        for (place, name) in parameters.iter().enumerate() {
            if OWN.contains(&name.as_str()) {
                continue;
            }
            let values = points.iter().filter_map(|values| values.get(place));
            let kind = Kind::of(values.map(String::as_str));
            columns.push((name.clone(), place, kind));
        }
        RowFiles {
            folder: folder.to_path_buf(),
            columns,
        }
    }

    /// Writes the rows of the points with one result, which have these values of the parameters.
    ///
    /// # Errors
    /// Returns [`WriteError`] if the folder cannot be written.
    pub fn write(
        &self,
        point: &Point,
        values: &[&[String]],
        metrics: &[(&str, Option<f64>)],
        is_complete: bool,
    ) -> Result<(), WriteError> {
        let device = format!("device={}", short(&point.device_key));
        let inside = Path::new(&format!("version={VERSION}")).join(device);
        let inside = inside.join(format!("seed={}", point.seed()));
        let file = inside.join(format!("{}.parquet", point.key));
        let bytes = self.parquet(point, values, metrics, is_complete);
        let known = read_regular(
            &self.folder.join(&file),
            FollowLinks::No,
            bytes.len() as u64,
        );
        if known.is_ok_and(|known| known == bytes) {
            return Ok(());
        }
        create_folder(&self.folder)?;
        create_folder_in(&self.folder, &inside)?;
        write_in(&self.folder, &file, &bytes, Access::Usual)
    }

    fn parquet(
        &self,
        point: &Point,
        values: &[&[String]],
        metrics: &[(&str, Option<f64>)],
        is_complete: bool,
    ) -> Vec<u8> {
        let rows = values.len();
        let mut table = Table::new()
            .about("nandscope.version", VERSION)
            .about("nandscope.key", &point.key)
            .about("nandscope.device", &point.device_key)
            .about("nandscope.seed", &point.seed().to_string());
        for (name, place, kind) in &self.columns {
            let texts = values.iter().filter_map(|values| values.get(*place));
            let texts: Vec<&str> = texts.map(String::as_str).collect();
            table = table.with(name, kind.column(&texts));
        }
        let mut named = BTreeSet::new();
        for (name, value) in metrics {
            if named.insert(name) {
                table = table.with(name, Column::Real(vec![*value; rows]));
            }
        }
        let complete = Column::Flag(vec![Some(is_complete); rows]);
        let key = Column::Text(vec![Some(point.key.clone()); rows]);
        table.with("complete", complete).with("key", key).parquet()
    }
}

fn short(key: &str) -> &str {
    key.get(..DEVICE).unwrap_or(key)
}

/// Writes the rows of all finished points of a plan.
///
/// # Errors
/// As [`RowFiles::write`].
pub fn write(folder: &Path, plan: &Plan, outcomes: &[Option<Outcome>]) -> Result<(), WriteError> {
    let all: Vec<&[String]> = plan.points.iter().map(|p| &p.values[..]).collect();
    let files = RowFiles::new(folder, &plan.parameters, &all);
    let mut results: BTreeMap<&str, (&Point, &Outcome, Vec<&[String]>)> = BTreeMap::new();
    for (point, outcome) in plan.points.iter().zip(outcomes) {
        if let Some(outcome) = outcome {
            let result = results.entry(&point.key);
            let result = result.or_insert_with(|| (point, outcome, Vec::new()));
            result.2.push(&point.values);
        }
    }
    let results: Vec<_> = results.into_values().collect();
    let write = |number: usize| {
        let (point, outcome, values) = &results[number];
        let names = plan.metrics.iter().map(|m| m.name.as_str());
        let metrics: Vec<_> = names.zip(outcome.metrics.iter().copied()).collect();
        files.write(point, values, &metrics, outcome.failure.is_none())
    };
    let written = at_once::run(results.len(), AT_ONCE, &|| false, write, |_| {});
    written.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_narrowest_type_of_its_values() {
        for (values, kind) in [
            (&["1", "-4"][..], Kind::Whole),
            (&["1", "0.5"], Kind::Real),
            (&["1.0", "1e-7"], Kind::Real),
            (&["true", "false"], Kind::Flag),
            (&["true", "1"], Kind::Text),
            (&["4k", "8192"], Kind::Text),
            (&["nan", "1"], Kind::Text),
        ] {
            assert_eq!(Kind::of(values.iter().copied()), kind, "{values:?}");
        }
        assert_eq!(
            Kind::Real.column(&["1", "0.5"]),
            Column::Real(vec![Some(1.0), Some(0.5)])
        );
    }
}
