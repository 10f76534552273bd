//! Why runs end early.

use crate::machine::MachineError;
use crate::process::StartError;
use std::io;
use thiserror::Error;

/// Why a run did not come to its end.
#[derive(Debug, Error)]
pub enum Reason {
    /// The folder or the sockets.
    #[error("the folder of the run: {0}")]
    Folder(#[from] io::Error),
    /// The kernel's process.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Virtual time.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The kernel ended before its script did.
    #[error("the kernel ended before its script ({0})")]
    Died(String),
    /// The script says that something failed.
    #[error("the script inside the kernel failed: {0}")]
    Script(String),
}
