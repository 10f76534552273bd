//! All series and curves of a document as one table for other programs, every value at full precision, and an index
//! that describes each. Nothing is reduced.

use nandscope_result::{ResultDocument, StepResult};
use nandscope_units::csv_field;
use std::fmt::Write as _;

/// The two tables as CSV (RFC 4180); empty if the document has no series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// `series,x,y`: the number of the series in the index, the place and the value. Values that are not numbers are
    /// empty.
    pub values: String,
    /// A line for each series: its number, step, mode, name and units, and which lines of the values it takes, the
    /// line after the header being line 1.
    pub index: String,
}

/// Header of the values.
const VALUES: &str = "series,x,y\r\n";
/// Header of the index.
const INDEX: &str = "series,first line,lines,step,step title,mode,name,x,y\r\n";

/// Numbers of the first and last series of each step in the table; `None` for a step without series.
pub fn numbers(document: &ResultDocument) -> Vec<Option<(usize, usize)>> {
    let mut last = 0;
    let of_step = |step: &StepResult| {
        let count = step.series.len() + step.curves.len();
        last += count;
        (count > 0).then(|| (last + 1 - count, last))
    };
    document.steps.iter().map(of_step).collect()
}

/// Series over time on the target's clock, then curves over a varied quantity, step by step.
pub fn of_document(document: &ResultDocument) -> Tables {
    let mut tables = Tables::default();
    let (mut number, mut line) = (0, 1);
    for step in &document.steps {
        let series = step.series.iter().map(|s| {
            let y = with_unit(&s.name, &s.unit);
            (s.name.clone(), "time (s)".to_string(), y, &s.t_s, &s.v)
        });
        let curves = step.curves.iter().map(|c| {
            let (x, y) = (
                with_unit(&c.x_name, &c.x_unit),
                with_unit(&c.y_name, &c.y_unit),
            );
            (c.name.clone(), x, y, &c.x, &c.y)
        });
        for (name, x, y, xs, ys) in series.chain(curves) {
            if tables.index.is_empty() {
                (tables.values, tables.index) = (VALUES.to_string(), INDEX.to_string());
            }
            number += 1;
            let lines = xs.len().min(ys.len());
            index_line(
                &mut tables.index,
                (number, line, lines),
                step,
                [&name, &x, &y],
            );
            line += lines;
            for (x, y) in xs.iter().zip(ys) {
                // Writing to a String cannot fail.
                let _ = write!(tables.values, "{number},{},{}\r\n", text(*x), text(*y));
            }
        }
    }
    tables
}

fn index_line(
    index: &mut String,
    (number, first, lines): (usize, usize, usize),
    step: &StepResult,
    [name, x, y]: [&str; 3],
) {
    let mode = step.mode.as_deref().unwrap_or_default();
    let _ = write!(index, "{number},{first},{lines}");
    for field in [&step.id, &step.title, mode, name, x, y] {
        let _ = write!(index, ",{}", quoted(field));
    }
    index.push_str("\r\n");
}

fn with_unit(name: &str, unit: &str) -> String {
    match unit {
        "" => name.to_string(),
        unit => format!("{name} ({unit})"),
    }
}

/// The shortest text that reads back as the same number.
fn text(v: f64) -> String {
    if v.is_finite() {
        v.to_string()
    } else {
        String::new()
    }
}

/// Quotes a text that contains a comma, a quote or a line break. A leading sign that a spreadsheet
/// would take for a formula gets a quote in front.
fn quoted(text: &str) -> String {
    let text = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_string(),
    };
    csv_field(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{Curve, Series};

    #[test]
    fn the_index_says_where_each_series_stands() {
        let mut document = crate::blank::document();
        assert_eq!(of_document(&document), Tables::default());
        document.steps = vec![StepResult {
            id: "s".into(),
            title: "Write, fresh".into(),
            mode: Some("E".into()),
            series: vec![
                Series {
                    name: "power".into(),
                    unit: "W".into(),
                    interval_s: 0.1,
                    t_s: vec![0.1, 0.2, 0.3],
                    v: vec![1.25, f64::NAN, 0.1 + 0.2],
                },
                Series {
                    name: "share".into(),
                    t_s: vec![1.0],
                    v: vec![2.0],
                    ..Series::default()
                },
            ],
            curves: vec![Curve {
                name: "in order".into(),
                x_name: "fullness".into(),
                x_unit: "%".into(),
                y_name: "mean latency".into(),
                y_unit: "µs".into(),
                x: vec![0.0, 5.0],
                y: vec![50.5, 51.0],
                ..Curve::default()
            }],
            ..StepResult::default()
        }];
        document.steps.push(StepResult::default());
        document.steps.push(document.steps[0].clone());
        assert_eq!(numbers(&document), [Some((1, 3)), None, Some((4, 6))]);
        document.steps.truncate(1);
        let tables = of_document(&document);
        assert_eq!(
            tables.values,
            "series,x,y\r\n1,0.1,1.25\r\n1,0.2,\r\n1,0.3,0.30000000000000004\r\n2,1,2\r\n3,0,50.5\r\n3,5,51\r\n"
        );
        assert_eq!(
            tables.index,
            "series,first line,lines,step,step title,mode,name,x,y\r\n\
             1,1,3,s,\"Write, fresh\",E,power,time (s),power (W)\r\n\
             2,4,1,s,\"Write, fresh\",E,share,time (s),share\r\n\
             3,5,2,s,\"Write, fresh\",E,in order,fullness (%),mean latency (µs)\r\n"
        );
    }

    #[test]
    fn names_cannot_break_out_of_their_cell() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=SUM(A1)"), "'=SUM(A1)");
    }
}
