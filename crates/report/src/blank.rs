//! A document with nothing in it, and a series, for tests of this crate. The document is read from JSON, so that fields
//! that are added to the format later take their defaults.

use nandscope_result::{FORMAT, FORMAT_VERSION, ResultDocument, Series};

/// A complete document without steps.
pub fn document() -> ResultDocument {
    serde_json::from_value(serde_json::json!({
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "generator": "nandscope test",
        "procedure": "test",
        "title": "Test",
        "seed": 1,
        "target": { "name": "sim:test", "kind": "simulated", "model": "Test", "capacity_bytes": 1_000_000_000 },
        "complete": true,
        "steps": [],
    }))
    .expect("every required field is given")
}

/// A series with a value at the end of each second.
pub fn series(name: &str, unit: &str, v: Vec<f64>) -> Series {
    Series {
        name: name.into(),
        unit: unit.into(),
        interval_s: 1.0,
        t_s: (1..=v.len()).map(|i| i as f64).collect(),
        v,
    }
}
