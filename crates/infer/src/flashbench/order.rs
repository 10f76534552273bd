//! Random permutations.

use nandscope_units::random::SplitMix64;

/// The numbers 0 to n − 1 in a random order (Fisher-Yates shuffle); equal seeds give equal orders.
pub fn shuffled(n: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    let mut random = SplitMix64::new(seed);
    for last in (1..order.len()).rev() {
        let other = random.below(last as u64 + 1) as usize;
        order.swap(last, other);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::shuffled;

    #[test]
    fn every_place_comes_once_and_the_order_is_not_the_natural_one() {
        let order = shuffled(1000, 7);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
        assert_ne!(order, sorted);
        assert_ne!(order, shuffled(1000, 8));
        assert!(shuffled(0, 1).is_empty());
    }
}
