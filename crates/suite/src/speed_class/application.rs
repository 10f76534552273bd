//! Random performance similar to the application classes. The exact conditions of A1 and A2 are not public; ours follow
//! what is known: the card three quarters full, 256 MB overwritten in order, then 4 KiB at random within these.

use crate::jobs::phase;
use crate::step_runner::{Flow, StepRunner, SuiteError};
use nandscope_measure::target::Target;

/// Requirements of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Application {
    pub(super) name: &'static str,
    pub(super) id: &'static str,
    /// Number of outstanding commands: A1 is measured without a queue, A2 with the full one.
    pub(super) depth: u32,
    pub(super) read_iops: f64,
    pub(super) write_iops: f64,
}

pub(super) const CLASSES: [Application; 2] = [
    Application {
        name: "A1-like",
        id: "a1-like",
        depth: 1,
        read_iops: 1500.0,
        write_iops: 500.0,
    },
    Application {
        name: "A2-like",
        id: "a2-like",
        depth: 32,
        read_iops: 4000.0,
        write_iops: 2000.0,
    },
];
/// Sustained sequential rate required by A1 and A2, MB/s.
pub(super) const SEQUENTIAL_MB_PER_S: f64 = 10.0;

/// Measured rates of sequential writes, random reads and random writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Random {
    pub(super) sequential_mb_per_s: f64,
    pub(super) read_iops: f64,
    pub(super) write_iops: f64,
}

/// Size of the tested span, bytes.
const SPAN: u64 = 256 << 20;

/// Measures within the current step: sequential, then random reads and writes for `seconds` each.
pub(super) fn measure<T: Target>(
    runner: &mut StepRunner<'_, T>,
    class: &Application,
    fill: bool,
    seconds: u64,
) -> Result<Option<Random>, SuiteError> {
    let span = SPAN.min(runner.capacity().0 / 4 / 4096 * 4096);
    let filled = runner.capacity().0 / 4 * 3 / (1 << 20) * (1 << 20);
    let mut jobs = Vec::new();
    if fill {
        jobs.push((
            "fill",
            format!("rw=write\nbs=1m\nsize={}\n", filled.max(span)),
        ));
    }
    jobs.push(("sequential", format!("rw=write\nbs=64k\nsize={span}\n")));
    for (name, rw) in [("read", "randread"), ("write", "randwrite")] {
        let depth = class.depth;
        jobs.push((
            name,
            format!(
                "rw={rw}\nbs=4k\nsize={span}\niodepth={depth}\nnorandommap=1\nruntime={seconds}\ntime_based=1\n"
            ),
        ));
    }
    let mut found = Random::default();
    for (name, options) in jobs {
        let text = format!("[{name}]\n{options}");
        let flow =
            phase(class.name, &text, runner.capacity(), runner.seed).and_then(|p| runner.run(p))?;
        let result = runner
            .current()
            .and_then(|s| s.jobs.last())
            .and_then(|j| j.directions.first());
        if let Some(result) = result {
            match name {
                "sequential" => found.sequential_mb_per_s = result.bandwidth_bytes_per_s / 1e6,
                "read" => found.read_iops = result.iops,
                "write" => found.write_iops = result.iops,
                _ => {}
            }
        }
        if flow == Flow::Stop {
            return Ok(None);
        }
    }
    Ok(Some(found))
}
