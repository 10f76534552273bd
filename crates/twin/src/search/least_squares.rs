//! Descent that uses every residual, not only their sum: Gauss–Newton steps with Levenberg's damping, weighted so that
//! absolute values are minimised (iteratively reweighted least squares, Holland & Welsch 1977).

use super::{Evaluator, Point, SearchError, Space};
use std::ops::Range;

/// Difference of a parameter for a derivative, a share of its range: above the scatter of short runs.
const STEP: f64 = 0.03;
/// Damping of the steps that are tried, relative to the diagonal.
const DAMPING: [f64; 6] = [1e-3, 1e-2, 0.1, 0.5, 2.0, 10.0];
/// Residual below which weights do not grow.
const LEAST_RESIDUAL: f64 = 0.01;
/// Pull towards the base, so that parameters without influence stay there: half of the range weighs as much as one residual of
/// a few percent.
const PRIOR: f64 = 0.05;
/// Greatest residual of a cell that is left out, in mean residuals of the fit.
const MOST_INFLATED: f64 = 12.0;
/// Longest step along one parameter.
const LONGEST: f64 = 0.25;
/// Improvement of the loss, a share, below which a descent ends after two iterations.
const WORTHWHILE: f64 = 0.005;

impl Evaluator<'_, '_> {
    /// Descends from a point, at most a number of iterations; each simulates every parameter once, and some steps.
    pub(super) fn least_squares(
        &mut self,
        space: &mut Space<'_>,
        start: &Point,
        iterations: usize,
        phase: &'static str,
    ) -> Result<(), SearchError> {
        let prior = space.prior();
        let mut center = start.clone();
        let mut idle = 0;
        for iteration in 0..iterations {
            if self.is_over() || idle == 2 {
                break;
            }
            let before = center.loss;
            let first = space.points.len();
            let slopes = self.slopes(space, &center, iteration, phase)?;
            let steps = steps(&center, &slopes, &prior);
            self.evaluate(space, steps, phase)?;
            for point in &space.points[first..] {
                if point.loss < center.loss {
                    center = point.clone();
                }
            }
            idle = match center.loss < before * (1.0 - WORTHWHILE) {
                true => 0,
                false => idle + 1,
            };
        }
        Ok(())
    }

    /// Derivatives of the residuals with respect to each parameter, from a simulation of each.
    fn slopes(
        &mut self,
        space: &mut Space<'_>,
        center: &Point,
        iteration: usize,
        phase: &'static str,
    ) -> Result<Vec<Vec<f64>>, SearchError> {
        let first = space.points.len();
        let moved = probes(space, &center.at, iteration);
        let points = moved.iter().map(|(point, _)| point.clone()).collect();
        self.evaluate(space, points, phase)?;
        let pairs = moved.iter().zip(&space.points[first..]);
        let slope = |((_, step), point): (&(Vec<f64>, f64), &Point)| {
            slope(&center.terms, &point.terms, *step)
        };
        Ok(pairs.map(slope).collect())
    }

    /// Residuals that each cell would have if the fit had not seen it, by the linear model around a point. They, not the
    /// residuals of the fit, show how far a prediction may be off: with few cells a fit explains even their noise.
    pub(super) fn left_out(
        &mut self,
        space: &mut Space<'_>,
        center: &Point,
    ) -> Result<Vec<f64>, SearchError> {
        let slopes = self.slopes(space, center, 0, "ensemble")?;
        let cells = crate::loss::cells(self.task.observations);
        Ok(without_cells(center, &slopes, &cells))
    }
}

/// For each cell the residuals r of a fit to the others: (I - H) r = residuals of the fit to all, where H is the part of the hat
/// matrix that belongs to the cell (Allen's PRESS, 1974, for blocks).
fn without_cells(center: &Point, slopes: &[Vec<f64>], cells: &[Range<usize>]) -> Vec<f64> {
    let count = center.terms.len().max(1) as f64;
    let mean = center.terms.iter().map(|t| t.abs()).sum::<f64>() / count;
    let weight = 1.0 / mean.max(LEAST_RESIDUAL);
    let weights = vec![weight; center.terms.len()];
    let matrix = normal_matrix(slopes, &weights);
    let mut all = center.terms.clone();
    for cell in cells {
        let own: Vec<usize> = cell.clone().collect();
        let mut left = vec![vec![0.0; own.len()]; own.len()];
        for (column, b) in own.iter().enumerate() {
            let of_term: Vec<f64> = slopes.iter().map(|s| s[*b] * weight).collect();
            let Some(moved) = solve(matrix.clone(), of_term) else {
                continue;
            };
            for (row, a) in own.iter().enumerate() {
                let hat: f64 = slopes.iter().zip(&moved).map(|(s, m)| s[*a] * m).sum();
                left[row][column] = if row == column { 1.0 - hat } else { -hat };
            }
        }
        let fitted: Vec<f64> = own.iter().map(|a| center.terms[*a]).collect();
        let Some(found) = solve(left, fitted.clone()) else {
            continue;
        };
        for ((a, found), fitted) in own.iter().zip(found).zip(fitted) {
            // The linear model does not hold for large steps.
            all[*a] = found.clamp(-MOST_INFLATED * mean, MOST_INFLATED * mean);
            if all[*a].abs() < fitted.abs() {
                all[*a] = fitted;
            }
        }
    }
    all
}

