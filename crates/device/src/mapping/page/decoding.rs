//! Decoding of pages that have come from the flash, by a bounded number of engines of the ECC or any number. Reads of
//! the host, of relocation, of the map and of old data that partial writes need take the engines in the order in which
//! their pages come, and wait for them.
//!
//! The die is kept until a failed attempt of a read retry is over, so its time is that of the die
//! ([`PageMapDevice::read_operation`]). The engine's time for it is booked with that of the last attempt.

use super::PageMapDevice;
use crate::events::Event;
use crate::flash::PagesRead;
use crate::invariant::{Checked, check_near, ensure};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// When each engine is free; none where there is one for every page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Decoders(Vec<Nanos>);

impl Decoders {
    pub(super) fn new(engines: Option<u32>) -> Self {
        Decoders(vec![Nanos::ZERO; engines.unwrap_or(0) as usize])
    }

    /// Books the engines that are free first for pages that take `page` for each attempt; returns when the last of
    /// them is ready.
    #[inline]
    fn book(&mut self, read: PagesRead, page: Nanos, now: Nanos) -> Nanos {
        if self.0.is_empty() {
            return now + page;
        }
        let mut end = now;
        for _ in 0..read.pages {
            if let Some(free) = self.0.iter_mut().min() {
                let ready = now.max(*free) + page;
                *free = ready + page * u64::from(read.failed);
                end = end.max(ready);
            }
        }
        end
    }

    /// Whether there is one for every page.
    pub(super) fn are_unlimited(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that there are as many as the profile says.
    pub(super) fn audit(&self, engines: Option<u32>, now: Nanos) -> Checked {
        ensure!(
            self.0.len() == engines.unwrap_or(0) as usize,
            "the device has {} engines of the ECC",
            self.0.len()
        );
        for at in &self.0 {
            check_near("the end of decoding", *at, now)?;
        }
        Ok(())
    }
}

impl PageMapDevice {
    /// Decodes pages that have come from the flash; returns when all of them are ready.
    #[inline]
    pub(super) fn decode(&mut self, read: PagesRead) -> Nanos {
        let page = self.decode_time();
        self.decoders.book(read, page, self.schedule.now())
    }

    /// Decodes pages that firmware needs itself; returns when it has them. Any number of engines takes none of its time.
    fn decode_for_firmware(&mut self, read: PagesRead) -> Nanos {
        if self.decoders.are_unlimited() {
            return self.schedule.now();
        }
        self.decode(read)
    }

    pub(super) fn decode_map_page(&mut self, fetch: u32, read: PagesRead) {
        let ready = self.decode_for_firmware(read);
        if ready > self.schedule.now() {
            self.schedule.push(ready, Event::MapFetched(fetch));
        } else {
            self.on_map_fetched(fetch);
        }
    }

    pub(super) fn decode_old_data(&mut self, sequence: u32, read: PagesRead) {
        let ready = self.decode_for_firmware(read);
        if ready > self.schedule.now() {
            self.schedule.push(ready, Event::MergeDecoded(sequence));
        } else {
            self.on_merge_read(sequence);
        }
    }

    pub(super) fn decode_for_relocation(&mut self, job: u32, read: PagesRead) {
        let ready = self.decode_for_firmware(read);
        self.background.jobs.note_decoded(job, ready);
        self.on_relocation_read(job);
    }
}
