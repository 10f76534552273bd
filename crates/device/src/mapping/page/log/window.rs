//! [`MapWindow`], the loaded map pages, and the pages that look-ups wait for.

use super::layout::MapLayout;
use crate::invariant::{Checked, ensure};
use crate::mapping::page::map_cache::{Lookup, MapCache};
use serde::{Deserialize, Serialize};

/// A map page that must be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedPage {
    pub(crate) page: u32,
    /// Whether the page is only in flash, not in host memory.
    pub(crate) absent: bool,
}

/// The loaded map pages: all, or those of a window in the controller's or the host's memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MapWindow {
    /// Pages of the window; `None` if the whole map is loaded.
    cache: Option<MapCache>,
    /// Pages of a window in host memory of which the controller has a copy.
    near: Option<MapCache>,
    /// Pages that the present step waits for.
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

    /// Whether the whole map is loaded, so that no look-up waits.
    #[inline]
    pub(crate) fn is_whole_map(&self) -> bool {
        self.cache.is_none()
    }

    /// Whether a page is in the window; false for all pages if the whole map is loaded.
    pub(super) fn holds(&self, page: u32) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.holds(page))
    }

    /// Looks a page up, to `change` it or only to read it; with a window in host memory (`is_remote`), also in the
    /// controller's copies. An absent page is wanted afterwards. Returns a changed page that was evicted from the
    /// window.
    pub(super) fn touch(&mut self, page: u32, change: bool, is_remote: bool) -> Option<u32> {
        let lookup = self.cache.as_mut()?.touch(page, change);
        let absent = matches!(lookup, Lookup::Miss { .. });
        // A copy of a page evicted from host memory is not used.
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

    /// Adds a page that the present step waits for.
    pub(super) fn want(&mut self, page: WantedPage) {
        self.wanted.push(page);
    }

    /// Number of pages that the present step waits for.
    pub(super) fn wanted(&self) -> usize {
        self.wanted.len()
    }

    /// Removes and returns the pages wanted by look-ups since the last call.
    pub(crate) fn take_wanted(&mut self) -> Vec<WantedPage> {
        std::mem::take(&mut self.wanted)
    }

    /// Discards the pages wanted by look-ups since the last call: initial states take no time.
    pub(crate) fn forget_wanted(&mut self) {
        self.wanted.clear();
    }

    /// Returns the list of [`MapWindow::take_wanted`], so that its memory is reused.
    pub(crate) fn return_wanted(&mut self, mut wanted: Vec<WantedPage>) {
        wanted.clear();
        if self.wanted.is_empty() {
            self.wanted = wanted;
        }
    }

    /// Number of the fetch of a page under way.
    pub(crate) fn fetch_of(&self, page: u32) -> Option<u32> {
        self.cache.as_ref()?.fetch_of(page)
    }

    /// Records the fetch of a page.
    pub(crate) fn note_fetch(&mut self, page: u32, fetch: u32) {
        if let Some(cache) = &mut self.cache {
            cache.note_fetch(page, fetch);
        }
    }

    /// Records the end of the fetch of a page.
    pub(crate) fn note_fetched(&mut self, page: u32, fetch: u32) {
        if let Some(cache) = &mut self.cache {
            cache.note_fetched(page, fetch);
        }
    }

    /// Removes a page without entries.
    pub(super) fn forget(&mut self, page: u32) {
        if let Some(cache) = &mut self.cache {
            cache.forget(page);
        }
    }

    /// Pages being fetched, each with the number of its fetch.
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
