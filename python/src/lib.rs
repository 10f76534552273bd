//! Native part of the Python package `nandscope`: devices, jobs, results and tables as Python classes.
//!
//! It converts and waits; what a device does, how a job runs and what a report shows, the other crates decide.
//! Every error becomes an exception of `nandscope.errors`.

mod background;
mod device;
mod error;
mod job;
mod operations;
mod overrides;
mod procedures;
mod python;
mod result;
mod sweep;
mod table;
mod values;

use pyo3::prelude::*;

/// Native classes of the package nandscope.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::device::{Completion, Device};
    #[pymodule_export]
    use crate::job::Job;
    #[pymodule_export]
    use crate::procedures::{review, validate};
    #[pymodule_export]
    use crate::result::{Plot, Plots, RunResult};
    #[pymodule_export]
    use crate::sweep::{PointMaker, PointRows, PointStore, SweepPoint, run_points, sample};
    #[pymodule_export]
    use crate::table::Table;

    /// Version of nandscope.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python expects")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
