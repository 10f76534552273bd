//! Sizes in bytes or percent.

use nandscope_units::Bytes;

/// A size in bytes, or in percent of a whole that the user of the value defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Absolute size.
    Bytes(Bytes),
    /// Percent, 0 to 100.
    Percent(u32),
}

impl Extent {
    /// No bytes.
    pub const ZERO: Extent = Extent::Bytes(Bytes::ZERO);

    /// The size in bytes; a percentage is one of `whole`.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Extent::Bytes(bytes) => bytes.0,
            Extent::Percent(p) => (whole as u128 * p.min(100) as u128 / 100) as u64,
        }
    }
}
