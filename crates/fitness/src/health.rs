//! Health that a device reports, kept over time, and the date on which it reports the end of its life.

mod forecast;
mod log;

pub use forecast::{Forecast, forecast};
pub use log::{HealthReading, LogError, line, read};
