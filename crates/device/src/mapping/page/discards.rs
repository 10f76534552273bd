//! Discards over time. A discard waits for its turn among the writes, is acknowledged when its journal entry is
//! written, and then takes effect a few map pages at a time. Later commands that change data wait until it has taken
//! effect.

use super::PageMapDevice;
use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::map_fetches::MapWaiter;
use crate::mapping::page::scheduler::Wants;
use serde::{Deserialize, Serialize};

/// A discard that is taking effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Discarding {
    /// First unit that is still mapped.
    at: Lpn,
    /// End of the units whose map pages are being fetched.
    until: Lpn,
    end: Lpn,
    /// Fetches that the discard waits for.
    waits: u32,
}

impl Discarding {
    /// Checks that the discard lies within the host's units and waits for as many fetches as are under way.
    pub(super) fn audit(this: Option<&Self>, user_units: u32, fetches: u32) -> Checked {
        ensure!(
            match this {
                None => fetches == 0,
                Some(d) => {
                    d.at < d.until
                        && d.until <= d.end
                        && d.end.0 <= user_units
                        && d.waits == fetches
                        && fetches > 0
                }
            },
            "{fetches} pages of the map are fetched for {this:?}"
        );
        Ok(())
    }
}

impl PageMapDevice {
    pub(super) fn begin_discard(&mut self, index: u32) {
        if !self.attachment.chain.discard {
            self.commands[index].request.status = crate::command::Status::Unsupported;
            return self.complete_at(index, self.schedule.now());
        }
        if self.log.is_read_only() {
            return self.refuse(index);
        }
        let p = &self.commands[index];
        let unit = self.unit_bytes();
        let start = p.request.command.lba.offset().0;
        // Partly covered units keep their data.
        let first = Lpn(start.div_ceil(unit).narrow());
        let end = Lpn(((start + p.request.command.bytes().0) / unit).narrow());
        if end <= first {
            return self.complete_at(index, self.schedule.now());
        }
        let p = &mut self.commands[index];
        p.first = first;
        p.units = end - first;
        p.to_admit = p.units;
        p.to_arrive = p.units;
        self.writes.wait_for_admission(index);
        self.run(Wants::Admission);
    }

    /// Starts a discard whose turn has come.
    pub(super) fn admit_discard(&mut self, index: u32) {
        let p = &mut self.commands[index];
        p.to_admit = 0;
        p.to_arrive = 0;
        let (first, units) = (p.first, p.units);
        self.read_ahead.invalidate(first, units);
        let mut full = std::mem::take(&mut self.scratch.full);
        self.log.note_discard(self.schedule.now(), &mut full);
        let wants = self.submit_host_programs(&mut full);
        self.run(wants);
        self.scratch.full = full;
        self.complete_at(index, self.schedule.now());
        self.continue_discard(Discarding {
            at: first,
            until: first,
            end: first + units,
            waits: 0,
        });
    }

    /// Discards the units whose map pages are loaded, and fetches the next map pages: one per die.
    fn continue_discard(&mut self, mut discarding: Discarding) {
        let most = self.log.geometry.dies as usize;
        while discarding.waits == 0 && discarding.at < discarding.end {
            let mut full = std::mem::take(&mut self.scratch.full);
            let (at, end) = (discarding.at, discarding.end);
            discarding.until =
                self.log
                    .touch_for_discard(at, end, most, self.schedule.now(), &mut full);
            let wanted = self.log.window.take_wanted();
            let wants = self.submit_host_programs(&mut full);
            self.run(wants);
            self.scratch.full = full;
            discarding.waits = self.fetch_map(wanted, MapWaiter::Discard, false);
            if discarding.waits == 0 {
                self.log.discard(discarding.at, discarding.until);
                discarding.at = discarding.until;
            }
        }
        self.discarding = (discarding.waits > 0).then_some(discarding);
        self.erase_invalid();
    }

    /// Handles a fetched map page that the discard changes.
    pub(super) fn on_discard_fetched(&mut self) -> Wants {
        let Some(mut discarding) = self.discarding.take() else {
            return Wants::Nothing;
        };
        discarding.waits -= 1;
        if discarding.waits > 0 {
            self.discarding = Some(discarding);
            return Wants::Nothing;
        }
        self.log.discard(discarding.at, discarding.until);
        discarding.at = discarding.until;
        self.continue_discard(discarding);
        Wants::Admission
    }
}
