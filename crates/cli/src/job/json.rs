//! Output of `nandscope job` as JSON.

use super::read;
use crate::console::Console;
use crate::failure::Failure;
use crate::output;
use nandscope_experiment::jobs::library::{JOBS, LibraryJob};
use nandscope_experiment::jobs::notices;
use nandscope_workload::job::{Job, JobFile};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Checks the files, and prints the jobs or the errors of each.
///
/// # Errors
/// As `job check` without `--json`: `Exit::Usage` if a file has faults.
pub fn check(files: &[PathBuf], console: &Console) -> Result<(), Failure> {
    let mut answers = Vec::new();
    let mut worst = None;
    // Faults are shown with their lines; without colours here.
    let plain = Console {
        colour: false,
        ..*console
    };
    for path in files {
        let file = path.display().to_string();
        match read(path, &plain) {
            Ok(jobs) => answers.push(json!({
                "file": file,
                "jobs": jobs.file.jobs.len(),
                "groups": jobs.file.groups().len(),
                "notices": notices(&jobs.file).collect::<Vec<_>>(),
                "error": null,
            })),
            Err(failure) => {
                answers.push(json!({ "file": file, "error": failure.text }));
                if let Some(before) = worst.replace(failure) {
                    console.complain(&before);
                }
            }
        }
    }
    output::print_json(&answers, console)?;
    worst.map_or(Ok(()), Err)
}

/// The job files of the library.
pub fn list() -> Value {
    let entry = |job: &LibraryJob| json!({ "name": job.name, "about": job.about() });
    JOBS.iter().map(entry).collect()
}

/// The jobs of a file as they were understood.
pub fn show(jobs: &JobFile) -> Value {
    let of_job = |job: &Job| {
        json!({
            "name": job.name,
            "numjobs": job.numjobs,
            "options": job.options(),
            "without_effect": job.without_effect.keys().collect::<Vec<_>>(),
        })
    };
    let of_group = |group: &[Job]| group.iter().map(of_job).collect::<Vec<_>>();
    let groups = jobs.groups();
    let groups = groups.iter().map(|group| of_group(group));
    json!({ "groups": groups.collect::<Vec<_>>() })
}
