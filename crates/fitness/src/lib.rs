//! Whether a device is fit for an application, and how long it lasts.
//!
//! [`requirement`] reads what an application needs: streams of data with their rates, deadlines and buffers, years,
//! temperatures. [`recording`] sends the streams to a target and counts what waits in the buffer. [`qualify`] does so on
//! a simulated device in several states, and [`verdict`] compares the measurements with the requirement.
//! [`lifetime`] repeats a workload until the wear per byte is level, and extrapolates to the rated cycles; [`iostat`] makes
//! workloads of what a machine counted. [`health`] forecasts the end of life from the health that a real device reports.
//!
//! Nothing here prints, reads arguments, or opens files and devices.

pub mod cuts;
pub mod health;
pub mod iostat;
mod layout;
pub mod lifetime;
pub mod qualify;
pub mod recording;
pub mod requirement;
pub mod verdict;

pub use layout::LayoutError;
pub use requirement::{Requirement, RequirementFault};
