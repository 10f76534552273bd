//! The data of a plot as JSON for the page's script. The text is safe inside a `script` element:
//! it holds no `<`, `>` or `&`, whatever the names in the document are.

use crate::error::{ReportError, Result};
use crate::view::axes::{Axes, Scale, Tick, percentile_name};
use crate::view::plot::{Kind, Plot};
use crate::view::table::Cell;
use nandscope_units::number::round_significant;
use nandscope_units::printable;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Encodes a plot.
///
/// # Errors
/// `ReportError::Encode` if the encoder refuses the data.
pub fn plot(plot: &Plot) -> Result<String> {
    data(value(plot), &plot.id)
}

/// Encodes data for a page's script; `name` identifies it in an error of the encoder.
///
/// # Errors
/// `ReportError::Encode` if the encoder refuses the data.
pub fn data(mut value: Value, name: &str) -> Result<String> {
    show_escaped(&mut value);
    let text = serde_json::to_string(&value).map_err(|source| ReportError::Encode {
        plot: name.to_string(),
        source,
    })?;
    Ok(for_script(&text))
}

/// A plot as the page's script takes it.
pub fn value(plot: &Plot) -> Value {
    let lines: Vec<Value> = plot
        .lines
        .iter()
        .zip(&plot.table.columns)
        .map(|(line, column)| {
            json!({
                "name": line.name,
                "c": line.colour % 8,
                "dash": line.dashed,
                "edge": line.edge,
                "v": cells(column),
            })
        })
        .collect();
    let mut axes = Axes::of(plot);
    if let Some((first, last)) = shown_ends(&plot.table.xs) {
        // Rounding must not put the first or the last place out of view.
        axes.x.from = axes.x.from.min(first);
        axes.x.to = axes.x.to.max(last);
    }
    let mut names = axes.marks.iter();
    let marks: Vec<Value> = plot
        .marks
        .iter()
        .map(|m| match names.next() {
            None => json!({ "x": number(m.x), "name": m.name }),
            Some(short) => json!({
                "x": number(m.x),
                "name": m.name,
                "wide": short.wide,
                "narrow": short.narrow,
                "before": short.is_before,
            }),
        })
        .collect();
    let limits = plot.limits.iter().zip(&axes.limits_at_left);
    let limits = limits.map(|(l, left)| json!({ "y": number(l.y), "name": l.name, "left": left }));
    let mut value = json!({
        "kind": plot.kind.name(),
        "sync": plot.group,
        "x": plot.x.label(),
        "xu": plot.x.unit,
        "xa": scale(&axes.x),
        "y": plot.y.label(),
        "yu": plot.y.unit,
        "ya": scale(&axes.y),
        "xs": places(&plot.table.xs),
        "lines": lines,
        "bands": plot.bands.iter().map(|b| [b.high, b.low]).collect::<Vec<_>>(),
        "marks": marks,
        "limits": limits.collect::<Vec<_>>(),
    });
    if plot.kind == Kind::Percentile {
        let names = plot.table.xs.iter().map(|x| percentile_name(*x));
        value["xt"] = names.collect();
    }
    value
}

/// An axis; a tick is its place, its text, and 1 where a narrow plot names it, too.
fn scale(scale: &Scale) -> Value {
    let tick = |t: &Tick| json!([number(t.at), t.text, u8::from(t.in_narrow)]);
    json!({
        "log": scale.is_logarithmic,
        "from": number(scale.from),
        "to": number(scale.to),
        "ticks": scale.ticks.iter().map(tick).collect::<Vec<_>>(),
    })
}

