//! Closed superblocks by number of valid units, to find the one with the fewest without a search: a list
//! per number of valid units, and a cursor at the lowest number that may be occupied.

use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Links {
    previous: u32,
    next: u32,
    /// Count under which it is listed, or [`NONE`].
    count: u32,
}

/// Superblocks by valid units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Victims {
    heads: Vec<u32>,
    links: Vec<Links>,
    lowest: u32,
    members: u32,
}

impl Victims {
    pub(crate) fn new(superblocks: u32, units: u32) -> Self {
        Victims {
            heads: vec![NONE; units as usize + 1],
            links: vec![
                Links {
                    previous: NONE,
                    next: NONE,
                    count: NONE
                };
                superblocks as usize
            ],
            lowest: units,
            members: 0,
        }
    }

    pub(crate) fn insert(&mut self, superblock: u32, valid: u32) {
        debug_assert_eq!(self.links[superblock as usize].count, NONE);
        let head = std::mem::replace(&mut self.heads[valid as usize], superblock);
        if head != NONE {
            self.links[head as usize].previous = superblock;
        }
        self.links[superblock as usize] = Links {
            previous: NONE,
            next: head,
            count: valid,
        };
        self.lowest = self.lowest.min(valid);
        self.members += 1;
    }

    pub(crate) fn remove(&mut self, superblock: u32) {
        let Links {
            previous,
            next,
            count,
        } = self.links[superblock as usize];
        if count == NONE {
            return;
        }
        if previous == NONE {
            self.heads[count as usize] = next;
        } else {
            self.links[previous as usize].next = next;
        }
        if next != NONE {
            self.links[next as usize].previous = previous;
        }
        self.links[superblock as usize].count = NONE;
        self.members -= 1;
    }

    /// Units of a listed superblock have become invalid; superblocks not listed are left alone.
    #[inline]
    pub(crate) fn reduce(&mut self, superblock: u32, units: u32) {
        let count = self.links[superblock as usize].count;
        if count != NONE {
            debug_assert!(units <= count, "more units invalidated than listed");
            self.remove(superblock);
            self.insert(superblock, count - units);
        }
    }

    /// The superblock with the least valid units.
    pub(crate) fn least(&mut self) -> Option<u32> {
        if self.members == 0 {
            return None;
        }
        while self.heads[self.lowest as usize] == NONE {
            self.lowest += 1;
        }
        Some(self.heads[self.lowest as usize])
    }

    /// The count under which a superblock is listed, if it is.
    pub(crate) fn listed_under(&self, superblock: u32) -> Option<u32> {
        let count = self.links[superblock as usize].count;
        (count != NONE).then_some(count)
    }

    /// Checks that every listed superblock is in the list of its count, exactly once.
    pub(crate) fn audit(&self, superblocks: u32, units: u32) -> Checked {
        ensure!(
            self.heads.len() == units as usize + 1 && self.links.len() == superblocks as usize,
            "the lists of victims are for other superblocks"
        );
        let mut found = 0;
        for (count, head) in self.heads.iter().enumerate() {
            let (mut previous, mut at) = (NONE, *head);
            ensure!(
                at == NONE || self.lowest as usize <= count,
                "a victim with {count} units lies below the lowest ({})",
                self.lowest
            );
            while at != NONE {
                let links = self.links.get(at as usize);
                ensure!(
                    links.is_some_and(|l| l.count as usize == count && l.previous == previous)
                        && found < self.members,
                    "victim {at} is not listed under {count} units"
                );
                found += 1;
                (previous, at) = (at, links.map_or(NONE, |l| l.next));
            }
        }
        let members = self.iter().count();
        ensure!(
            found == self.members && members == self.members as usize,
            "{members} victims, {} were counted and {found} found",
            self.members
        );
        Ok(())
    }

    /// All members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.links
            .iter()
            .enumerate()
            .filter(|(_, l)| l.count != NONE)
            .map(|(i, _)| i as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn least_is_always_the_least(steps in prop::collection::vec((0u32..20, 0u32..50), 1..300)) {
            let mut victims = Victims::new(20, 50);
            let mut model: Vec<Option<u32>> = vec![None; 20];
            for (superblock, count) in steps {
                match model[superblock as usize] {
                    None => { victims.insert(superblock, count); model[superblock as usize] = Some(count); }
                    Some(0) => { victims.remove(superblock); model[superblock as usize] = None; }
                    Some(n) => { let by = 1 + n / 3; victims.reduce(superblock, by); model[superblock as usize] = Some(n - by); }
                }
                let least = victims.least().map(|s| model[s as usize]);
                prop_assert_eq!(least.flatten(), model.iter().flatten().min().copied());
                prop_assert_eq!(victims.iter().count(), model.iter().flatten().count());
            }
        }
    }
}
