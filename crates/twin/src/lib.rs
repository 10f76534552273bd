//! Twins: fits a device profile to measurements of a real device, and says how sure each value is.
//!
//! [`csv`], [`fio`], [`flashbench`] and [`recorded_result`] read measurements, [`fill`] the size of an SLC cache; [`clues`] are sizes
//! that a base profile takes over. [`mod@screen`] drops those that cannot be true, with the reason. [`structure`] lists
//! profiles of the library that a fit begins with, [`parameter`] the keys that are changed and their physical ranges.
//! [`miniature`] makes a small device of the same behaviour, [`simulate`] runs short jobs on it, and [`loss`] compares
//! the two. [`search`] minimises the loss ([`cma`]), and keeps an [`ensemble`] of parameter sets that fit equally well;
//! [`holdout`] measures how well kinds of measurements that were left out are predicted.
//!
//! The number of threads has no influence on a result. Nothing here opens files, reads a clock or prints.

pub mod clues;
pub mod cma;
pub mod csv;
pub mod ensemble;
pub mod fill;
pub mod fio;
pub mod flashbench;
pub mod holdout;
pub mod loss;
pub mod miniature;
pub mod observation;
pub mod parameter;
pub mod question;
pub mod recorded_result;
pub mod screen;
pub mod search;
pub mod simulate;
pub mod structure;
pub mod twin;

pub use clues::Clues;
pub use ensemble::Ensemble;
pub use observation::{Cell, Direction, Figures, Observation, Pattern, State};
pub use screen::{Screened, screen};
pub use search::{Fitted, SearchOptions, fit};
