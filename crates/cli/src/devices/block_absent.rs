//! Disks of this machine are listed on Linux only.

use crate::console::Console;
use serde::Serialize;

/// A disk of this machine; never constructed, since disks are listed on Linux only.
#[derive(Debug, Serialize)]
pub struct Disk {}

/// Disks of this machine: none on this system.
pub fn disks() -> Vec<Disk> {
    Vec::new()
}

/// A line that disks are not listed on this system.
pub fn list(_: &Console) -> String {
    "Disks of this machine are listed on Linux only.\n".to_string()
}
