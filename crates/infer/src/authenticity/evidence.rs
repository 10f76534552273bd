//! What a device and a journal have in common, as counts and in words.

use std::fmt;

/// Evidence that a device is that of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Blocks of the journal.
    pub blocks: u32,
    /// Those that hold a tag of the journal, whole or not.
    pub tags: u32,
    /// Those that hold what they held before.
    pub same: u32,
    /// Those that cannot be read.
    pub unreadable: u32,
    /// Blocks that were not written.
    pub testimony: Testimony,
}

/// Number of witnesses of a journal on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Testimony {
    /// Witnesses that were read; those that the run has written to are none.
    pub of: u32,
    /// Those that were as they had been.
    pub same: u32,
    /// Those of them whose contents say anything.
    pub distinctive: u32,
}

/// Smallest number of equal distinctive witnesses.
const DISTINCTIVE: u32 = 2;

impl Testimony {
    /// Whether the contents are those of the device of the journal, or of a copy of it.
    pub fn is_convincing(&self) -> bool {
        self.distinctive >= DISTINCTIVE && self.same * 10 >= self.of * 9
    }
}

impl Evidence {
    /// Whether nearly all contents are those that the journal knows, which a copy of the device has too.
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
            f.write_str(": it cannot be seen which device this is")
        } else if same == blocks {
            f.write_str(
                ": the data is back already, or this is another device with the same contents",
            )
        } else {
            f.write_str(": this is not the device of the journal")
        }
    }
}
