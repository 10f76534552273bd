//! [`TimedList`], commands sorted by the time of their next step.

use nandscope_units::Nanos;

/// Maximum number of removed entries at the front; they are deleted together.
const MOST_GONE: usize = 256;

/// Commands with the times of a step, sorted by time. New entries belong near the end.
#[derive(Clone, Debug, Default)]
pub(super) struct TimedList {
    entries: Vec<(Nanos, u32)>,
    /// Number of removed entries at the front of the list.
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

    /// Inserts an entry after earlier ones, and after those of the same time unless `is_before` says that it precedes a
    /// command.
    #[inline]
    pub(super) fn insert(&mut self, at: Nanos, command: u32, is_before: impl Fn(u32) -> bool) {
        let in_order = self.entries.last().is_none_or(|last| last.0 < at);
        self.entries.push((at, command));
        if !in_order {
            self.sort_last_in(is_before);
        }
    }

    /// Moves the last entry to its sorted place.
    #[inline]
    fn sort_last_in(&mut self, is_before: impl Fn(u32) -> bool) {
        let Some((last, before)) = self.entries[self.gone..].split_last_mut() else {
            return;
        };
        let (at, command) = *last;
        let mut place = last;
        for other in before.iter_mut().rev() {
            if other.0 < at || other.0 == at && !is_before(other.1) {
                break;
            }
            *place = *other;
            place = other;
        }
        *place = (at, command);
    }
}
