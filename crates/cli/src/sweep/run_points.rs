//! Shared parts of the command's sweeps: the pool with its progress, the tables of the points, and the outcome.

use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::job::jobs_failure;
use crate::run::progress::Line;
use crate::target::open_failure;
use crate::threads::ThreadArguments;
use crate::{fault, output};
use nandscope_experiment::run::RunError;
use nandscope_files::{FollowLinks, read_regular};
use nandscope_sweep::plan::PlanError;
use nandscope_sweep::pool::{self, PoolRun, SweepProgress};
use nandscope_sweep::table::{csv, json};
use nandscope_sweep::{Plan, PointError, Store, rows};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};

/// The tables of the points.
const TABLES: [&str; 2] = ["points.csv", "points.json"];
/// Largest table that is read, bytes.
const LARGEST_TABLE: u64 = 16 << 30;

/// Claims all files of a sweep.
///
/// # Errors
/// `Exit::Usage` if an input is among the outputs.
pub fn claim(
    job: Option<&Path>,
    target: &str,
    hosts: &[String],
    folder: &Path,
) -> Result<FileClaims, Failure> {
    let mut files = FileClaims::default();
    if let Some(job) = job {
        files.input("the job file", job)?;
    }
    files.target(target)?;
    for host in hosts {
        files.host(Some(host))?;
    }
    for name in TABLES {
        files.file("the table", &folder.join(name))?;
    }
    files.file("the report", &folder.join("report.html"))?;
    Ok(files)
}

/// Runs the points that are not in the folder yet.
///
/// # Errors
/// `Exit::File` if the folder cannot be written or a point cannot be stored; `Exit::Usage` or `Exit::Internal` if a
/// point cannot be run.
pub fn run(
    plan: &Plan,
    folder: &Path,
    threads: ThreadArguments,
    console: &Console,
) -> Result<PoolRun, Failure> {
    let _made = output::check_folder(folder)?;
    let store = Store::open(folder).map_err(Failure::file)?;
    let interrupt = Interrupt::listen()?;
    let threads = threads.within_memory(plan.device_memory, console);
    let mut line = Line::new("sweep");
    let mut tell = |now: SweepProgress| {
        let mut text = format!("{} of {} points", now.done, now.points);
        if now.preparing > 0 {
            text.push_str(&format!(", {} devices in preparation", now.preparing));
        }
        line.tell(Some(now.share), text, console);
    };
    let stop = || interrupt.asked();
    let ran = pool::run(
        &plan.points,
        &plan.metrics,
        &store,
        threads,
        &stop,
        &mut tell,
    );
    line.clear();
    for why in ran.iter().flat_map(|ran| &ran.damaged) {
        console.note(&format!("{why}; the point was run again"));
    }
    ran.map_err(|error| {
        let kept = format!("finished points are kept in {}", folder.display());
        Failure::of(error.class(), format!("{error}; {kept}"))
    })
}

/// Folder for tables and page, inside the sweep's: a subfolder if only some points are done but complete tables exist,
/// which are not replaced.
pub fn table_folder(ran: &PoolRun, folder: &Path) -> PathBuf {
    let is_apart = done(ran) < ran.outcomes.len() && has_all_points(&folder.join("points.json"));
    PathBuf::from(if is_apart { output::INCOMPLETE } else { "" })
}

/// Whether the table in a file has a result for every point.
fn has_all_points(table: &Path) -> bool {
    #[derive(Deserialize)]
    struct Table {
        points: Vec<Point>,
    }
    #[derive(Deserialize)]
    struct Point {
        metrics: Option<IgnoredAny>,
    }
    let bytes = read_regular(table, FollowLinks::No, LARGEST_TABLE).unwrap_or_default();
    let table = serde_json::from_slice::<Table>(&bytes);
    table.is_ok_and(|table| table.points.iter().all(|point| point.metrics.is_some()))
}

/// Writes the tables of the points: CSV and JSON into the folder `place` of the sweep ([`table_folder`]), Parquet.
/// Returns the JSON.
///
/// # Errors
/// `Exit::File` if the folder cannot be written.
pub fn write_tables(
    plan: &Plan,
    ran: &PoolRun,
    folder: &Path,
    place: &Path,
) -> Result<String, Failure> {
    let text = json(plan, &ran.outcomes).map_err(Failure::internal)?;
    let table = csv(plan, &ran.outcomes);
    nandscope_files::create_folder_in(folder, place)?;
    for (name, text) in TABLES.into_iter().zip([&table, &text]) {
        let name = place.join(name);
        output::write_in(folder, &name.to_string_lossy(), text.as_bytes())?;
    }
    rows::write(folder, plan, &ran.outcomes)?;
    Ok(text)
}

/// Points that are finished.
pub fn done(ran: &PoolRun) -> usize {
    ran.outcomes.iter().flatten().count()
}

/// Says how many points are done.
pub fn note_done(plan: &Plan, ran: &PoolRun, console: &Console) {
    let before = match ran.found {
        0 => String::new(),
        found => format!(", {found} of them by earlier runs"),
    };
    let (done, points) = (done(ran), plan.points.len());
    console.note(&format!("{done} of {points} points are done{before}"));
}

/// Exit code of a sweep that ran.
///
/// # Errors
/// `Exit::Interrupted` if it was interrupted; `Exit::Partial` if points failed.
pub fn ending(plan: &Plan, ran: &PoolRun, folder: &Path) -> Result<Exit, Failure> {
    let (done, points) = (done(ran), plan.points.len());
    if done < points {
        return Err(Failure::new(
            Exit::Interrupted,
            format!(
                "interrupted; {done} of {points} points are kept in {}; the same command continues",
                folder.display()
            ),
        ));
    }
    let outcomes = ran.outcomes.iter().flatten();
    match outcomes.filter(|o| o.failure.is_some()).count() {
        0 => Ok(Exit::Done),
        failed => Err(Failure::new(
            Exit::Partial,
            format!("{failed} of {points} points failed; points.csv says why"),
        )),
    }
}

/// A sweep that cannot be made; faults of profiles and jobs are shown at their places.
pub fn plan_failure(error: &PlanError, console: &Console) -> Failure {
    let (at, point) = match error {
        PlanError::Base(point) => (None, point),
        PlanError::Point { at, error } => (Some(at), &**error),
        error => return Failure::of(error.class(), error),
    };
    let shown = match point {
        PointError::Jobs(error) => jobs_failure(error, console),
        PointError::Open(error) => open_failure(error, console),
        PointError::Run(RunError::Jobs(error)) => fault::of_job(console, "", error),
        _ => return Failure::of(error.class(), error),
    };
    match (shown.rendered, at) {
        // The text is complete; the point is named beneath.
        (true, Some(at)) => Failure {
            text: format!("{}\nat {at}", shown.text),
            ..shown
        },
        (true, None) => shown,
        (false, _) => Failure::of(error.class(), error),
    }
}
