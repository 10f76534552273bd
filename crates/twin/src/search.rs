//! The search: which structure, and which values of its parameters, come nearest to the measurements.

mod least_squares;
mod neighbourhood;
mod structures;

use crate::cma::Cma;
use crate::loss::terms;
use crate::observation::{Cell, Figures, Observation};
use crate::parameter::{self, Parameter};
use crate::simulate;
use nandscope_device::profile::{HostProfile, Profile};
use nandscope_experiment::DeviceSource;
use nandscope_suite::at_once;
use std::collections::BTreeMap;
use thiserror::Error;

/// Points that are evaluated together.
const POPULATION: usize = 16;
/// Share of the evaluations for the neighbourhood of the best point: polish and ensemble.
const NEIGHBOURHOOD: f64 = 0.4;
/// Reach of the distribution below which a search has converged.
const CONVERGED: f64 = 0.004;
/// Loss above which a fit is called bad: figures are off by 22 % on average.
pub const BAD_FIT: f64 = 0.2;
/// Least noise that is assumed, as the logarithm of a ratio: measurements are seldom repeatable to 1 %.
pub const LEAST_NOISE: f64 = 0.01;

/// Choices of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchOptions {
    /// Number of parameter sets that are simulated.
    pub evaluations: usize,
    /// Seed of the search and of the simulations.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
}

/// Progress of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchProgress {
    /// Finished share, 0 to 1.
    pub share: f64,
    /// Least loss so far.
    pub loss: f64,
    /// What is being done.
    pub phase: &'static str,
}

/// A search without result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SearchError {
    /// It was ended from outside.
    #[error("interrupted; nothing was written")]
    Interrupted,
    /// No structure can run the workloads.
    #[error(
        "none of the base profiles can run the measured workloads; check block sizes, and try another --base or --host"
    )]
    NoBase,
}

/// A parameter set and its loss.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    /// Shares of the ranges of the parameters.
    pub at: Vec<f64>,
    pub loss: f64,
    /// Weighted residuals, whose absolute values sum up to the loss times the number of cells.
    pub terms: Vec<f64>,
}

/// Value of a parameter after a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedValue {
    /// Key of the profile.
    pub key: &'static str,
    /// Value, in the unit of the key.
    pub value: f64,
    /// Least value in the ensemble.
    pub low: f64,
    /// Greatest value in the ensemble.
    pub high: f64,
    /// Whether the measurements determine it.
    pub is_determined: bool,
}

/// Result of a search.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The profile that the search began with.
    pub base: DeviceSource,
    /// The fitted profile.
    pub profile: Profile,
    /// Values of the parameters.
    pub values: Vec<FittedValue>,
    /// Loss of the fitted profile.
    pub loss: f64,
    /// Parameter sets that fit equally well, by key, in the order of `values`.
    pub members: Vec<Vec<f64>>,
    /// Greatest loss of a member.
    pub limit: f64,
    /// Standard deviation of the logarithms of rates and of percentiles that the model does not explain.
    pub spread: (f64, f64),
    /// Figures of the fitted profile for each measurement.
    pub figures: Vec<Option<Figures>>,
    /// Least loss of each structure that was tried, with its name, best first.
    pub tried: Vec<(String, f64)>,
    /// Number of parameter sets that were simulated.
    pub evaluations: usize,
}

/// What a search compares with.
pub struct Task<'a> {
    /// Measurements, screened.
    pub observations: &'a [Observation],
    /// Standard deviation of the logarithm of repeated measurements, if known.
    pub noise: Option<f64>,
    /// Profiles to begin with.
    pub bases: &'a [DeviceSource],
    /// Host to which the device is attached.
    pub host: &'a HostProfile,
}

/// Reactions of the caller during a search.
pub struct Caller<'a> {
    /// Ends the search without a result.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Ends the search with what was found, such as after a time.
    pub enough: &'a (dyn Fn() -> bool + Sync),
    /// Receives the progress.
    pub tell: &'a mut dyn FnMut(SearchProgress),
}

