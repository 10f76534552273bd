//! Ctrl-C and SIGTERM: the first one asks the run to come to its end, the second one ends the
//! program at once. What is done with the partial result, the command decides.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Begins to listen.
    ///
    /// # Errors
    /// Where the system does not let signals be caught.
    pub fn listen() -> Result<Self, Failure> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: at the first signal the flag is not set yet, and nothing is ended.
            flag::register_conditional_shutdown(signal, 130, interrupt.0.clone())
                .and_then(|_| flag::register(signal, interrupt.0.clone()))
                .map_err(|e| Failure::file(format!("cannot listen for Ctrl-C: {e}")))?;
        }
        Ok(interrupt)
    }

    /// Whether to stop.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
