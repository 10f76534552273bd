//! Starting states of a device: how a range is filled, and what a caller learns and decides between two steps of a fill.

use crate::convert::ToF64;
use std::ops::ControlFlow;
use thiserror::Error;

/// Mapping units (or pages of a card) written between two calls of a [`FillStep`]. Writing them takes milliseconds,
/// even if each moves hundreds of other units.
pub(crate) const STEP: u64 = 1024;

/// Order of the writes that fill a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// In ascending order.
    Sequential,
    /// Every unit once, in random order.
    Random {
        /// Seed of the random number generator.
        seed: u64,
    },
}

/// Load of the device after the last write of a starting state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// A long idle time, in which folding and collection finish.
    Idle,
    /// The writes continue: free space is at the level at which garbage collection paces the host.
    Load,
}

/// Work done so far for a starting state, in units of [`Device::overwrite_unit`](crate::Device::overwrite_unit).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FillProgress {
    /// Units written for the starting state.
    pub written: u64,
    /// Units programmed: those written, those moved, metadata, padding and parity.
    pub programmed: u64,
}

impl FillProgress {
    /// Units programmed per unit written; 1 where nothing was written.
    pub fn write_amplification(&self) -> f64 {
        match self.written {
            0 => 1.0,
            written => self.programmed.to_f64() / written.to_f64(),
        }
    }
}

/// Called between the steps of a fill, each of which takes milliseconds. `Break` ends the fill; the device is then
/// partly filled and usable.
pub type FillStep<'a> = dyn FnMut(FillProgress) -> ControlFlow<()> + 'a;

/// Answer of a [`FillStep`]: ends the fill if `stop` is true.
pub fn break_if(stop: bool) -> ControlFlow<()> {
    match stop {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Why a starting state was not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FillError {
    /// Commands are outstanding.
    #[error("the device has commands outstanding and cannot be filled")]
    Busy,
    /// The caller stopped the fill between two steps.
    #[error("interrupted")]
    Stopped,
}
