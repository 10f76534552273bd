//! Contents of a report, independent of the medium: chapters, plots, bars, tables, the verdict. Page, files and
//! terminal draw from here. Nothing in here writes HTML, SVG of plots, or files.

pub mod answer;
pub mod author;
pub mod axes;
pub mod bars;
pub mod chapter;
pub mod collection;
pub mod curves;
pub mod diagram;
pub mod headline;
pub mod long_writes;
pub mod matrix;
pub mod modes;
pub mod notice;
pub mod overview;
pub mod page_context;
pub mod percentile;
pub mod plot;
pub mod power_and_heat;
pub mod published;
pub mod ranking;
pub mod regions;
pub mod requirements;
pub mod speed;
pub mod statements;
pub mod states;
pub mod step;
pub mod strip;
pub mod sustained;
pub mod table;
pub mod time;
pub mod weaknesses;
