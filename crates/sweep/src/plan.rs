//! From parameters to points: each is made and checked before the first runs, so that a value that is
//! impossible is found at once and not after hours.

use crate::maker::{Parts, PointMaker};
use crate::metric::{Metric, MetricError};
use crate::point::{Point, PointError};
use crate::sample::Sampling;
use crate::space::{Key, Parameter, SpaceError, refuse_twice};
use nandscope_experiment::run::RunOptions;
use nandscope_experiment::{ErrorClass, Precondition, ProfileOverride};
use nandscope_units::Bytes;
use nandscope_workload::job::Override;
use nandscope_workload::trace::Fit;
use thiserror::Error;

/// Specification of a sweep, before it is checked.
#[derive(Clone, Debug)]
pub struct SweepSpec {
    /// The device: `sim:NAME` or `sim:./FILE.toml`.
    pub target: String,
    /// Name or file of the host, unless it is a parameter.
    pub host: Option<String>,
    /// State of the device before each run, unless it is a parameter.
    pub precondition: Precondition,
    /// Name of the job file, for messages and as the origin of relative paths of included files.
    pub job_file: String,
    /// Name of the jobs in titles of results.
    pub job_name: String,
    /// Text of the job file.
    pub job_text: String,
    /// Varied parameters.
    pub parameters: Vec<Parameter>,
    /// Choice of the points.
    pub sampling: Sampling,
    /// First seed; also that of the sampling.
    pub seed: u64,
    /// Number of seeds at each configuration: `seed`, `seed + 1`, …
    pub seeds: u32,
    /// Names of the metrics.
    pub metrics: Vec<String>,
}

/// A sweep cannot be made.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The parameters make no space.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// A metric is unknown.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// The device or the jobs are impossible even without any parameter.
    #[error(transparent)]
    Base(PointError),
    /// A point is impossible.
    #[error("at {at}: {error}")]
    Point {
        /// The parameters with their values.
        at: String,
        /// Cause.
        error: Box<PointError>,
    },
}

impl PlanError {
    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        match self {
            PlanError::Base(error) => error.class(),
            PlanError::Point { error, .. } => error.class(),
            PlanError::Space(_) | PlanError::Metric(_) => ErrorClass::Usage,
        }
    }
}

/// All points of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Names of the parameters, in the order of the values of each point.
    pub parameters: Vec<String>,
    /// Metrics of every point.
    pub metrics: Vec<Metric>,
    /// The points; those of one configuration are consecutive.
    pub points: Vec<Point>,
    /// Number of configurations.
    pub configurations: usize,
    /// Number of distinct conditioned devices.
    pub devices: usize,
    /// Memory for the largest device.
    pub device_memory: Bytes,
}

impl Plan {
    /// Makes and checks all points.
    ///
    /// # Errors
    /// Returns [`PlanError`] with the first point that is impossible.
    pub fn new(spec: &SweepSpec) -> Result<Plan, PlanError> {
        refuse_twice(&spec.parameters)?;
        refuse_fixed(spec)?;
        let mut maker = PointMaker::default();
        let jobs = maker
            .jobs(&spec.job_file, &spec.job_text, &[])
            .map_err(PlanError::Base)?;
        let metrics = spec
            .metrics
            .iter()
            .map(|name| Metric::read(name, &jobs.file));
        let metrics = metrics.collect::<Result<Vec<_>, _>>()?;
        let configurations = spec.sampling.points(&spec.parameters, spec.seed)?;
        if spec.seeds == 0 {
            return Err(SpaceError::Empty.into());
        }
        let mut points = Vec::new();
        for (number, values) in configurations.iter().enumerate() {
            for seed in 0..u64::from(spec.seeds) {
                let seed = spec.seed.wrapping_add(seed);
                let point = point(&mut maker, spec, number, values, seed);
                points.push(point.map_err(|error| match error {
                    // No parameter has to do with it.
                    PointError::Target(_) => PlanError::Base(error),
                    error => PlanError::Point {
                        at: at(&spec.parameters, values),
                        error: Box::new(error),
                    },
                })?);
            }
        }
        Ok(Plan {
            parameters: spec.parameters.iter().map(|p| p.key.to_string()).collect(),
            metrics,
            points,
            configurations: configurations.len(),
            devices: maker.devices(),
            device_memory: maker.device_memory(),
        })
    }
}

/// Returns an error if a parameter and an option for all points set the same.
fn refuse_fixed(spec: &SweepSpec) -> Result<(), SpaceError> {
    let fixed = |key: &Key| match key {
        Key::Host => spec.host.is_some(),
        Key::Precondition => spec.precondition != Precondition::None,
        Key::Seed => spec.seeds != 1,
        Key::Profile(_) | Key::Job(_) => false,
    };
    match spec.parameters.iter().find(|p| fixed(&p.key)) {
        Some(parameter) => Err(SpaceError::Fixed(parameter.key.to_string())),
        None => Ok(()),
    }
}

fn at(parameters: &[Parameter], values: &[String]) -> String {
    let pairs = parameters.iter().zip(values);
    let pairs: Vec<String> = pairs.map(|(p, v)| format!("{}={v}", p.key)).collect();
    match pairs.is_empty() {
        true => "the only point".to_string(),
        false => pairs.join(", "),
    }
}

/// The point of a configuration and a seed.
fn point(
    maker: &mut PointMaker,
    spec: &SweepSpec,
    configuration: usize,
    values: &[String],
    seed: u64,
) -> Result<Point, PointError> {
    let mut parts = Parts {
        target: spec.target.clone(),
        host: spec.host.clone(),
        overrides: Vec::new(),
        job_file: spec.job_file.clone(),
        job_text: spec.job_text.clone(),
        job_options: Vec::new(),
        options: RunOptions {
            job_name: spec.job_name.clone(),
            seed,
            precondition: spec.precondition,
            is_conditioned: false,
            fit: Fit::Exact,
        },
    };
    for (parameter, value) in spec.parameters.iter().zip(values) {
        match &parameter.key {
            Key::Profile(key) => parts.overrides.push(ProfileOverride::new(key, value)),
            Key::Job(option) => {
                let option = Override::parse(&format!("{option}={value}"));
                parts.job_options.push(option);
            }
            Key::Host => parts.host = Some(value.clone()),
            Key::Precondition => parts.options.precondition = value.parse()?,
            Key::Seed => {
                let seed = value.parse();
                parts.options.seed = seed.map_err(|_| PointError::Seed(value.clone()))?;
            }
        }
    }
    Ok(Point {
        configuration,
        values: values.to_vec(),
        ..maker.point(parts)?
    })
}
