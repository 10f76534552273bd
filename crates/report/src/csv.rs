//! A series as a table for other programs: two columns with their units in the header, every
//! value at full precision. It reduces nothing.

use nandscope_measure::result::Series;
use std::fmt::Write as _;

/// The series as CSV (RFC 4180): `time (s)` on the target's clock, then the quantity with its
/// unit. Values that are not numbers are empty.
pub fn of_series(series: &Series) -> String {
    let mut out = String::with_capacity(32 * series.t_s.len() + 64);
    let heading = match series.unit.as_str() {
        "" => series.name.clone(),
        unit => format!("{} ({unit})", series.name),
    };
    out.push_str("time (s),");
    out.push_str(&quoted(&heading));
    out.push_str("\r\n");
    for (t, v) in series.t_s.iter().zip(&series.v) {
        // Writing to a String cannot fail.
        let _ = write!(out, "{},{}\r\n", number(*t), number(*v));
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
    fn names_cannot_break_out_of_their_cell() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=SUM(A1)"), "'=SUM(A1)");
    }
}
