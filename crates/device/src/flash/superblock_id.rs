//! [`SuperblockId`], the number of a superblock.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of a superblock among all of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(transparent)]
pub struct SuperblockId(pub u32);

impl SuperblockId {
    /// Position in a list of all superblocks.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for SuperblockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
