//! Observes a run: decides whether to stop, and receives the progress.

use nandscope_units::{Bytes, Nanos};

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Virtual time.
    pub at: Nanos,
    /// Bytes written by the kernel to the device.
    pub written: Bytes,
}

/// See the module's text. A closure that says whether to stop is one.
pub trait Observer {
    /// Returns true to stop the run.
    fn stop(&self) -> bool;

    /// Receives the progress a few times per second of real time.
    fn progress(&self, _progress: Progress) {}
}

impl<F: Fn() -> bool> Observer for F {
    fn stop(&self) -> bool {
        self()
    }
}
