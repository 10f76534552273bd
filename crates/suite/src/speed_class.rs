//! Speed classes of SD cards: does the card keep its printed rate under the conditions of the specification, as far as
//! they are public (SD Physical Layer Simplified Specification 4.10 §4.13, 5.0 for the V classes; A classes as
//! described by others)?
//!
//! A verdict is valid for this measurement. If conditions are not public, or a host cannot know them, our own
//! conditions are stated with the verdict, and the class is called "-like".

mod application;
mod class;
mod recording;
mod steps;

pub use class::{Class, moved, performance};
pub use recording::{
    Areas, Fragmented, FragmentedRate, TimeLine, Unfragmented, UpdateTimes, fragmented,
    unfragmented, update_times,
};
pub(crate) use steps::run;
