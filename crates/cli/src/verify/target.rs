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
    /// Model for the title of the report.
    pub model: String,
    /// `block device`, `file`.
    pub kind: TargetKind,
    /// Registers, if it is a card in a slot of this machine, or a simulated one.
    pub registers: Option<Registers>,
}

impl Target {
    /// Salt of the tags of a run. It is constant on a simulated device, so that results are reproducible, and unpredictable
    /// on all others.
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
