//! Checks the pacing of a thread before it runs.

use super::{Thread, ThreadFault};
use nandscope_units::Nanos;
use nandscope_workload::RateLimit;

/// Longest wait of a thread: 100 years. The clock ends after 584 years.
const LONGEST: Nanos = Nanos::from_secs(100 * 365 * 86_400);

/// Checks conditions that the types of a [`Thread`] do not ensure.
pub(super) fn check(thread: &Thread) -> Result<(), ThreadFault> {
    let p = &thread.pacing;
    if p.iodepth == 0 {
        return Err(ThreadFault::NoDepth);
    }
    if p.time_based && p.runtime.is_none() {
        return Err(ThreadFault::Endless);
    }
    let limits = [p.read_limit, p.write_limit, p.trim_limit];
    if limits
        .iter()
        .any(|l| matches!(l, RateLimit::BytesPerSecond(0) | RateLimit::OpsPerSecond(0)))
    {
        return Err(ThreadFault::RateOfZero);
    }
    let times = [
        ("startdelay", p.start_delay),
        ("ramp_time", p.ramp_time),
        ("thinktime", p.thinktime),
    ];
    if let Some((name, _)) = times.iter().find(|(_, time)| *time > LONGEST) {
        return Err(ThreadFault::TooLong(name));
    }
    match p.duty_cycle {
        Some(d) if d.busy_percent == 0 || d.busy_percent > 100 => {
            Err(ThreadFault::DutyCycle(d.busy_percent))
        }
        Some(d) if d.burst_bytes == 0 => Err(ThreadFault::EmptyBursts),
        _ => Ok(()),
    }
}
