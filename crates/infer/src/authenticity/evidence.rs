//! Agreement between a device and a journal, as counts and in words.

use std::fmt;

/// Evidence that a device is the one of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Number of blocks in the journal.
    pub blocks: u32,
    /// Number of blocks that hold a tag of the journal, whole or in part.
    pub tags: u32,
    /// Number of blocks with their former contents.
    pub same: u32,
    /// Number of blocks that cannot be read.
    pub unreadable: u32,
    /// Comparison of blocks that the run did not write.
    pub testimony: Testimony,
}

/// Comparison of the witnesses of a journal with a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Testimony {
    /// Number of witnesses that were read; blocks written by the run do not count.
    pub of: u32,
    /// Number of unchanged witnesses.
    pub same: u32,
    /// Number of unchanged witnesses with distinctive contents.
    pub distinctive: u32,
}

/// Smallest number of unchanged distinctive witnesses that identifies a device.
const DISTINCTIVE: u32 = 2;

impl Testimony {
    /// Whether the contents are those of the device of the journal, or of a copy of it.
    pub fn is_convincing(&self) -> bool {
        self.distinctive >= DISTINCTIVE && self.same * 10 >= self.of * 9
    }
}

impl Evidence {
    /// Whether at least 90 % of the known blocks agree with the journal, which is also true of a copy of the device.
    pub(super) fn nearly_all_agrees(&self) -> bool {
        let known = self.blocks + self.testimony.of;
        let agree = self.tags + self.same + self.testimony.same;
        known > 0 && u64::from(agree) * 10 >= u64::from(known) * 9
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evidence { blocks, same, .. } = self;
        write!(
            f,
            "0 of {blocks} blocks hold a tag of the journal, {same} hold what they held before, and {} of {} others that were not written",
            self.testimony.same, self.testimony.of
        )?;
        if self.unreadable > 0 {
            write!(f, "; {} cannot be read", self.unreadable)?;
        }
        if self.unreadable == *blocks {
            f.write_str(": the device cannot be identified")
        } else if same == blocks {
            f.write_str(
                ": the data is back already, or this is another device with the same contents",
            )
        } else {
            f.write_str(": this is not the device of the journal")
        }
    }
}
