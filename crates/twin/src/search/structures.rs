//! Which structure: each base is tried with its own values and with values spread over the whole ranges.

use super::{Evaluator, Point, SearchError, Space};
use crate::loss::CAP;
use crate::observation::State;
use nandscope_sweep::Sampling;

/// Spread points for each base; more if there is only one.
const SPREAD: usize = 20;
/// Rounds of the decision: number of bases that are searched further, and iterations from each start.
const ROUNDS: [(usize, usize); 2] = [(4, 2), (2, 5)];
/// Share of the evaluations after which the structure is decided.
const SHARE: f64 = 0.55;
/// Distance of two starts, shares of the ranges: below, they lead to the same minimum.
const APART: f64 = 0.3;

/// The most promising structure with the points that were evaluated, and the least loss of each base, best first.
pub(super) fn choose<'a>(
    evaluator: &mut Evaluator<'a, '_>,
) -> Result<(Space<'a>, Vec<(String, f64)>), SearchError> {
    let task = evaluator.task;
    let is_steady = task
        .observations
        .iter()
        .any(|o| o.cell.state == State::Steady);
    let mut spaces: Vec<Space<'a>> = Vec::new();
    for base in task.bases {
        let mut space = Space::new(base, is_steady);
        let share = evaluator.options.evaluations / 5 / task.bases.len().max(1);
        let count = share.clamp(4, if task.bases.len() == 1 { 64 } else { SPREAD });
        let mut points = vec![space.prior()];
        let spread = Sampling::LatinHypercube(count);
        points.extend(spread.shares(space.parameters.len(), evaluator.options.seed));
        evaluator.evaluate(&mut space, points, "structure")?;
        spaces.push(space);
    }
    let least = |space: &Space<'_>| space.best().map_or(CAP, |point| point.loss);
    spaces.sort_by(|a, b| least(a).total_cmp(&least(b)));
    let runs = |space: &Space<'_>| least(space) < CAP;
    if !spaces.first().is_some_and(runs) {
        return Err(SearchError::NoBase);
    }
    for (count, iterations) in ROUNDS {
        for space in spaces.iter_mut().take(count).filter(|space| runs(space)) {
            let starts = starts(space);
            for start in &starts {
                if evaluator.done as f64 > SHARE * evaluator.options.evaluations as f64 {
                    break;
                }
                evaluator.least_squares(space, start, iterations, "structure")?;
            }
        }
        spaces.sort_by(|a, b| least(a).total_cmp(&least(b)));
    }
    let tried = spaces
        .iter()
        .map(|space| (space.base.profile.device.name.clone(), least(space)))
        .collect();
    Ok((spaces.swap_remove(0), tried))
}

/// The best point of a space, and the best one that is far from it.
fn starts(space: &Space<'_>) -> Vec<Point> {
    let mut points: Vec<&Point> = space.points.iter().collect();
    points.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let Some(best) = points.first() else {
        return Vec::new();
    };
    let distance = |other: &Point| {
        let steps = best
            .at
            .iter()
            .zip(&other.at)
            .map(|(a, b)| (a - b) * (a - b));
        libm::sqrt(steps.sum::<f64>())
    };
    let other = points.iter().find(|point| distance(point) > APART);
    [Some(best), other]
        .into_iter()
        .flatten()
        .map(|p| (*p).clone())
        .collect()
}
