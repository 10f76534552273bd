//! What firmware with a page map does after a power cut before it answers: the map of the last checkpoint is loaded
//! (part of `boot_ms`), the journal since then is replayed, and the tags beside the pages that no page of the journal
//! names yet are read. It holds the time only; which data is lost is in [`super::unpersisted`].
//!
//! Checkpoints are over when the journal has gone round ([`super::log`]). Without a journal,
//! the tags of all open superblocks are read; a closed superblock ends with a summary of its tags. With energy to hold
//! up (`power_fail_hold_up`), the map is saved as on an orderly power-off, and nothing is read.

use super::PageMapDevice;
use nandscope_units::Nanos;

impl PageMapDevice {
    /// Time of the reads after a power cut at present. Dies read at the same time; pages of the dies of one channel
    /// follow one another on it.
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
