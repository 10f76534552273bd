//! Order in which preconditioning fills a range.

/// Order of the writes that fill a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// In ascending order.
    Sequential,
    /// Every unit once, in random order.
    Random {
        /// Seed of the random number generator.
        seed: u64,
    },
}
