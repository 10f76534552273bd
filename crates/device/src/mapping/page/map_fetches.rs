//! Fetches of map pages from flash or host memory. All look-ups of a page being fetched wait for the same fetch.

use crate::convert::Narrow;
use crate::invariant::{Checked, ensure, places_in_use};
use crate::profile::schema::FtlSection;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// An operation that waits for a map page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MapWaiter {
    /// A read command; its data cannot be located before.
    Command(u32),
    /// The discard that is taking effect.
    Discard,
    /// Write buffer places of the program with this sequence number.
    Program(u32),
    /// A relocation job.
    Job(u32),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct MapFetch {
    page: u32,
    /// Waiting operations; the memory is reused by the next fetch.
    waiters: Vec<MapWaiter>,
}

/// All fetches under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MapFetches {
    fetches: Vec<MapFetch>,
    free: Vec<u32>,
    /// Duration of a fetch from host memory; `None` if the map is not there.
    host_time: Option<Nanos>,
}

impl MapFetches {
    pub(crate) fn new(ftl: &FtlSection) -> Self {
        MapFetches {
            fetches: Vec::new(),
            free: Vec::new(),
            host_time: ftl.map.host_memory_us.map(Nanos::from_micros_f64),
        }
    }

    /// Duration of a fetch from host memory; `None` if the map is not there.
    pub(crate) fn host_time(&self) -> Option<Nanos> {
        self.host_time
    }

    /// Starts a fetch of `page`; returns its number.
    pub(crate) fn begin(&mut self, page: u32) -> u32 {
        if let Some(fetch) = self.free.pop() {
            self.fetches[fetch as usize].page = page;
            return fetch;
        }
        self.fetches.push(MapFetch {
            page,
            waiters: Vec::new(),
        });
        self.fetches.len().narrow() - 1
    }

    /// Adds `waiter` to a fetch.
    pub(crate) fn join(&mut self, fetch: u32, waiter: MapWaiter) {
        self.fetches[fetch as usize].waiters.push(waiter);
    }

    /// Ends a fetch: swaps its waiters, in order of arrival, with the empty list `waiters`, and returns the page.
    pub(crate) fn end(&mut self, fetch: u32, waiters: &mut Vec<MapWaiter>) -> u32 {
        debug_assert!(!self.free.contains(&fetch), "a fetch ends twice");
        let ended = &mut self.fetches[fetch as usize];
        std::mem::swap(&mut ended.waiters, waiters);
        self.free.push(fetch);
        ended.page
    }

    /// Whether a fetch is under way.
    pub(crate) fn under_way(&self) -> bool {
        self.free.len() < self.fetches.len()
    }

    /// The map page of a fetch.
    pub(crate) fn page_of(&self, fetch: u32) -> Option<u32> {
        self.fetches.get(fetch as usize).map(|f| f.page)
    }

    /// Checks that exactly the fetches of `coming` are under way; returns their waiters.
    pub(crate) fn audit(&self, coming: &[u32], pages: u32) -> Checked<Vec<MapWaiter>> {
        let mut waited_for = places_in_use("map fetches", self.fetches.len(), &self.free)?;
        for fetch in coming {
            let place = waited_for.get_mut(*fetch as usize);
            ensure!(
                place.is_some_and(|used| std::mem::replace(used, false)),
                "map fetch {fetch} comes twice or does not exist"
            );
        }
        ensure!(
            !waited_for.contains(&true),
            "commands wait for a page of the map that is not being fetched"
        );
        for fetch in &self.free {
            ensure!(
                self.fetches[*fetch as usize].waiters.is_empty(),
                "a command waits for map fetch {fetch}, which has ended"
            );
        }
        ensure!(
            coming
                .iter()
                .all(|f| self.fetches[*f as usize].page < pages),
            "a fetch is for a page beyond the end of the map"
        );
        let waiters = self.fetches.iter().flat_map(|f| f.waiters.iter().copied());
        Ok(waiters.collect())
    }
}
