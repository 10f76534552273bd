//! Minimisation by CMA-ES: an evolution strategy that learns the covariance of good steps (Hansen, "The CMA evolution
//! strategy: a tutorial", arXiv:1604.00772, 2016; the constants are those of its table 1, without negative weights). Points
//! are in the unit cube; samples outside are reflected into it.

use nandscope_units::random::SplitMix64;

/// A search in progress.
#[derive(Clone, Debug)]
pub struct Cma {
    mean: Vec<f64>,
    /// Step size, as a share of the cube.
    sigma: f64,
    covariance: Vec<Vec<f64>>,
    /// Eigenvectors in columns, and roots of eigenvalues.
    basis: (Vec<Vec<f64>>, Vec<f64>),
    path_sigma: Vec<f64>,
    path_covariance: Vec<f64>,
    generation: u32,
    population: usize,
    weights: Vec<f64>,
    random: SplitMix64,
}

impl Cma {
    /// A search around `start` with steps of `sigma`. `population` points are asked for at a time, at least 4.
    pub fn new(start: Vec<f64>, sigma: f64, population: usize, seed: u64) -> Cma {
        let n = start.len();
        let population = population.max(4);
        let parents = population / 2;
        let rank =
            |i: usize| libm::log((population as f64 + 1.0) / 2.0) - libm::log(i as f64 + 1.0);
        let weights: Vec<f64> = (0..parents).map(rank).collect();
        let sum: f64 = weights.iter().sum();
        Cma {
            mean: start,
            sigma,
            covariance: identity(n),
            basis: (identity(n), vec![1.0; n]),
            path_sigma: vec![0.0; n],
            path_covariance: vec![0.0; n],
            generation: 0,
            population,
            weights: weights.iter().map(|w| w / sum).collect(),
            random: SplitMix64::new(seed),
        }
    }

    /// Step size that is left, as a share of the cube: along the longest axis of the distribution.
    pub fn reach(&self) -> f64 {
        self.sigma * self.basis.1.iter().copied().fold(0.0, f64::max)
    }

    /// Next points to evaluate.
    pub fn ask(&mut self) -> Vec<Vec<f64>> {
        (0..self.population).map(|_| self.sample()).collect()
    }

    fn sample(&mut self) -> Vec<f64> {
        let n = self.mean.len();
        let (vectors, roots) = &self.basis;
        let z: Vec<f64> = (0..n)
            .map(|i| normal(&mut self.random) * roots[i])
            .collect();
        let step = |i: usize| (0..n).map(|j| vectors[i][j] * z[j]).sum::<f64>();
        (0..n)
            .map(|i| reflect(self.mean[i] + self.sigma * step(i)))
            .collect()
    }

    /// Learns from evaluated points. Points of equal loss are ranked in their order, so that results are reproducible.
    pub fn tell(&mut self, points: &[Vec<f64>], losses: &[f64]) {
        let mut order: Vec<usize> = (0..points.len().min(losses.len())).collect();
        order.sort_by(|a, b| losses[*a].total_cmp(&losses[*b]).then(a.cmp(b)));
        let n = self.mean.len();
        if n == 0 || order.len() < self.weights.len() {
            return;
        }
        self.generation += 1;
        let size = n as f64;
        let effective = 1.0 / self.weights.iter().map(|w| w * w).sum::<f64>();
        let c_sigma = (effective + 2.0) / (size + effective + 5.0);
        let damping =
            1.0 + 2.0 * (libm::sqrt((effective - 1.0) / (size + 1.0)) - 1.0).max(0.0) + c_sigma;
        let c_path = (4.0 + effective / size) / (size + 4.0 + 2.0 * effective / size);
        let c_one = 2.0 / ((size + 1.3) * (size + 1.3) + effective);
        let c_mu =
            2.0 * (effective - 2.0 + 1.0 / effective) / ((size + 2.0) * (size + 2.0) + effective);
        let c_mu = c_mu.clamp(0.0, 1.0 - c_one);
        let steps: Vec<Vec<f64>> = order[..self.weights.len()]
            .iter()
            .map(|at| {
                (0..n)
                    .map(|i| (points[*at][i] - self.mean[i]) / self.sigma)
                    .collect()
            })
            .collect();
        let mean_step: Vec<f64> = (0..n)
            .map(|i| steps.iter().zip(&self.weights).map(|(s, w)| s[i] * w).sum())
            .collect();
        for (mean, step) in self.mean.iter_mut().zip(&mean_step) {
            *mean = (*mean + self.sigma * step).clamp(0.0, 1.0);
        }
        let whitened = self.whiten(&mean_step);
        let keep = libm::sqrt(c_sigma * (2.0 - c_sigma) * effective);
        for (path, step) in self.path_sigma.iter_mut().zip(&whitened) {
            *path = (1.0 - c_sigma) * *path + keep * step;
        }
        let length = libm::sqrt(self.path_sigma.iter().map(|p| p * p).sum::<f64>());
        let expected = libm::sqrt(size) * (1.0 - 1.0 / (4.0 * size) + 1.0 / (21.0 * size * size));
        let decay = 1.0 - libm::pow(1.0 - c_sigma, 2.0 * f64::from(self.generation));
        let is_short = length / libm::sqrt(decay) < (1.4 + 2.0 / (size + 1.0)) * expected;
        let keep = if is_short {
            libm::sqrt(c_path * (2.0 - c_path) * effective)
        } else {
            0.0
        };
        for (path, step) in self.path_covariance.iter_mut().zip(&mean_step) {
            *path = (1.0 - c_path) * *path + keep * step;
        }
        let lost = if is_short {
            0.0
        } else {
            c_path * (2.0 - c_path)
        };
        for i in 0..n {
            for j in 0..n {
                let rank_mu: f64 = steps
                    .iter()
                    .zip(&self.weights)
                    .map(|(s, w)| w * s[i] * s[j])
                    .sum();
                let rank_one = self.path_covariance[i] * self.path_covariance[j];
                let old = self.covariance[i][j];
                self.covariance[i][j] =
                    (1.0 - c_one - c_mu + c_one * lost) * old + c_one * rank_one + c_mu * rank_mu;
            }
        }
        let change = (c_sigma / damping) * (length / expected - 1.0);
        self.sigma = (self.sigma * libm::exp(change.clamp(-1.0, 1.0))).clamp(1e-6, 0.5);
        self.basis = decompose(&self.covariance);
    }

