//! Reads of data that was never written, or was discarded: a device answers them without reading flash, so their speed
//! is not that of stored data.

use crate::runner::GroupOutcome;
use nandscope_result::Notice;

/// Share of unwritten bytes among those read from which a warning is given.
const LEAST: f64 = 0.005;

/// Parts of a real target without data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// Starts and ends, bytes.
    pub ranges: Vec<(u64, u64)>,
    /// Whether the parts are estimated from samples that read as zeros; otherwise the file system reports them.
    pub is_sampled: bool,
}

/// A warning if reads of a simulated device found nothing; the device counts them exactly.
pub fn notice(outcome: &GroupOutcome) -> Option<Notice> {
    let first = outcome.first_reading.counters?;
    let last = outcome.last_reading.counters?;
    let read = last.host_read.0.checked_sub(first.host_read.0)?;
    let unmapped = last.unmapped_read.0.checked_sub(first.unmapped_read.0)?;
    let share = unmapped as f64 / read.max(1) as f64;
    (share >= LEAST).then(|| {
        Notice::warning(format!(
            "{:.0} % of the data read was never written, or was trimmed: the device answered without reading flash. Write the region first, or precondition the device",
            (share * 100.0).clamp(1.0, 100.0)
        ))
    })
}
