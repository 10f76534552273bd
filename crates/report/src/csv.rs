//! A series or a curve as a table for other programs: two columns with their units in the header, every
//! value at full precision. It reduces nothing.

use nandscope_result::{Curve, Series};
use std::fmt::Write as _;

/// The series as CSV (RFC 4180): `time (s)` on the target's clock, then the quantity with its
/// unit. Values that are not numbers are empty.
pub fn of_series(series: &Series) -> String {
    columns(
        ("time (s)", &series.t_s),
        (&with_unit(&series.name, &series.unit), &series.v),
    )
}

/// The curve as CSV: what was varied, then what was measured, each with its unit.
pub fn of_curve(curve: &Curve) -> String {
    columns(
        (&with_unit(&curve.x_name, &curve.x_unit), &curve.x),
        (&with_unit(&curve.y_name, &curve.y_unit), &curve.y),
    )
}

fn with_unit(name: &str, unit: &str) -> String {
    match unit {
        "" => name.to_string(),
        unit => format!("{name} ({unit})"),
    }
}

fn columns((a, xs): (&str, &[f64]), (b, ys): (&str, &[f64])) -> String {
    let mut out = String::with_capacity(32 * xs.len() + 64);
    out.push_str(&format!("{},{}\r\n", quoted(a), quoted(b)));
    for (x, y) in xs.iter().zip(ys) {
        // Writing to a String cannot fail.
        let _ = write!(out, "{},{}\r\n", number(*x), number(*y));
    }
    out
}

/// The shortest text that reads back as the same number.
fn number(v: f64) -> String {
    if v.is_finite() {
        v.to_string()
    } else {
        String::new()
    }
}

/// Quoted where a comma, a quote or a line break stands in it; a leading sign that a spreadsheet
/// would take for a formula is kept from it by a quote in front.
fn quoted(text: &str) -> String {
    let text = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_its_columns_with_units_and_keeps_every_digit() {
        let series = Series {
            name: "power".into(),
            unit: "W".into(),
            interval_s: 0.1,
            t_s: vec![0.1, 0.2, 0.3],
            v: vec![1.25, f64::NAN, 0.1 + 0.2],
        };
        assert_eq!(
            of_series(&series),
            "time (s),power (W)\r\n0.1,1.25\r\n0.2,\r\n0.3,0.30000000000000004\r\n"
        );
    }

    #[test]
    fn a_curve_is_headed_by_what_was_varied() {
        let curve = Curve {
            x_name: "fullness".into(),
            x_unit: "%".into(),
            y_name: "mean latency".into(),
            y_unit: "µs".into(),
            x: vec![0.0, 5.0],
            y: vec![50.5, 51.0],
            ..Curve::default()
        };
        assert_eq!(
            of_curve(&curve),
            "fullness (%),mean latency (µs)\r\n0,50.5\r\n5,51\r\n"
        );
    }

    #[test]
    fn names_cannot_break_out_of_their_cell() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=SUM(A1)"), "'=SUM(A1)");
    }
}
