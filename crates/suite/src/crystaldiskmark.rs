//! CrystalDiskMark's default profile, as in version 8: a test file of 1 GiB with random data, four rows, all reads
//! before all writes; per row one discarded warm-up run and five counted runs of 5 s, with pauses of 5 s. The score is
//! the best run, and the latency is that of the same run. The spread of the five is also reported.

use crate::jobs::phase;
use crate::step_runner::{Flow, Pick, StepRunner, SuiteError};
use nandscope_measure::target::Target;
use nandscope_units::Nanos;

struct Row {
    name: &'static str,
    slug: &'static str,
    block: &'static str,
    depth: u32,
    random: bool,
}

const ROWS: [Row; 4] = [
    Row {
        name: "SEQ1M Q8T1",
        slug: "seq1m-q8t1",
        block: "1m",
        depth: 8,
        random: false,
    },
    Row {
        name: "SEQ1M Q1T1",
        slug: "seq1m-q1t1",
        block: "1m",
        depth: 1,
        random: false,
    },
    Row {
        name: "RND4K Q32T1",
        slug: "rnd4k-q32t1",
        block: "4k",
        depth: 32,
        random: true,
    },
    Row {
        name: "RND4K Q1T1",
        slug: "rnd4k-q1t1",
        block: "4k",
        depth: 1,
        random: true,
    },
];

/// Duration and number of the passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) runs: u32,
    pub(crate) run_s: u64,
    pub(crate) pause: Nanos,
}

impl Extent {
    pub(crate) const FULL: Extent = Extent {
        runs: 5,
        run_s: 5,
        pause: Nanos::from_secs(5),
    };
    pub(crate) const QUICK: Extent = Extent {
        runs: 2,
        run_s: 1,
        pause: Nanos::from_secs(1),
    };
}

/// Runs the profile in the state `state` (`fresh`, `used`, `refreshed`), on a test file that begins at `offset`.
pub(crate) fn run<T: Target>(
    runner: &mut StepRunner<'_, T>,
    state: &str,
    offset: u64,
    extent: Extent,
) -> Result<Flow, SuiteError> {
    let id = format!("cdm-{state}");
    if runner.skips(&id) {
        return Ok(Flow::Continue);
    }
    let file_mib = 1024.min(runner.capacity().0.saturating_sub(offset) >> 20);
    let phases = 1 + 8 * 2 * (extent.runs + 1);
    runner.begin_step(
        &id,
        &format!("CrystalDiskMark, {state}"),
        "CrystalDiskMark",
        format!(
            "Default profile of version 8 on a test file of {file_mib} MiB: all reads, then all writes; per row a warm-up run and {} runs of {} s with {} s of pause. The score is the best run; the whiskers are the slowest and the fastest.",
            extent.runs,
            extent.run_s,
            extent.pause.as_secs_f64()
        ),
        phases,
    );
    let flow = all_rows(runner, state, offset, file_mib, extent);
    runner.end_step();
    flow
}

fn all_rows<T: Target>(
    runner: &mut StepRunner<'_, T>,
    state: &str,
    offset: u64,
    file_mib: u64,
    extent: Extent,
) -> Result<Flow, SuiteError> {
    let file = format!("size={file_mib}m\noffset={offset}\nrandrepeat=1\n");
    let make = format!("[make test file]\nrw=write\nbs=1m\niodepth=8\n{file}");
    if run_one(runner, &make)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    for write in [false, true] {
        for row in &ROWS {
            if one_row(runner, state, row, write, &file, extent)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
    }
    Ok(Flow::Continue)
}

fn one_row<T: Target>(
    runner: &mut StepRunner<'_, T>,
    state: &str,
    row: &Row,
    write: bool,
    file: &str,
    extent: Extent,
) -> Result<Flow, SuiteError> {
    let direction = if write { "write" } else { "read" };
    let rw = if row.random {
        format!("rand{direction}\nnorandommap=1")
    } else {
        direction.to_string()
    };
    let (mut scores, mut latencies) = (Vec::new(), Vec::new());
    for run in 0..=extent.runs {
        if runner.idle(extent.pause)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let name = if run == 0 {
            "warm-up".to_string()
        } else {
            format!("run {run}")
        };
        let text = format!(
            "[{} {direction}, {name}]\nrw={rw}\nbs={}\niodepth={}\nruntime={}\ntime_based=1\n{file}",
            row.name, row.block, row.depth, extent.run_s
        );
        if run_one(runner, &text)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let job = runner.current().and_then(|s| s.jobs.last());
        if run > 0
            && let Some(result) = job.and_then(|j| j.directions.first())
        {
            scores.push(result.bandwidth_bytes_per_s / 1e6);
            latencies.push(result.latency.mean_ns / 1e3);
        }
    }
    let id = format!("cdm.{state}.{}.{direction}", row.slug);
    runner.figure(
        &id,
        &format!("{} {direction}, {state}", row.name),
        "MB/s",
        &scores,
        Pick::Best,
    );
    if row.random {
        let iops: Vec<f64> = scores.iter().map(|mb| mb * 1e6 / 4096.0).collect();
        runner.figure(
            &format!("{id}.iops"),
            &format!("{} {direction}, {state}, operations", row.name),
            "IOPS",
            &iops,
            Pick::Best,
        );
    }
    let best = scores
        .iter()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(b.1))
        .map_or(0, |(run, _)| run);
    runner.figure(
        &format!("{id}.latency"),
        &format!("{} {direction}, {state}, mean latency", row.name),
        "µs",
        &latencies,
        Pick::At(best),
    );
    Ok(Flow::Continue)
}

fn run_one<T: Target>(runner: &mut StepRunner<'_, T>, text: &str) -> Result<Flow, SuiteError> {
    let phase = phase("CrystalDiskMark", text, runner.capacity(), runner.seed)?;
    runner.run(phase)
}
