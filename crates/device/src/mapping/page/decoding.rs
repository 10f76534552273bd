//! Decoding of pages read from flash, by a limited or unlimited number of ECC engines. Reads of the host, of
//! relocation, of map pages and of old data for partial writes use the engines in the order in which their pages
//! arrive.
//!
//! A failed decoding attempt of a read retry keeps its die busy, so its time is part of the die's
//! ([`PageMapDevice::read_operation`]). The engine time of all attempts is booked with the last one.

use super::PageMapDevice;
use crate::events::Event;
use crate::flash::PagesRead;
use crate::invariant::{Checked, check_near, ensure};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Time at which each engine becomes free; empty if there is no limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Decoders(Vec<Nanos>);

impl Decoders {
    pub(super) fn new(engines: Option<u32>) -> Self {
        Decoders(vec![Nanos::ZERO; engines.unwrap_or(0) as usize])
    }

    /// Books engines for pages that take `page` per attempt; returns the end of the last page.
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

    /// Whether the number of engines is unlimited.
    pub(super) fn are_unlimited(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that the number of engines is the profile's.
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
    /// Decodes pages read from flash; returns the end of the last page.
    #[inline]
    pub(super) fn decode(&mut self, read: PagesRead) -> Nanos {
        let page = self.decode_time();
        self.decoders.book(read, page, self.schedule.now())
    }

    /// Decodes pages that the firmware needs itself; returns the end. With unlimited engines this takes no time.
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
