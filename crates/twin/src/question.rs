//! Which cells a job file asks about, for the comparison with what was measured.

use crate::observation::{Cell, Direction, Pattern, State};
use nandscope_units::Bytes;
use nandscope_workload::job::{Access, Job};

/// Cells of a job: one per direction, and of the smallest and the largest of its block sizes. Empty for a job without reads
/// and writes of its own, such as the replay of a trace.
pub fn cells(job: &Job, state: State) -> Vec<Cell> {
    let directions: &[Direction] = match job.rw.access {
        _ if job.trace.is_some() => &[],
        Access::Read => &[Direction::Read],
        Access::Write => &[Direction::Write],
        Access::ReadWrite => &[Direction::Read, Direction::Write],
        Access::Trim | Access::TrimWrite => &[],
    };
    let is_mixed = job.rw.access == Access::ReadWrite;
    let percent = u8::try_from(job.rwmix_read).unwrap_or(50).clamp(1, 99);
    let mut cells = Vec::new();
    for direction in directions {
        let sizes = match direction {
            Direction::Read => &job.bs.read,
            Direction::Write => &job.bs.write,
        };
        for block in [sizes.min(), sizes.max()] {
            let cell = Cell {
                direction: *direction,
                pattern: if job.rw.random {
                    Pattern::Random
                } else {
                    Pattern::Sequential
                },
                block: Bytes(u64::from(block)),
                depth: job.pacing.iodepth.max(1),
                jobs: job.numjobs.max(1),
                read_percent: is_mixed.then_some(percent),
                region: None,
                interleaved: None,
                state,
            };
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells
}
