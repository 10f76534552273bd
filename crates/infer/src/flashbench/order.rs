//! Orders in which each of n places comes exactly once.

/// The numbers 0 to n − 1 in a random order that follows from the seed (Fisher and Yates, with
/// SplitMix64 of Steele, Lea and Flood).
pub fn shuffled(n: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    let mut state = seed;
    for last in (1..order.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let other = ((z ^ (z >> 31)) % (last as u64 + 1)) as usize;
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