/// The point moved along each parameter, with the step.
fn probes(space: &Space<'_>, at: &[f64], iteration: usize) -> Vec<(Vec<f64>, f64)> {
    let probe = |axis: usize| {
        let least = space.parameters[axis].least_step(at[axis]).max(STEP);
        // Alternating signs: a derivative to one side only would never see a minimum between two steps.
        let wanted = if iteration.is_multiple_of(2) {
            least
        } else {
            -least
        };
        let step = match (0.0..=1.0).contains(&(at[axis] + wanted)) {
            true => wanted,
            false => -wanted,
        };
        let mut point = at.to_vec();
        point[axis] = (at[axis] + step).clamp(0.0, 1.0);
        let step = point[axis] - at[axis];
        (point, step)
    };
    (0..at.len()).map(probe).collect()
}

fn slope(before: &[f64], after: &[f64], step: f64) -> Vec<f64> {
    let pairs = before.iter().zip(after);
    pairs
        .map(|(b, a)| if step == 0.0 { 0.0 } else { (a - b) / step })
        .collect()
}

/// Points that the linear model proposes, with more and more damping.
fn steps(center: &Point, slopes: &[Vec<f64>], prior: &[f64]) -> Vec<Vec<f64>> {
    let weights: Vec<f64> = center
        .terms
        .iter()
        .map(|t| 1.0 / t.abs().max(LEAST_RESIDUAL))
        .collect();
    let matrix = normal_matrix(slopes, &weights);
    let pulls = center
        .at
        .iter()
        .zip(prior)
        .map(|(at, prior)| PRIOR * (at - prior));
    let downhill = slopes
        .iter()
        .map(|s| weighted_product(s, &center.terms, &weights));
    let right: Vec<f64> = downhill
        .zip(pulls)
        .map(|(down, pull)| -down - pull)
        .collect();
    let step = |damping: &f64| {
        let mut damped = matrix.clone();
        for (i, row) in damped.iter_mut().enumerate() {
            row[i] *= 1.0 + damping;
        }
        let step = solve(damped, right.clone())?;
        let moved = center.at.iter().zip(step);
        let moved = moved.map(|(x, d)| (x + d.clamp(-LONGEST, LONGEST)).clamp(0.0, 1.0));
        Some(moved.collect())
    };
    DAMPING.iter().filter_map(step).collect()
}

fn weighted_product(a: &[f64], b: &[f64], weights: &[f64]) -> f64 {
    let terms = a.iter().zip(b).zip(weights);
    terms.map(|((a, b), w)| a * b * w).sum()
}

/// The matrix of the normal equations, with the pull towards the base on its diagonal.
fn normal_matrix(slopes: &[Vec<f64>], weights: &[f64]) -> Vec<Vec<f64>> {
    let row = |(i, a): (usize, &Vec<f64>)| {
        let products = slopes.iter().map(|b| weighted_product(a, b, weights));
        let mut row: Vec<f64> = products.collect();
        row[i] += PRIOR;
        row
    };
    slopes.iter().enumerate().map(row).collect()
}

/// Solves a linear system by Gaussian elimination with pivoting; `None` if it is singular.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|a, b| {
            matrix[*a][column]
                .abs()
                .total_cmp(&matrix[*b][column].abs())
        })?;
        if matrix[pivot][column].abs() < 1e-12 {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in column + 1..n {
            let factor = matrix[row][column] / matrix[column][column];
            let pivot = matrix[column].clone();
            for (value, above) in matrix[row].iter_mut().zip(pivot).skip(column) {
                *value -= factor * above;
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| matrix[row][k] * right[k]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right.iter().all(|x| x.is_finite()).then_some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_model_is_solved_in_one_step() {
        // Residuals a + 2 b - 1 and a - b - 0.1, zero at a = 0.4, b = 0.3.
        let terms = |x: &[f64]| vec![x[0] + 2.0 * x[1] - 1.0, x[0] - x[1] - 0.1];
        let at = vec![0.5, 0.5];
        let center = Point {
            terms: terms(&at),
            at,
            loss: 0.0,
        };
        let slopes = [vec![1.0, 1.0], vec![2.0, -1.0]];
        let found = steps(&center, &slopes, &[0.5, 0.5]);
        let least = terms(&found[0]).iter().map(|t| t.abs()).sum::<f64>();
        assert!(least < 0.02, "{found:?}");
    }

    #[test]
    fn a_singular_system_has_no_solution() {
        assert_eq!(
            solve(vec![vec![1.0, 2.0], vec![2.0, 4.0]], vec![1.0, 1.0]),
            None
        );
        let found = solve(vec![vec![0.0, 2.0], vec![4.0, 0.0]], vec![1.0, 2.0]).unwrap();
        assert_eq!(found, [0.5, 0.5]);
    }
}
