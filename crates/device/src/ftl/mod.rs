//! Flash translation: where logical units lie in the flash. Pure bookkeeping: nothing here knows
//! of time spent or of queues; the device asks, and turns the answers into flash operations.
//!
//! [`log`] is the page-mapped log of SSDs and SD Express cards, on top of [`map`] (both directions
//! of the mapping), [`blocks`] (states and wear of superblocks), [`victims`] (whom to collect) and
//! [`window`] (which part of the map is at hand).

pub(crate) mod blocks;
pub(crate) mod log;
pub(crate) mod map;
pub(crate) mod victims;
pub(crate) mod window;
