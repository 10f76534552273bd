//! Numbers of `calc`: accepted inputs, and format of results. Nothing else rounds.

use nandscope_units::number::in_decimal_unit;
pub use nandscope_units::number::short4 as short;
use thiserror::Error;

/// Reason for which a text was rejected as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NumberError {
    /// The text is not a number.
    #[error("not a number; write it like 115 or 0.05")]
    Form,
    /// The number is out of range.
    #[error("give {0}")]
    Range(&'static str),
}

/// A number above zero.
///
/// # Errors
/// `NumberError::Form` if it is not a number; `NumberError::Range` if it is out of range.
pub fn positive(text: &str) -> Result<f64, NumberError> {
    within(text, "a number above 0", |x| x > 0.0)
}

/// Zero or a number above.
///
/// # Errors
/// As [`positive`].
pub fn not_negative(text: &str) -> Result<f64, NumberError> {
    within(text, "a number of 0 or more", |x| x >= 0.0)
}

/// A number above 0 and up to 100.
///
/// # Errors
/// As [`positive`].
pub fn percent(text: &str) -> Result<f64, NumberError> {
    within(text, "a percentage above 0 and up to 100", |x| {
        x > 0.0 && x <= 100.0
    })
}

fn within(text: &str, range: &'static str, holds: fn(f64) -> bool) -> Result<f64, NumberError> {
    let x: f64 = text.parse().map_err(|_| NumberError::Form)?;
    match x.is_finite() && holds(x) {
        true => Ok(x),
        false => Err(NumberError::Range(range)),
    }
}

/// A rate in MB/s, as GB/s from 1 GB/s on.
pub fn rate(mb_per_s: f64) -> String {
    match mb_per_s >= 1000.0 {
        true => format!("{} GB/s", short(mb_per_s / 1e3)),
        false => format!("{} MB/s", short(mb_per_s)),
    }
}

/// A number of bytes, in decimal units.
pub fn bytes(bytes: f64) -> String {
    let (value, unit) = in_decimal_unit(bytes);
    format!("{} {unit}", short(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_sizes_have_a_suitable_unit() {
        assert_eq!(rate(2279.5), "2.28 GB/s");
        assert_eq!(bytes(3.22486e12), "3.225 TB");
        assert_eq!(bytes(12.0), "12 B");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "x", "nan", "inf", "-1", "0", "1e999"] {
            assert!(positive(text).is_err(), "{text}");
            assert!(percent(text).is_err(), "{text}");
        }
        assert_eq!(not_negative("0"), Ok(0.0));
        assert!(not_negative("-0.1").is_err() && not_negative("NaN").is_err());
        assert_eq!(percent("100"), Ok(100.0));
        assert!(percent("100.1").is_err());
    }
}
