//! Derives the operations of a job: [`Generator`] combines the parts of this module, each of which makes one choice. No
//! part depends on the time or on the answers of a device.

mod backlog;
mod fio_sequences;
mod generator;
mod layout;
mod lfsr;
mod map;
mod mix;
mod offsets;
mod place;
mod random;
mod region;
mod service;
mod setup;
mod sizes;
mod skew;
mod strides;
mod tausworthe;

pub use backlog::of_job;
pub use generator::Generator;
pub use layout::lay_out;
pub use map::{MAX_BLOCKS, RandomMap};
pub use mix::Mix;
pub use offsets::Offsets;
pub use random::Random;
pub use region::Region;
pub use sizes::Sizes;
pub use skew::{Normal, Pareto, Scatter, Zipf};
use strides::Strides;
