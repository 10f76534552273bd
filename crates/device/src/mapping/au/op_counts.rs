//! [`OpCounts`], flash operations of a command. The map counts them; [`super::times`] computes their cost.

use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// Flash operations. A page is a program unit: a page on every plane of a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OpCounts {
    /// Pages programmed with data of the host, in whole or in part.
    pub(super) programs: u32,
    /// Part of `programs` and of `merged` that goes to blocks used as SLC.
    pub(super) slc_programs: u32,
    pub(super) slc_merged: u32,
    /// Pages read to complete pages that the host wrote in part.
    pub(super) fills: u32,
    /// Pages moved by merges.
    pub(super) merged: u32,
    /// Pages moved by wear levelling and refresh.
    pub(super) relocated: u32,
    /// Pages read and programmed to rewrite the clusters of small writes.
    pub(super) clusters: u32,
    /// Superblocks erased.
    pub(super) erases: u32,
    /// Switches of the controller from the state of one open AU to that of another.
    pub(super) switches: u32,
}

impl OpCounts {
    pub(super) fn add(&mut self, other: OpCounts) {
        self.programs += other.programs;
        self.slc_programs += other.slc_programs;
        self.slc_merged += other.slc_merged;
        self.fills += other.fills;
        self.merged += other.merged;
        self.relocated += other.relocated;
        self.clusters += other.clusters;
        self.erases += other.erases;
        self.switches += other.switches;
    }

    /// The same operations in blocks used as SLC.
    pub(super) fn in_slc(self) -> OpCounts {
        OpCounts {
            slc_programs: self.programs,
            slc_merged: self.merged,
            ..self
        }
    }

    /// Splits off the moves of `pages` merged pages.
    pub(super) fn split_merged(&mut self, pages: u32) -> OpCounts {
        let slc = pages.min(self.slc_merged);
        self.merged -= pages;
        self.slc_merged -= slc;
        OpCounts {
            merged: pages,
            slc_merged: slc,
            ..OpCounts::default()
        }
    }

    /// Pages moved within the flash, for all causes.
    pub(super) fn moved(&self) -> u32 {
        self.merged + self.relocated
    }

    /// Checks that the counts fit one AU with all its merges: at most `most` pages each.
    pub(super) fn audit(&self, most: u32) -> Checked {
        let counts = [
            self.programs,
            self.slc_programs,
            self.slc_merged,
            self.fills,
            self.merged,
            self.relocated,
            self.clusters,
            self.erases,
            self.switches,
        ];
        ensure!(
            counts.iter().all(|n| *n <= most)
                && self.slc_programs <= self.programs
                && self.slc_merged <= self.merged,
            "a deferred merge is larger than its AU: {self:?}"
        );
        Ok(())
    }

    pub(super) fn is_none(&self) -> bool {
        *self == OpCounts::default()
    }
}
