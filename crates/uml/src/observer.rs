//! Observes a run: decides whether to stop, and receives the progress.

use nandscope_units::{Bytes, Nanos};

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Virtual time.
    pub at: Nanos,
    /// What the kernel has written to the device.
    pub written: Bytes,
}

/// See the module's text. A closure that says whether to stop is one.
pub trait Observer {
    /// Whether somebody wants an end.
    fn stop(&self) -> bool;

    /// Hears a few times per second of real time how far the run has come.
    fn progress(&self, _progress: Progress) {}
}

impl<F: Fn() -> bool> Observer for F {
    fn stop(&self) -> bool {
        self()
    }
}
