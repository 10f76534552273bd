//! Sequential reads of a card: finds the stream that a read continues. It does not read ahead; the service of a read
//! computes how much earlier the flash could begin.

use crate::invariant::{Checked, check_near, ensure};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Sequential read streams that the controller tracks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadStreams {
    /// First sector after the last read of each stream, the most recent stream first.
    next: Vec<u64>,
    /// Time at which the flash finished the last read of the streams.
    flash_done: Nanos,
}

impl ReadStreams {
    /// Whether a read that starts at this sector continues a stream.
    pub(super) fn continues(&self, first: u64) -> bool {
        self.next.contains(&first)
    }

    pub(super) fn flash_done(&self) -> Nanos {
        self.flash_done
    }

    /// Records a read of sectors up to `end`, which continues the stream at `first` or begins a new one; at most `most`
    /// streams are tracked.
    pub(super) fn read(&mut self, (first, end): (u64, u64), most: usize, flash_done: Nanos) {
        self.next.retain(|next| *next != first);
        self.next.truncate(most.saturating_sub(1));
        self.next.insert(0, end);
        self.flash_done = flash_done;
    }

    /// Forgets all streams.
    pub(super) fn clear(&mut self) {
        self.next.clear();
        self.flash_done = Nanos::ZERO;
    }

    /// Checks that there are at most `most` streams, and that their time is plausible.
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
