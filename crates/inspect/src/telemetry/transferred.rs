//! Data read from and written to a block device by the kernel's counters (`Documentation/block/stat.rst`
//! of Linux). Data that never reached the device is not included.

use super::{Absent, Reading};
use crate::DeviceNumber;
use crate::identity::whole_disk;
use crate::roots::{self, Roots};
use nandscope_units::{Bytes, Lba};
use std::path::PathBuf;

/// The counters of one block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfers {
    file: PathBuf,
}

/// Transfers since the device was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Since the device was attached.
    pub read: Bytes,
    /// Since the device was attached.
    pub written: Bytes,
    /// Reads that were completed.
    pub reads: u64,
    /// Writes that were completed.
    pub writes: u64,
}

impl Transfers {
    /// The counters of a device.
    ///
    /// # Errors
    /// `Absent` if the device has no counters, or counting is disabled (`queue/iostats`).
    pub fn of(roots: &Roots, number: DeviceNumber) -> Reading<Self> {
        let folder = roots
            .block(number)
            .map_err(|e| Absent::new(e.to_string()))?;
        let switch = whole_disk(&folder).join("queue/iostats");
        if roots::flag(&switch) == Some(false) {
            return Err(Absent::new(format!(
                "the kernel does not count transfers ({} is 0)",
                switch.display()
            )));
        }
        let transfers = Transfers {
            file: folder.join("stat"),
        };
        transfers.read().map(|_| transfers)
    }

    /// Reads the counters.
    ///
    /// # Errors
    /// `Absent` if the device is gone.
    pub fn read(&self) -> Reading<Transferred> {
        let text = roots::read(&self.file).map_err(|e| Absent::file(&self.file, &e))?;
        let fields: Vec<&str> = text.split_whitespace().collect();
        let sectors = |at: usize| -> Option<Bytes> {
            let sectors: u64 = fields.get(at)?.parse().ok()?;
            Some(Lba(sectors).offset())
        };
        let count = |at: usize| fields.get(at)?.parse::<u64>().ok();
        match (sectors(2), sectors(6), count(0), count(4)) {
            (Some(read), Some(written), Some(reads), Some(writes)) => Ok(Transferred {
                read,
                written,
                reads,
                writes,
            }),
            _ => Err(Absent::new(format!(
                "{} has an unknown format",
                self.file.display()
            ))),
        }
    }
}
