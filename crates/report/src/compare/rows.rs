//! The figures of several documents, aligned by test and host.

use super::hosts::Alignment;
use super::row::Row;
use super::{Basis, efficiency, price};
use crate::error::{ReportError, Result};
use crate::view::matrix::{ANSWER, is_answer};
use crate::view::{published, ranking};
use nandscope_result::{Figure, ResultDocument, YES_OR_NO, figure_id, slug};
use std::collections::BTreeMap;

/// Identifier without the mode before it.
pub(crate) fn test_id(figure: &Figure) -> &str {
    let mode = figure.mode.as_deref().map(slug);
    mode.and_then(|m| figure.id.strip_prefix(&m)?.strip_prefix('.'))
        .unwrap_or(&figure.id)
}

/// The figures that at least two documents share, by test, host and unit, the most important first. Prices per GB are
/// last.
///
/// # Errors
/// `ReportError` if there are fewer than two documents, they share no host, or `basis.baseline` is not an index of
/// `documents`.
pub fn rows(documents: &[&ResultDocument], basis: &Basis) -> Result<Vec<Row>> {
    let baseline = basis.baseline;
    if documents.len() < 2 {
        return Err(ReportError::TooFewDocuments(documents.len()));
    }
    if baseline >= documents.len() {
        return Err(ReportError::NoSuchBaseline {
            number: baseline.saturating_add(1),
            documents: documents.len(),
        });
    }
    let alignment = Alignment::of(documents, basis.across_hosts)?;
    let mut rows = all_rows(documents, &alignment);
    rows.extend(price::rows(documents, basis.prices));
    rows.retain(|r| r.values.iter().flatten().count() >= 2);
    for row in &mut rows {
        row.baseline = baseline;
    }
    Ok(rows)
}

/// All figures of all documents, including those that only one document has, in the order of [`rows`].
pub(crate) fn all_rows(documents: &[&ResultDocument], alignment: &Alignment) -> Vec<Row> {
    let mut places: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for (i, document) in documents.iter().enumerate() {
        for placed in published::all_figures(document) {
            let figure = placed.figure;
            if figure.id.is_empty() || !figure.value.is_finite() {
                continue;
            }
            let Some(host) = alignment.of_figure(i, figure) else {
                continue;
            };
            let key = (test_id(figure).to_string(), host, figure.unit.clone());
            let place = *places.entry(key).or_insert_with(|| {
                let host = alignment.label_of(i, figure);
                rows.push(row(&placed, documents.len(), host));
                rows.len() - 1
            });
            if let Some(cell) = rows.get_mut(place).and_then(|r| r.values.get_mut(i)) {
                *cell = Some(figure.value);
            }
        }
    }
    rows.push(efficiency(documents, alignment));
    rows.retain(|r| !is_quiet(r) && r.values.iter().any(Option::is_some));
    rows.sort_by_key(|r| ranking::rank(&r.id));
    rows
}

/// Power efficiency of the documents, each in the first compared mode.
fn efficiency(documents: &[&ResultDocument], alignment: &Alignment) -> Row {
    let all = documents.iter().enumerate();
    let names = alignment.names();
    let host = names.first().filter(|_| alignment.several());
    Row {
        title: match host {
            Some(host) => format!("{}, {host}", efficiency::TITLE),
            None => efficiency::TITLE.to_string(),
        },
        unit: efficiency::UNIT.to_string(),
        values: all
            .map(|(i, document)| efficiency::of(document, alignment.first_of(i)))
            .collect(),
        id: efficiency::ID.to_string(),
        answer: false,
        baseline: 0,
    }
}

/// A throttle that acted in no document.
fn is_quiet(row: &Row) -> bool {
    row.id == figure_id::THROTTLE_MIN && row.values.iter().flatten().all(|v| *v >= 100.0)
}

