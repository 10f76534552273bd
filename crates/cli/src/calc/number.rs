//! Numbers of `calc`: what may be given, and how results are written. Nothing else rounds.

use nandscope_units::number::in_decimal_unit;
pub use nandscope_units::number::short4 as short;

/// A number above zero.
///
/// # Errors
/// Where it is none, for clap to show.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok(x),
        Ok(_) => Err("give a number above 0".to_string()),
        Err(_) => Err("this is no number; write it like 115 or 0.05".to_string()),
    }
}

/// Zero or a number above.
///
/// # Errors
/// Where it is none, for clap to show.
pub fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
        Ok(_) => Err("give a number from 0 on".to_string()),
        Err(_) => Err("this is no number; write it like 115 or 0.05".to_string()),
    }
}

/// A number above 0 and up to 100.
///
/// # Errors
/// Where it is none, for clap to show.
pub fn percent(text: &str) -> Result<f64, String> {
    let x = positive(text)?;
    if x > 100.0 {
        return Err("give percent, above 0 and up to 100".to_string());
    }
    Ok(x)
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
