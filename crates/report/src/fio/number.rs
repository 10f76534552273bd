//! Numbers as fio shortens them.

/// Base of the prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// 1024: `Ki`, `Mi`, …
    Binary,
    /// 1000: `k`, `M`, …
    Decimal,
}

const PREFIXES: [(&str, &str); 6] = [
    ("", ""),
    ("Ki", "k"),
    ("Mi", "M"),
    ("Gi", "G"),
    ("Ti", "T"),
    ("Pi", "P"),
];

/// Default number of significant digits (`significant_figures`).
pub const DIGITS: usize = 4;

/// A number with at most `digits` digits and its prefix: `9999`, `12.3k`, `1500k`. It is divided until its whole
/// part has no more digits, and filled up with decimals.
pub fn short(number: u64, digits: usize, base: Base) -> String {
    let divisor = match base {
        Base::Binary => 1024,
        Base::Decimal => 1000,
    };
    let (mut whole, mut rest) = (number, None);
    let mut prefix = 0;
    while length(whole) > digits && prefix + 1 < PREFIXES.len() {
        rest = Some(whole % divisor);
        whole /= divisor;
        prefix += 1;
    }
    let (binary, decimal) = PREFIXES[prefix];
    let prefix = match base {
        Base::Binary => binary,
        Base::Decimal => decimal,
    };
    let decimals = digits.saturating_sub(length(whole) + 1);
    match rest {
        None => format!("{whole}{prefix}"),
        Some(rest) if decimals == 0 => {
            format!("{}{prefix}", whole + u64::from(rest >= divisor / 2))
        }
        Some(rest) => {
            // As in fio the fraction is rounded alone: 0.95 becomes 0.9, since no binary fraction is 0.95.
            let fraction = format!("{:.decimals$}", rest as f64 / divisor as f64);
            let carried = whole + u64::from(fraction.starts_with('1'));
            format!("{carried}{}{prefix}", &fraction[1..])
        }
    }
}

fn length(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Bytes in both bases, as fio pairs them: `48.0MiB`, `50.3MB`.
pub fn bytes(number: u64, digits: usize) -> (String, String) {
    let with = |base| short(number, digits, base) + "B";
    (with(Base::Binary), with(Base::Decimal))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Amounts that fio 3.33 printed for jobs of these sizes.
    const PRINTED: &[(u64, &str, &str)] = &[
        (512, "512B", "512B"),
        (9999, "9999B", "9999B"),
        (10_000, "9.77KiB", "10.0kB"),
        (10_050, "9.81KiB", "10.1kB"),
        (10_186, "9.95KiB", "10.2kB"),
        (10_234, "9.99KiB", "10.2kB"),
        (10_235, "10.00KiB", "10.2kB"),
        (10_241, "10.0KiB", "10.2kB"),
        (11_007, "10.7KiB", "11.0kB"),
        (99_950, "97.6KiB", "99.9kB"),
        (99_999, "97.7KiB", "100.0kB"),
        (100_500, "98.1KiB", "101kB"),
        (102_348, "99.9KiB", "102kB"),
        (102_349, "100.0KiB", "102kB"),
        (999_499, "976KiB", "999kB"),
        (1_022_976, "999KiB", "1023kB"),
        (1_023_488, "1000KiB", "1023kB"),
        (1_048_064, "1024KiB", "1048kB"),
        (10_485_760, "10.0MiB", "10.5MB"),
        (1_073_741_824, "1024MiB", "1074MB"),
        (10_737_418_240, "10.0GiB", "10.7GB"),
        (12_864_978_944, "12.0GiB", "12.9GB"),
    ];

    #[test]
    fn amounts_are_those_that_fio_prints() {
        for (number, binary, decimal) in PRINTED {
            let printed = bytes(*number, DIGITS);
            assert_eq!(
                (printed.0.as_str(), printed.1.as_str()),
                (*binary, *decimal)
            );
        }
    }

    /// Times with six digits, also seen from fio 3.33.
    #[test]
    fn long_times_have_six_digits() {
        let six = |number| short(number, 6, Base::Decimal);
        assert_eq!(six(519_683), "519683");
        assert_eq!(six(4_023_600), "4023.6k");
        assert_eq!(six(u64::MAX), "18447P");
    }
}
