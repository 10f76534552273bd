//! The text forms of sizes and times that job files and the command line share.

use crate::{Bytes, Nanos};
use thiserror::Error;

/// Fault of the text of a size or a time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseQuantityError {
    /// The text does not start with a number.
    #[error("`{0}` does not start with a number")]
    NoNumber(String),
    /// The letters after the number are not a known unit.
    #[error("`{unit}` in `{text}` is not a unit; use one of {known}")]
    Unit {
        /// The whole text.
        text: String,
        /// The unknown unit.
        unit: String,
        /// The known units.
        known: &'static str,
    },
    /// The size or time exceeds 2^64 bytes or nanoseconds.
    #[error("`{0}` is too large")]
    TooLarge(String),
}

/// The meaning of a bare `k`. fio's default (`kb_base=1024`) makes `k` and `KiB` 1024 and `KB` 1024
/// as well; with `kb_base=1000` `k` and `KB` are 1000 and `KiB` stays 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeBase {
    /// `k`, `kb` and `KiB` are all 1024 (fio's default).
    #[default]
    Binary,
    /// `k` and `kb` are 1000, `KiB` is 1024.
    Decimal,
}

const SIZE_UNITS: &str = "b, k, m, g, t, p, with `b` or `ib` appended (4k, 32M, 1GiB)";
const TIME_UNITS: &str = "ns, us, ms, s, m, h, d";

fn split_number(text: &str) -> Result<(f64, String), ParseQuantityError> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(_, c)| !c.is_ascii_digit() && *c != '.')
        .map_or(text.len(), |(i, _)| i);
    let number = text[..end]
        .parse::<f64>()
        .map_err(|_| ParseQuantityError::NoNumber(text.to_string()))?;
    Ok((number, text[end..].trim().to_ascii_lowercase()))
}

fn scale(number: &str, value: f64, factor: u64) -> Result<u64, ParseQuantityError> {
    // Whole numbers are kept exact: a float holds only 53 bits.
    let digits: &str = number.trim();
    if let Ok(whole) = digits.parse::<u64>() {
        return whole
            .checked_mul(factor)
            .ok_or_else(|| ParseQuantityError::TooLarge(number.to_string()));
    }
    let scaled = value * factor as f64 + 0.5;
    if scaled >= u64::MAX as f64 {
        return Err(ParseQuantityError::TooLarge(number.to_string()));
    }
    Ok(scaled as u64)
}

fn leading_number(text: &str) -> &str {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    &text[..end]
}

/// Reads a size such as `4k`, `1GiB`, `250gb`, `512`; a fraction (`1.5g`) is allowed.
///
/// # Errors
/// Returns [`ParseQuantityError`] if there is no number, the unit is unknown, or the size exceeds 2^64 bytes.
pub fn parse_size(text: &str, base: SizeBase) -> Result<Bytes, ParseQuantityError> {
    let (value, unit) = split_number(text)?;
    let binary = unit.ends_with("ib") || base == SizeBase::Binary;
    let step: u64 = if binary { 1024 } else { 1000 };
    let exponent = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => {
            return Err(ParseQuantityError::Unit {
                text: text.trim().to_string(),
                unit,
                known: SIZE_UNITS,
            });
        }
    };
    scale(leading_number(text), value, step.pow(exponent)).map(Bytes)
}

/// Reads a time such as `10`, `1.5s`, `200ms`, `30us`, `5m`; a bare number counts `default_unit_ns`.
///
/// # Errors
/// Returns [`ParseQuantityError`] if there is no number, the unit is unknown, or the time exceeds 2^64 ns.
pub fn parse_duration(text: &str, default_unit_ns: u64) -> Result<Nanos, ParseQuantityError> {
    let (value, unit) = split_number(text)?;
    let factor = match unit.as_str() {
        "" => default_unit_ns,
        "ns" | "nsec" => 1,
        "us" | "usec" | "µs" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" | "hour" => 3_600_000_000_000,
        "d" | "day" => 86_400_000_000_000,
        _ => {
            return Err(ParseQuantityError::Unit {
                text: text.trim().to_string(),
                unit,
                known: TIME_UNITS,
            });
        }
    };
    scale(leading_number(text), value, factor).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let cases = [
            ("512", 512),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("1MiB", 1 << 20),
            ("1.5g", 3 << 29),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in cases {
            assert_eq!(
                parse_size(text, SizeBase::Binary),
                Ok(Bytes(bytes)),
                "{text}"
            );
        }
        assert_eq!(
            parse_size("250gb", SizeBase::Decimal),
            Ok(Bytes(250_000_000_000))
        );
        assert_eq!(parse_size("4KiB", SizeBase::Decimal), Ok(Bytes(4096)));
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        assert!(matches!(
            parse_size("4x", SizeBase::Binary),
            Err(ParseQuantityError::Unit { .. })
        ));
        assert!(matches!(
            parse_size("k", SizeBase::Binary),
            Err(ParseQuantityError::NoNumber(_))
        ));
        assert!(matches!(
            parse_size("99999999999t", SizeBase::Binary),
            Err(ParseQuantityError::TooLarge(_))
        ));
        assert!(matches!(
            parse_duration("3 weeks", 1),
            Err(ParseQuantityError::Unit { .. })
        ));
    }

    #[test]
    fn times() {
        let cases = [
            ("10", 10_000_000_000),
            ("1.5s", 1_500_000_000),
            ("200ms", 200_000_000),
            ("30us", 30_000),
        ];
        for (text, ns) in cases {
            assert_eq!(parse_duration(text, 1_000_000_000), Ok(Nanos(ns)), "{text}");
        }
    }
}
