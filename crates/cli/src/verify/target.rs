//! A device that is open for verification.

use super::store;
use crate::failure::Failure;
use nandscope_infer::authenticity::{JournaledDevice, Medium, Salt};
use nandscope_inspect::registers::Registers;
use nandscope_result::TargetKind;

/// An opened target of verification.
pub struct Target {
    /// Device, file or simulated device.
    pub medium: Box<dyn Medium>,
    /// Identity and size, for the journal.
    pub journaled: JournaledDevice,
    /// For the title.
    pub model: String,
    /// `block device`, `file`.
    pub kind: TargetKind,
    /// Registers, if it is a card in a slot of this machine, or a simulated one.
    pub registers: Option<Registers>,
}

impl Target {
    /// Salt of the tags of a run. On a simulated device it is always the same, so that a run gives the same result
    /// each time; on any other one nobody can know it beforehand.
    ///
    /// # Errors
    /// `Exit::File` if the system has no random numbers.
    pub fn salt(&self) -> Result<Salt, Failure> {
        match self.kind {
            TargetKind::Simulated => Ok(Salt(*b"simulated device")),
            _ => store::salt(),
        }
    }
}