/// One structure under search.
pub(crate) struct Space<'a> {
    pub base: &'a DeviceSource,
    pub parameters: Vec<&'static Parameter>,
    /// Every evaluated point.
    pub points: Vec<Point>,
}

impl<'a> Space<'a> {
    fn new(base: &'a DeviceSource, is_steady: bool) -> Space<'a> {
        let parameters = parameter::of(&base.profile, is_steady);
        Space {
            base,
            parameters,
            points: Vec::new(),
        }
    }

    /// The base itself.
    pub fn prior(&self) -> Vec<f64> {
        let share = |p: &&Parameter| p.share(p.get(&self.base.profile).unwrap_or(p.low));
        self.parameters.iter().map(share).collect()
    }

    /// The profile of a point.
    pub fn profile(&self, at: &[f64]) -> Profile {
        profile_of(&self.base.profile, &self.parameters, at)
    }

    /// The point of the least loss; the earliest of equal ones.
    pub fn best(&self) -> Option<&Point> {
        let mut best: Option<&Point> = None;
        for point in &self.points {
            if best.is_none_or(|b| point.loss < b.loss) {
                best = Some(point);
            }
        }
        best
    }
}

/// A base with parameters at shares of their ranges. A parameter at the share of the base keeps the base's value.
fn profile_of(base: &Profile, parameters: &[&'static Parameter], at: &[f64]) -> Profile {
    let mut profile = base.clone();
    for (parameter, share) in parameters.iter().zip(at) {
        let prior = parameter.get(base).map(|value| parameter.share(value));
        if prior.is_none_or(|prior| (prior - share).abs() > 1e-9) {
            parameter.set(&mut profile, parameter.at(*share));
        }
    }
    profile
}

/// Evaluates points in parallel, and counts them.
pub(crate) struct Evaluator<'a, 'b> {
    task: &'a Task<'a>,
    cells: Vec<Cell>,
    options: SearchOptions,
    caller: &'a mut Caller<'b>,
    done: usize,
    best: f64,
}

impl Evaluator<'_, '_> {
    fn is_over(&self) -> bool {
        self.done >= self.options.evaluations || (self.caller.enough)()
    }

    /// Adds evaluated points to the space.
    pub(crate) fn evaluate(
        &mut self,
        space: &mut Space<'_>,
        points: Vec<Vec<f64>>,
        phase: &'static str,
    ) -> Result<Vec<f64>, SearchError> {
        let (task, cells, seed) = (self.task, &self.cells, self.options.seed);
        let of_point = |number: usize| {
            let profile = space.profile(&points[number]);
            let figures = simulate::figures(&profile, task.host, cells, seed);
            terms(task.observations, &figures)
        };
        let cell_count = cells.len().max(1) as f64;
        let loss_of = |terms: &[f64]| terms.iter().map(|t| t.abs()).sum::<f64>() / cell_count;
        let (total, before) = (self.options.evaluations, self.done);
        let (tell, mut best) = (&mut self.caller.tell, self.best);
        let found = at_once::run(
            points.len(),
            self.options.threads,
            self.caller.stop,
            of_point,
            |done| {
                best = best.min(loss_of(done.outcome));
                let share = (before + done.count) as f64 / total.max(1) as f64;
                tell(SearchProgress {
                    share: share.min(1.0),
                    loss: best,
                    phase,
                });
            },
        );
        self.best = best;
        self.done += points.len();
        let found: Option<Vec<Vec<f64>>> = found.into_iter().collect();
        let found = found.ok_or(SearchError::Interrupted)?;
        let losses = found.iter().map(|terms| loss_of(terms)).collect();
        let evaluated = points.into_iter().zip(found);
        space.points.extend(evaluated.map(|(at, terms)| Point {
            at,
            loss: loss_of(&terms),
            terms,
        }));
        Ok(losses)
    }

    /// CMA-ES from the best point of a space, until a number of evaluations is reached.
    fn descend(
        &mut self,
        space: &mut Space<'_>,
        until: usize,
        sigma: f64,
        phase: &'static str,
    ) -> Result<(), SearchError> {
        let Some(start) = space.best().map(|point| point.at.clone()) else {
            return Ok(());
        };
        let seed = self.options.seed.wrapping_add(self.done as u64);
        let mut cma = Cma::new(start, sigma, POPULATION, seed);
        while self.done + POPULATION <= until && !self.is_over() && cma.reach() > CONVERGED {
            let points = cma.ask();
            let losses = self.evaluate(space, points.clone(), phase)?;
            cma.tell(&points, &losses);
        }
        Ok(())
    }
}

/// Fits a profile to measurements.
///
/// # Errors
/// [`SearchError`] if `stop` ended it, or no base can run the workloads.
pub fn fit(
    task: &Task<'_>,
    options: SearchOptions,
    caller: &mut Caller<'_>,
) -> Result<Fitted, SearchError> {
    let mut evaluator = Evaluator {
        task,
        cells: task.observations.iter().map(|o| o.cell).collect(),
        options,
        caller,
        done: 0,
        best: f64::MAX,
    };
    let (mut space, tried) = structures::choose(&mut evaluator)?;
    let until = (options.evaluations as f64 * (1.0 - NEIGHBOURHOOD)) as usize;
    if let Some(best) = space.best().cloned() {
        evaluator.least_squares(&mut space, &best, 10, "values")?;
    }
    evaluator.descend(&mut space, until, 0.06, "values")?;
    if let Some(best) = space.best().cloned() {
        evaluator.least_squares(&mut space, &best, 10, "values")?;
    }
    // A restart with wider steps escapes from a local minimum, if evaluations are left.
    evaluator.descend(&mut space, until, 0.25, "values")?;
    let noise = task.noise.unwrap_or(0.0).max(LEAST_NOISE);
    let found = neighbourhood::explore(&mut evaluator, &mut space, noise)?;
    let profile = space.profile(&found.best.at);
    let figures = simulate::figures(&profile, task.host, &evaluator.cells, options.seed);
    let values = values(&space, &found);
    let of_member = |point: &Point| {
        let profile = space.profile(&point.at);
        let value = |p: &&Parameter| p.get(&profile).unwrap_or(f64::NAN);
        space.parameters.iter().map(value).collect()
    };
    Ok(Fitted {
        base: space.base.clone(),
        profile,
        values,
        loss: found.best.loss,
        members: found.members.iter().map(of_member).collect(),
        limit: found.limit,
        spread: found.spread,
        figures,
        tried,
        evaluations: evaluator.done,
    })
}

fn values(space: &Space<'_>, found: &neighbourhood::Neighbourhood) -> Vec<FittedValue> {
    let profiles: Vec<Profile> = found.members.iter().map(|m| space.profile(&m.at)).collect();
    let best = space.profile(&found.best.at);
    let mut values = Vec::new();
    for (parameter, is_determined) in space.parameters.iter().zip(&found.determined) {
        let value = parameter.get(&best).unwrap_or(f64::NAN);
        let all = profiles.iter().filter_map(|p| parameter.get(p));
        let (low, high) = all.fold((value, value), |(l, h), v| (l.min(v), h.max(v)));
        values.push(FittedValue {
            key: parameter.key,
            value,
            low,
            high,
            is_determined: *is_determined,
        });
    }
    values
}

/// Profiles of an ensemble: the base with the values of each member.
pub fn member_profiles(base: &Profile, keys: &[&str], members: &[Vec<f64>]) -> Vec<Profile> {
    let parameters: BTreeMap<&str, &Parameter> = keys
        .iter()
        .filter_map(|key| parameter::find(key).map(|p| (*key, p)))
        .collect();
    let profile = |member: &Vec<f64>| {
        let mut profile = base.clone();
        for (key, value) in keys.iter().zip(member) {
            let Some(parameter) = parameters.get(key) else {
                continue;
            };
            let same = parameter
                .get(&profile)
                .is_some_and(|v| (v / value - 1.0).abs() < 1e-9);
            if !same {
                parameter.set(&mut profile, *value);
            }
        }
        profile
    };
    members.iter().map(profile).collect()
}
