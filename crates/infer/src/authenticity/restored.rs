//! What became of the data of a journal.

use super::evidence::Evidence;
use super::io_errors::IoErrors;
use std::collections::BTreeSet;

/// Outcome of restoring the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Blocks in the journal.
    pub blocks: u32,
    /// Blocks that had to be written.
    pub written: u32,
    /// Blocks that do not hold what they held before, or cannot be read, in ascending order. Beyond the real end of a
    /// fake card there is nothing that could hold it.
    pub lost: Vec<u64>,
    /// Blocks that held neither a tag nor their old contents: somebody else wrote them since, and
    /// they were left as they are.
    pub foreign: Vec<u64>,
    /// Blocks whose record in the journal is damaged, and which do not hold what they held before.
    pub damaged: Vec<u64>,
    /// Damaged records that do not say to which block they belong, by their position.
    pub unnamed: Vec<u32>,
    /// Blocks that hold a tag and have no record.
    pub unrecorded: Vec<u64>,
    /// Why nothing was put back: the device is not known to be the one of the journal.
    pub unrecognized: Option<Evidence>,
    /// Why the journal stays although every block holds its old contents: no block held a tag, so it may be a copy of
    /// the device, and the device itself may be tagged still.
    pub unseen: Option<Evidence>,
    /// Operations that failed, those included that were repeated and then succeeded.
    pub errors: IoErrors,
    /// The device did not confirm that it has what was written.
    pub unsettled: bool,
    /// Whether the procedure came to its end: where nothing was tried, nothing is known to be back.
    pub(super) finished: bool,
}

impl Restored {
    /// Whether every block was read back and is as it was on the device that held the tags, so that the journal is of no
    /// more use.
    pub fn is_complete(&self) -> bool {
        self.finished && self.unseen.is_none() && self.is_back_so_far()
    }

    /// Whether every block was read back and is as it was, on a device that held no tag, so that it may be a copy of
    /// the device itself.
    pub fn is_back_without_proof(&self) -> bool {
        self.finished && self.unseen.is_some() && self.is_back_so_far()
    }

    /// Whether everything that was tried yet is back.
    pub(super) fn is_back_so_far(&self) -> bool {
        self.unrecognized.is_none() && !self.unsettled && self.missing() == 0
    }

    /// Whether everything is back but what somebody else has written since.
    pub(super) fn lacks_foreign_only(&self) -> bool {
        let known = [&self.lost, &self.damaged, &self.unrecorded];
        !self.unsettled && self.unnamed.is_empty() && known.iter().all(|blocks| blocks.is_empty())
    }

    /// Known blocks whose data was not restored.
    pub fn missing_blocks(&self) -> Vec<u64> {
        let lists = [&self.lost, &self.foreign, &self.damaged, &self.unrecorded];
        let all: BTreeSet<u64> = lists.into_iter().flatten().copied().collect();
        all.into_iter().collect()
    }

    /// Their number, together with damaged records.
    pub fn missing(&self) -> usize {
        self.missing_blocks().len() + self.unnamed.len()
    }
}
