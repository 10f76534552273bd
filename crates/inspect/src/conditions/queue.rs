//! The queue of a block device (`Documentation/ABI/stable/sysfs-block` of Linux): scheduler,
//! limits, cache, discard.

use crate::DeviceNumber;
use crate::identity::whole_disk;
use crate::roots::{self, Roots};
use nandscope_units::Bytes;
use serde::Serialize;
use std::collections::BTreeMap;

/// Settings and limits. What the kernel does not show is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// The scheduler in use.
    pub scheduler: Option<String>,
    /// Requests that the scheduler holds.
    pub requests: Option<u64>,
    /// The largest request that the kernel makes.
    pub largest_request: Option<Bytes>,
    /// Largest request that the device accepts.
    pub largest_possible: Option<Bytes>,
    /// Smallest addressable unit (`queue/logical_block_size`).
    pub logical_block: Option<Bytes>,
    /// Smallest unit without a read-modify-write (`queue/physical_block_size`).
    pub physical_block: Option<Bytes>,
    /// Preferred request size; zero if the device reports none.
    pub optimal_request: Option<Bytes>,
    /// `write back`, or `write through` for a device without a volatile cache.
    pub write_cache: Option<String>,
    /// The device can be made to write one request through its cache (FUA).
    pub fua: Option<bool>,
    /// Discards pass: the largest that the kernel makes; zero where they do not.
    pub largest_discard: Option<Bytes>,
    /// Target latency of writeback throttling in µs; zero if disabled.
    pub writeback_throttling_us: Option<i64>,
    /// Read-ahead of buffered reads.
    pub read_ahead: Option<Bytes>,
    /// True if jobs can poll for completions.
    pub polling: Option<bool>,
    /// Zone model, if the device is zoned.
    pub zoned: Option<String>,
}

impl Queue {
    pub(crate) fn read(roots: &Roots, number: DeviceNumber) -> Option<Self> {
        let folder = whole_disk(&roots.block(number).ok()?).join("queue");
        let text = |name: &str| roots::text(&folder.join(name));
        let number = |name: &str| roots::number(&folder.join(name));
        let kib = |name: &str| number(name).map(|n| Bytes(n.saturating_mul(1024)));
        let bytes = |name: &str| number(name).map(Bytes);
        folder.is_dir().then(|| Queue {
            scheduler: text("scheduler").map(|line| chosen(&line)),
            requests: number("nr_requests"),
            largest_request: kib("max_sectors_kb"),
            largest_possible: kib("max_hw_sectors_kb"),
            logical_block: bytes("logical_block_size"),
            physical_block: bytes("physical_block_size"),
            optimal_request: bytes("optimal_io_size"),
            write_cache: text("write_cache"),
            fua: roots::flag(&folder.join("fua")),
            largest_discard: bytes("discard_max_bytes"),
            writeback_throttling_us: text("wbt_lat_usec").and_then(|t| t.parse().ok()),
            read_ahead: kib("read_ahead_kb"),
            polling: roots::flag(&folder.join("io_poll")),
            zoned: text("zoned").filter(|zoned| zoned != "none"),
        })
    }

    /// Name and value of each.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let size = |n: Option<Bytes>| n.map(|n| n.to_string());
        let flag = |n: Option<bool>| n.map(|n| if n { "yes" } else { "no" }.to_string());
        let discard = self.largest_discard.map(|n| match n {
            Bytes::ZERO => "not passed".to_string(),
            most => format!("passed, up to {most}"),
        });
        let pairs = [
            ("scheduler", self.scheduler.clone()),
            ("queue requests", self.requests.map(|n| n.to_string())),
            ("largest request", size(self.largest_request)),
            ("largest possible request", size(self.largest_possible)),
            ("logical block", size(self.logical_block)),
            ("physical block", size(self.physical_block)),
            ("write cache", self.write_cache.clone()),
            ("fua", flag(self.fua)),
            ("discard", discard),
            ("polling", flag(self.polling)),
            ("zoned", self.zoned.clone()),
        ];
        let known = pairs
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_string(), value?)));
        known.collect()
    }
}

/// The active scheduler is in brackets, as in `mq-deadline [none]`.
fn chosen(line: &str) -> String {
    let inside = line
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(line, |(name, _)| name).to_string()
}
