//! What a report shows, apart from the medium: chapters, plots, bars, tables, the verdict. Page,
//! files and terminal draw from here. Nothing in here writes HTML, SVG of plots, or files.

pub mod bars;
pub mod chapter;
pub mod course;
pub mod diagram;
pub mod percentile;
pub mod plot;
pub mod published;
pub mod story;
pub mod table;
pub mod time;
