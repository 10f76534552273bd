//! Results for people. Everything here reads result documents alone, never a device, a job or a
//! profile: [`html`] writes one self-contained page, [`drawings()`] each plot by itself, [`csv`]
//! each series, [`fio`] the output formats of fio, [`terminal`] a summary that fits a screen, [`summary_json`] the same for programs,
//! [`compare`] several documents side by side, [`sweep`] the points of a sweep, [`shelf`] a site of many drives, [`qualification`] the page of a verdict
//! that it is given in words, and [`files`] puts
//! pages, plots and tables into a folder.
//!
//! It computes nothing that a document does not hold, apart from the plain statistics that its
//! verdict names.

#[cfg(test)]
mod blank;
mod columns;
pub mod compare;
pub mod csv;
mod draw_bars;
mod draw_plot;
mod draw_strip;
mod drawings;
mod encode;
mod error;
pub mod files;
pub mod fio;
pub mod html;
mod names;
mod number;
mod picture;
pub mod qualification;
mod raster;
pub mod shelf;
mod sparkline;
pub mod summary;
pub mod summary_json;
pub mod sweep;
pub mod terminal;
mod view;

pub use drawings::{Drawing, drawings};
pub use error::{ReportError, Result};
pub use files::{write_all, write_among, write_pictures};
pub use view::answer::place_of_answer;
