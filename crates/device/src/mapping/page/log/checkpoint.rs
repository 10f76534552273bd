//! Checkpoints of a map in DRAM (`ftl.journal_pages`). They roll: with each page of the journal, the next pages of the map
//! are written if they have changed, so that the whole map has been passed once when the journal has gone round. What
//! lies further back in the journal is not needed any more.

use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// Pages of the map that have changed since the checkpoint passed them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// A bit for each page.
    changed: Vec<u64>,
    pages: u32,
    next: u32,
    /// Pages of the journal.
    journal: u32,
}

impl Checkpoint {
    /// `pages` of the map, which are passed in one round of `journal` pages.
    pub(super) fn new(pages: u32, journal: u32) -> Self {
        Checkpoint {
            changed: vec![0; pages.div_ceil(64) as usize],
            pages,
            next: 0,
            journal: journal.max(1),
        }
    }

    /// A page has changed.
    pub(super) fn note(&mut self, page: u32) {
        if let Some(word) = self.changed.get_mut((page / 64) as usize) {
            *word |= 1 << (page % 64);
        }
    }

    /// The next of the pages that are passed now and have changed; `left` counts those that are still to be passed.
    pub(super) fn pass(&mut self, left: &mut u32) -> Option<u32> {
        while *left > 0 {
            *left -= 1;
            let page = self.next;
            self.next = (page + 1) % self.pages.max(1);
            let bit = 1 << (page % 64);
            if let Some(word) = self.changed.get_mut((page / 64) as usize)
                && *word & bit != 0
            {
                *word ^= bit;
                return Some(page);
            }
        }
        None
    }

    /// Pages that are passed with a page of the journal, which are spread evenly over its round.
    pub(super) fn due(&self, journal_page: u32) -> u32 {
        let passed =
            |written: u32| u64::from(self.pages) * u64::from(written) / u64::from(self.journal);
        (passed(journal_page + 1) - passed(journal_page)).narrow()
    }

    /// The most that are passed with any page of the journal.
    pub(super) fn due_max(&self) -> u32 {
        self.pages.div_ceil(self.journal)
    }

    /// Checks that it is one of such a map and journal.
    pub(super) fn audit(&self, pages: u32, journal: u32) -> Checked {
        let fresh = Checkpoint::new(pages, journal);
        let beyond = self.changed.last().map_or(0, |word| match pages % 64 {
            0 => 0,
            bits => word >> bits,
        });
        ensure!(
            self.changed.len() == fresh.changed.len()
                && (self.pages, self.journal) == (fresh.pages, fresh.journal)
                && self.next < pages.max(1)
                && beyond == 0,
            "the checkpoint is at page {} of a map of {pages}",
            self.next
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_page_is_passed_once_a_round() {
        let mut checkpoint = Checkpoint::new(100, 40);
        assert_eq!((checkpoint.due(0), checkpoint.due(1)), (2, 3));
        checkpoint.audit(100, 40).unwrap();
        for page in [1, 2, 70, 99] {
            checkpoint.note(page);
            checkpoint.note(page);
        }
        let mut passed = Vec::new();
        for journal_page in 0..40 {
            let mut left = checkpoint.due(journal_page);
            while let Some(page) = checkpoint.pass(&mut left) {
                passed.push(page);
            }
            assert_eq!(left, 0);
        }
        assert_eq!(passed, [1, 2, 70, 99]);
        assert_eq!(checkpoint.next, 0);
        checkpoint.audit(100, 40).unwrap();
        assert!(checkpoint.audit(99, 40).is_err());
    }
}
