//! `nandscope job`: job files checked, shown as they were understood, or written for fio. Nothing
//! is run here.

mod json;
mod steps;

use crate::confine::Confine;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::{fault, input, output};
use clap::{Args, Subcommand};
use nandscope_experiment::FACTS;
use nandscope_experiment::jobs::{Jobs, JobsError, library, notices};
use nandscope_workload::job::{Job, JobFile, Override};
use std::path::{Path, PathBuf};

/// Arguments of `nandscope job`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check job files; report all errors with line and remedy
    Check {
        /// Job files
        #[arg(required = true, value_name = "JOB.fio")]
        files: Vec<PathBuf>,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// List the job files of the library, which need no file
    List {
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// Show the jobs of a file as understood, group by group
    Show {
        /// Job file, or a name in the library
        #[arg(value_name = "JOB.fio|NAME")]
        file: PathBuf,
        /// Print the text of the file
        #[arg(long, conflicts_with = "json")]
        text: bool,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// Write a job file, or the steps of a stored result, for fio
    EmitFio {
        /// Job file or stored result
        #[arg(value_name = "JOB.fio|RESULT.json")]
        file: PathBuf,
        /// Id of a single step of a result
        #[arg(long, value_name = "ID")]
        step: Option<String>,
    },
}

/// Runs one of the actions.
///
/// # Errors
/// `Exit::File` if a file cannot be read; `Exit::Usage` if it has faults.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let confine = Confine::default();
    match &arguments.action {
        Action::Check { files, .. } => confine.reading(files).reading(around(files)),
        Action::List { .. } => confine,
        Action::Show { file, .. } | Action::EmitFio { file, .. } => {
            confine.reading([file]).reading(around([file]))
        }
    }
    .enforce();
    match arguments.action {
        Action::Check { files, json: false } => check(&files, console),
        Action::Check { files, json: true } => json::check(&files, console),
        Action::List { json: false } => console.print(&list(console)),
        Action::List { json: true } => output::print_json(&json::list(), console),
        Action::Show {
            file, text: true, ..
        } => console.print_data(&read(&file, console)?.text),
        Action::Show {
            file, json: false, ..
        } => console.print(&show(&read(&file, console)?.file)),
        Action::Show { file, .. } => {
            output::print_json(&json::show(&read(&file, console)?.file), console)
        }
        Action::EmitFio { file, step } => {
            console.print_data(&emit(&file, step.as_deref(), console)?)
        }
    }?;
    Ok(Exit::Done)
}

/// Context of a job file: the files next to it, and facts about the machine.
fn around<'a>(files: impl IntoIterator<Item = &'a PathBuf>) -> impl Iterator<Item = PathBuf> {
    let beside = files.into_iter();
    let beside = beside.map(|file| nandscope_files::folder_of(file).to_path_buf());
    let facts = FACTS.into_iter().chain(["."]);
    beside
        .chain(facts.map(PathBuf::from))
        .collect::<Vec<_>>()
        .into_iter()
}

fn emit(path: &Path, step: Option<&str>, console: &Console) -> Result<String, Failure> {
    if input::is_json(path)? {
        return steps::emit(&input::result(path)?, step);
    }
    if let Some(step) = step {
        return Err(Failure::usage(format!(
            "{} is a job file, and `--step {step}` names a step of a stored result; leave it out",
            path.display()
        )));
    }
    Ok(read(path, console)?.file.to_fio())
}

/// The jobs of a file.
///
/// # Errors
/// `Exit::File` if the file cannot be read; `Exit::Usage` with all faults at their places.
pub fn read(path: &Path, console: &Console) -> Result<Jobs, Failure> {
    read_with(path, &[], &[], console)
}

/// As [`read`], with `overrides` set on every job, and only the jobs of `sections`; all jobs if it is empty.
///
/// # Errors
/// As [`read`].
pub fn read_with(
    path: &Path,
    overrides: &[Override],
    sections: &[String],
    console: &Console,
) -> Result<Jobs, Failure> {
    Jobs::read_sections(path, overrides, sections).map_err(|error| jobs_failure(&error, console))
}

/// The jobs of options as on fio's command line.
///
/// # Errors
/// `Exit::Usage` with all faults.
pub fn of_command_line(
    options: &[String],
    overrides: &[Override],
    console: &Console,
) -> Result<Jobs, Failure> {
    let jobs = Jobs::of_command_line(options, overrides);
    jobs.map_err(|error| jobs_failure(&error, console))
}

/// Jobs that cannot be read.
pub fn jobs_failure(error: &JobsError, console: &Console) -> Failure {
    match error {
        JobsError::Invalid { text, error } => fault::of_job(console, text, error),
        error => Failure::of(error.class(), error),
    }
}

/// Checks every file, so that one run reports all faults.
fn check(files: &[PathBuf], console: &Console) -> Result<(), Failure> {
    let mut worst = None;
    for path in files {
        match read(path, console) {
            Ok(jobs) => {
                let jobs = jobs.file;
                let groups = jobs.groups().len();
                let line = format!(
                    "{}: {}, {}\n",
                    path.display(),
                    count(jobs.jobs.len(), "job"),
                    count(groups, "group")
                );
                console.print(&line)?;
                for notice in notices(&jobs) {
                    console.print(&console.paragraph(notice, "  "))?;
                }
            }
            Err(failure) => {
                if let Some(before) = worst.replace(failure) {
                    console.complain(&before);
                }
            }
        }
    }
    worst.map_or(Ok(()), Err)
}

/// The job files of the library.
fn list(console: &Console) -> String {
    let mut table = console.table(&["NAME", "WHAT IT DOES"]);
    for job in library::JOBS {
        table.add_row([job.name.to_string(), job.about()]);
    }
    format!(
        "{}\n`nandscope run NAME TARGET` runs one, `nandscope job show --text NAME` prints it.\n",
        lines_of(&table)
    )
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn show(jobs: &JobFile) -> String {
    let mut text = String::new();
    for (number, group) in (1..).zip(jobs.groups()) {
        text.push_str(&format!("group {number}: {}\n", together(group)));
        for job in group {
            text.push_str(&format!("  [{}]", job.name));
            if job.numjobs > 1 {
                text.push_str(&format!(" × {}", job.numjobs));
            }
            text.push('\n');
            for (key, value) in job.options() {
                let note = if job.without_effect.contains_key(&key) {
                    "   (accepted, without effect)"
                } else {
                    ""
                };
                text.push_str(format!("    {key} = {value}").trim_end());
                text.push_str(&format!("{note}\n"));
            }
        }
    }
    text
}

fn together(group: &[Job]) -> String {
    let threads: u64 = group.iter().map(|j| u64::from(j.numjobs)).sum();
    match threads {
        1 => "one thread".to_string(),
        n => format!("{n} threads at once"),
    }
}
