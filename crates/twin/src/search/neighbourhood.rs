//! The neighbourhood of the best point: the last improvement, and the sets of values that fit equally well.

use super::{Evaluator, Point, SearchError, Space};
use crate::cma::{normal, reflect};
use crate::loss::spread;
use nandscope_units::random::SplitMix64;

/// Steps from the best point along each parameter, shares of the range.
const STEPS: [f64; 5] = [0.01, 0.03, 0.08, 0.2, 0.4];
/// Half of the 95 % quantile of chi-square with one degree of freedom: the drop of the log-likelihood at the end of an
/// interval.
const LIKELIHOOD: f64 = 1.92;
/// Members of an ensemble.
const MEMBERS: usize = 32;
/// Points of a round of combinations.
const ROUND: usize = 24;
/// Ratio of the ends of an interval above which a value is not determined.
const UNDETERMINED: f64 = 3.0;

/// Points that fit equally well.
pub(super) struct Neighbourhood {
    /// The point that stands for all: the best one, with undetermined parameters at the values of the base.
    pub best: Point,
    /// The ensemble, the best point first.
    pub members: Vec<Point>,
    /// Greatest loss of a member.
    pub limit: f64,
    /// Standard deviation of the logarithms of rates and of percentiles that no member explains.
    pub spread: (f64, f64),
    /// For each parameter, whether the measurements determine it.
    pub determined: Vec<bool>,
}

/// Improves the best point and looks for others that fit as well.
pub(super) fn explore(
    evaluator: &mut Evaluator<'_, '_>,
    space: &mut Space<'_>,
    noise: f64,
) -> Result<Neighbourhood, SearchError> {
    // The second round is around the point that the first has improved.
    for round in 0..2 {
        if round > 0 && evaluator.is_over() {
            break;
        }
        let Some(best) = space.best().cloned() else {
            return Err(SearchError::NoBase);
        };
        evaluator.evaluate(space, along_axes(&best.at), "polish")?;
    }
    let Some(best) = space.best().cloned() else {
        return Err(SearchError::NoBase);
    };
    let unseen = evaluator.left_out(space, &best)?;
    let observations = evaluator.task.observations;
    let spread = spread(observations, &unseen, noise);
    let scale = unseen.iter().map(|t| t.abs()).sum::<f64>() / observations.len().max(1) as f64;
    let limit_of = |space: &Space<'_>| {
        let figures = evaluator_figures(observations);
        let best = space.best().map_or(f64::MAX, |p| p.loss);
        // Errors of a Laplace distribution: -ln(likelihood) grows by the sum of the residuals divided by their scale.
        best + LIKELIHOOD * scale.max(best).max(noise) / figures
    };
    let mut random = SplitMix64::new(evaluator.options.seed ^ 0x5eed_e25e);
    loop {
        let limit = limit_of(space);
        let members = within(space, limit);
        if evaluator.is_over()
            && (members.len() >= MEMBERS || evaluator.done > 2 * evaluator.options.evaluations)
        {
            break;
        }
        let points = (0..ROUND).map(|_| combine(&members, &mut random)).collect();
        evaluator.evaluate(space, points, "ensemble")?;
    }
    let limit = limit_of(space);
    let members = spread_out(within(space, limit), MEMBERS);
    let determined = determined(space, &members);
    let best = at_priors(evaluator, space, &determined, limit)?;
    Ok(Neighbourhood {
        best,
        members,
        limit,
        spread,
        determined,
    })
}

/// Number of independent figures: percentiles of a cell move together, and count as one.
fn evaluator_figures(observations: &[crate::Observation]) -> f64 {
    let count = |o: &crate::Observation| match o.figures {
        crate::Figures {
            p50_us: None,
            p90_us: None,
            p99_us: None,
            ..
        } => 1.0,
        _ => 2.0,
    };
    observations.iter().map(count).sum()
}

fn along_axes(best: &[f64]) -> Vec<Vec<f64>> {
    let mut points = Vec::new();
    for axis in 0..best.len() {
        for step in STEPS {
            for signed in [-step, step] {
                let moved = best[axis] + signed;
                if (0.0..=1.0).contains(&moved) {
                    let mut point = best.to_vec();
                    point[axis] = moved;
                    points.push(point);
                }
            }
        }
    }
    points
}

/// Points whose loss is within the limit, the best first.
fn within(space: &Space<'_>, limit: f64) -> Vec<Point> {
    let mut members: Vec<Point> = space
        .points
        .iter()
        .filter(|p| p.loss <= limit)
        .cloned()
        .collect();
    members.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    members
}

/// A member moved along the difference of two others (differential evolution Markov chain, ter Braak 2006), which follows
/// the correlations between parameters.
fn combine(members: &[Point], random: &mut SplitMix64) -> Vec<f64> {
    let mut any = || &members[random.below(members.len() as u64) as usize].at;
    let (start, a, b) = (any().clone(), any().clone(), any().clone());
    let factor = 0.4 + 0.8 * random.unit();
    let moved = |i: usize, random: &mut SplitMix64| {
        reflect(start[i] + factor * (a[i] - b[i]) + 0.006 * normal(random))
    };
    (0..start.len()).map(|i| moved(i, random)).collect()
}

/// Chooses members that are far from each other, the best first.
fn spread_out(members: Vec<Point>, count: usize) -> Vec<Point> {
    let distance = |a: &Point, b: &Point| -> f64 {
        a.at.iter().zip(&b.at).map(|(x, y)| (x - y) * (x - y)).sum()
    };
    let mut chosen: Vec<Point> = members.first().cloned().into_iter().collect();
    let mut nearest: Vec<f64> = vec![f64::MAX; members.len()];
    while chosen.len() < count.min(members.len()) {
        let Some(last) = chosen.last() else {
            break;
        };
        let mut farthest = (0, -1.0);
        for (number, member) in members.iter().enumerate() {
            nearest[number] = nearest[number].min(distance(member, last));
            if nearest[number] > farthest.1 {
                farthest = (number, nearest[number]);
            }
        }
        chosen.push(members[farthest.0].clone());
    }
    chosen
}

fn determined(space: &Space<'_>, members: &[Point]) -> Vec<bool> {
    let is_determined = |(number, parameter): (usize, &&crate::parameter::Parameter)| {
        let shares = members.iter().map(|m| m.at[number]);
        let (low, high) = shares.fold((1.0_f64, 0.0_f64), |(l, h), s| (l.min(s), h.max(s)));
        parameter.at(high) / parameter.at(low) <= UNDETERMINED
    };
    space
        .parameters
        .iter()
        .enumerate()
        .map(is_determined)
        .collect()
}

/// The best point, with each undetermined parameter at the value of the base if that fits as well.
fn at_priors(
    evaluator: &mut Evaluator<'_, '_>,
    space: &mut Space<'_>,
    determined: &[bool],
    limit: f64,
) -> Result<Point, SearchError> {
    let prior = space.prior();
    let Some(mut best) = space.best().cloned() else {
        return Err(SearchError::NoBase);
    };
    for (number, is_determined) in determined.iter().enumerate() {
        if *is_determined {
            continue;
        }
        let mut at = best.at.clone();
        at[number] = prior[number];
        let losses = evaluator.evaluate(space, vec![at.clone()], "ensemble")?;
        if losses.first().is_some_and(|loss| *loss <= limit)
            && let Some(point) = space.points.last()
        {
            best = point.clone();
        }
    }
    Ok(best)
}
