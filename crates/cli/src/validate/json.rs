//! Output of `nandscope validate` as JSON.

use super::{Validated, all_rows};
use nandscope_suite::cards::{Card, Comparison as CardComparison};
use nandscope_suite::facts::{Basis, Row, page};
use nandscope_suite::flashbench::{OpenUnits, Order};
use serde_json::{Value, json};

/// Comparisons of devices with published figures.
pub(super) fn devices(devices: &[Validated]) -> Value {
    let scores = page::Scores::of(all_rows(devices));
    let score = |s: page::Score| json!({ "met": s.met, "of": s.all });
    let of_device = |d: &Validated| {
        let missing = d.comparison.missing.iter();
        let missing = missing.map(|(fact, figure)| json!({ "fact": fact, "figure": figure }));
        json!({
            "device": d.device,
            "title": d.title,
            "rows": d.comparison.rows.iter().map(row).collect::<Vec<_>>(),
            "missing": missing.collect::<Vec<_>>(),
        })
    };
    json!({
        "calibrated": score(scores.calibrated),
        "predicted": score(scores.predicted),
        "devices": devices.iter().map(of_device).collect::<Vec<_>>(),
    })
}

fn row(row: &Row) -> Value {
    let parameters: &[String] = match &row.basis {
        Basis::Calibrated(parameters) => parameters,
        Basis::Predicted => &[],
    };
    json!({
        "figure": row.figure,
        "published": row.published,
        "calibrated_by": parameters,
        "remark": row.remark,
    })
}

/// Comparisons of cards with recorded runs.
pub fn cards(compared: &[(Card, CardComparison)]) -> Value {
    let of_card = |(card, c): &(Card, CardComparison)| {
        let (open_au_error, find_fat_error) = c.median_errors();
        let count = |open: OpenUnits| {
            let told = open.knee.told();
            told.map(|(count, at_least)| json!({ "count": count, "at_least": at_least }))
        };
        let open = |order| {
            c.open_units(order).map(|(recorded, simulated)| {
                json!({ "recorded": count(recorded), "simulated": count(simulated) })
            })
        };
        json!({
            "profile": card.profile,
            "recorded": card.recorded,
            "host": card.host,
            "met": c.met(),
            "why": card.why,
            "open_au_median_error": open_au_error,
            "find_fat_median_error": find_fat_error,
            "open_aus_linear": open(Order::Linear),
            "open_aus_random": open(Order::Random),
        })
    };
    compared.iter().map(of_card).collect()
}
