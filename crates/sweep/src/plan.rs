//! From parameters to points: each is made and checked before the first runs, so that a value that is
//! impossible is found at once and not after hours.

use crate::metric::{Metric, MetricError};
use crate::point::{Point, PointError};
use crate::sample::Sampling;
use crate::space::{Key, Parameter, SpaceError, refuse_twice};
use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{Prepared, RunOptions, TargetAbilities, trace_file};
use nandscope_experiment::{
    DEFAULT_HOST, ErrorClass, OpenError, Precondition, ProfileOverride, Simulated, device_source,
    host_source, memory, overrides,
};
use nandscope_units::Bytes;
use nandscope_workload::job::Override;
use nandscope_workload::trace::Fit;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use thiserror::Error;

/// What a simulated device can do in a sweep: contents are not stored.
const ABILITIES: TargetAbilities = TargetAbilities {
    stores_contents: false,
    can_be_filled: true,
    has_page_cache: false,
};

/// A sweep as it is asked for.
#[derive(Clone, Debug)]
pub struct SweepSpec {
    /// The device: `sim:NAME` or `sim:./FILE.toml`.
    pub target: String,
    /// Name or file of the host, unless it is a parameter.
    pub host: Option<String>,
    /// State of the device before each run, unless it is a parameter.
    pub precondition: Precondition,
    /// Name of the job file: in messages, and to find what it includes.
    pub job_file: String,
    /// Name of the jobs in titles of results.
    pub job_name: String,
    /// Text of the job file.
    pub job_text: String,
    /// What varies.
    pub parameters: Vec<Parameter>,
    /// Which points are run.
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
    /// The target is not a device that can be made anew for each point.
    #[error(
        "a sweep cannot run on `{0}`; name a simulated device: sim:NAME (see `nandscope devices`) or sim:./FILE.toml"
    )]
    Target(String),
    /// The device or the jobs as they are, before any parameter.
    #[error(transparent)]
    Base(PointError),
    /// A point is impossible.
    #[error("at {at}: {error}")]
    Point {
        /// The parameters with their values.
        at: String,
        /// What is wrong.
        error: Box<PointError>,
    },
}

impl PlanError {
    /// Who can do something about it.
    pub fn class(&self) -> ErrorClass {
        match self {
            PlanError::Base(error) => error.class(),
            PlanError::Point { error, .. } => error.class(),
            PlanError::Space(_) | PlanError::Metric(_) | PlanError::Target(_) => ErrorClass::Usage,
        }
    }
}

/// All points of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Names of the parameters, in the order of the values of each point.
    pub parameters: Vec<String>,
    /// The metrics.
    pub metrics: Vec<Metric>,
    /// The points; those of one configuration follow each other.
    pub points: Vec<Point>,
    /// Number of configurations.
    pub configurations: usize,
    /// Number of distinct conditioned devices.
    pub devices: usize,
    /// What the largest device needs in memory.
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
        let mut build = Builder::new(spec)?;
        let jobs = build.jobs(&[]).map_err(PlanError::Base)?;
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
                let point = build.point(number, values, seed);
                points.push(point.map_err(|error| PlanError::Point {
                    at: at(&spec.parameters, values),
                    error: Box::new(error),
                })?);
            }
        }
        Ok(Plan {
            parameters: spec.parameters.iter().map(|p| p.key.to_string()).collect(),
            metrics,
            points,
            configurations: configurations.len(),
            devices: build.devices.len(),
            device_memory: build.device_memory,
        })
    }
}

/// A parameter and an option for all points must not set the same.
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

/// Makes points; profiles and jobs that several of them share are made once.
struct Builder<'a> {
    spec: &'a SweepSpec,
    place: &'a str,
    abouts: HashMap<(Vec<ProfileOverride>, String), Arc<Simulated>>,
    /// Jobs by the options that are set on them.
    jobs: HashMap<Vec<String>, Arc<Jobs>>,
    /// Jobs and capacities that fit.
    checked: HashSet<(Vec<String>, u64)>,
    devices: HashMap<String, usize>,
    device_memory: Bytes,
}

impl<'a> Builder<'a> {
    fn new(spec: &'a SweepSpec) -> Result<Self, PlanError> {
        let place = spec.target.strip_prefix("sim:");
        let place = place.filter(|place| !place.starts_with("saved:"));
        Ok(Builder {
            spec,
            place: place.ok_or_else(|| PlanError::Target(spec.target.clone()))?,
            abouts: HashMap::new(),
            jobs: HashMap::new(),
            checked: HashSet::new(),
            devices: HashMap::new(),
            device_memory: Bytes(0),
        })
    }

