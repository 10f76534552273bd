//! The measurements that Arnd Bergmann's flashbench made of memory cards, and what a person read
//! off them, as a procedure: `align` finds page and allocation unit, `open-au` how many allocation
//! units can be written in turn, `find-fat` whether the first ones are treated otherwise, and a
//! fourth test whether the unit with the file allocation table is kept open for itself.
//!
//! Only times of operations are used; a card that answers from a cache shows nothing, and is then
//! said to show nothing. The procedures are written anew from what flashbench does.

mod align;
mod boundary;
mod describe;
mod find_fat;
mod knee;
mod open_au;
mod order;
mod pinned;
pub mod recorded;
mod steps;

pub use align::{AlignPlan, align};
pub use boundary::{
    AlignRow, Boundaries, CLEAR, CardStep, Certainty, VISIBLE, allocation_unit, boundaries,
    page_size,
};
pub(crate) use describe::{columns, size};
pub(crate) use find_fat::median;
pub use find_fat::{Treatment, find_fat, treatments};
pub use knee::{Knee, OpenUnits, knee, open_units};
pub use open_au::{OpenAu, Order, Rate, search};
pub use pinned::{FatRounds, Pinned, fat_and_data};
pub(crate) use steps::{Extent, run};
