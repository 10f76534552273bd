//! Recorded series: `facts/series.toml` has one row for each measurement, with the run that gave it. A row is a fact and
//! its check at once.

use super::check::Check;
use super::record::Fact;
use crate::step_runner::SuiteError;
use nandscope_result::{Relation, ToleranceKind, slug};
use serde::Deserialize;

/// Name of the procedure that runs the series of a device behind a host.
pub(crate) const PROCEDURE: &str = "series";

const FILE: &str = include_str!("../../../../facts/series.toml");

/// Tolerance of rates and means without one of their own, as a share: that of most other values.
const RATE_TOLERANCE: f64 = 0.1;
/// Tolerance of percentiles, as a share: that of the other percentiles.
const PERCENTILE_TOLERANCE: f64 = 0.25;

#[derive(Debug, Deserialize)]
struct File {
    series: Vec<Series>,
}

/// Runs on one device behind one host, in the recorded order.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    /// Name, unique for a device and a host.
    pub(crate) name: String,
    pub(super) device: String,
    pub(super) host: String,
    recorded: String,
    source: String,
    /// Share of the device that is written in order before the first run, 0 to 1.
    pub(crate) filled: f64,
    /// Random writes before the recording, as a share of the capacity.
    #[serde(default)]
    pub(crate) overwritten: f64,
    /// Size of the accessed part, as in a job; empty for the whole device.
    #[serde(default)]
    pub(crate) span: String,
    /// Simulated time of a run, s.
    pub(crate) seconds: f64,
    #[serde(default = "usual")]
    rate_tolerance: f64,
    /// Parameters chosen by the rows that are not held out.
    #[serde(default)]
    pub(super) fitted: Vec<String>,
    /// How the recording differs from the simulation.
    #[serde(default)]
    measured_as: String,
    /// Reason why rows miss, unless they have one of their own.
    #[serde(default)]
    why: String,
    pub(super) rows: Vec<Point>,
}

fn usual() -> f64 {
    RATE_TOLERANCE
}

/// One measurement of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Point {
    pub(super) id: String,
    run: String,
    figure: String,
    value: f64,
    #[serde(default)]
    after_gb: f64,
    #[serde(default)]
    pub(super) held: bool,
    #[serde(default)]
    limited: bool,
    #[serde(default)]
    why: String,
}

/// One run: all figures of it are measured together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// As fio's `rw`.
    pub(crate) operation: String,
    pub(crate) block: String,
    pub(crate) depth: u32,
    pub(crate) jobs: u32,
    /// Random writes since the beginning of the recording, GB.
    pub(crate) after_gb: f64,
}

impl Run {
    fn parse(point: &Point) -> Option<Self> {
        let mut words = point.run.split(' ');
        let (operation, block, both) = (words.next()?, words.next()?, words.next()?);
        let (depth, jobs) = both.split_once('x')?;
        Some(Run {
            operation: operation.to_string(),
            block: block.to_string(),
            depth: depth.parse().ok()?,
            jobs: jobs.parse().ok()?,
            after_gb: point.after_gb,
        })
    }

    /// Identifier within the series.
    pub(crate) fn id(&self) -> String {
        slug(&format!(
            "{} {} {}x{}",
            self.operation, self.block, self.depth, self.jobs
        ))
    }

    /// Title without the name of the figure.
    pub(crate) fn title(&self) -> String {
        let operation = match self.operation.as_str() {
            "randread" => "Random read",
            "randwrite" => "Random write",
            "read" => "Sequential read",
            _ => "Sequential write",
        };
        let block = self.block.to_uppercase() + "iB";
        let jobs = match self.jobs {
            1 => String::new(),
            jobs => format!(", {jobs} jobs"),
        };
        format!("{operation}, {block}, queue depth {}{jobs}", self.depth)
    }
}

impl Series {
    /// The runs, in the recorded order.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = self.rows.iter().filter_map(Run::parse).collect();
        runs.dedup();
        let mut once: Vec<Run> = Vec::new();
        for run in runs {
            if once.iter().all(|known| known.id() != run.id()) {
                once.push(run);
            }
        }
        once
    }

    /// Identifier of a figure, without the mode.
    pub(crate) fn figure_id(&self, run: &Run, figure: &str) -> String {
        format!("{}.{}.{figure}", self.name, run.id())
    }

    fn tolerance(&self, point: &Point) -> f64 {
        match point.figure.as_str() {
            "rate" | "mean" => self.rate_tolerance,
            _ => PERCENTILE_TOLERANCE,
        }
    }

    fn fact(&self, point: &Point) -> Fact {
        Fact {
            id: point.id.clone(),
            source: self.source.clone(),
            device: self.recorded.clone(),
            quantity: format!("{}, {}", point.run, point.figure),
            value: point.value.into(),
            op: Relation::Equal,
            kind: "measured".to_string(),
        }
    }

    fn check(&self, point: &Point) -> Result<Check, SuiteError> {
        let run = Run::parse(point).ok_or_else(|| {
            let what = format!("`{}` is not OPERATION BLOCK DEPTHxJOBS", point.run);
            SuiteError::Facts(format!("facts/series.toml: {}: {what}", point.id))
        })?;
        let is_fitted = !point.held && !self.fitted.is_empty();
        let why = match point.why.as_str() {
            "" => &self.why,
            own => own,
        };
        Ok(Check {
            device: self.device.clone(),
            host: self.host.clone(),
            procedure: PROCEDURE.to_string(),
            fact: point.id.clone(),
            figure: format!(
                "{}.{}",
                slug(&self.host),
                self.figure_id(&run, &point.figure)
            ),
            field: None,
            scale: 1.0,
            tolerance: self.tolerance(point),
            kind: ToleranceKind::Relative,
            value: None,
            op: None,
            reads: String::new(),
            measured_as: self.measured_as.clone(),
            calibrated: if is_fitted {
                self.fitted.clone()
            } else {
                Vec::new()
            },
            predicted: !is_fitted,
            limited: point.limited,
            why: why.to_string(),
        })
    }
}

/// All series, in the order of the file.
///
/// # Errors
/// `Facts` if the file cannot be read.
pub(super) fn all() -> Result<Vec<Series>, SuiteError> {
    let file: File =
        toml::from_str(FILE).map_err(|e| SuiteError::Facts(format!("facts/series.toml: {e}")))?;
    Ok(file.series)
}

/// The series of a device behind a host.
///
/// # Errors
/// As [`all`].
pub(crate) fn of(device: &str, host: &str) -> Result<Vec<Series>, SuiteError> {
    let mut series = all()?;
    series.retain(|s| s.device == device && s.host == host);
    Ok(series)
}

/// A fact for each row.
///
/// # Errors
/// As [`all`].
pub(super) fn facts() -> Result<Vec<Fact>, SuiteError> {
    let all = all()?;
    let rows = all.iter().flat_map(|s| s.rows.iter().map(|p| s.fact(p)));
    Ok(rows.collect())
}

/// A check for each row.
///
/// # Errors
/// As [`all`], or if the run of a row cannot be read.
pub(super) fn checks() -> Result<Vec<Check>, SuiteError> {
    let all = all()?;
    let rows = all.iter().flat_map(|s| s.rows.iter().map(|p| s.check(p)));
    rows.collect()
}
