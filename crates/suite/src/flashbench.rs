//! The measurements of flashbench as a procedure: `align` finds page and allocation unit, `open-au` the number of open
//! AUs, `find-fat` specially treated first AUs, and a fourth test whether the AU of the file allocation table is kept
//! open in addition to others. The infer crate measures and concludes; this module has the steps and texts.

mod document;
mod steps;

pub(crate) use document::{columns, size};
pub use nandscope_infer::flashbench::{
    AlignPlan, AlignRow, Boundaries, CLEAR, CardStep, Care, Certainty, FatRounds, Knee, OpenAu,
    OpenUnits, Order, Pinned, Rate, Treatment, VISIBLE, align, allocation_unit, boundaries,
    fat_and_data, find_fat, knee, open_units, page_size, recorded, search, treatments,
};
pub(crate) use steps::{Extent, check_fit, run};
