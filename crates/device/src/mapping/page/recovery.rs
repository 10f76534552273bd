//! Recovery of firmware with a page map after a power cut: it loads the map of the last checkpoint (part of `boot_ms`),
//! replays the journal written since, and reads the tags next to the pages that no journal page names yet. This module
//! has the time only; [`super::unpersisted`] has the lost data.
//!
//! A checkpoint is complete when the journal has gone round ([`super::log`]). Without a journal, the tags of all open
//! superblocks are read; a closed superblock ends with a summary of its tags. With power-loss protection
//! (`power_fail_hold_up`), the map is saved as on an orderly power-off, and nothing is read.

use super::PageMapDevice;
use nandscope_units::Nanos;

impl PageMapDevice {
    /// Duration of the reads after a power cut now. Dies read in parallel; pages of one channel's dies are transferred
    /// one after another.
    pub(super) fn recovery(&mut self) -> Nanos {
        if self.controller.power_fail_hold_up {
            return Nanos::ZERO;
        }
        let decode = self.decode_time();
        let g = &self.log.geometry;
        let rounds = self.log.pages_to_replay().div_ceil(u64::from(g.dies));
        let read = g.native.read_ns.iter().copied().max().unwrap_or(0);
        let transfer = self.array.transfer_time(g.unit_bytes, 1);
        (Nanos(u64::from(read)) + transfer * u64::from(g.dies / g.channels) + decode) * rounds
    }
}
