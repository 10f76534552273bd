//! Numbers of `calc`: what may be given, and how results are written. Nothing else rounds.

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

/// Four significant digits, and all digits before the point.
pub fn short(x: f64) -> String {
    let size = x.abs();
    let digits = match size {
        s if s >= 1000.0 => 0,
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        s if s >= 1.0 => 3,
        s if s >= 0.01 || s == 0.0 => 4,
        _ => return format!("{x:.3e}"),
    };
    let text = format!("{x:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// A rate in MB/s, as GB/s from 1 GB/s on.
pub fn rate(mb_per_s: f64) -> String {
    scaled(mb_per_s, "MB/s", "GB/s")
}

fn scaled(value: f64, unit: &str, thousand: &str) -> String {
    if value >= 1000.0 {
        format!("{} {thousand}", short(value / 1e3))
    } else {
        format!("{} {unit}", short(value))
    }
}

/// A number of bytes, in decimal units.
pub fn bytes(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{} {}", short(value), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_four_digits() {
        for (x, text) in [
            (0.0, "0"),
            (0.05, "0.05"),
            (1.0, "1"),
            (9.6, "9.6"),
            (142.4695, "142.5"),
            (895.795, "895.8"),
            (3224.86, "3225"),
            (120.0, "120"),
            (0.001234, "1.234e-3"),
        ] {
            assert_eq!(short(x), text);
        }
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
