//! [`ProgramId`], the number of a program unit.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of a data program unit within its superblock, in programming order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(transparent)]
pub struct ProgramId(pub u32);

impl ProgramId {
    /// The program unit after this one.
    #[inline]
    pub(super) const fn next(self) -> Self {
        ProgramId(self.0 + 1)
    }
}

impl fmt::Display for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
