//! Disks of this machine are listed on Linux only.

use crate::console::Console;
use serde::Serialize;

/// A disk of this machine; there are none here.
#[derive(Debug, Serialize)]
pub struct Disk {}

/// No disks.
pub fn disks() -> Vec<Disk> {
    Vec::new()
}

/// Says that disks are not listed here.
pub fn list(_: &Console) -> String {
    "Disks of this machine are listed on Linux only.\n".to_string()
}
