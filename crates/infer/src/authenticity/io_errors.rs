//! Counts of operations that a device answered with an error.

use super::medium::MediumError;

/// Numbers of failed operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoErrors {
    /// Failed reads.
    pub reads: u32,
    /// Failed writes.
    pub writes: u32,
    /// Failed flushes.
    pub flushes: u32,
    /// Description of the first error.
    pub first: Option<String>,
}

impl IoErrors {
    /// Whether no operation failed.
    pub fn is_empty(&self) -> bool {
        self.all() == 0
    }

    /// Counts a failed operation and returns false for it; a device that is gone is an error.
    pub(super) fn passing(
        &mut self,
        done: Result<(), MediumError>,
        count: fn(&mut Self) -> &mut u32,
    ) -> Result<bool, MediumError> {
        match done {
            Ok(()) => Ok(true),
            Err(MediumError::Failed(why)) => {
                *count(self) += 1;
                self.first.get_or_insert(why);
                Ok(false)
            }
            Err(gone @ MediumError::Gone(_)) => Err(gone),
        }
    }

    /// Adds the counts of a later phase; the description of the first error is that of the earlier phase, if it has
    /// one.
    pub(super) fn and(self, later: IoErrors) -> Self {
        IoErrors {
            reads: self.reads + later.reads,
            writes: self.writes + later.writes,
            flushes: self.flushes + later.flushes,
            first: self.first.or(later.first),
        }
    }

    /// Number of all failed operations.
    pub fn all(&self) -> u32 {
        self.reads + self.writes + self.flushes
    }
}
