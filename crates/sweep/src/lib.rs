//! Sweeps: a job on a simulated device at many points of a space of parameters.
//!
//! [`space`] reads the parameters, [`sample`] chooses the points, [`point`] is one of them and how it is run, [`key`] its
//! name in a store. [`maker`] makes and checks a point, [`plan`] all points of a sweep before the first runs. [`pool`] runs
//! them on threads, [`store`] keeps a file for each that is finished, [`table`] puts metrics beside parameters, and [`rows`]
//! writes that as Parquet. [`fullness`] is the sweep over the fullness of a drive.
//!
//! The number of threads has no influence on a result: a point depends on its own description only.
//! Nothing here prints or draws.

pub mod fullness;
mod keepers;
pub mod key;
pub mod maker;
pub mod metric;
pub mod plan;
pub mod point;
pub mod pool;
pub mod rows;
pub mod sample;
pub mod space;
pub mod store;
pub mod table;

pub use maker::{Parts, PointMaker};
pub use metric::{Metric, MetricError};
pub use plan::{Plan, PlanError, SweepSpec};
pub use point::{Point, PointError};
pub use rows::RowFiles;
pub use sample::Sampling;
pub use space::{Parameter, Range, SpaceError};
pub use store::{Found, Keep, Store, StoreError};
pub use table::SweepTable;
