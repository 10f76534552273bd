//! What a device returns after a purge, and how fast it writes before and after.

use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use nandscope_inspect::guard::Opened;
use nandscope_inspect::purge::{Contents, Samples};
use nandscope_measure::real::{Access, Options, RealTarget, Volume};
use nandscope_suite::plan::Speed;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// Speed of writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WriteSpeed {
    /// Bytes per second of sequential writes of 128 KiB, 32 at once.
    pub sequential_bytes_per_s: f64,
    /// Time of a random write of 4 KiB, one at a time, microseconds.
    pub random_us: f64,
}

/// Results of the check.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Contents of samples that were written before.
    pub contents: Contents,
    /// Speed before the purge; `None` if it was not measured.
    pub before: Option<WriteSpeed>,
    /// Speed after it.
    pub after: Option<WriteSpeed>,
}

/// Samples that differ from those of an earlier purge.
pub fn samples(opened: &Opened) -> Samples {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = now.map_or(0, |now| now.as_secs() ^ u64::from(now.subsec_nanos()) << 32);
    Samples::new(opened.size, seed)
}

/// Measures writes for about 16 s.
///
/// # Errors
/// `Exit::File` if the device fails; `Exit::Interrupted`.
pub fn speed(opened: &Opened, interrupt: &Interrupt) -> Result<WriteSpeed, Failure> {
    let failed = |e: &dyn std::fmt::Display| {
        Failure::file(format!(
            "cannot measure the speed of {}: {e}; --no-speed leaves it out",
            opened.path.display()
        ))
    };
    let file = opened.file.try_clone().map_err(|e| failed(&e))?;
    let volume = Volume::new(&opened.path, file, Access::Write).map_err(|e| failed(&e))?;
    let mut target = RealTarget::new(volume, Options::default()).map_err(|e| failed(&e))?;
    let line = Line::new("purge").in_real_time();
    line.say("measuring the speed of writes");
    let speed = Speed::measure(&mut target, true, &|| interrupt.asked());
    line.clear();
    if interrupt.asked() {
        let text = "interrupted while the speed was measured; its data is overwritten in part";
        return Err(Failure::new(Exit::Interrupted, text));
    }
    let write = speed.map_err(|e| failed(&e))?.write;
    Ok(WriteSpeed {
        sequential_bytes_per_s: write.bytes_per_s,
        random_us: write.random.as_secs_f64() * 1e6,
    })
}
