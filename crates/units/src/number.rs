//! Numbers as text with as many digits as a reader needs and their unit, the same on every platform.

/// A no-break space; it groups thousands and precedes units.
const NARROW_SPACE: char = '\u{202f}';

/// Rounds to this many significant digits, at least one.
#[must_use]
pub fn round_significant(value: f64, digits: usize) -> f64 {
    // Formatting is exact and the same everywhere; a product with a power of ten is not.
    let decimals = digits.max(1) - 1;
    format!("{value:.decimals$e}").parse().unwrap_or(value)
}

/// A number with this many significant digits, but at most `max_decimals` after the point; all digits before the point
/// are written.
#[must_use]
pub fn significant(value: f64, digits: usize, max_decimals: usize) -> String {
    // The exponent of the rounded value: 99.96 has one more digit before the point than 99.94.
    let decimals = digits.max(1) - 1;
    let rounded = format!("{value:.decimals$e}");
    let exponent = rounded
        .rsplit_once('e')
        .map_or("0", |(_, exponent)| exponent);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let decimals = i32::try_from(decimals)
        .unwrap_or(i32::MAX)
        .saturating_sub(exponent);
    let decimals = usize::try_from(decimals).unwrap_or(0).min(max_decimals);
    format!("{value:.decimals$}")
}

/// A number with three to four significant digits and thousands grouped; `–` if it is not finite.
#[must_use]
pub fn short(value: f64) -> String {
    let size = value.abs();
    match size {
        s if !s.is_finite() => "–".to_string(),
        0.0 => "0".to_string(),
        s if !(0.00095..1e15).contains(&s) => format!("{value:.2e}"),
        s if s >= 0.0995 => group(&significant(value, 3, 2)),
        _ => significant(value, 3, 4),
    }
}

/// The value that [`short`] shows: numbers that look the same are the same.
#[must_use]
pub fn as_short(value: f64) -> f64 {
    let text = short(value).replace(NARROW_SPACE, "");
    text.parse().unwrap_or(value)
}

/// A number with up to four significant digits without trailing zeros; all digits before the point are written.
#[must_use]
pub fn short4(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 {
        return format!("{value:.3e}");
    }
    let text = significant(value, 4, 4);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Groups the digits before the point by threes if there are five or more.
fn group(text: &str) -> String {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = digits.split('.').next().unwrap_or_default().len();
    if whole <= 4 {
        return text.to_string();
    }
    let sign = text.len() - digits.len();
    let mut out = text[..sign].to_string();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && i < whole && (whole - i).is_multiple_of(3) {
            out.push(NARROW_SPACE);
        }
        out.push(digit);
    }
    out
}

/// A value with its unit: `878 MB/s`, `4.58 W`, `1.2×`.
#[must_use]
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => short(value),
        "×" | "x" => format!("{}×", short(value)),
        _ => format!("{}{NARROW_SPACE}{unit}", short(value)),
    }
}

/// A time in seconds in the usual units: `250 ms`, `8.20 s`, `4 min 10 s`, `2 h 13 min`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "–".to_string();
    }
    if seconds < 1.0 {
        return format!("{} ms", short(seconds * 1e3));
    }
    if seconds < 99.5 {
        return format!("{} s", short(seconds));
    }
    let whole = (seconds + 0.5) as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{} h {minutes:02} min", count(hours))
    } else {
        format!("{minutes} min {rest:02} s")
    }
}

/// A latency in nanoseconds, in ns, µs, ms or s.
#[must_use]
pub fn latency(ns: f64) -> String {
    match ns {
        n if !n.is_finite() => "–".to_string(),
        n if n < 1e3 => with_unit(n, "ns"),
        n if n < 1e6 => with_unit(n / 1e3, "µs"),
        n if n < 1e9 => with_unit(n / 1e6, "ms"),
        n => with_unit(n / 1e9, "s"),
    }
}

