//! Output of `iostat -x` (sysstat), as text and as JSON: what a machine wrote to its disks, at intervals.

mod disks;
mod job;

pub use disks::{DiskLoad, Interval, IostatError, parse};
pub use job::{Order, job};