/// Escapes in all texts the characters that a page cannot show.
fn show_escaped(value: &mut Value) {
    match value {
        Value::String(text) => *text = printable(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(show_escaped),
        Value::Object(fields) => fields.values_mut().for_each(show_escaped),
        _ => {}
    }
}

/// A page or drawing whose texts have no control characters: XML 1.0 does not allow them, and in a browser they can
/// change the writing direction of later text.
pub fn for_markup(text: String) -> String {
    match printable(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped,
    }
}

/// Replaces characters that could end a `script` element or begin a comment in it. In JSON they occur in strings only,
/// where their escapes have the same meaning.
pub fn for_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// A gap is `null` and breaks the line. A text such as `"3"` means 3 places at which this line has no sample but another
/// line has one.
fn cells(column: &[Cell]) -> Vec<Value> {
    let mut out = Vec::new();
    for run in column.chunk_by(|a, b| matches!((a, b), (Cell::Absent, Cell::Absent))) {
        out.push(match run.first() {
            Some(Cell::Value(v)) => number(round_significant(*v, 5)),
            Some(Cell::Absent) => Value::String(run.len().to_string()),
            Some(Cell::Gap) | None => Value::Null,
        });
    }
    out
}

/// Evenly spaced places as start, step and count; otherwise a list.
fn places(xs: &[f64]) -> Value {
    match even_places(xs) {
        Some((first, step)) => json!({ "from": number(first), "step": step, "n": xs.len() }),
        None => xs.iter().map(|x| number(shown_place(*x))).collect(),
    }
}

/// Start and step of places that are evenly spaced.
fn even_places(xs: &[f64]) -> Option<(f64, f64)> {
    let (first, last) = (xs.first()?, xs.last()?);
    let step = (last - first) / (xs.len() - 1) as f64;
    let is_near =
        |(i, x): (usize, &f64)| (x - (first + step * i as f64)).abs() <= step.abs() * 1e-4;
    let is_even = xs.len() > 8 && xs.iter().enumerate().all(is_near);
    is_even.then_some((*first, step))
}

/// Nine significant digits: places must stay in order.
fn shown_place(x: f64) -> f64 {
    round_significant(x, 9)
}

/// The first and the last place as the page's script has them.
fn shown_ends(xs: &[f64]) -> Option<(f64, f64)> {
    match even_places(xs) {
        Some((first, step)) => Some((first, first + step * (xs.len() - 1) as f64)),
        None => Some((shown_place(*xs.first()?), shown_place(*xs.last()?))),
    }
}

/// Whole numbers without a point: a third of the text in long series.
fn number(v: f64) -> Value {
    if !v.is_finite() {
        Value::Null
    } else if v.abs() < 1e15 && libm::trunc(v) == v {
        json!(v as i64)
    } else {
        json!(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_end_the_script() {
        let text = for_script(&json!({ "name": "</script><!-- & \u{2028}" }).to_string());
        assert!(!text.contains(['<', '>', '&', '\u{2028}']));
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["name"], "</script><!-- & \u{2028}");
    }

    #[test]
    fn places_of_other_lines_are_counted() {
        let (a, v) = (Cell::Absent, Cell::Value);
        let column = [
            a,
            a,
            v(1.5),
            Cell::Gap,
            Cell::Gap,
            a,
            v(2.0),
            v(2.0),
            a,
            a,
            a,
        ];
        let expected = json!(["2", 1.5, null, null, "1", 2, 2, "3"]);
        assert_eq!(Value::Array(cells(&column)), expected);
        assert!(cells(&[]).is_empty());
        assert_eq!(cells(&[v(400.0)])[0].to_string(), "400");
        assert_eq!(cells(&[v(f64::INFINITY)]), [Value::Null]);
    }

    #[test]
    fn even_places_are_short_and_uneven_ones_whole() {
        let even: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(places(&even), json!({ "from": 1, "step": 1.0, "n": 100 }));
        let uneven = [1.0, 2.0, 4.5];
        assert_eq!(places(&uneven), json!([1, 2, 4.5]));
    }

    #[test]
    fn rounded_places_stay_in_view() {
        let of = |xs: &[f64]| shown_ends(xs).unwrap();
        // Uneven places are rounded, up or down.
        assert_eq!(of(&[0.123_456_789_9, 0.5, 7.0]).0, 0.123_456_790);
        let (first, last) = of(&[1.0, 2.5, 3.123_456_789_4]);
        assert_eq!((first, last), (1.0, 3.123_456_79));
        let even: Vec<f64> = (0..10).map(|i| 0.1 * f64::from(i)).collect();
        assert_eq!(of(&even).0, 0.0);
        assert_eq!(shown_ends(&[]), None);
    }
}
