//! The generators of random numbers that fio draws from, so that a job which names one of them works through
//! the offsets of fio. How fio seeds its sequences is `fio_sequences`' business.
//!
//! Both are combined Tausworthe generators of L'Ecuyer: "Maximally equidistributed combined Tausworthe generators"
//! (1996) with 32 bits, "Tables of maximally equidistributed combined LFSR generators" (1999) with 64.

/// Shifts and mask of one component: `(s & mask) << d ^ (s << a ^ s) >> b`.
type Component<T> = (u32, u32, T, u32);

const TAUS88: [Component<u32>; 3] = [(13, 19, !1, 12), (2, 25, !7, 4), (3, 11, !15, 17)];
const TAUS258: [Component<u64>; 5] = [
    (1, 53, !0x1, 10),
    (24, 50, !0x1ff, 5),
    (3, 23, !0xfff, 29),
    (5, 24, !0x1_ffff, 23),
    (3, 33, !0x7f_ffff, 8),
];

/// Start value of fio's congruential seeding.
const SEEDED_FROM: u8 = 53;
/// Values that are thrown away after seeding.
const DISCARDED: usize = 6;

/// The generator with 32 bits (`random_generator=tausworthe`).
#[derive(Clone, Debug)]
pub(super) struct Taus88([u32; 3]);

impl Taus88 {
    /// Starts the sequence of a seed.
    pub(super) fn new(seed: u32) -> Self {
        let mut last = u32::from(SEEDED_FROM);
        // A component with no bit above its mask would stay zero.
        let state = [1, 7, 15].map(|least| {
            let drawn = last.wrapping_mul(69_069) ^ seed;
            last = if drawn < least { drawn + least } else { drawn };
            last
        });
        let mut random = Taus88(state);
        for _ in 0..DISCARDED {
            random.bits();
        }
        random
    }

    /// The next 32 bits.
    #[inline]
    pub(super) fn bits(&mut self) -> u32 {
        let mut all = 0;
        for (s, (a, b, mask, d)) in self.0.iter_mut().zip(TAUS88) {
            *s = ((*s & mask) << d) ^ (((*s << a) ^ *s) >> b);
            all ^= *s;
        }
        all
    }
}

/// The generator with 64 bits (`random_generator=tausworthe64`).
#[derive(Clone, Debug)]
pub(super) struct Taus258([u64; 5]);

impl Taus258 {
    /// Starts the sequence of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let mut last = u64::from(SEEDED_FROM);
        let state = [1, 7, 15, 33, 49].map(|least| {
            let drawn = last.wrapping_mul(6_906_969_069) ^ seed;
            last = if drawn < least { drawn + least } else { drawn };
            last
        });
        let mut random = Taus258(state);
        for _ in 0..DISCARDED {
            random.bits();
        }
        random
    }

    /// The next 64 bits.
    #[inline]
    pub(super) fn bits(&mut self) -> u64 {
        let mut all = 0;
        for (s, (a, b, mask, d)) in self.0.iter_mut().zip(TAUS258) {
            *s = ((*s & mask) << d) ^ (((*s << a) ^ *s) >> b);
            all ^= *s;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `fio --debug=random` of fio 3.33, with its default seed.
    #[test]
    fn the_numbers_are_those_of_fio() {
        let mut random = Taus88::new(0xb189_9bed);
        let drawn = [random.bits(), random.bits(), random.bits()];
        assert_eq!(drawn, [259_043_585, 3_179_521_932, 3_621_444_214]);
    }

    #[test]
    fn no_seed_makes_a_generator_that_stands_still() {
        for seed in (0..100).chain([u64::MAX, 0xb189_9bed]) {
            let mut small = Taus88::new(seed as u32);
            let mut large = Taus258::new(seed);
            assert_ne!(small.bits(), small.bits(), "{seed}");
            assert_ne!(large.bits(), large.bits(), "{seed}");
        }
    }
}
