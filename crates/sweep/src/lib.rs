//! Sweeps: a job on a simulated device at many points of a space of parameters.
//!
//! [`space`] reads the parameters, [`sample`] chooses the points, [`point`] is one of them and how it is
//! run, [`plan`] checks them all before the first runs, [`pool`] runs them on threads with the
//! conditioned devices shared, [`store`] keeps one file per finished point, and [`table`] puts metrics
//! beside parameters.
//!
//! The number of threads has no influence on a result: a point depends on its own description only.
//! Nothing here prints or draws.

pub mod metric;
pub mod plan;
pub mod point;
pub mod pool;
pub mod sample;
pub mod space;
pub mod store;
pub mod table;

pub use metric::{Metric, MetricError};
pub use plan::{Plan, PlanError, SweepSpec};
pub use point::{Point, PointError};
pub use sample::Sampling;
pub use space::{Parameter, SpaceError};
pub use store::{Keep, Store, StoreError};
pub use table::SweepTable;
