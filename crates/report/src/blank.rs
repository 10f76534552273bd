//! A document with nothing in it, for tests of this crate. It is read from JSON, so that fields
//! that are added to the format later take their defaults.

use nandscope_result::{FORMAT, FORMAT_VERSION, ResultDocument};

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
