//! Plans of measurements on cards, and the topology that a card reports to the kernel.

use super::Subject;
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::job::Settings;
use nandscope_uml::workload::Workload;
use nandscope_units::Bytes;

/// A cell to be measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of the target.
    pub subject: usize,
    /// The file system.
    pub fs: FileSystem,
    /// Workload that the programs run.
    pub workload: Workload,
    /// Settings of the run, without those of the card.
    pub settings: Settings,
    /// Part of the page that needs the cell; empty for the table.
    pub group: &'static str,
    /// The card was written completely in ascending order, and receives no discards.
    pub used: bool,
    /// Number of allocation units that the card keeps open, instead of its own number.
    pub open: Option<u32>,
}

impl Plan {
    /// A cell of the table.
    pub fn new(subject: usize, fs: FileSystem, workload: Workload, settings: Settings) -> Plan {
        Plan {
            subject,
            fs,
            workload,
            settings,
            group: "",
            used: false,
            open: None,
        }
    }
    /// Settings of the run on its card.
    pub fn settings(&self, subject: &Subject) -> Settings {
        Settings {
            discard_granularity: subject.card.unit,
            discard: self.settings.discard && !self.used,
            ..self.settings.clone()
        }
    }
}

/// Minimum write without a read, and optimal write, as a device may report them.
pub fn topology(subject: &Subject) -> (Bytes, Bytes) {
    let page = subject.page_kib().unwrap_or(16);
    (Bytes::kib(u64::from(page)), subject.card.unit)
}
