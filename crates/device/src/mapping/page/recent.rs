//! Times that were computed last. They follow from a few values that rarely change, and a division or a
//! conversion of floating-point numbers for each command costs more than a look whether they did.

use super::PageMapDevice;
use crate::convert::{ToF64, Whole};
use nandscope_units::Nanos;

/// Results of the last computations, with what they were computed from. Nothing of it is state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentTimes {
    /// Clock, and the time to decode a page at it.
    decode: (f64, Nanos),
    /// Clock, nanoseconds at the full clock, and the time that takes at this one.
    slowed: (f64, u64, Nanos),
}

impl PageMapDevice {
    /// Time to decode a page.
    #[inline]
    pub(super) fn decode_time(&mut self) -> Nanos {
        let clock = self.clock();
        if self.recent.decode.0 != clock {
            let time = Nanos((self.controller.decode_us * 1e3 / clock).floor_u64());
            self.recent.decode = (clock, time);
        }
        self.recent.decode.1
    }

    /// Time that firmware takes for what takes `full_speed_ns` at the full clock.
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
