//! Times computed last. They depend on a few values that rarely change, and comparing these is cheaper than a division
//! or a floating-point conversion per command.

use super::PageMapDevice;
use crate::convert::{ToF64, Whole};
use nandscope_units::Nanos;

/// Inputs and results of the last computations. Not part of the state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentTimes {
    /// Clock share, and the time to decode a page at that clock.
    decode: (f64, Nanos),
    /// Clock share, time at the full clock in ns, and the time at this clock.
    slowed: (f64, u64, Nanos),
}

impl PageMapDevice {
    /// Time to decode a page at the present clock.
    #[inline]
    pub(super) fn decode_time(&mut self) -> Nanos {
        let clock = self.clock();
        if self.recent.decode.0 != clock {
            let time = Nanos((self.controller.decode_us * 1e3 / clock).floor_u64());
            self.recent.decode = (clock, time);
        }
        self.recent.decode.1
    }

    /// Firmware time at the present clock of work that takes `full_speed_ns` at the full clock.
    #[inline]
    pub(super) fn slowed(&mut self, full_speed_ns: u64) -> Nanos {
        let clock = self.clock();
        if clock == 1.0 {
            return Nanos(full_speed_ns);
        }
        let (known_clock, known_ns, _) = self.recent.slowed;
        if (known_clock, known_ns) != (clock, full_speed_ns) {
            let time = Nanos((full_speed_ns.to_f64() / clock).floor_u64());
            self.recent.slowed = (clock, full_speed_ns, time);
        }
        self.recent.slowed.2
    }
}
