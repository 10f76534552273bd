//! Rolling checkpoint of a map in DRAM (`ftl.journal_pages`): with each journal page, the next map pages are written if
//! they have changed, so that the whole map is covered once per round of the journal. Older parts of the journal are
//! then no longer needed.

use crate::convert::Narrow;
use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// Map pages that changed since the checkpoint passed them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// One bit per map page, set if the page has changed.
    changed: Vec<u64>,
    pages: u32,
    next: u32,
    /// Journal pages per round.
    journal: u32,
}

impl Checkpoint {
    /// A checkpoint of `pages` map pages per round of `journal` pages.
    pub(super) fn new(pages: u32, journal: u32) -> Self {
        Checkpoint {
            changed: vec![0; pages.div_ceil(64) as usize],
            pages,
            next: 0,
            journal: journal.max(1),
        }
    }

    /// Marks a map page as changed.
    pub(super) fn note(&mut self, page: u32) {
        if let Some(word) = self.changed.get_mut((page / 64) as usize) {
            *word |= 1 << (page % 64);
        }
    }

    /// Next changed page among the next `left` pages; reduces `left` by the pages passed.
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

    /// Number of map pages passed with this journal page; they are spread evenly over the round.
    pub(super) fn due(&self, journal_page: u32) -> u32 {
        let passed =
            |written: u32| u64::from(self.pages) * u64::from(written) / u64::from(self.journal);
        (passed(journal_page + 1) - passed(journal_page)).narrow()
    }

    /// Largest number of map pages passed with one journal page.
    pub(super) fn due_max(&self) -> u32 {
        self.pages.div_ceil(self.journal)
    }

    /// Checks that the checkpoint fits a map of `pages` and a journal of `journal` pages.
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
