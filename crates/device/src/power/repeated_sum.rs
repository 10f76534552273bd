//! Sum of one term many times over, without adding it each time.

use crate::convert::{ToF64, Whole};

/// `sum + term + term + …` with `count` terms, none below zero: the same bits as adding them one by one.
///
/// Between two powers of two all numbers are equally spaced, so every addition of the same term grows
/// the sum by the same amount. This holds from the second addition on: a sum halfway between two numbers
/// is rounded to the even one, and all sums that start from an even one round alike.
pub(crate) fn add_repeatedly(mut sum: f64, term: f64, mut count: u64) -> f64 {
    let power = |x: f64| x.to_bits() >> 52;
    while count > 0 {
        let next = sum + term;
        count -= 1;
        if next == sum {
            return sum;
        }
        let crossed = power(next) != power(sum);
        sum = next;
        if crossed {
            continue;
        }
        let growth = (sum + term) - sum;
        let limit = f64::from_bits((power(sum) + 1) << 52);
        // Stops short of the limit, where additions begin to round differently.
        let steps = ((limit - sum) / growth).floor_u64();
        let steps = steps.saturating_sub(2).min(count);
        sum += growth * steps.to_f64();
        count -= steps;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn repeated_addition_gives_the_same_bits() {
        let mut random = Random::new(1);
        let mut draw = |scale: f64| (random.bits() >> 11) as f64 * scale;
        for scale in [1e-30, 1e-20, 1e-17, 1e-16, 1e-3] {
            for _ in 0..20 {
                let (start, term) = (draw(1e-16), draw(scale));
                let one_by_one = (0..30_000).fold(start, |sum, _| sum + term);
                let at_once = add_repeatedly(start, term, 30_000);
                assert_eq!(at_once.to_bits(), one_by_one.to_bits(), "{start} {term}");
            }
        }
        // Terms that lie halfway between two numbers, next to zero, and without effect.
        let half = f64::EPSILON / 2.0;
        for (start, term) in [
            (1.0, half),
            (1.0 + f64::EPSILON, half),
            (1.0, 3.0 * half),
            (0.0, 0.1),
            (0.0, 0.0),
            (1e300, 1.0),
            (0.0, 5e-324),
        ] {
            let one_by_one = (0..1000).fold(start, |sum, _| sum + term);
            assert_eq!(
                add_repeatedly(start, term, 1000).to_bits(),
                one_by_one.to_bits()
            );
        }
    }
}
