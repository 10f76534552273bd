//! What only the output formats of fio show of a job.

use crate::Operation;
use serde::{Deserialize, Serialize};

/// Number of classes in each distribution of [`DepthCounts`].
pub const DEPTH_CLASSES: usize = 7;

/// Facts of a job of a job file that only the output formats of fio show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FioReport {
    /// Reporting group, from 0: `stonewall` and `new_group` begin the next one.
    pub group: u32,
    /// Linux' number of the first error; 0 without one.
    #[serde(default)]
    pub error: u32,
    /// Number of threads that are reported together.
    pub threads: u32,
    /// Name of the first job of those that are reported together.
    pub name: String,
    /// Names of the options that come from a `[global]` section.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub global_options: Vec<String>,
    /// Queue depths and sizes of batches.
    #[serde(default)]
    pub depths: DepthCounts,
    /// Rates over time, of the operations that occurred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RateSamples>,
}

/// Operations by queue depth and by the size of a batch, in fio's classes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DepthCounts {
    /// Operations issued with this many outstanding, itself included: 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 to 63, more.
    pub level: [u64; DEPTH_CLASSES],
    /// Submissions of this many operations at once: none, up to 4, 8, 16, 32, 64, more.
    pub submit: [u64; DEPTH_CLASSES],
    /// Waits that returned this many operations, in the same classes.
    pub complete: [u64; DEPTH_CLASSES],
}

impl DepthCounts {
    /// Counts an operation issued as the `outstanding`th of those outstanding.
    #[inline]
    pub fn issue(&mut self, outstanding: u32) {
        let class = outstanding.max(1).ilog2() as usize;
        self.level[class.min(DEPTH_CLASSES - 1)] += 1;
    }

    /// Counts submissions of `operations`, `batch` at once.
    #[inline]
    pub fn submissions(&mut self, operations: u32, batch: u32) {
        let batch = batch.max(1);
        self.submit[class_of_batch(batch)] += u64::from(operations / batch);
        let rest = operations % batch;
        if rest > 0 {
            self.submit[class_of_batch(rest)] += 1;
        }
    }

    /// Counts a wait that returned `operations`.
    #[inline]
    pub fn completion(&mut self, operations: u32) {
        self.complete[class_of_batch(operations)] += 1;
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: &DepthCounts) {
        let pairs = [
            (&mut self.level, &other.level),
            (&mut self.submit, &other.submit),
            (&mut self.complete, &other.complete),
        ];
        for (mine, theirs) in pairs {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
    }
}

/// Class of a batch: 0, then up to 4, 8, 16, 32, 64, and more.
#[inline]
fn class_of_batch(operations: u32) -> usize {
    match operations {
        0 => 0,
        1..=4 => 1,
        n => ((n - 1).ilog2() as usize).min(DEPTH_CLASSES - 1),
    }
}

/// Samples of the rates of one kind of operation, each over half a second; intervals without an operation
/// have none. The samples of clones are added, as in fio.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateSamples {
    /// Operation.
    pub kind: Operation,
    /// Number of samples.
    pub samples: u64,
    /// KiB per second.
    pub kib_per_s: Spread,
    /// Operations per second.
    pub iops: Spread,
}

/// Spread of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spread {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_fio() {
        let mut counts = DepthCounts::default();
        let levels = [1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 4096];
        levels.into_iter().for_each(|n| counts.issue(n));
        assert_eq!(counts.level, [1, 2, 2, 2, 2, 2, 2]);
        let batches = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 1000];
        batches.into_iter().for_each(|n| counts.completion(n));
        assert_eq!(counts.complete, [1, 2, 2, 2, 2, 2, 2]);
        counts.submissions(7, 1);
        counts.submissions(19, 8);
        assert_eq!(counts.submit, [0, 8, 2, 0, 0, 0, 0]);
    }
}
