//! One point of a sweep: a device, jobs, a precondition and a seed, and how it is run. A point is complete in itself,
//! so that any thread, process or machine can run it.

use nandscope_device::{Device, break_if};
use nandscope_experiment::jobs::{Jobs, JobsError};
use nandscope_experiment::run::{
    Ending, RunError, RunObserver, RunOptions, SimulatedTarget, run_jobs,
};
use nandscope_experiment::{ErrorClass, OpenError, PreconditionError, PreparationStep, Simulated};
use nandscope_result::ResultDocument;
use std::sync::Arc;
use thiserror::Error;

/// A point cannot be run.
#[derive(Debug, Error)]
pub enum PointError {
    /// The point's device cannot be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The point's jobs cannot be read.
    #[error(transparent)]
    Jobs(#[from] JobsError),
    /// The point's jobs do not fit the device.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The point's precondition is not a state of a device, or cannot be reached.
    #[error("precondition: {0}")]
    Precondition(#[from] PreconditionError),
    /// The target is not a device that can be made again from its profile.
    #[error(
        "a sweep cannot run on `{0}`; name a simulated device: sim:NAME (see `nandscope devices`) or sim:./FILE.toml"
    )]
    Target(String),
    /// The point's seed is not a number.
    #[error("`{0}` is not a seed; give a whole number from 0")]
    Seed(String),
}

impl PointError {
    /// Whether its preparation was ended from outside.
    pub fn is_interruption(&self) -> bool {
        matches!(self, PointError::Precondition(PreconditionError::Stopped))
    }

    /// Class of the error: who can fix it.
    pub fn class(&self) -> ErrorClass {
        match self {
            PointError::Open(error) => error.class(),
            PointError::Jobs(error) => error.class(),
            PointError::Run(error) => error.class(),
            PointError::Precondition(_) | PointError::Target(_) | PointError::Seed(_) => {
                ErrorClass::Usage
            }
        }
    }
}

/// A point. Clones share profile and jobs.
#[derive(Clone, Debug)]
pub struct Point {
    /// Number among the configurations of the sweep; points that differ in the seed alone share it.
    pub configuration: usize,
    /// Values of the parameters, in their order.
    pub values: Vec<String>,
    /// Number of the point's conditioned device among the distinct ones of the sweep.
    pub device: usize,
    /// SHA-256, in hexadecimal, of everything that its result depends on.
    pub key: String,
    /// SHA-256, in hexadecimal, of everything that the point's conditioned device depends on.
    pub device_key: String,
    /// Profiles of device and host.
    pub about: Arc<Simulated>,
    /// Jobs to run on the device.
    pub jobs: Arc<Jobs>,
    /// Seed, precondition and name of the jobs.
    pub options: RunOptions,
}

impl Point {
    /// Seed of device and jobs.
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// Makes the point's device and brings it into its state before the run. `step` is told the progress, and can end
    /// it.
    ///
    /// # Errors
    /// Returns [`PointError`] if the device does not fit into memory or to its host, does not reach its state, or `step`
    /// ended that.
    pub fn condition(&self, step: &mut PreparationStep<'_>) -> Result<Device, PointError> {
        let mut device = self.about.fresh(self.seed())?;
        let state = self.options.precondition;
        state.apply_in_steps(&mut device, self.seed(), step)?;
        Ok(device)
    }

    /// Runs the jobs on a device from [`Point::condition`]. The result contains no wall-clock time, so it is the same
    /// in every run; `None` if `stop`, which is called often, ended the run early.
    ///
    /// # Errors
    /// Returns [`PointError::Run`] if the jobs do not fit the device.
    pub fn run_on(
        &self,
        device: Device,
        observer: &mut dyn RunObserver,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<ResultDocument>, PointError> {
        let options = RunOptions {
            is_conditioned: true,
            ..self.options.clone()
        };
        let mut target = SimulatedTarget::new((*self.about).clone(), device);
        let run = run_jobs(&mut target, &self.jobs, &options, observer, stop)?;
        let mut document = run.document;
        document.wall = Default::default();
        Ok((run.ending != Ending::Interrupted).then_some(document))
    }

    /// Makes the device and runs the jobs.
    ///
    /// # Errors
    /// As [`Point::condition`] and [`Point::run_on`].
    pub fn run(
        &self,
        observer: &mut dyn RunObserver,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<ResultDocument>, PointError> {
        let condition = self.condition(&mut |progress| {
            observer.preparing(progress);
            break_if(stop())
        });
        match condition {
            Err(error) if error.is_interruption() => Ok(None),
            device => self.run_on(device?, observer, stop),
        }
    }
}
