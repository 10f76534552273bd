//! Conversions to narrower integers that saturate instead of dropping bits.

/// `n`, or `u32::MAX` if it does not fit.
#[must_use]
pub fn saturating_u32(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// `n`, or `usize::MAX` if it does not fit (on machines of 32 bits).
#[must_use]
pub fn saturating_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
