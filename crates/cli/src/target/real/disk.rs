//! The use of the disk of a target, as the kernel counts it.

use nandscope_inspect::Roots;
use nandscope_inspect::identity::Identity;
use nandscope_inspect::telemetry::disk_stat::{DiskCounts, DiskStat};
use nandscope_result::DiskUse;
use std::time::Instant;

/// Counters of a disk, and what they were at the beginning.
#[derive(Clone)]
pub struct DiskWatch {
    stat: DiskStat,
    before: DiskCounts,
    began: Instant,
}

impl DiskWatch {
    /// Begins to watch a disk; `None` if the kernel does not count its requests.
    pub fn begin(device: &Identity) -> Option<DiskWatch> {
        let stat = DiskStat::of(&Roots::default(), device.number).ok()?;
        let before = stat.read().ok()?;
        Some(DiskWatch {
            stat,
            before,
            began: Instant::now(),
        })
    }

    /// Use of the disk since the beginning; `None` if it is gone.
    pub fn so_far(&self) -> Option<DiskUse> {
        let counts = self.stat.read().ok()?.since(&self.before);
        let elapsed_ms = self.began.elapsed().as_secs_f64() * 1e3;
        let busy = 100.0 * counts.busy_ms as f64 / elapsed_ms.max(1.0);
        let ([reads, writes], [read_merges, write_merges]) = (counts.ios, counts.merges);
        let [read_ms, write_ms] = counts.ticks_ms;
        Some(DiskUse {
            name: self.stat.name.clone(),
            reads,
            writes,
            read_merges,
            write_merges,
            read_ms,
            write_ms,
            in_queue_ms: counts.in_queue_ms,
            busy_percent: busy.min(100.0),
        })
    }
}
