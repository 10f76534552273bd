//! From the texts that describe a point to the point, checked. Profiles and jobs that several points share are read and
//! checked once.

use crate::key;
use crate::point::{Point, PointError};
use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{Prepared, RunOptions, TargetAbilities};
use nandscope_experiment::{
    DEFAULT_HOST, OpenError, ProfileOverride, Simulated, device_source, host_source, memory,
    overrides,
};
use nandscope_units::Bytes;
use nandscope_workload::job::Override;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Abilities of a simulated device in a sweep: contents are not stored.
const ABILITIES: TargetAbilities = TargetAbilities {
    stores_contents: false,
    can_be_filled: true,
    has_page_cache: false,
};

/// Description of a point.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The device: `sim:NAME` or `sim:./FILE.toml`.
    pub target: String,
    /// Name or file of the host; `direct` if it is not given.
    pub host: Option<String>,
    /// Values of the device profile that are replaced.
    pub overrides: Vec<ProfileOverride>,
    /// Name of the job file, for messages and as the origin of relative paths of included files.
    pub job_file: String,
    /// Text of the job file.
    pub job_text: String,
    /// Options that are set on every job.
    pub job_options: Vec<Override>,
    /// Seed, state of the device before the run, and name of the jobs in titles of results.
    pub options: RunOptions,
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct PointMaker {
    abouts: HashMap<(String, Vec<ProfileOverride>, String), Arc<Simulated>>,
    /// Checked jobs, by name and text of the job file and the options set on every job.
    jobs: HashMap<JobsKey, Arc<Jobs>>,
    /// Jobs and capacities that fit.
    checked: HashSet<(JobsKey, u64)>,
    devices: HashMap<String, usize>,
    device_memory: Bytes,
}

type JobsKey = (String, String, Vec<(String, Option<String>)>);

impl PointMaker {
    /// Makes and checks a point. The caller sets the number of its configuration, here 0, and its values, here none.
    ///
    /// # Errors
    /// Returns [`PointError`] if the device or the jobs are impossible, or do not fit each other or into memory.
    pub fn point(&mut self, parts: Parts) -> Result<Point, PointError> {
        let host = parts.host.unwrap_or_else(|| DEFAULT_HOST.to_string());
        let about = self.about(parts.target, parts.overrides, host)?;
        let jobs = self.jobs(&parts.job_file, &parts.job_text, &parts.job_options)?;
        let job_key = jobs_key(&parts.job_file, &parts.job_text, &parts.job_options);
        self.check(&about, &jobs, job_key, &parts.options)?;
        let device_key = key::of_device(&about, &parts.options);
        let next = self.devices.len();
        let device = *self.devices.entry(device_key.clone()).or_insert(next);
        Ok(Point {
            configuration: 0,
            values: Vec::new(),
            device,
            key: key::of_point(&about, &jobs, &parts.options),
            device_key,
            about,
            jobs,
            options: parts.options,
        })
    }

    /// Jobs with options set on each of them.
    ///
    /// # Errors
    /// Returns [`PointError::Jobs`] with the faults of the text.
    pub fn jobs(
        &mut self,
        file: &str,
        text: &str,
        options: &[Override],
    ) -> Result<Arc<Jobs>, PointError> {
        let key = jobs_key(file, text, options);
        if let Some(jobs) = self.jobs.get(&key) {
            return Ok(jobs.clone());
        }
        let jobs = Arc::new(Jobs::parse(file, text, options)?);
        self.jobs.insert(key, jobs.clone());
        Ok(jobs)
    }

    /// Number of distinct conditioned devices so far.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    /// Memory for the largest device.
    pub fn device_memory(&self) -> Bytes {
        self.device_memory
    }

    fn about(
        &mut self,
        target: String,
        mut overrides: Vec<ProfileOverride>,
        host: String,
    ) -> Result<Arc<Simulated>, PointError> {
        // The profile, and so the key, does not depend on who names which value first.
        overrides.sort();
        let key = (target, overrides, host);
        if let Some(about) = self.abouts.get(&key) {
            return Ok(about.clone());
        }
        let (target, overrides, host) = &key;
        let place = target.strip_prefix("sim:");
        let place = place.filter(|place| !place.starts_with("saved:"));
        let place = place.ok_or_else(|| PointError::Target(target.clone()))?;
        let source = device_source(place).map_err(OpenError::from)?;
        let device_source = overrides::apply(source, overrides).map_err(OpenError::from)?;
        let host_source = host_source(host).map_err(OpenError::from)?;
        memory::check(target, &device_source.profile).map_err(OpenError::from)?;
        let needed = nandscope_device::memory_estimate(&device_source.profile);
        self.device_memory = self.device_memory.max(needed);
        let about = Arc::new(Simulated {
            name: target.clone(),
            device_source,
            host_source,
            state: None,
        });
        self.abouts.insert(key, about.clone());
        Ok(about)
    }

    fn check(
        &mut self,
        about: &Simulated,
        jobs: &Jobs,
        key: JobsKey,
        options: &RunOptions,
    ) -> Result<(), PointError> {
        let capacity = Bytes(about.device_source.profile.device.capacity_bytes);
        let key = (key, capacity.0);
        if self.checked.contains(&key) {
            return Ok(());
        }
        Prepared::for_capacity(jobs, options, capacity, ABILITIES)?;
        self.checked.insert(key);
        Ok(())
    }
}

fn jobs_key(file: &str, text: &str, options: &[Override]) -> JobsKey {
    let options = options.iter().map(|o| (o.key.clone(), o.value.clone()));
    (file.to_string(), text.to_string(), options.collect())
}
