//! Prints results in fio's formats, to standard output or into a file, once or many times in a run.

use super::fio_options::FioOptions;
use crate::console::Console;
use crate::failure::Failure;
use crate::output;
use nandscope_report::fio::{Announced, Format, announcement, results};
use nandscope_result::ResultDocument;
use nandscope_units::Nanos;
use nandscope_workload::OpKind;
use nandscope_workload::job::{Job, JobFile};

/// fio's default engine on Linux.
const DEFAULT_ENGINE: &str = "psync";

/// Prints results in the formats of [`FioOptions`].
pub struct Printer {
    options: FioOptions,
    announced: String,
    /// All output so far, if it goes to a file.
    so_far: String,
}

impl Printer {
    /// A printer for these jobs.
    pub fn new(options: FioOptions, jobs: &JobFile) -> Printer {
        let announced = match options.formats.contains(&Format::Normal) {
            true => announcement(&announced(jobs)),
            false => String::new(),
        };
        Printer {
            options,
            announced,
            so_far: String::new(),
        }
    }

    /// Whether anything is printed in fio's formats.
    pub fn prints(&self) -> bool {
        !self.options.formats.is_empty()
    }

    /// Time between two results while the jobs run.
    pub fn interval(&self) -> Option<Nanos> {
        self.options.status_interval
    }

    /// Prints a result; before the first one, the lines that fio prints when its jobs start.
    ///
    /// # Errors
    /// `Exit::File` if standard output or the file cannot be written.
    pub fn print(&mut self, document: &ResultDocument, console: &Console) -> Result<(), Failure> {
        let FioOptions {
            formats,
            terse_version,
            ..
        } = &self.options;
        let mut text = std::mem::take(&mut self.announced);
        text.push_str(&results(document, formats, *terse_version));
        match &self.options.output {
            None => console.print_data(&text),
            Some(path) => {
                self.so_far.push_str(&text);
                output::write_or_keep(path, self.so_far.as_bytes())
            }
        }
    }
}

/// The jobs as fio announces them.
fn announced(jobs: &JobFile) -> Vec<Announced> {
    let groups = jobs.reporting_groups();
    let jobs = jobs.jobs.iter().zip(groups);
    jobs.map(|(job, group)| announce(job, group)).collect()
}

fn announce(job: &Job, group: u32) -> Announced {
    let blocks = |kind| (job.bs.get(kind).min(), job.bs.get(kind).max());
    let access = job.options().remove("rw").unwrap_or_default();
    // Details after a colon are not part of fio's name.
    let access = access.split(':').next().unwrap_or_default();
    let thread = job.without_effect.get("thread");
    Announced {
        name: job.name.clone(),
        group,
        access: access.to_string(),
        block_bytes: [OpKind::Read, OpKind::Write, OpKind::Trim].map(blocks),
        blocks_by_order: job.sizes_by_order,
        engine: job.engine.clone().unwrap_or(DEFAULT_ENGINE.to_string()),
        depth: job.pacing.iodepth,
        clones: job.numjobs,
        is_thread: thread.is_some_and(|value| value != "0"),
    }
}
