//! A device that is open for verification.

use nandscope_infer::verify::{Medium, Subject};
use nandscope_inspect::registers::Registers;
use nandscope_result::TargetKind;

/// An opened target of verification.
pub struct Target {
    /// Device, file or simulated device.
    pub medium: Box<dyn Medium>,
    /// Identity and size, for the journal.
    pub subject: Subject,
    /// For the title.
    pub model: String,
    /// `block device`, `file`.
    pub kind: TargetKind,
    /// Registers, where it is a card in a slot of this machine.
    pub registers: Option<Registers>,
}
