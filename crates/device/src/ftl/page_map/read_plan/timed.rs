//! [`TimedList`], commands in the order of their next step.

use nandscope_units::Nanos;

/// Entries before the first one that are kept until they are removed together.
const MOST_GONE: usize = 256;

/// Commands with the times of a step, in order. New ones belong near the end.
#[derive(Clone, Debug, Default)]
pub(super) struct TimedList {
    entries: Vec<(Nanos, u32)>,
    /// Entries that are gone.
    gone: usize,
}

impl TimedList {
    #[inline]
    pub(super) fn first(&self) -> Option<(Nanos, u32)> {
        self.entries.get(self.gone).copied()
    }

    /// Removes the first entry.
    #[inline]
    pub(super) fn remove_first(&mut self) {
        self.gone += 1;
        if self.gone >= self.entries.len() {
            self.entries.clear();
            self.gone = 0;
        } else if self.gone >= MOST_GONE {
            self.entries.drain(..self.gone);
            self.gone = 0;
        }
    }

    /// Inserts an entry behind those that are earlier, and behind those of its time unless `is_before` says that
    /// it comes before such a command.
    #[inline]
    pub(super) fn insert(&mut self, at: Nanos, command: u32, is_before: impl Fn(u32) -> bool) {
        self.entries.push((at, command));
        let mut place = self.entries.len() - 1;
        while place > self.gone {
            let (other_at, other) = self.entries[place - 1];
            if other_at < at || other_at == at && !is_before(other) {
                break;
            }
            self.entries[place] = (other_at, other);
            place -= 1;
        }
        self.entries[place] = (at, command);
    }
}
