//! Which structure: each base is tried with its own values and with values spread over the whole ranges.

use super::{Evaluator, SearchError, Space};
use crate::loss::CAP;
use crate::observation::State;
use nandscope_sweep::Sampling;

/// Spread points for each base; more if there is only one.
const SPREAD: usize = 20;
/// Bases that are searched further.
const FINALISTS: usize = 3;
/// Share of the evaluations by which the finalists are decided between.
const DECISION: f64 = 0.3;

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
    let finalists = spaces.iter().take(FINALISTS).filter(|s| runs(s)).count();
    if finalists == 0 {
        return Err(SearchError::NoBase);
    }
    if finalists > 1 {
        let each = (evaluator.options.evaluations as f64 * DECISION) as usize / finalists;
        for space in spaces.iter_mut().take(finalists) {
            let until = evaluator.done + each;
            evaluator.descend(space, until, 0.2, "structure")?;
        }
    } else {
        let until = evaluator.done + (evaluator.options.evaluations as f64 * DECISION) as usize;
        evaluator.descend(&mut spaces[0], until, 0.2, "values")?;
    }
    spaces.sort_by(|a, b| least(a).total_cmp(&least(b)));
    let tried = spaces
        .iter()
        .map(|space| (space.base.profile.device.name.clone(), least(space)))
        .collect();
    Ok((spaces.swap_remove(0), tried))
}
