//! Counters of the requests of a whole disk, as the kernel keeps them (`Documentation/block/stat.rst` of Linux).

use super::{Absent, Reading};
use crate::DeviceNumber;
use crate::identity::whole_disk;
use crate::roots::{self, Roots};
use std::path::PathBuf;

/// The counters of one disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskStat {
    /// Kernel name of the disk, such as `sda`; of a partition, that of its disk.
    pub name: String,
    file: PathBuf,
}

/// Requests since the disk was attached; reads, then writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Requests completed.
    pub ios: [u64; 2],
    /// Requests merged with others before they were issued.
    pub merges: [u64; 2],
    /// Sum of the times of requests, ms.
    pub ticks_ms: [u64; 2],
    /// Time with at least one request, ms.
    pub busy_ms: u64,
    /// Sum of the times of all requests, flushes and discards too, ms.
    pub in_queue_ms: u64,
}

impl DiskStat {
    /// The counters of the disk of a block device.
    ///
    /// # Errors
    /// `Absent` if the device has no counters, or counting is disabled (`queue/iostats`).
    pub fn of(roots: &Roots, number: DeviceNumber) -> Reading<Self> {
        let folder = roots.block(number);
        let folder = folder.map_err(|e| Absent::new(e.to_string()))?;
        let disk = whole_disk(&folder);
        if roots::flag(&disk.join("queue/iostats")) == Some(false) {
            return Err(Absent::new("the kernel does not count requests"));
        }
        let name = disk.file_name().unwrap_or_default().to_string_lossy();
        let stat = DiskStat {
            name: name.into_owned(),
            file: disk.join("stat"),
        };
        stat.read().map(|_| stat)
    }

    /// Reads the counters.
    ///
    /// # Errors
    /// `Absent` if the device is gone.
    pub fn read(&self) -> Reading<DiskCounts> {
        let text = roots::read(&self.file).map_err(|e| Absent::file(&self.file, &e))?;
        let fields: Option<Vec<u64>> = text.split_whitespace().map(|f| f.parse().ok()).collect();
        match fields.as_deref() {
            // Newer kernels add counts of discards and flushes.
            Some(
                &[
                    read,
                    read_merged,
                    _,
                    read_ms,
                    written,
                    write_merged,
                    _,
                    write_ms,
                    _,
                    busy_ms,
                    in_queue_ms,
                    ..,
                ],
            ) => Ok(DiskCounts {
                ios: [read, written],
                merges: [read_merged, write_merged],
                ticks_ms: [read_ms, write_ms],
                busy_ms,
                in_queue_ms,
            }),
            _ => Err(Absent::new(format!(
                "{} has an unknown format",
                self.file.display()
            ))),
        }
    }
}

impl DiskCounts {
    /// Differences of the counts of a disk from those of an earlier moment.
    #[must_use]
    pub fn since(&self, before: &DiskCounts) -> DiskCounts {
        let apart = |now: [u64; 2], then: [u64; 2]| [0, 1].map(|at| now[at].wrapping_sub(then[at]));
        DiskCounts {
            ios: apart(self.ios, before.ios),
            merges: apart(self.merges, before.merges),
            ticks_ms: apart(self.ticks_ms, before.ticks_ms),
            busy_ms: self.busy_ms.wrapping_sub(before.busy_ms),
            in_queue_ms: self.in_queue_ms.wrapping_sub(before.in_queue_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_partition_are_those_of_its_disk() {
        let folder = std::env::temp_dir().join(format!("disk-stat-{}", std::process::id()));
        let roots = Roots::under(&folder);
        let disk = roots.sys.join("devices/sdx");
        let part = disk.join("sdx1");
        std::fs::create_dir_all(&part).unwrap();
        std::fs::create_dir_all(roots.sys.join("dev/block")).unwrap();
        std::os::unix::fs::symlink(&part, roots.sys.join("dev/block/8:1")).unwrap();
        std::fs::write(part.join("partition"), "1\n").unwrap();
        let put = |text: &str| std::fs::write(disk.join("stat"), text).unwrap();
        put("  10 1 80 5 20 2 160 7 0 9 12 3 0 24 1 4 1\n");
        let number = DeviceNumber { major: 8, minor: 1 };
        let stat = DiskStat::of(&roots, number).unwrap();
        assert_eq!(stat.name, "sdx");
        let before = stat.read().unwrap();
        put("  13 1 80 9 25 4 160 8 0 19 18 3 0 24 1 4 1\n");
        let expected = DiskCounts {
            ios: [3, 5],
            merges: [0, 2],
            ticks_ms: [4, 1],
            busy_ms: 10,
            in_queue_ms: 6,
        };
        assert_eq!(stat.read().unwrap().since(&before), expected);
        put("1 2 3\n");
        assert!(stat.read().is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
