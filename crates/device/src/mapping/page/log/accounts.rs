//! [`Accounts`], the mapping units that were programmed, by cause.

use super::Cause;
use crate::invariant::{Checked, check_sum, ensure};
use serde::{Deserialize, Serialize};

/// Programmed mapping units by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Programmed {
    pub(crate) host: u64,
    pub(crate) gc_writes: u64,
    pub(crate) folded: u64,
    pub(crate) refreshed: u64,
    pub(crate) metadata: u64,
    pub(crate) padding: u64,
    pub(crate) parity: u64,
}

impl Programmed {
    /// Total of all causes.
    pub(crate) fn total(&self) -> u64 {
        self.causes().iter().sum()
    }

    fn causes(&self) -> [u64; 7] {
        [
            self.host,
            self.gc_writes,
            self.folded,
            self.refreshed,
            self.metadata,
            self.padding,
            self.parity,
        ]
    }
}

/// Programmed mapping units. Each has one cause, and is in a superblock or was erased with it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Accounts {
    programmed: Programmed,
    /// Units appended to superblocks since the device was made.
    appended: u64,
    /// Units erased with their superblocks.
    erased: u64,
    /// Units appended before counting by cause began.
    uncounted: u64,
}

impl Accounts {
    /// Programmed units by cause.
    pub(crate) fn programmed(&self) -> &Programmed {
        &self.programmed
    }

    /// Counts appended units of data or of the map.
    #[inline]
    pub(super) fn count_appended(&mut self, units: u32) {
        self.appended += u64::from(units);
    }

    /// Counts `units` of the units appended as data of the host.
    #[inline]
    pub(super) fn count_host(&mut self, units: u32) {
        self.programmed.host += u64::from(units);
    }

    /// Counts `units` of the units appended as pages of the map or its journal.
    pub(super) fn count_metadata(&mut self, units: u32) {
        self.programmed.metadata += u64::from(units);
    }

    /// Counts `units` of the units appended as moved for a cause.
    pub(super) fn count_moved(&mut self, cause: Cause, units: u32) {
        let count = match cause {
            Cause::Fold => &mut self.programmed.folded,
            Cause::Collect => &mut self.programmed.gc_writes,
            Cause::Refresh => &mut self.programmed.refreshed,
        };
        *count += u64::from(units);
    }

    /// Counts appended units of padding.
    pub(super) fn count_padding(&mut self, padding: u32) {
        self.programmed.padding += u64::from(padding);
        self.appended += u64::from(padding);
    }

    /// Counts appended units of parity.
    pub(super) fn count_parity(&mut self, units: u32) {
        if units > 0 {
            self.programmed.parity += u64::from(units);
            self.appended += u64::from(units);
        }
    }

    /// Counts an erased superblock with `units` units of data or padding.
    pub(super) fn count_erased(&mut self, units: u32) {
        self.erased += u64::from(units);
    }

    /// Resets the counts by cause to zero.
    pub(super) fn restart(&mut self) {
        self.programmed = Programmed::default();
        self.uncounted = self.appended;
    }

    /// Checks that every unit has a cause, and is among the `written` units in superblocks or was erased.
    pub(super) fn audit(&self, written: u64) -> Checked {
        ensure!(
            self.erased.checked_add(written) == Some(self.appended),
            "{} units were programmed, {} erased, and {written} are there",
            self.appended,
            self.erased
        );
        let causes = self.programmed.causes();
        for units in causes {
            check_sum("bytes programmed", units.saturating_mul(1 << 20))?;
        }
        let sum = causes
            .iter()
            .try_fold(self.uncounted, |sum, n| sum.checked_add(*n));
        ensure!(
            sum == Some(self.appended),
            "{} units were programmed, {} before counting began, and their causes are {:?}",
            self.appended,
            self.uncounted,
            self.programmed
        );
        check_sum("programmed units", self.appended)
    }
}
