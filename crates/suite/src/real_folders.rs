//! The folder workloads on a folder of this machine: the same trees as on simulated cards, as real files in a real file
//! system, which is part of the measurement.

use crate::document::empty;
use crate::folders::{self, Extent as Share, Folder, Part, Turn, single};
use crate::options::{ReviewObserver, ReviewOptions};
use crate::own_time::in_own_time;
use crate::review::SHORTENED;
use crate::step_runner::{Flow, Phase, SECOND, StepRunner, SuiteError};
use nandscope_measure::build::JobMeta;
use nandscope_measure::real::FolderTarget;
use nandscope_measure::runner::Thread;
use nandscope_result::{ResultDocument, TargetInfo, procedure};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::files::{CopyOptions, Extent, ExtentSource, FolderSpec, das_suite};
use nandscope_workload::{OpKind, Pacing};
use std::collections::BTreeMap;

/// Cost of a file in addition to its bytes, when files are distributed to threads; as for simulated cards.
const FILE_COST: u64 = nandscope_workload::files::FILE_COST_BYTES;

/// Copies the four folders into the target, reads them back and deletes them. `info` has the free space.
///
/// # Errors
/// [`SuiteError::Step`] if a step cannot be done at all.
pub fn review_folder(
    target: FolderTarget,
    info: TargetInfo,
    environment: BTreeMap<String, String>,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<ResultDocument, SuiteError> {
    let room = Bytes(info.capacity_bytes);
    let title = format!("Folders on {}", info.name);
    let mut document = empty(title, info, options, procedure::FOLDER_REVIEW, SHORTENED);
    document.environment = environment;
    let share = if options.quick {
        Share::QUICK
    } else {
        Share::FULL
    };
    in_own_time(target, document, options, observer, stop, |runner| {
        all(runner, share, room)
    })
}

fn all(
    runner: &mut StepRunner<'_, FolderTarget>,
    share: Share,
    room: Bytes,
) -> Result<Flow, SuiteError> {
    let suite = das_suite();
    let part = 1.0 / suite.len() as f64;
    for (i, spec) in suite.iter().enumerate() {
        runner.note_stage(&spec.name.to_lowercase(), part * i as f64, part, 1);
        let spec = folders::fit(spec, share.divisor, room);
        if one(runner, &spec, share.passes)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn one(
    runner: &mut StepRunner<'_, FolderTarget>,
    spec: &FolderSpec,
    passes: u32,
) -> Result<Flow, SuiteError> {
    let Some(folder) = Folder::of(runner, spec)? else {
        return Ok(Flow::Continue);
    };
    runner
        .target
        .hold(&folder.tree)
        .map_err(|e| folder.fault(&e))?;
    let options = CopyOptions::default();
    let cached = if runner.target.is_direct() {
        "past the page cache"
    } else {
        "through the page cache, which is dropped before reading"
    };
    runner.begin_step(
        &folder.id,
        &folder.title,
        "Extended use",
        format!(
            "{:.2} GB in {} files and {} folders, written as real files by {} threads with requests of {} {cached}, synced as a whole, read back after {}, deleted; {passes} passes, of which the mean counts. The time of the sync is in the speed of writing; creating, opening and closing the files is in their first and last operations.",
            spec.bytes.as_gb(),
            spec.files,
            spec.folders,
            options.threads,
            Bytes(u64::from(options.io_bytes)),
            idle(passes),
        ),
        passes * 5,
    );
    let flow = folders::all_passes(runner, &spec.name, passes, idle(passes), |runner, turn| {
        phases(runner, &options, turn)
    });
    runner.end_step();
    runner.target.clear();
    flow
}

/// Phases of a part of a pass; written data is synced once, at the end of the part.
fn phases(
    runner: &StepRunner<'_, FolderTarget>,
    options: &CopyOptions,
    turn: &Turn<'_>,
) -> Vec<Phase> {
    match turn.part {
        Part::Write => {
            let sync = Extent {
                kind: OpKind::Flush,
                offset: Bytes::ZERO,
                length: 0,
                chunk: 0,
            };
            vec![
                phase(runner, OpKind::Write, options, &turn.name("write")),
                single(Box::new(ExtentSource::new(vec![sync])), &turn.name("sync")),
            ]
        }
        Part::Read => vec![phase(runner, OpKind::Read, options, &turn.name("read"))],
        Part::Delete => vec![phase(runner, OpKind::Trim, options, &turn.name("delete"))],
    }
}

/// Idle time between writing and reading, in a whole review and in a quick one.
const IDLE: Nanos = Nanos::from_secs(10);
const SHORT_IDLE: Nanos = Nanos::from_secs(2);

fn idle(passes: u32) -> Nanos {
    if passes > 1 { IDLE } else { SHORT_IDLE }
}

/// Phase over all files, distributed to the threads; one thread deletes.
fn phase(
    runner: &StepRunner<'_, FolderTarget>,
    kind: OpKind,
    options: &CopyOptions,
    name: &str,
) -> Phase {
    let threads = if kind == OpKind::Trim {
        1
    } else {
        options.threads.max(1)
    };
    let mut lists: Vec<(u64, Vec<Extent>)> = vec![(0, Vec::new()); threads as usize];
    for file in runner.target.files() {
        let length = if kind == OpKind::Trim {
            file.room().min(u64::from(options.io_bytes))
        } else {
            file.room()
        };
        let least = lists.iter_mut().min_by_key(|list| list.0);
        if let Some((load, list)) = least {
            *load = load.saturating_add(file.room()).saturating_add(FILE_COST);
            list.push(Extent {
                kind,
                offset: Bytes(file.begin),
                length,
                chunk: options.io_bytes,
            });
        }
    }
    let thread = |(_, list): (u64, Vec<Extent>)| {
        Thread::new(Box::new(ExtentSource::new(list)), Pacing::default(), 0)
    };
    Phase {
        threads: lists
            .into_iter()
            .filter(|l| !l.1.is_empty())
            .map(thread)
            .collect(),
        jobs: vec![JobMeta::new(name)],
        interval: SECOND,
    }
}
