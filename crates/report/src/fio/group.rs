//! Sums over a reporting group.

use super::reported::Reported;
use nandscope_result::Operation;

/// One kind of operation in a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Bytes of all jobs.
    pub bytes: u64,
    /// Shortest and longest runtime of a job, ms.
    pub runtime_ms: (u64, u64),
    /// Smallest and largest bandwidth of a job, bytes per second.
    pub bytes_per_s: (u64, u64),
    /// Bandwidth of all together, bytes per second over the longest runtime.
    pub together: u64,
}

/// Sum of an operation over the entries of a group; all zero if there were no such operations. As in fio, directions that
/// are shown together and apart have the smallest and the largest bandwidth of a direction.
pub fn sum(entries: &[Reported], group: u32, kind: &Operation) -> Sum {
    let apart = [Operation::Read, Operation::Write, Operation::Trim];
    let mut apart = apart
        .iter()
        .map(|kind| of_kind(entries, group, kind))
        .filter(|sum| *sum != Sum::default());
    let whole = of_kind(entries, group, kind);
    match apart.next() {
        Some(first) if *kind == Operation::Mixed && whole != Sum::default() => {
            apart.fold(first, Sum::with)
        }
        _ => whole,
    }
}

impl Sum {
    /// Sum of two directions.
    fn with(self, other: Sum) -> Sum {
        let range = |a: (u64, u64), b: (u64, u64)| (a.0.min(b.0), a.1.max(b.1));
        Sum {
            bytes: self.bytes + other.bytes,
            runtime_ms: range(self.runtime_ms, other.runtime_ms),
            bytes_per_s: range(self.bytes_per_s, other.bytes_per_s),
            together: self.together + other.together,
        }
    }
}

fn of_kind(entries: &[Reported], group: u32, kind: &Operation) -> Sum {
    let members = entries.iter().filter(|entry| entry.group == group);
    let parts: Vec<_> = members.filter_map(|entry| entry.part(kind)).collect();
    let Some(first) = parts.first() else {
        return Sum::default();
    };
    let bytes = parts.iter().map(|part| part.result.bytes).sum::<u64>();
    let runtimes = parts.iter().map(|part| part.runtime_ms);
    let rates = parts.iter().map(|part| part.bytes_per_s());
    let longest = runtimes.clone().max().unwrap_or(0);
    let together = match parts.len() {
        // The exact runtime of a single job is finer than milliseconds.
        1 => first.bytes_per_s(),
        _ => (u128::from(bytes) * 1000 / u128::from(longest.max(1))) as u64,
    };
    Sum {
        bytes,
        runtime_ms: (runtimes.min().unwrap_or(0), longest),
        bytes_per_s: (rates.clone().min().unwrap_or(0), rates.max().unwrap_or(0)),
        together,
    }
}

/// Numbers of the groups, ascending.
pub fn numbers(entries: &[Reported]) -> Vec<u32> {
    let mut groups: Vec<u32> = entries.iter().map(|entry| entry.group).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}
