//! Uneven choices among n blocks: Zipf, Pareto, normal. Each draws a rank or a place; ranks are
//! spread over the region by [`Scatter`], so that the hot blocks do not lie side by side.

use super::Random;
use num_integer::gcd;

/// Draws are repeated at most so often: parameters that are not numbers must not hang a program.
const MAX_TRIES: u32 = 10_000;

/// Zipf's law: rank k (from 0) in proportion to (k+1)^−theta, exactly, by rejection-inversion
/// (W. Hörmann, G. Derflinger 1996). Unlike the method that fio uses (J. Gray et al. 1994) it
/// needs no sum over all blocks and is not an approximation.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: f64,
    theta: f64,
    high: f64,
    low: f64,
    squeeze: f64,
}

impl Zipf {
    /// A law for `n` blocks (at least 1), with an exponent from 0, which gives equal probabilities.
    pub fn new(n: u64, theta: f64) -> Self {
        let n = n.max(1) as f64;
        let h = |x: f64| integral(x, theta);
        Zipf {
            n,
            theta,
            high: h(1.5) - 1.0,
            low: h(n + 0.5),
            squeeze: 2.0 - inverse(h(2.5) - density(2.0, theta), theta),
        }
    }

    /// A rank, 0 the most frequent.
    pub fn rank(&self, random: &mut Random) -> u64 {
        for _ in 0..MAX_TRIES {
            let u = self.low + random.unit() * (self.high - self.low);
            let x = inverse(u, self.theta);
            let k = (x + 0.5).floor().clamp(1.0, self.n);
            if k - x <= self.squeeze || u >= integral(k + 0.5, self.theta) - density(k, self.theta)
            {
                return k as u64 - 1;
            }
        }
        0
    }
}

fn density(x: f64, theta: f64) -> f64 {
    libm::exp(-theta * libm::log(x))
}

/// Integral of the density from 1 to x: (x^(1−theta) − 1) / (1 − theta), stable round theta = 1.
fn integral(x: f64, theta: f64) -> f64 {
    let log = libm::log(x);
    let t = (1.0 - theta) * log;
    let ratio = if t.abs() > 1e-8 {
        libm::expm1(t) / t
    } else {
        1.0 + t / 2.0 * (1.0 + t / 3.0)
    };
    log * ratio
}

fn inverse(u: f64, theta: f64) -> f64 {
    let t = (u * (1.0 - theta)).max(-1.0);
    let ratio = if t.abs() > 1e-8 {
        libm::log1p(t) / t
    } else {
        1.0 - t * (0.5 - t / 3.0)
    };
    libm::exp(ratio * u)
}

/// Pareto as fio defines it: rank ⌊n·u^p⌋ for uniform u, with p = ln h / ln(1−h). The first share
/// h of the ranks then gets the share 1−h of the accesses (h = 0.2: 80/20).
#[derive(Clone, Debug)]
pub struct Pareto {
    n: u64,
    power: f64,
}

impl Pareto {
    /// For `n` blocks and h between 0 and 1.
    pub fn new(n: u64, h: f64) -> Self {
        Pareto {
            n: n.max(1),
            power: libm::log(h) / libm::log(1.0 - h),
        }
    }

    /// A rank, 0 the most frequent.
    pub fn rank(&self, random: &mut Random) -> u64 {
        let share = libm::pow(random.unit(), self.power);
        ((share * self.n as f64) as u64).min(self.n - 1)
    }
}

/// A bell cut off at the ends of the region.
#[derive(Clone, Debug)]
pub struct Normal {
    n: u64,
    mean: f64,
    deviation: f64,
}

impl Normal {
    /// For `n` blocks; mean and standard deviation as shares of the region.
    pub fn new(n: u64, mean: f64, deviation: f64) -> Self {
        let n = n.max(1);
        Normal {
            n,
            // The middle of a block, so that even a tiny deviation falls inside.
            mean: mean * (n - 1) as f64 + 0.5,
            deviation: deviation * n as f64,
        }
    }

    /// Draws a block. Values outside of the region are drawn again; at least a third falls inside for
    /// the deviations that a job can have.
    pub fn block(&self, random: &mut Random) -> u64 {
        for _ in 0..MAX_TRIES {
            let x = self.mean + self.deviation * standard_normal(random);
            if x >= 0.0 && x < self.n as f64 {
                return x as u64;
            }
        }
        (self.mean as u64).min(self.n - 1)
    }
}

/// G. Marsaglia's polar method.
fn standard_normal(random: &mut Random) -> f64 {
    loop {
        let (x, y) = (2.0 * random.unit() - 1.0, 2.0 * random.unit() - 1.0);
        let s = x * x + y * y;
        if s > 0.0 && s < 1.0 {
            return x * libm::sqrt(-2.0 * libm::log(s) / s);
        }
    }
}

/// Spreads ranks over n blocks, one to one: block = (first + rank·stride) mod n, with a stride
/// near n divided by the golden ratio that has no factor in common with n.
#[derive(Clone, Debug)]
pub struct Scatter {
    n: u64,
    first: u64,
    stride: u64,
}