/// A number of bytes in its largest decimal unit (10^9 bytes are a GB), and that unit.
#[must_use]
pub fn in_decimal_unit(bytes: f64) -> (f64, &'static str) {
    const UNITS: [(f64, &str); 6] = [
        (1e18, "EB"),
        (1e15, "PB"),
        (1e12, "TB"),
        (1e9, "GB"),
        (1e6, "MB"),
        (1e3, "kB"),
    ];
    let unit = UNITS.iter().find(|(scale, _)| bytes >= *scale);
    unit.map_or((bytes, "B"), |(scale, unit)| (bytes / scale, unit))
}

/// Bytes in decimal units, as on the labels of devices: `250 GB`.
#[must_use]
pub fn bytes(n: u64) -> String {
    let (value, unit) = in_decimal_unit(n as f64);
    with_unit(value, unit)
}

/// Bytes in the largest binary unit up to GiB: `4 MiB`, `1.50 MiB`.
#[must_use]
pub fn binary_bytes(bytes: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        let one = 1_u64 << shift;
        if bytes >= one {
            let decimals = usize::from(!bytes.is_multiple_of(one)) * 2;
            return format!("{:.decimals$} {unit}", bytes as f64 / one as f64);
        }
    }
    format!("{bytes} B")
}

/// A count with thousands grouped.
#[must_use]
pub fn count(n: u64) -> String {
    group(&n.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers() {
        let cases = [
            (878.4, "878"),
            (99.97, "100"),
            (41.53, "41.5"),
            (4.584, "4.58"),
            (0.5, "0.50"),
            (0.0123, "0.0123"),
            (0.00123, "0.0012"),
            (0.0, "0"),
            (-3.2, "-3.20"),
            (1234.0, "1234"),
            (123_456.0, "123\u{202f}456"),
            (-1_234_567.0, "-1\u{202f}234\u{202f}567"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
            (1e18, "1.00e18"),
            (1e-5, "1.00e-5"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
            if value.is_finite() {
                assert_eq!(short(as_short(value)), text);
            }
        }
    }

    #[test]
    fn four_digits() {
        let cases = [
            (0.0, "0"),
            (0.05, "0.05"),
            (1.0, "1"),
            (9.6, "9.6"),
            (142.4695, "142.5"),
            (895.795, "895.8"),
            (3224.86, "3225"),
            (120.0, "120"),
            (0.001234, "1.234e-3"),
        ];
        for (value, text) in cases {
            assert_eq!(short4(value), text);
        }
    }

    #[test]
    fn digits_count_after_rounding() {
        for (value, text) in [
            (9.996, "10.0"),
            (99.96, "100"),
            (0.05, "0.050"),
            (0.0, "0.00"),
        ] {
            assert_eq!(significant(value, 3, 3), text);
        }
        assert_eq!(significant(5.25, 3, 1), "5.2");
        assert_eq!(round_significant(123_456.0, 5), 123_460.0);
        assert_eq!(round_significant(0.333_333_333, 5), 0.333_33);
        assert!(round_significant(f64::NAN, 5).is_nan());
        assert_eq!(round_significant(f64::INFINITY, 5), f64::INFINITY);
    }

    #[test]
    fn times() {
        let cases = [
            (0.25, "250 ms"),
            (8.2, "8.20 s"),
            (250.0, "4 min 10 s"),
            (7980.0, "2 h 13 min"),
            (f64::NAN, "–"),
        ];
        for (value, text) in cases {
            assert_eq!(duration(value), text);
        }
        assert_eq!(latency(123_400.0), "123\u{202f}µs");
    }

    #[test]
    fn amounts() {
        assert_eq!(bytes(250_059_350_016), "250\u{202f}GB");
        assert_eq!(bytes(12), "12.0\u{202f}B");
        assert_eq!(in_decimal_unit(3.5e18), (3.5, "EB"));
        assert_eq!(binary_bytes(4 << 20), "4 MiB");
        assert_eq!(binary_bytes(3 << 19), "1.50 MiB");
        assert_eq!(binary_bytes(512), "512 B");
    }
}
