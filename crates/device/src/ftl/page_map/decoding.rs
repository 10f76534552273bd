//! Decoding of pages that have come from the flash, by a bounded number of engines of the ECC or any number.
//!
//! Failed attempts of a read retry are in the time of the die, and take no engine.

use super::PageMapDevice;
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

    /// Books the engines that are free first for pages that take `page` each; returns the end of the last.
    #[inline]
    fn book(&mut self, pages: u32, page: Nanos, now: Nanos) -> Nanos {
        if self.0.is_empty() {
            return now + page;
        }
        let mut end = now;
        for _ in 0..pages {
            if let Some(free) = self.0.iter_mut().min() {
                *free = now.max(*free) + page;
                end = end.max(*free);
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
    pub(super) fn decode(&mut self, pages: u32) -> Nanos {
        let page = self.decode_time();
        self.decoders.book(pages, page, self.now)
    }
}
