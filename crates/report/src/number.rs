//! Numbers as text: as many digits as a reader needs, units behind them, the same on every
//! platform. It does not convert units other than those of time.

/// A no-break space that groups thousands and stands before a unit.
const NARROW_SPACE: char = '\u{202f}';

/// Three to four significant digits, thousands grouped; `–` for what is not a number.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_string();
    }
    let size = value.abs();
    if size >= 1e15 {
        return format!("{value:.2e}");
    }
    let digits = match size {
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.0995 || s == 0.0 => 2,
        s if s >= 0.00095 => 4,
        _ => return format!("{value:.2e}"),
    };
    let text = if value == 0.0 {
        "0".to_string()
    } else {
        format!("{value:.digits$}")
    };
    group(&text)
}

/// Groups the digits before the point by threes where there are five or more of them.
fn group(text: &str) -> String {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, fraction) = match rest.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (rest, None),
    };
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        let left = whole.len() - i;
        if i > 0 && left.is_multiple_of(3) && whole.len() > 4 {
            out.push(NARROW_SPACE);
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// A value with its unit behind it: `878 MB/s`, `4.58 W`, `1.2×`.
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => short(value),
        "×" | "x" => format!("{}×", short(value)),
        _ => format!("{}{NARROW_SPACE}{unit}", short(value)),
    }
}

/// A length of time in seconds, in the units that a person would use: `8.2 s`, `4 min 10 s`, `2 h 13 min`.
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
        format!("{} h {minutes:02} min", group(&hours.to_string()))
    } else {
        format!("{minutes} min {rest:02} s")
    }
}

/// Nanoseconds as text in ns, µs, ms or s.
pub fn latency(ns: f64) -> String {
    match ns {
        n if !n.is_finite() => "–".to_string(),
        n if n < 1e3 => with_unit(n, "ns"),
        n if n < 1e6 => with_unit(n / 1e3, "µs"),
        n if n < 1e9 => with_unit(n / 1e6, "ms"),
        n => with_unit(n / 1e9, "s"),
    }
}

/// Bytes in decimal units (10^9 bytes are a GB), as labels of devices state them.
pub fn bytes(n: u64) -> String {
    let value = n as f64;
    for (scale, unit) in [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")] {
        if value >= scale {
            return with_unit(value / scale, unit);
        }
    }
    with_unit(value, "B")
}

/// A count, thousands grouped.
pub fn count(n: u64) -> String {
    group(&n.to_string())
}

/// The value rounded to five significant digits, for plots on a screen.
pub fn round5(value: f64) -> f64 {
    if !value.is_finite() {
        return value;
    }
    // Formatting is exact and the same everywhere; a product with a power of ten is not.
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// A step of 1, 2 or 5 times a power of ten, such that about `count` of them cover `span`.
pub fn tick_step(span: f64, count: usize) -> f64 {
    if !(span.is_finite() && span > 0.0) {
        return 1.0;
    }
    let rough = span / count.max(1) as f64;
    let base = libm::pow(10.0, libm::floor(libm::log10(rough)));
    if !(base.is_finite() && base > 0.0) {
        return span;
    }
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|m| m * base)
        .find(|&step| step >= rough * 0.999)
        .unwrap_or(10.0 * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_a_reader_needs() {
        let cases = [
            (878.4, "878"),
            (99.97, "100"),
            (41.53, "41.5"),
            (4.584, "4.58"),
            (0.0123, "0.0123"),
            (0.0, "0"),
            (-3.2, "-3.20"),
            (1234.0, "1234"),
            (123_456.0, "123\u{202f}456"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
            (1e18, "1.00e18"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
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
    fn ticks_are_one_two_or_five() {
        for (span, step) in [(878.0, 200.0), (10.0, 2.0), (0.7, 0.2), (0.0, 1.0)] {
            assert!((tick_step(span, 5) - step).abs() < 1e-9 * step, "{span}");
        }
    }

    #[test]
    fn rounding_keeps_five_digits() {
        assert_eq!(round5(123_456.0), 123_460.0);
        assert_eq!(round5(0.333_333_333), 0.333_33);
    }
}
