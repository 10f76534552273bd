//! Numbers as text, and the steps of axes.

use nandscope_units::number;
pub use nandscope_units::number::{bytes, count, duration, latency, short};

/// A value with its unit: `878 MB/s`, `4.58 W`, `1.2×`. A whole number without a unit is a count: `23`, not `23.0`.
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" if value.fract() == 0.0 && value.abs() < 1000.0 => format!("{value}"),
        _ => number::with_unit(value, unit),
    }
}

/// Ratios below this are shown as a fraction: `1/10 300` is read at once, `0.0000968×` is not.
const LEAST_DECIMAL: f64 = 0.01;

/// A ratio as a multiple, or as a fraction if it is small.
pub fn ratio(value: f64) -> String {
    if value > 0.0 && value < LEAST_DECIMAL {
        format!("1/{}", short(1.0 / value))
    } else {
        format!("{}×", short(value))
    }
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
    fn counts_have_no_decimals() {
        assert_eq!(
            (with_unit(23.0, ""), with_unit(1.15, "")),
            ("23".into(), "1.15".into())
        );
        assert_eq!(with_unit(23.0, "W"), "23.0\u{202f}W");
    }

    #[test]
    fn small_ratios_are_fractions() {
        let of = |value: f64| ratio(value).replace('\u{202f}', " ");
        assert_eq!(of(2.5), "2.50×");
        assert_eq!(of(0.053), "0.0530×");
        assert_eq!(of(9.68e-5), "1/10 331");
        assert_eq!(of(0.0), "0×");
    }

    #[test]
    fn ticks_are_one_two_or_five() {
        for (span, step) in [(878.0, 200.0), (10.0, 2.0), (0.7, 0.2), (0.0, 1.0)] {
            assert!((tick_step(span, 5) - step).abs() < 1e-9 * step, "{span}");
        }
    }
}
