//! Sequential reads of a card: which of them a read continues. Nothing is read ahead here; the service of a read asks how
//! long the flash had time for it.

use crate::invariant::{Checked, check_near, ensure};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// The sequential reads that the controller tracks at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadStreams {
    /// Sector after the last read of each stream, the latest stream first.
    next: Vec<u64>,
    /// Time at which the flash finished the last read of the streams.
    flash_done: Nanos,
}

impl ReadStreams {
    /// Whether a read from this sector on continues one of them.
    pub(super) fn continues(&self, first: u64) -> bool {
        self.next.contains(&first)
    }

    pub(super) fn flash_done(&self) -> Nanos {
        self.flash_done
    }

    /// A read of sectors up to `end` that continues the one to `first`, or begins another, of which `most` are followed.
    pub(super) fn read(&mut self, (first, end): (u64, u64), most: usize, flash_done: Nanos) {
        self.next.retain(|next| *next != first);
        self.next.truncate(most.saturating_sub(1));
        self.next.insert(0, end);
        self.flash_done = flash_done;
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        self.next.clear();
        self.flash_done = Nanos::ZERO;
    }

    /// Checks that there are no more of them than `most`, and none is ahead of time.
    pub(super) fn audit(&self, most: usize, now: Nanos) -> Checked {
        ensure!(
            self.next.len() <= most,
            "more reads are followed than can be"
        );
        check_near("the end of a read", self.flash_done, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_read_that_was_continued_last_is_kept_longest() {
        let mut streams = ReadStreams::default();
        streams.read((8, 16), 2, Nanos::ZERO);
        streams.read((800, 816), 2, Nanos::ZERO);
        assert!(streams.continues(16));
        streams.read((16, 24), 2, Nanos::ZERO);
        streams.read((4000, 4008), 2, Nanos::ZERO);
        assert!(streams.continues(24) && streams.continues(4008));
        assert!(!streams.continues(816));
        assert!(streams.audit(1, Nanos::ZERO).is_err());
    }
}