    fn point(
        &mut self,
        configuration: usize,
        values: &[String],
        seed: u64,
    ) -> Result<Point, PointError> {
        let mut host = self.spec.host.clone();
        let mut options = RunOptions {
            job_name: self.spec.job_name.clone(),
            seed,
            precondition: self.spec.precondition,
            is_conditioned: false,
            fit: Fit::Exact,
        };
        let (mut profile, mut set) = (Vec::new(), Vec::new());
        for (parameter, value) in self.spec.parameters.iter().zip(values) {
            match &parameter.key {
                Key::Profile(key) => profile.push(ProfileOverride::new(key, value)),
                Key::Job(option) => set.push(format!("{option}={value}")),
                Key::Host => host = Some(value.clone()),
                Key::Precondition => options.precondition = value.parse()?,
                Key::Seed => {
                    let seed = value.parse();
                    options.seed = seed.map_err(|_| PointError::Seed(value.clone()))?;
                }
            }
        }
        let host = host.unwrap_or_else(|| DEFAULT_HOST.to_string());
        let about = self.about(profile, host)?;
        let jobs = self.jobs(&set)?;
        self.check(&about, &jobs, set, &options)?;
        let device = self.device(&about, &options);
        Ok(Point {
            configuration,
            values: values.to_vec(),
            device,
            key: key(&about, &jobs, &options),
            about,
            jobs,
            options,
        })
    }

    fn about(
        &mut self,
        profile: Vec<ProfileOverride>,
        host: String,
    ) -> Result<Arc<Simulated>, PointError> {
        let key = (profile, host);
        if let Some(about) = self.abouts.get(&key) {
            return Ok(about.clone());
        }
        let source = device_source(self.place).map_err(OpenError::from)?;
        let device_source = overrides::apply(source, &key.0).map_err(OpenError::from)?;
        let host_source = host_source(&key.1).map_err(OpenError::from)?;
        memory::check(&self.spec.target, &device_source.profile).map_err(OpenError::from)?;
        let needed = nandscope_device::memory_estimate(&device_source.profile);
        self.device_memory = self.device_memory.max(needed);
        let about = Arc::new(Simulated {
            name: self.spec.target.clone(),
            device_source,
            host_source,
            state: None,
        });
        self.abouts.insert(key, about.clone());
        Ok(about)
    }

    fn jobs(&mut self, set: &[String]) -> Result<Arc<Jobs>, PointError> {
        if let Some(jobs) = self.jobs.get(set) {
            return Ok(jobs.clone());
        }
        let overrides: Vec<Override> = set.iter().map(|text| Override::parse(text)).collect();
        let text = self.spec.job_text.as_str();
        let jobs = Arc::new(Jobs::parse(&self.spec.job_file, text, &overrides)?);
        self.jobs.insert(set.to_vec(), jobs.clone());
        Ok(jobs)
    }

    fn check(
        &mut self,
        about: &Simulated,
        jobs: &Jobs,
        set: Vec<String>,
        options: &RunOptions,
    ) -> Result<(), PointError> {
        let capacity = Bytes(about.device_source.profile.device.capacity_bytes);
        let key = (set, capacity.0);
        if self.checked.contains(&key) {
            return Ok(());
        }
        Prepared::for_capacity(jobs, options, capacity, ABILITIES)?;
        self.checked.insert(key);
        Ok(())
    }

    /// The number of the conditioned device.
    fn device(&mut self, about: &Simulated, options: &RunOptions) -> usize {
        let mut hash = Hash::default();
        hash.device(about, options);
        let next = self.devices.len();
        *self.devices.entry(hash.hex()).or_insert(next)
    }
}

/// A hash of fields that cannot run into each other.
#[derive(Default)]
struct Hash(Sha256);

impl Hash {
    fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn device(&mut self, about: &Simulated, options: &RunOptions) {
        self.field(about.name.as_bytes());
        self.field(about.device_source.text.as_bytes());
        self.field(about.host_source.text.as_bytes());
        self.field(format!("{:?}", options.precondition).as_bytes());
        self.field(&options.seed.to_le_bytes());
    }

    fn hex(self) -> String {
        self.0
            .finalize()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect()
    }
}

/// What the result of a point depends on, as a hash.
fn key(about: &Simulated, jobs: &Jobs, options: &RunOptions) -> String {
    let mut hash = Hash::default();
    hash.field(env!("CARGO_PKG_VERSION").as_bytes());
    hash.device(about, options);
    hash.field(options.job_name.as_bytes());
    hash.field(jobs.file.to_fio().as_bytes());
    for job in &jobs.file.jobs {
        let file = job.trace.as_ref().and_then(|trace| trace_file(job, trace));
        if let Some(bytes) = file.and_then(|file| std::fs::read(file).ok()) {
            hash.field(&bytes);
        }
    }
    hash.hex()
}
