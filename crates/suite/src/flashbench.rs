//! The measurements of flashbench as a procedure: `align` finds page and allocation unit, `open-au` how
//! many allocation units can be written in turn, `find-fat` whether the first ones are treated
//! otherwise, and a fourth test whether the unit with the file allocation table is kept open for
//! itself. How each is measured and what it says is in the infer crate; here are the steps and words.

mod document;
mod steps;

pub(crate) use document::{columns, size};
pub use nandscope_infer::flashbench::{
    AlignPlan, AlignRow, Boundaries, CLEAR, CardStep, Care, Certainty, FatRounds, Knee, OpenAu,
    OpenUnits, Order, Pinned, Rate, Treatment, VISIBLE, align, allocation_unit, boundaries,
    fat_and_data, find_fat, knee, open_units, page_size, recorded, search, treatments,
};
pub(crate) use steps::{Extent, run};
