//! [`MapWindow`], the pages of the map that are loaded, and the look-ups that wait for others.

use super::layout::MapLayout;
use crate::invariant::{Checked, ensure};
use crate::mapping::page::map_cache::{Lookup, MapCache};
use serde::{Deserialize, Serialize};

/// A page of the map that a look-up did not find in the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedPage {
    pub(crate) page: u32,
    /// Whether it is only in flash, not in host memory.
    pub(crate) absent: bool,
}

/// The pages of the map that are loaded: all of them, or those of a window in the controller's memory or the host's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MapWindow {
    /// `None` if the whole map is loaded.
    cache: Option<MapCache>,
    /// Pages of a window in host memory that the controller has a copy of.
    near: Option<MapCache>,
    /// Pages that the look-ups of the present step wait for.
    #[serde(skip)]
    wanted: Vec<WantedPage>,
}

impl MapWindow {
    pub(super) fn new(map: &MapLayout) -> Self {
        let cache = |slots: u32| MapCache::new(slots, map.pages);
        MapWindow {
            cache: map.cache_slots.map(cache),
            near: map.near_slots.map(cache),
            wanted: Vec::new(),
        }
    }

    /// Whether no look-up ever waits for a page.
    #[inline]
    pub(crate) fn is_whole_map(&self) -> bool {
        self.cache.is_none()
    }

    /// Whether a page is in the window; false for all pages if the whole map is loaded.
    pub(super) fn holds(&self, page: u32) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.holds(page))
    }

    /// Looks a page up, to `change` it or not; with a window in host memory (`is_remote`), the controller's copy too. The
    /// page is wanted afterwards if it is not there. Returns a changed page that had to leave the window.
    pub(super) fn touch(&mut self, page: u32, change: bool, is_remote: bool) -> Option<u32> {
        let lookup = self.cache.as_mut()?.touch(page, change);
        let absent = matches!(lookup, Lookup::Miss { .. });
        // The copy of a page that has left host memory is not used either.
        let near = self.near.as_mut();
        let is_near = near.is_some_and(|near| near.touch(page, false) == Lookup::Hit);
        if lookup != Lookup::Hit || (is_remote && !is_near) {
            self.wanted.push(WantedPage { page, absent });
        }
        match lookup {
            Lookup::Miss { write_back } => write_back,
            _ => None,
        }
    }

    /// The present step waits for a page.
    pub(super) fn want(&mut self, page: WantedPage) {
        self.wanted.push(page);
    }

    /// Number of pages that the present step waits for.
    pub(super) fn wanted(&self) -> usize {
        self.wanted.len()
    }

    /// Takes the pages that the look-ups since the last call wait for.
    pub(crate) fn take_wanted(&mut self) -> Vec<WantedPage> {
        std::mem::take(&mut self.wanted)
    }

    /// Discards the pages wanted by look-ups since the last call: initial states take no time.
    pub(crate) fn forget_wanted(&mut self) {
        self.wanted.clear();
    }

    /// Takes the list of [`MapWindow::take_wanted`] back, to use its memory again.
    pub(crate) fn return_wanted(&mut self, mut wanted: Vec<WantedPage>) {
        wanted.clear();
        if self.wanted.is_empty() {
            self.wanted = wanted;
        }
    }

    /// The fetch of a page that is on its way.
    pub(crate) fn fetch_of(&self, page: u32) -> Option<u32> {
        self.cache.as_ref()?.fetch_of(page)
    }

    /// A page is being fetched.
    pub(crate) fn note_fetch(&mut self, page: u32, fetch: u32) {
        if let Some(cache) = &mut self.cache {
            cache.note_fetch(page, fetch);
        }
    }

    /// The fetch of a page is over.
    pub(crate) fn note_fetched(&mut self, page: u32, fetch: u32) {
        if let Some(cache) = &mut self.cache {
            cache.note_fetched(page, fetch);
        }
    }

    /// A page holds nothing any more.
    pub(super) fn forget(&mut self, page: u32) {
        if let Some(cache) = &mut self.cache {
            cache.forget(page);
        }
    }

    /// Pages that wait for a fetch, and which.
    pub(super) fn coming(&self) -> impl Iterator<Item = (u32, u32)> {
        self.cache.iter().flat_map(MapCache::coming)
    }

    pub(super) fn audit(&self, map: &MapLayout) -> Checked {
        for (cache, slots) in [(&self.cache, map.cache_slots), (&self.near, map.near_slots)] {
            ensure!(
                cache.is_some() == slots.is_some(),
                "the map cache does not match the profile"
            );
            if let (Some(cache), Some(slots)) = (cache, slots) {
                cache.audit(slots, map.pages)?;
            }
        }
        let mut coming = self.near.iter().flat_map(MapCache::coming);
        ensure!(
            coming.next().is_none(),
            "a page waits for its fetch into the controller's own memory"
        );
        Ok(())
    }
}
