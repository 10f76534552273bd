//! Write amplification by theory for uniform random writes over one open block. Tests and validation compare the
//! model with it; the model does not use it.
//!
//! α is the number of pages that hold data per logical page, b the pages of a block, x = 1/WA. The formulas are those
//! of Desnoyers, "Analytic Models of SSD Write Performance", ACM Transactions on Storage 10 (2014).

/// FIFO, the victim is the block written longest ago: 1 − x = e^(−αx).
#[must_use]
pub fn fifo(alpha: f64) -> f64 {
    1.0 / bisect(1e-9, 1.0 - 1e-12, |x| 1.0 - x - libm::exp(-alpha * x))
}

/// Greedy, the victim is the block with the least valid data: H(b) − H(X₀) = α(1 − X₀/b), WA = b/(b − X₀), with the
/// harmonic number H extended to real arguments.
#[must_use]
pub fn greedy(alpha: f64, pages_per_block: u32) -> f64 {
    let b = f64::from(pages_per_block);
    let excess = |x0: f64| harmonic(b) - harmonic(x0) - alpha * (1.0 - x0 / b);
    // X₀ = b is the solution without meaning.
    let x0 = bisect(0.0, b * (1.0 - 1e-6), excess);
    b / (b - x0)
}

/// FIFO under hot and cold data: a share `hot_space` of the pages takes a share `hot_writes` of the writes.
#[must_use]
pub fn two_temperatures(alpha: f64, hot_space: f64, hot_writes: f64) -> f64 {
    let classes = [(hot_space, hot_writes), (1.0 - hot_space, 1.0 - hot_writes)];
    let space = |x: f64| {
        let sum: f64 = classes
            .iter()
            .map(|(f, r)| {
                let rate = r / f * alpha * x;
                f * rate / (1.0 - libm::exp(-rate))
            })
            .sum();
        sum - alpha
    };
    1.0 / bisect(1e-9, 1.0, space)
}

/// Greedy in pools of their own for hot and cold data, each written uniformly, with the spare space divided so that the
/// amplification is least: a share `hot_space` of the pages takes a share `hot_writes` of the writes.
#[must_use]
pub fn two_pools(alpha: f64, hot_space: f64, hot_writes: f64, pages_per_block: u32) -> f64 {
    const STEPS: u32 = 1000;
    let amplification = |spare: f64, space: f64| greedy(1.0 + spare / space, pages_per_block);
    let divided = |step: u32| {
        let hot = (alpha - 1.0) * f64::from(step) / f64::from(STEPS);
        hot_writes * amplification(hot, hot_space)
            + (1.0 - hot_writes) * amplification(alpha - 1.0 - hot, 1.0 - hot_space)
    };
    (1..STEPS).map(divided).fold(f64::INFINITY, f64::min)
}

fn bisect(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if f(low).signum() == f(middle).signum() {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// H(x) = ψ(x + 1) + γ by its asymptotic series, taken at x + 20.
fn harmonic(x: f64) -> f64 {
    let n = x + 20.0;
    let far = libm::log(n) + 0.577_215_664_901_532_9 + 0.5 / n - 1.0 / (12.0 * n * n)
        + 1.0 / (120.0 * n * n * n * n);
    far - (1..=20).map(|k| 1.0 / (x + f64::from(k))).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(what: &str, found: f64, expected: f64, share: f64) {
        assert!(
            (found / expected - 1.0).abs() <= share,
            "{what}: {found} for {expected}"
        );
    }

    #[test]
    fn the_formulas_give_the_published_table() {
        for (percent, of_fifo, of_greedy) in [
            (5.0, 10.672, [10.258, 9.875, 9.188]),
            (7.0, 7.817, [7.595, 7.386, 6.999]),
            (10.0, 5.678, [5.562, 5.450, 5.241]),
            (15.0, 4.016, [3.959, 3.904, 3.798]),
            (28.0, 2.481, [2.461, 2.441, 2.402]),
            (50.0, 1.716, [1.707, 1.698, 1.681]),
        ] {
            let alpha = 1.0 + percent / 100.0;
            near("FIFO", fifo(alpha), of_fifo, 3e-4);
            for (b, expected) in [256, 128, 64].into_iter().zip(of_greedy) {
                near(&format!("greedy {b}"), greedy(alpha, b), expected, 3e-4);
            }
        }
        // Pools with the same write rate need no separation.
        near(
            "50/50",
            two_pools(1.15, 0.5, 0.5, 64),
            greedy(1.15, 64),
            1e-4,
        );
        near(
            "one pool",
            two_pools(1.15, 0.999, 1.0, 64),
            greedy(1.15, 64),
            0.01,
        );
        near("80/20", two_temperatures(1.07, 0.2, 0.8), 8.18, 1e-3);
        near("90/10", two_temperatures(1.07, 0.1, 0.9), 8.87, 1e-3);
    }
}
