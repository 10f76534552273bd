//! Changed map entries of moved units, gathered in RAM (`ftl.map.update_entries`). Updating a map page that is not
//! loaded takes a read and a write, for one entry or for many. Entries are therefore grouped by page, and when their
//! RAM is full, the page with the most entries is updated: the batch updates of DFTL (Gupta et al., ASPLOS 2009), with
//! the dirty buffer of S-FTL (Jiang et al., "S-FTL: An Efficient Address Translation for Flash Memory by Exploiting
//! Spatial Locality", MSST 2011), which postpones pages with few changed entries.
//!
//! A unit moved twice counts as two entries. A power cut loses none: the tags next to moved units repeat them.

use super::layout::MapLayout;
use super::{Log, ProgramUnit, WantedPage};
use crate::invariant::{Checked, ensure};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

const NONE: u32 = u32::MAX;
/// Number of entries from which on all pages share one list.
const MANY: usize = 64;

/// Links of a page in the list of pages with equally many entries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Node {
    entries: u32,
    before: u32,
    after: u32,
}

/// First and last page of a list, in the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct List {
    first: u32,
    last: u32,
}

/// Number of changed entries of each map page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MapUpdates {
    /// Capacity of the RAM, entries.
    most: u32,
    entries: u32,
    nodes: Vec<Node>,
    /// Lists of pages by number of entries, up to [`MANY`].
    lists: Vec<List>,
}

/// Index of the list of pages with this number of entries.
fn list_of(entries: u32) -> usize {
    (entries as usize).min(MANY)
}

impl MapUpdates {
    /// RAM for `most` entries of a map of `pages`.
    pub(super) fn new(most: u32, pages: u32) -> Self {
        let node = Node {
            entries: 0,
            before: NONE,
            after: NONE,
        };
        let list = List {
            first: NONE,
            last: NONE,
        };
        MapUpdates {
            most,
            entries: 0,
            nodes: vec![node; pages as usize],
            lists: vec![list; MANY + 1],
        }
    }

    /// Counts a changed entry of a page.
    pub(super) fn add(&mut self, page: u32) {
        let entries = self.nodes[page as usize].entries;
        self.entries += 1;
        if list_of(entries + 1) == list_of(entries) {
            self.nodes[page as usize].entries += 1;
            return;
        }
        self.unlink(page);
        self.nodes[page as usize].entries = entries + 1;
        let list = &mut self.lists[list_of(entries + 1)];
        let before = std::mem::replace(&mut list.last, page);
        if before == NONE {
            list.first = page;
        } else {
            self.nodes[before as usize].after = page;
        }
        self.nodes[page as usize].before = before;
    }

    /// Removes the entries of a page: they were written to it, or are no longer needed.
    pub(super) fn take(&mut self, page: u32) {
        self.unlink(page);
        let node = &mut self.nodes[page as usize];
        self.entries -= std::mem::take(&mut node.entries);
    }

    /// If there are more entries than the RAM holds, removes the entries of the page with the most and returns it; of
    /// several, the one that has had as many for longest.
    fn take_fullest_beyond_ram(&mut self) -> Option<u32> {
        if self.entries <= self.most {
            return None;
        }
        let fullest = self.lists.iter().rev().find(|list| list.first != NONE)?;
        let page = fullest.first;
        self.take(page);
        Some(page)
    }

    /// Removes a page from its list.
    fn unlink(&mut self, page: u32) {
        let node = &mut self.nodes[page as usize];
        let (before, after) = (node.before, node.after);
        let entries = node.entries;
        (node.before, node.after) = (NONE, NONE);
        if entries == 0 {
            return;
        }
        let list = &mut self.lists[list_of(entries)];
        match before {
            NONE => list.first = after,
            page => self.nodes[page as usize].after = after,
        }
        match after {
            NONE => list.last = before,
            page => self.nodes[page as usize].before = before,
        }
    }

    /// Checks that every page is in the list of its number of entries, and that all entries fit in RAM.
    fn audit(&self, most: u32, pages: u32) -> Checked {
        let entries: u64 = self.nodes.iter().map(|node| u64::from(node.entries)).sum();
        ensure!(
            self.most == most
                && self.nodes.len() == pages as usize
                && self.lists.len() == MANY + 1
                && u64::from(self.entries) == entries
                && self.entries <= most,
            "{entries} changed entries of {} pages of the map wait, {} were counted",
            self.nodes.len(),
            self.entries
        );
        let mut listed = 0;
        for (number, list) in self.lists.iter().enumerate() {
            let (mut before, mut at) = (NONE, list.first);
            while let Some(node) = self.nodes.get(at as usize) {
                listed += 1;
                ensure!(
                    node.before == before
                        && node.entries > 0
                        && list_of(node.entries) == number
                        && listed <= self.nodes.len(),
                    "page {at} of the map is listed with other entries than it has: {node:?}"
                );
                (before, at) = (at, node.after);
            }
            ensure!(
                at == NONE && before == list.last,
                "the list of map pages with {number} changed entries ends at {at}"
            );
        }
        let waiting = self.nodes.iter().filter(|node| node.entries > 0).count();
        ensure!(
            waiting == listed,
            "{waiting} pages of the map wait for an update, {listed} are listed"
        );
        Ok(())
    }
}

