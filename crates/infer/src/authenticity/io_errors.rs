//! Counts of operations that a device answered with an error.

use super::medium::MediumError;

/// Operations that the device answered with an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoErrors {
    /// Failed reads.
    pub reads: u32,
    /// Failed writes.
    pub writes: u32,
    /// Requests to bring what was written to the medium.
    pub flushes: u32,
    /// The first one, in words.
    pub first: Option<String>,
}

impl IoErrors {
    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.all() == 0
    }

    /// Counts an operation that failed by itself; false then.
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

    /// These and later ones.
    pub(super) fn and(self, later: IoErrors) -> Self {
        IoErrors {
            reads: self.reads + later.reads,
            writes: self.writes + later.writes,
            flushes: self.flushes + later.flushes,
            first: self.first.or(later.first),
        }
    }

    /// All of them.
    pub fn all(&self) -> u32 {
        self.reads + self.writes + self.flushes
    }
}
