//! Conversions between kinds of numbers, each with a name that says what happens to a number that does not fit. A cast
//! with `as` would narrow silently; outside this file, Clippy refuses it.

/// Numbers of 32 bits are positions in lists.
const _: () = assert!(usize::BITS >= u32::BITS);

/// Counts and sizes as 32-bit numbers.
pub(crate) trait Narrow: Copy {
    /// The number as `u32`. The caller guarantees that it fits; only builds with debug assertions check it, to keep the hot
    /// path fast.
    fn narrow(self) -> u32;

    /// The number as `u32`, or `u32::MAX` if it is greater.
    fn clamp_u32(self) -> u32;
}

macro_rules! narrow {
    ($($from:ty)*) => {$(
        impl Narrow for $from {
            #[inline]
            #[expect(clippy::cast_possible_truncation, reason = "the purpose of the function")]
            fn narrow(self) -> u32 {
                debug_assert!(u32::try_from(self).is_ok(), "{self} is beyond 32 bits");
                self as u32
            }

            #[inline]
            fn clamp_u32(self) -> u32 {
                u32::try_from(self).unwrap_or(u32::MAX)
            }
        }
    )*};
}

narrow! { u64 usize }

/// Lengths as 64-bit numbers, which every length fits.
pub(crate) trait Widen: Copy {
    /// The number as `u64`.
    fn widen(self) -> u64;
}

impl Widen for usize {
    #[inline]
    fn widen(self) -> u64 {
        self as u64
    }
}

/// Whole numbers in the model's arithmetic.
pub(crate) trait ToF64: Copy {
    /// The nearest number: exact up to 2^53.
    fn to_f64(self) -> f64;
}

impl ToF64 for u64 {
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "the purpose of the function")]
    fn to_f64(self) -> f64 {
        self as f64
    }
}

impl ToF64 for usize {
    #[inline]
    fn to_f64(self) -> f64 {
        self.widen().to_f64()
    }
}

/// Floating-point results as whole numbers, saturating: negative numbers and NaN give 0, numbers beyond the range its
/// maximum.
pub(crate) trait Whole: Copy {
    /// Rounded down.
    fn floor_u64(self) -> u64;
    /// Rounded down.
    fn floor_u32(self) -> u32;
    /// Rounded to the nearest whole number, halves up.
    fn round_u64(self) -> u64;
    /// Rounded to the nearest whole number, halves up.
    fn round_u32(self) -> u32;
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of floating-point numbers saturate"
)]
impl Whole for f64 {
    #[inline]
    fn floor_u64(self) -> u64 {
        self as u64
    }

    #[inline]
    fn floor_u32(self) -> u32 {
        self as u32
    }

    #[inline]
    fn round_u64(self) -> u64 {
        (self + 0.5).floor_u64()
    }

    #[inline]
    fn round_u32(self) -> u32 {
        (self + 0.5).floor_u32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_the_range_become_its_ends() {
        assert_eq!((1u64 << 40).clamp_u32(), u32::MAX);
        assert_eq!(7u64.clamp_u32(), 7);
        assert_eq!(((-1.0).floor_u32(), f64::NAN.round_u64()), (0, 0));
        assert_eq!(1e30.floor_u64(), u64::MAX);
        assert_eq!(
            (2.5.round_u64(), 2.49.round_u32(), 2.99.floor_u64()),
            (3, 2, 2)
        );
    }

    #[test]
    #[should_panic(expected = "beyond 32 bits")]
    fn a_number_that_must_fit_is_checked() {
        (1u64 << 32).narrow();
    }
}
