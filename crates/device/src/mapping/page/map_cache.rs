//! Map cache: pages of the L2P map that are in RAM if the whole map does not fit, replaced by the
//! clock algorithm (second chance). A changed page is written back when it is evicted.

use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

const ABSENT: u32 = u32::MAX;

/// Result of a look-up of a map page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The page is in RAM.
    Hit,
    /// The page is being fetched.
    Coming,
    /// The page is absent and must be fetched; a changed page may have been evicted for it.
    Miss {
        /// Evicted map page that must be written back.
        write_back: Option<u32>,
    },
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    page: u32,
    referenced: bool,
    changed: bool,
    /// Fetch of the page in this slot, or [`ABSENT`].
    fetch: u32,
}

/// Pages of the map in RAM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MapCache {
    slots: Vec<Slot>,
    slot_of: Vec<u32>,
    hand: usize,
}

impl MapCache {
    /// A cache of `slots` pages for a map of `pages`.
    pub(crate) fn new(slots: u32, pages: u32) -> Self {
        let empty = Slot {
            page: ABSENT,
            referenced: false,
            changed: false,
            fetch: ABSENT,
        };
        MapCache {
            slots: vec![empty; slots.max(1) as usize],
            slot_of: vec![ABSENT; pages as usize],
            hand: 0,
        }
    }

    /// Looks a page up and gives it a slot if it is absent; with `change`, marks it as changed.
    pub(crate) fn touch(&mut self, page: u32, change: bool) -> Lookup {
        let slot = self.slot_of[page as usize];
        if slot != ABSENT {
            let slot = &mut self.slots[slot as usize];
            slot.referenced = true;
            slot.changed |= change;
            return if slot.fetch == ABSENT {
                Lookup::Hit
            } else {
                Lookup::Coming
            };
        }
        let free = self.sweep();
        let old = std::mem::replace(
            &mut self.slots[free],
            Slot {
                page,
                referenced: true,
                changed: change,
                fetch: ABSENT,
            },
        );
        if old.page != ABSENT {
            self.slot_of[old.page as usize] = ABSENT;
        }
        self.slot_of[page as usize] = free.narrow();
        Lookup::Miss {
            write_back: (old.page != ABSENT && old.changed).then_some(old.page),
        }
    }

    /// Whether a page is loaded or being fetched.
    pub(crate) fn holds(&self, page: u32) -> bool {
        self.slot_of[page as usize] != ABSENT
    }

    /// Removes a page that is no longer needed; its changes are dropped.
    pub(crate) fn forget(&mut self, page: u32) {
        let slot = std::mem::replace(&mut self.slot_of[page as usize], ABSENT);
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            *slot = Slot {
                page: ABSENT,
                referenced: false,
                changed: false,
                fetch: ABSENT,
            };
        }
    }

    /// Number of the fetch of a page, if one is under way and the page was not evicted since.
    pub(crate) fn fetch_of(&self, page: u32) -> Option<u32> {
        let slot = self.slots.get(self.slot_of[page as usize] as usize)?;
        (slot.fetch != ABSENT).then_some(slot.fetch)
    }

    /// Records the fetch of a page; does nothing if the page was evicted already.
    pub(crate) fn note_fetch(&mut self, page: u32, fetch: u32) {
        if let Some(slot) = self.slots.get_mut(self.slot_of[page as usize] as usize) {
            slot.fetch = fetch;
        }
    }

    /// Records the end of the fetch of a page.
    pub(crate) fn note_fetched(&mut self, page: u32, fetch: u32) {
        if self.fetch_of(page) == Some(fetch) {
            self.note_fetch(page, ABSENT);
        }
    }

    /// Pages being fetched, each with the number of its fetch.
    pub(crate) fn coming(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let slots = self.slots.iter().filter(|s| s.fetch != ABSENT);
        slots.map(|s| (s.page, s.fetch))
    }

    /// Checks that pages and slots refer to each other.
    pub(crate) fn audit(&self, slots: u32, pages: u32) -> Checked {
        ensure!(
            self.slots.len() == slots.max(1) as usize
                && self.slot_of.len() == pages as usize
                && self.hand < self.slots.len(),
            "the map cache has {} slots for {} pages",
            self.slots.len(),
            self.slot_of.len()
        );
        let held = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, s)| s.page != ABSENT);
        let mut count = 0;
        for (number, slot) in held {
            ensure!(
                self.slot_of.get(slot.page as usize) == Some(&number.narrow()),
                "page {} of the map is not in slot {number}",
                slot.page
            );
            count += 1;
        }
        let present = self.slot_of.iter().filter(|slot| **slot != ABSENT).count();
        ensure!(
            present == count,
            "{present} pages of the map are loaded, {count} slots are taken"
        );
        Ok(())
    }

    fn sweep(&mut self) -> usize {
        loop {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.slots.len();
            let slot = &mut self.slots[at];
            if slot.page == ABSENT || !slot.referenced {
                return at;
            }
            slot.referenced = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_fits_and_writes_back_what_changed() {
        let mut map_cache = MapCache::new(2, 10);
        assert_eq!(map_cache.touch(1, true), Lookup::Miss { write_back: None });
        assert_eq!(map_cache.touch(2, false), Lookup::Miss { write_back: None });
        assert_eq!(map_cache.touch(1, false), Lookup::Hit);
        assert_eq!(
            map_cache.touch(3, false),
            Lookup::Miss {
                write_back: Some(1)
            }
        );
        assert_eq!(map_cache.touch(4, false), Lookup::Miss { write_back: None });
    }

    #[test]
    fn a_page_on_its_way_is_no_second_miss() {
        let mut map_cache = MapCache::new(1, 10);
        assert_eq!(map_cache.touch(1, false), Lookup::Miss { write_back: None });
        map_cache.note_fetch(1, 7);
        assert_eq!(map_cache.touch(1, false), Lookup::Coming);
        assert_eq!(map_cache.fetch_of(1), Some(7));
        map_cache.note_fetched(1, 6);
        assert_eq!(map_cache.touch(1, true), Lookup::Coming, "another fetch");
        map_cache.note_fetched(1, 7);
        assert_eq!(map_cache.touch(1, false), Lookup::Hit);
        // A page that was evicted before its fetch ended is fetched again.
        map_cache.note_fetch(1, 8);
        let write_back = Some(1);
        assert_eq!(map_cache.touch(2, false), Lookup::Miss { write_back });
        map_cache.note_fetched(1, 8);
        assert_eq!(map_cache.fetch_of(1), None);
    }
}
