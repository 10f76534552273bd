//! Processors on which a thread may run.

use crate::target::TargetError;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Pins the calling thread to these processors; does nothing for an empty list.
pub(super) fn pin(cpus: &[u32]) -> Result<(), TargetError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for cpu in cpus {
        if (*cpu as usize) < CpuSet::MAX_CPU {
            set.set(*cpu as usize);
        }
    }
    sched_setaffinity(None, &set).map_err(|e| {
        TargetError::Other(format!(
            "a thread cannot be kept to the processors {cpus:?}: {}; check cpus_allowed",
            std::io::Error::from(e)
        ))
    })
}
