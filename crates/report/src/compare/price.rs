//! Price per gigabyte of each drive: a price is not measured; the user's shelf has it.

use super::row::{PRICE, Row};
use nandscope_result::ResultDocument;

/// An amount of money.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// Units of the currency; finite and positive.
    pub amount: f64,
    /// Code or sign of the currency, such as `EUR`.
    pub currency: String,
}

impl Price {
    /// Price per 10^9 bytes; `None` without a capacity.
    pub fn per_gb(&self, capacity_bytes: u64) -> Option<f64> {
        let gb = capacity_bytes as f64 / 1e9;
        (gb > 0.0).then(|| self.amount / gb)
    }
}

/// One row per currency; `prices` are those of the documents.
pub fn rows(documents: &[&ResultDocument], prices: &[Option<Price>]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (i, (document, price)) in documents.iter().zip(prices).enumerate() {
        let per_gb = |p: &Price| p.per_gb(document.target.capacity_bytes);
        let Some((price, per_gb)) = price.as_ref().and_then(|p| Some((p, per_gb(p)?))) else {
            continue;
        };
        let unit = format!("{}/GB", price.currency);
        let place = rows.iter().position(|r| r.unit == unit);
        let place = place.unwrap_or_else(|| {
            rows.push(Row {
                title: "Price per GB".to_string(),
                unit,
                values: vec![None; documents.len()],
                id: PRICE.to_string(),
                answer: false,
                baseline: 0,
            });
            rows.len() - 1
        });
        if let Some(cell) = rows.get_mut(place).and_then(|r| r.values.get_mut(i)) {
            *cell = Some(per_gb);
        }
    }
    rows
}
