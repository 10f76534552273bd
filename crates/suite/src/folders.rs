//! The folder workloads of AnandTech's suite for direct-attached storage: four folder trees are
//! copied to the card by 32 threads without buffering, read back after 10 s of idle time, and
//! deleted, three times over. Bandwidth is the mean of the three passes.

use crate::session::{Flow, Phase, Pick, SECOND, Session, SuiteError, slug};
use nandscope_measure::build::JobMeta;
use nandscope_measure::runner::Thread;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::files::{
    CopyJob, CopyOptions, DeletePlan, Direction, ExfatLayout, FileTree, FolderSpec, PlacedTree,
    das_suite,
};
use nandscope_workload::{OpSource, Pacing};

const IDLE: Nanos = Nanos::from_secs(10);

/// How much of the suite is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) passes: u32,
    /// Bytes and files of each folder are divided by this.
    pub(crate) divisor: u32,
}

impl Extent {
    pub(crate) const FULL: Extent = Extent {
        passes: 3,
        divisor: 1,
    };
    pub(crate) const QUICK: Extent = Extent {
        passes: 1,
        divisor: 10,
    };
}

/// Runs all four folders.
pub(crate) fn run<T: Target>(
    session: &mut Session<'_, T>,
    extent: Extent,
) -> Result<Flow, SuiteError> {
    for spec in das_suite() {
        let spec = fit(&spec, extent.divisor, session.capacity());
        if one_folder(session, &spec, extent.passes)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// A folder for a smaller card or a shorter run: fewer files of the same sizes.
pub(crate) fn fit(spec: &FolderSpec, divisor: u32, capacity: Bytes) -> FolderSpec {
    let most = capacity.0 / 10 * 8;
    let mut divisor = u64::from(divisor.max(1));
    while spec.bytes.0 / divisor > most {
        divisor += 1;
    }
    let part = |n: u32| (u64::from(n).div_ceil(divisor)) as u32;
    FolderSpec::new(
        &spec.name,
        Bytes(spec.bytes.0 / divisor),
        part(spec.files),
        part(spec.folders),
    )
}

fn one_folder<T: Target>(
    session: &mut Session<'_, T>,
    spec: &FolderSpec,
    passes: u32,
) -> Result<Flow, SuiteError> {
    let title = format!("Folder copy: {}", spec.name);
    let fault = |problem: String| SuiteError::Step {
        step: title.clone(),
        problem,
    };
    let tree = FileTree::generate(spec).map_err(|e| fault(e.to_string()))?;
    let mut layout = ExfatLayout::new(session.capacity()).map_err(|e| fault(e.to_string()))?;
    let placed = layout.place(&tree).map_err(|e| fault(e.to_string()))?;
    let options = CopyOptions::default();
    session.begin_step(
        &format!("folder-{}", slug(&spec.name)),
        &title,
        "Extended use",
        format!(
            "{:.2} GB in {} files and {} folders, copied to exFAT by {} threads with unbuffered requests of {}, read back after 10 s, deleted; {passes} passes, of which the mean counts.",
            spec.bytes.as_gb(),
            spec.files,
            spec.folders,
            options.threads,
            Bytes(u64::from(options.io_bytes))
        ),
        passes * 4,
    );
    let flow = all_passes(session, spec, &layout, &placed, &options, passes);
    session.end_step();
    flow
}

fn all_passes<T: Target>(
    session: &mut Session<'_, T>,
    spec: &FolderSpec,
    layout: &ExfatLayout,
    placed: &PlacedTree,
    options: &CopyOptions,
    passes: u32,
) -> Result<Flow, SuiteError> {
    let (mut written, mut read) = (Vec::new(), Vec::new());
    for pass in 1..=passes {
        for direction in [Direction::Write, Direction::Read] {
            let word = if direction == Direction::Write {
                "write"
            } else {
                "read"
            };
            let job = CopyJob::new(layout, placed, direction, options);
            let phase = copy_phase(job, &format!("{} {word}, pass {pass}", spec.name));
            if session.run(phase)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            let mb = session
                .current()
                .and_then(|s| s.jobs.last())
                .map_or(0.0, |job| {
                    let bytes: u64 = job.directions.iter().map(|d| d.bytes).sum();
                    bytes as f64 / 1e6 / job.runtime_s.max(1e-9)
                });
            if direction == Direction::Write {
                written.push(mb);
                if session.idle(IDLE)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            } else {
                read.push(mb);
            }
        }
        let delete = DeletePlan { discard: false }.source(layout, placed);
        if session.run(single(
            Box::new(delete),
            &format!("{} delete, pass {pass}", spec.name),
        ))? == Flow::Stop
        {
            return Ok(Flow::Stop);
        }
    }
    let id = slug(&spec.name);
    session.figure(
        &format!("folders.{id}.write"),
        &format!("{} write", spec.name),
        "MB/s",
        &written,
        Pick::Mean,
    );
    session.figure(
        &format!("folders.{id}.read"),
        &format!("{} read", spec.name),
        "MB/s",
        &read,
        Pick::Mean,
    );
    Ok(Flow::Continue)
}

fn copy_phase(job: CopyJob, name: &str) -> Phase {
    let threads = job
        .into_sources()
        .into_iter()
        .map(|s| Thread::new(Box::new(s), Pacing::default(), 0))
        .collect();
    Phase {
        threads,
        jobs: vec![JobMeta::new(name)],
        interval: SECOND,
    }
}

/// A phase of one thread with one operation at a time.
pub(crate) fn single(source: Box<dyn OpSource>, name: &str) -> Phase {
    Phase {
        threads: vec![Thread::new(source, Pacing::default(), 0)],
        jobs: vec![JobMeta::new(name)],
        interval: SECOND,
    }
}