    /// A step, with the covariance taken off it.
    fn whiten(&self, step: &[f64]) -> Vec<f64> {
        let (vectors, roots) = &self.basis;
        let n = step.len();
        let along =
            |j: usize| (0..n).map(|i| vectors[i][j] * step[i]).sum::<f64>() / roots[j].max(1e-12);
        let along: Vec<f64> = (0..n).map(along).collect();
        (0..n)
            .map(|i| (0..n).map(|j| vectors[i][j] * along[j]).sum())
            .collect()
    }
}

fn identity(n: usize) -> Vec<Vec<f64>> {
    let row = |i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
    (0..n).map(row).collect()
}

/// A normal random number (Box and Muller, 1958).
pub fn normal(random: &mut SplitMix64) -> f64 {
    let (u, v) = (1.0 - random.unit(), random.unit());
    libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * v)
}

/// Reflects a number at 0 and 1 until it is between them.
pub fn reflect(x: f64) -> f64 {
    let x = x.abs() % 2.0;
    if x > 1.0 { 2.0 - x } else { x }
}

/// Eigenvectors (in columns) and roots of eigenvalues of a symmetric matrix, by Jacobi's rotations.
fn decompose(matrix: &[Vec<f64>]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let n = matrix.len();
    let (mut a, mut v) = (matrix.to_vec(), identity(n));
    for _ in 0..30 {
        let off: f64 = (0..n)
            .map(|i| (0..i).map(|j| a[i][j] * a[i][j]).sum::<f64>())
            .sum();
        if off < 1e-20 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, p, q);
            }
        }
    }
    let roots = (0..n).map(|i| libm::sqrt(a[i][i].max(1e-14))).collect();
    (v, roots)
}

fn rotate(a: &mut [Vec<f64>], v: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q].abs() < 1e-18 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + libm::sqrt(theta * theta + 1.0));
    let t = if theta == 0.0 { 1.0 } else { t };
    let c = 1.0 / libm::sqrt(t * t + 1.0);
    let s = t * c;
    for row in a.iter_mut() {
        let (kp, kq) = (row[p], row[q]);
        row[p] = c * kp - s * kq;
        row[q] = s * kp + c * kq;
    }
    let (row_p, row_q) = (a[p].clone(), a[q].clone());
    let both = || row_p.iter().zip(&row_q);
    a[p] = both().map(|(pk, qk)| c * pk - s * qk).collect();
    a[q] = both().map(|(pk, qk)| s * pk + c * qk).collect();
    for row in v.iter_mut() {
        let (kp, kq) = (row[p], row[q]);
        row[p] = c * kp - s * kq;
        row[q] = s * kp + c * kq;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimum(f: impl Fn(&[f64]) -> f64, n: usize, generations: usize) -> (Vec<f64>, f64) {
        let mut cma = Cma::new(vec![0.9; n], 0.2, 12, 7);
        let mut best = (vec![], f64::MAX);
        for _ in 0..generations {
            let points = cma.ask();
            let losses: Vec<f64> = points.iter().map(|p| f(p)).collect();
            for (point, loss) in points.iter().zip(&losses) {
                if *loss < best.1 {
                    best = (point.clone(), *loss);
                }
            }
            cma.tell(&points, &losses);
        }
        best
    }

    #[test]
    fn a_narrow_rotated_valley_is_followed() {
        // Axes of 1 : 100, turned by 45 degrees in each pair of coordinates.
        let f = |x: &[f64]| {
            let y: Vec<f64> = x.iter().map(|x| x - 0.3).collect();
            y.chunks(2)
                .map(|c| (c[0] + c[1]).powi(2) + 1e4 * (c[0] - c[1]).powi(2))
                .sum()
        };
        let (point, loss) = minimum(f, 6, 250);
        assert!(loss < 1e-8, "{loss} {point:?}");
    }

    #[test]
    fn a_minimum_at_the_edge_is_found() {
        let (point, _) = minimum(|x| x.iter().map(|x| x.abs()).sum(), 5, 150);
        assert!(point.iter().all(|x| *x < 1e-3), "{point:?}");
    }

    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let matrix = vec![
            vec![4.0, 1.0, 0.5],
            vec![1.0, 3.0, -0.2],
            vec![0.5, -0.2, 2.0],
        ];
        let (v, roots) = decompose(&matrix);
        for i in 0..3 {
            for j in 0..3 {
                let rebuilt: f64 = (0..3)
                    .map(|k| v[i][k] * roots[k] * roots[k] * v[j][k])
                    .sum();
                assert!((rebuilt - matrix[i][j]).abs() < 1e-9);
            }
        }
    }
}
