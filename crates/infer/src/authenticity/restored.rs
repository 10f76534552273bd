//! Result of restoring the data of a journal.

use super::evidence::Evidence;
use super::io_errors::IoErrors;
use std::collections::BTreeSet;

/// Outcome of restoring the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Number of blocks in the journal.
    pub blocks: u32,
    /// Number of blocks that were written.
    pub written: u32,
    /// Blocks without their former contents, or unreadable, in ascending order. Blocks past the real end of a fake do not count.
    pub lost: Vec<u64>,
    /// Blocks that held neither a tag nor their old contents: someone else wrote them, and they stay unchanged.
    pub foreign: Vec<u64>,
    /// Blocks whose journal record is damaged and that do not have their former contents.
    pub damaged: Vec<u64>,
    /// Positions of damaged records whose block is unknown.
    pub unnamed: Vec<u32>,
    /// Blocks with a tag but without a record.
    pub unrecorded: Vec<u64>,
    /// Why nothing was restored: the device is not recognized as that of the journal.
    pub unrecognized: Option<Evidence>,
    /// Why the journal stays although every block has its old contents: without a tag, the device may be a copy, and the original
    /// may still be tagged.
    pub unseen: Option<Evidence>,
    /// Failed operations, including those that succeeded when repeated.
    pub errors: IoErrors,
    /// The device did not confirm the flush of the restored data.
    pub unsettled: bool,
    /// Whether the restore ran to its end; otherwise nothing is known to be restored.
    pub(super) finished: bool,
}

impl Restored {
    /// Whether every block was read back with its former contents, on the device that held the tags: the journal is then no
    /// longer needed.
    pub fn is_complete(&self) -> bool {
        self.finished && self.unseen.is_none() && self.is_back_so_far()
    }

    /// Whether every block was read back with its former contents, on a device without tags, which may be a copy.
    pub fn is_back_without_proof(&self) -> bool {
        self.finished && self.unseen.is_some() && self.is_back_so_far()
    }

    /// Whether everything attempted so far is restored.
    pub(super) fn is_back_so_far(&self) -> bool {
        self.unrecognized.is_none() && !self.unsettled && self.missing() == 0
    }

    /// Whether only blocks that someone else wrote are not restored.
    pub(super) fn lacks_foreign_only(&self) -> bool {
        let known = [&self.lost, &self.damaged, &self.unrecorded];
        !self.unsettled && self.unnamed.is_empty() && known.iter().all(|blocks| blocks.is_empty())
    }

    /// Blocks whose data is not restored, in ascending order.
    pub fn missing_blocks(&self) -> Vec<u64> {
        let lists = [&self.lost, &self.foreign, &self.damaged, &self.unrecorded];
        let all: BTreeSet<u64> = lists.into_iter().flatten().copied().collect();
        all.into_iter().collect()
    }

    /// Number of blocks that are not restored, including damaged records without a block.
    pub fn missing(&self) -> usize {
        self.missing_blocks().len() + self.unnamed.len()
    }
}
