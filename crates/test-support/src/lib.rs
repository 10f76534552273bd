//! Test doubles that several crates use. A development dependency only: no release contains it.

mod target;

pub use target::{MockTarget, NullTarget};
