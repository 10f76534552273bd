//! Starting states of a device: how a range is filled, and what a caller learns and decides between two steps of a fill.

use crate::convert::ToF64;
use std::ops::ControlFlow;
use thiserror::Error;

/// Units of a page-mapped device, or pages of a card, that are written between two calls of a [`FillStep`]. They take
/// milliseconds even if each moves hundreds of other units.
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
    /// More writes at once: the free space is that at which collection sets the pace of the host.
    Load,
}

/// Work done so far for a starting state, in units of [`Device::overwrite_unit`](crate::Device::overwrite_unit).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FillProgress {
    /// Units written in place of a host.
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

/// Called between the steps of a fill, each of which takes milliseconds; a break ends the fill. The device is then filled
/// in part, and can be used.
pub type FillStep<'a> = dyn FnMut(FillProgress) -> ControlFlow<()> + 'a;

/// Answer of a [`FillStep`]: ends the fill if `stop` is true.
pub fn break_if(stop: bool) -> ControlFlow<()> {
    match stop {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Why a device is not brought into a starting state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FillError {
    /// Commands are outstanding.
    #[error("the device has commands outstanding and cannot be filled")]
    Busy,
    /// The caller ended it between two steps.
    #[error("interrupted")]
    Stopped,
}