impl Scatter {
    /// Scatters ranks over `n` blocks; rank 0 is at `first`.
    pub fn new(n: u64, first: u64) -> Self {
        let n = n.max(1);
        let mut stride = ((n as u128 * 0x9e37_79b9_7f4a_7c15) >> 64) as u64;
        stride = stride.max(1);
        while gcd(stride, n) != 1 {
            stride += 1;
        }
        Scatter {
            n,
            first: first % n,
            stride: stride % n,
        }
    }

    /// The block of a rank.
    pub fn block(&self, rank: u64) -> u64 {
        let place = u128::from(self.first) + u128::from(rank) * u128::from(self.stride);
        (place % u128::from(self.n)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 400_000;

    fn shares(n: usize, mut draw: impl FnMut() -> u64) -> Vec<f64> {
        let mut counts = vec![0u32; n];
        for _ in 0..DRAWS {
            counts[draw() as usize] += 1;
        }
        counts
            .iter()
            .map(|c| f64::from(*c) / DRAWS as f64)
            .collect()
    }

    /// Within five standard deviations of a binomial share.
    fn assert_share(found: f64, expected: f64, what: &str) {
        let sigma = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
        assert!(
            (found - expected).abs() <= 5.0 * sigma,
            "{what}: {found} instead of {expected} ± {sigma}"
        );
    }

    #[test]
    fn zipf_has_its_closed_form() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.2, 2.5] {
            let n = 200;
            let weights: Vec<f64> = (1..=n).map(|k| libm::pow(k as f64, -theta)).collect();
            let sum: f64 = weights.iter().sum();
            let zipf = Zipf::new(n, theta);
            let mut random = Random::new(3, &[]);
            let found = shares(n as usize, || zipf.rank(&mut random));
            for (k, (found, weight)) in found.iter().zip(&weights).enumerate() {
                assert_share(*found, weight / sum, &format!("theta {theta} rank {k}"));
            }
        }
    }

    #[test]
    fn zipf_of_one_block_is_that_block() {
        let mut random = Random::new(3, &[]);
        assert_eq!(Zipf::new(1, 1.1).rank(&mut random), 0);
    }

    #[test]
    fn pareto_gives_its_share_to_the_first_ranks() {
        for h in [0.1, 0.2, 0.35] {
            let pareto = Pareto::new(1000, h);
            let mut random = Random::new(4, &[]);
            let found = shares(1000, || pareto.rank(&mut random));
            let head: f64 = found[..(h * 1000.0) as usize].iter().sum();
            assert_share(head, 1.0 - h, &format!("h {h}"));
        }
    }

    #[test]
    fn normal_has_its_mean_and_deviation() {
        let normal = Normal::new(1_000_000, 0.5, 0.05);
        let mut random = Random::new(5, &[]);
        let draws: Vec<f64> = (0..DRAWS)
            .map(|_| normal.block(&mut random) as f64)
            .collect();
        let mean = draws.iter().sum::<f64>() / DRAWS as f64;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / DRAWS as f64;
        assert!((mean - 500_000.0).abs() < 500.0, "mean {mean}");
        assert!((variance.sqrt() - 50_000.0).abs() < 400.0, "{variance}");
        let within = draws
            .iter()
            .filter(|x| (**x - 500_000.0).abs() < 50_000.0)
            .count();
        assert_share(within as f64 / DRAWS as f64, 0.682_689_5, "one deviation");
    }

    #[test]
    fn normal_stays_in_the_region() {
        for (mean, deviation) in [(0.0, 1.0), (1.0, 1.0), (0.5, 0.0), (1.0, 0.0)] {
            let normal = Normal::new(17, mean, deviation);
            let mut random = Random::new(5, &[]);
            assert!((0..1000).all(|_| normal.block(&mut random) < 17));
        }
    }

    #[test]
    fn extreme_parameters_end() {
        let mut random = Random::new(6, &[]);
        for n in [1, 2, 1 << 40] {
            for x in [
                0.0,
                1e-300,
                1e-9,
                0.999_999_9,
                1.0,
                50.0,
                100.0,
                1e300,
                f64::NAN,
            ] {
                assert!(Zipf::new(n, x).rank(&mut random) < n);
                assert!(Pareto::new(n, x).rank(&mut random) < n);
                assert!(Normal::new(n, 1.0, x).block(&mut random) < n);
                assert!(Normal::new(n, x, 0.1).block(&mut random) < n);
            }
        }
    }

    #[test]
    fn scatter_is_one_to_one() {
        for n in [1u64, 2, 3, 4, 10, 97, 1000, 4096] {
            let scatter = Scatter::new(n, 5);
            let blocks: std::collections::BTreeSet<u64> =
                (0..n).map(|r| scatter.block(r)).collect();
            assert_eq!(blocks.len() as u64, n);
            assert_eq!(scatter.block(0), 5 % n);
        }
    }
}