/// Pending changed entries, if there is RAM for them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PendingUpdates {
    waiting: Option<MapUpdates>,
    /// Map pages to be written with their entries in the present step.
    #[serde(skip)]
    chosen: Vec<u32>,
}

impl PendingUpdates {
    pub(super) fn new(map: &MapLayout) -> Self {
        let updates = |entries: u32| MapUpdates::new(entries, map.pages);
        PendingUpdates {
            waiting: map.update_entries.map(updates),
            chosen: Vec::new(),
        }
    }

    /// The pending entries; `None` without RAM for them.
    pub(super) fn waiting_mut(&mut self) -> Option<&mut MapUpdates> {
        self.waiting.as_mut()
    }

    /// Checks the entries against the RAM of the profile.
    pub(super) fn audit(&self, map: &MapLayout) -> Checked {
        ensure!(
            self.waiting.is_some() == map.update_entries.is_some(),
            "changed entries of the map wait for an update in RAM although the profile says no, or the reverse"
        );
        match (&self.waiting, map.update_entries) {
            (Some(updates), Some(most)) => updates.audit(most, map.pages),
            _ => Ok(()),
        }
    }
}

impl Log {
    /// Gathers the changed entry of a moved unit in RAM, if there is RAM for entries and the map page is not loaded;
    /// returns whether it did.
    pub(super) fn collect_update(&mut self, page: u32) -> bool {
        let Some(updates) = self.updates.waiting_mut() else {
            return false;
        };
        let absent = !self.window.is_whole_map() && !self.window.holds(page);
        if absent {
            updates.add(page);
        }
        absent
    }

    /// Chooses the map pages to update now; those not loaded become wanted. [`Log::write_updated_pages`] must follow
    /// after their fetches have begun.
    pub(super) fn choose_updates(&mut self, now: Nanos, full: &mut Vec<ProgramUnit>) {
        let next = |log: &mut Log| log.updates.waiting_mut()?.take_fullest_beyond_ram();
        while let Some(page) = next(self) {
            if self.window.holds(page) {
                self.touch_map(page, true, now, full);
            } else {
                self.window.want(WantedPage { page, absent: true });
                self.updates.chosen.push(page);
            }
        }
    }

    /// Writes the map pages that [`Log::relocate`] has updated.
    pub(crate) fn write_updated_pages(&mut self, now: Nanos, full: &mut Vec<ProgramUnit>) {
        let mut updated = std::mem::take(&mut self.updates.chosen);
        for page in updated.drain(..) {
            self.write_map_page(page, now, full);
        }
        self.updates.chosen = updated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Compared with a plain list of counts.
    #[test]
    fn the_page_with_the_most_changed_entries_is_updated() {
        let mut updates = MapUpdates::new(40, 30);
        // Number of entries of each page, and the step at which it reached that number.
        let mut model = [(0u32, 0u32); 30];
        let mut random = Random::new(3);
        for step in 1..20_000 {
            let among = 1 + random.below(30);
            let page = random.below(among);
            if random.below(10) == 0 {
                updates.take(page as u32);
                model[page as usize] = (0, 0);
            } else {
                updates.add(page as u32);
                let (entries, since) = &mut model[page as usize];
                *entries += 1;
                if *entries as usize <= MANY {
                    *since = step;
                }
            }
            while let Some(page) = updates.take_fullest_beyond_ram() {
                let rank = |page: usize| {
                    let (entries, since) = model[page];
                    (std::cmp::Reverse(list_of(entries)), since)
                };
                let fullest = (0..30).min_by_key(|page| rank(*page)).expect("pages");
                assert_eq!(page as usize, fullest, "{model:?}");
                model[fullest] = (0, 0);
            }
            assert_eq!(updates.audit(40, 30), Ok(()));
            let entries: Vec<u32> = updates.nodes.iter().map(|node| node.entries).collect();
            assert_eq!(entries, model.map(|page| page.0));
        }
    }
}
