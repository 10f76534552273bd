//! The measurements of Arnd Bergmann's flashbench for memory cards, and their interpretation: reads across boundaries
//! ([`align()`]), interleaved AUs ([`OpenAu`]), the first AUs ([`find_fat()`], [`fat_and_data`]), and the conclusions
//! ([`boundaries`], [`open_units`], [`treatments`]) from own measurements or recorded ones ([`recorded`]).

mod align;
mod boundary;
mod find_fat;
mod knee;
mod multiples;
mod open_au;
mod order;
mod phase;
mod pinned;
pub mod recorded;

pub use crate::quantile::median;
pub use align::{AlignPlan, align};
pub use boundary::{
    AlignRow, Boundaries, CLEAR, CardStep, Certainty, VISIBLE, allocation_unit, boundaries,
    boundaries_above, explains, faint_unit, medians, page_size, visible_steps,
};
pub use find_fat::{Treatment, confirmed, find_fat, lengths, treatments};
pub use knee::{Knee, OpenUnits, SHORTEST, knee, open_units};
pub use multiples::{Split, splits, trials};
pub use open_au::{Care, OpenAu, Order, Rate, search};
pub use order::shuffled;
pub use phase::{BoundaryPeriod, every_one, page_of_pages, page_period, unit_period};
pub use pinned::{FatRounds, PIECES, Pinned, fat_and_data};

use thiserror::Error;

/// Error in a recorded table: file, line, column and reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RecordError(pub String);