/// A row without values; its title ends with the host, if one is given.
fn row(placed: &published::Placed, documents: usize, host: Option<&str>) -> Row {
    let figure = placed.figure;
    let title = match host {
        Some(host) => format!("{}, {host}", placed.title()),
        None => placed.title(),
    };
    Row {
        title: title.replace(ANSWER, ""),
        unit: figure.unit.clone(),
        values: vec![None; documents],
        id: test_id(figure).to_string(),
        answer: is_answer(figure) || figure.unit == YES_OR_NO,
        baseline: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Price;
    use super::*;
    use nandscope_result::StepResult;

    fn figure(id: &str, mode: Option<&str>, value: f64, unit: &str) -> Figure {
        Figure {
            id: id.into(),
            title: format!("figure <{id}>"),
            mode: mode.map(str::to_string),
            value,
            unit: unit.into(),
            ..Figure::default()
        }
    }

    fn document(title: &str, figures: Vec<Figure>) -> ResultDocument {
        let mut document = crate::blank::document();
        document.title = title.into();
        let mut modes: Vec<Option<String>> = figures.iter().map(|f| f.mode.clone()).collect();
        modes.dedup();
        document.steps = modes
            .into_iter()
            .map(|mode| StepResult {
                mode,
                ..StepResult::default()
            })
            .collect();
        document.figures = figures;
        document
    }

    #[test]
    fn shared_figures_with_their_ratio() {
        let a = document(
            "a",
            vec![
                figure("read", None, 100.0, "MB/s"),
                figure("odd", None, 1.0, "W"),
            ],
        );
        let b = document(
            "b",
            vec![
                figure("read", None, 250.0, "MB/s"),
                figure("odd", None, 1.0, "mW"),
            ],
        );
        let c = document("c", vec![figure("read", None, 50.0, "MB/s")]);
        let rows = rows(&[&a, &b, &c], &Basis::default()).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(
            [rows[0].ratio(0), rows[0].ratio(1), rows[0].ratio(2)],
            [None, Some(2.5), Some(0.5)]
        );
        assert_eq!(rows[0].ranked(), [(1, 250.0), (0, 100.0), (2, 50.0)]);
        assert!(matches!(
            super::rows(&[&a], &Basis::default()),
            Err(ReportError::TooFewDocuments(1))
        ));
    }

    #[test]
    fn answers_of_a_probe_are_compared_as_answers() {
        let of = |unit: f64, works: f64, open: f64| {
            document(
                "probed",
                vec![
                    figure("probe.unit", None, unit, "bytes"),
                    figure("probe.discard", None, works, YES_OR_NO),
                    figure("probe.open", None, open, ""),
                ],
            )
        };
        let (a, b) = (of(4_194_304.0, 1.0, 5.0), of(8_388_608.0, 0.0, 5.0));
        let rows = rows(&[&a, &b], &Basis::default()).unwrap();
        let cells: Vec<[String; 3]> = rows
            .iter()
            .map(|r| [r.cell(0), r.cell(1), r.change(1)])
            .collect();
        let expected = [["4 MiB", "8 MiB", ""], ["yes", "no", ""], ["5", "5", ""]];
        assert_eq!(cells, expected);
    }

    #[test]
    fn ratios_refer_to_the_baseline() {
        let of = |value: f64| document("d", vec![figure("read", None, value, "MB/s")]);
        let (a, b, c) = (of(100.0), of(250.0), of(50.0));
        let basis = |baseline: usize| Basis {
            baseline,
            ..Basis::default()
        };
        let rows = rows(&[&a, &b, &c], &basis(1)).unwrap();
        assert_eq!(
            [rows[0].ratio(0), rows[0].ratio(1), rows[0].ratio(2)],
            [Some(0.4), None, Some(0.2)]
        );
        let beyond = super::rows(&[&a, &b], &basis(2)).unwrap_err().to_string();
        assert!(beyond.contains("baseline 3"), "{beyond}");
    }

    #[test]
    fn the_cheapest_gigabyte_is_the_best_and_currencies_are_apart() {
        let of = |bytes: u64| {
            let mut document = document("d", Vec::new());
            document.target.capacity_bytes = bytes;
            document
        };
        let (a, b, c) = (of(100_000_000_000), of(500_000_000_000), of(1_000));
        let price = |amount: f64, currency: &str| {
            Some(Price {
                amount,
                currency: currency.into(),
            })
        };
        let prices = [price(50.0, "EUR"), price(100.0, "EUR"), price(1.0, "USD")];
        let basis = Basis {
            prices: &prices,
            ..Basis::default()
        };
        let rows = rows(&[&a, &b, &c], &basis).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].unit.as_str(), rows[0].change(1)),
            ("EUR/GB", "0.40×".into())
        );
        assert_eq!(rows[0].ranked(), [(1, 0.2), (0, 0.5)]);
    }

    #[test]
    fn tests_are_compared_on_the_same_host() {
        let on = |mode: &str, id: &str, value: f64| {
            figure(&format!("{}.{id}", slug(mode)), Some(mode), value, "MB/s")
        };
        let evo = document(
            "evo",
            vec![
                on("Odroid XU3", "cdm.read", 47.0),
                on("UHS-I reader", "cdm.read", 94.0),
            ],
        );
        let extreme = document(
            "extreme",
            vec![
                on("UHS-I reader", "cdm.read", 91.0),
                on("SabreLite", "cdm.read", 19.0),
            ],
        );
        let direct = document("ref", vec![on("Direct", "cdm.read", 3564.0)]);
        let basis = Basis::default();
        // The reader is the second host of one card and the first of the other.
        let shared = rows(&[&evo, &extreme], &basis).unwrap();
        assert_eq!(shared.len(), 1);
        assert_eq!(shared[0].values, [Some(94.0), Some(91.0)]);
        assert!(matches!(
            rows(&[&evo, &direct], &basis),
            Err(ReportError::NoSharedHost(_))
        ));
        let across = Basis {
            across_hosts: true,
            ..basis
        };
        let all = rows(&[&evo, &direct], &across).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].values, [Some(47.0), Some(3564.0)]);
        let named = Alignment::of(&[&evo, &direct], true).unwrap().named();
        assert_eq!(named[0].as_deref(), Some("Odroid XU3"));
        // With several hosts in common, each is compared with itself.
        let again = rows(&[&evo, &evo], &basis).unwrap();
        let values: Vec<_> = again.iter().map(|r| r.values[1]).collect();
        assert_eq!(values, [Some(47.0), Some(94.0)]);
        assert!(again[1].title.ends_with("UHS-I reader"));
    }

    #[test]
    fn shares_and_temperatures_are_compared_by_their_difference() {
        let row = |unit: &str, first: f64, second: f64| Row {
            title: String::new(),
            unit: unit.into(),
            values: vec![Some(first), Some(second), None],
            id: String::new(),
            answer: false,
            baseline: 0,
        };
        for (unit, first, second, ratio, text) in [
            ("%", -0.5, 1.68, None, "+2.18 points"),
            ("%", 3.0, 1.0, None, "−2.00 points"),
            ("°C", 40.0, 50.0, None, "+10.0\u{202f}°C"),
            ("%", 3.0, 3.0, None, "±0 points"),
            ("W", 2.0, 3.0, Some(1.5), "1.50×"),
            ("W", 0.0, 3.0, None, ""),
            ("W", -1.0, 3.0, None, ""),
        ] {
            let row = row(unit, first, second);
            assert_eq!(
                (row.ratio(1), row.change(1).as_str()),
                (ratio, text),
                "{unit} {first}"
            );
            assert_eq!(
                (row.ratio(2), row.change(2).as_str(), row.ratio(9)),
                (None, "", None)
            );
        }
        let yes = Row {
            answer: true,
            ..row("", 1.0, 0.0)
        };
        assert_eq!(
            (yes.cell(0), yes.cell(1), yes.change(1)),
            ("yes".into(), "no".into(), String::new())
        );
    }
}
