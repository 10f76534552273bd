//! A whole job file: from its text to jobs, with `[global]` sections merged in.
//! No file is opened here; the caller gives the text and a name for messages.

use super::check::check;
use super::engine::{self, Engine};
use super::error::{Fault, JobError, Problem};
use super::lines::{Assignment, Section, sections};
use super::model::Job;
use super::option::{self, main_name};
use super::substitute::substitute;
use super::surroundings::{Nowhere, Surroundings};
use super::value::Value;
use super::words;
use nandscope_units::{SizeBase, saturating_u32};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// The jobs of a file in fio's grammar, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// The jobs; at least one.
    pub jobs: Vec<Job>,
}

impl JobFile {
    /// Parses a job file without references to other files or the environment; `file_name` is for messages. A job
    /// without `ioengine` has the queue depth that it requests.
    ///
    /// # Errors
    /// All faults of the file, each with line, option and remedy.
    pub fn parse(file_name: &str, text: &str) -> Result<JobFile, JobError> {
        JobFile::read(file_name, text, &Nowhere)
    }

    /// Parses a job file, with `surroundings` for its references.
    ///
    /// # Errors
    /// As [`JobFile::parse`].
    pub fn read(
        file_name: &str,
        text: &str,
        around: &dyn Surroundings,
    ) -> Result<JobFile, JobError> {
        let mut faults = Vec::new();
        let sections = sections(file_name, text, around, &mut faults);
        JobFile::of_sections(file_name, &sections, around, faults)
    }

    /// Parses the words of a command line such as fio's: `--name` begins a job, and options before the first job apply
    /// to all jobs. Also returns the text to which the lines of faults refer. `name` is for messages.
    ///
    /// # Errors
    /// As [`JobFile::parse`].
    pub fn of_command_line(
        name: &str,
        words: &[String],
        around: &dyn Surroundings,
    ) -> (String, Result<JobFile, JobError>) {
        let (text, sections) = words::sections(name, words);
        let file = JobFile::of_sections(name, &sections, around, Vec::new());
        (text, file)
    }

    fn of_sections(
        file_name: &str,
        sections: &[Section],
        around: &dyn Surroundings,
        faults: Vec<Fault>,
    ) -> Result<JobFile, JobError> {
        let mut reader = Reader {
            file: file_name,
            around,
            faults,
        };
        let jobs = reader.jobs(sections);
        let mut faults = reader.faults;
        let known = |name: &String| sections.iter().any(|s| !s.is_global() && s.name == *name);
        let mut unknown = around.sections().iter().filter(|name| !known(name));
        let problem = match unknown.next() {
            Some(name) => Some((
                format!("the file has no section `[{name}]`"),
                "name sections of the file with --section, or leave it out",
            )),
            None if jobs.is_empty() => Some((
                "the file holds no job".to_string(),
                "add a section `[name]` with its options",
            )),
            None => None,
        };
        if let Some((message, remedy)) = problem.filter(|_| faults.is_empty()) {
            faults.push(Fault {
                file: file_name.to_string(),
                line: 0,
                span: 0..0,
                key: String::new(),
                message,
                remedy: remedy.to_string(),
            });
        }
        if faults.is_empty() {
            return Ok(JobFile { jobs });
        }
        faults.sort_by_key(|fault| fault.line);
        // A fault of `[global]` occurs in every job that inherits it.
        faults.dedup();
        Err(JobError { faults })
    }

    /// Jobs that run in parallel, group after group: a job with `stonewall` begins a new group.
    pub fn groups(&self) -> Vec<&[Job]> {
        let mut groups = Vec::new();
        let mut start = 0;
        for i in 1..=self.jobs.len() {
            if i == self.jobs.len() || self.jobs[i].stonewall {
                groups.push(&self.jobs[start..i]);
                start = i;
            }
        }
        groups
    }

    /// Number of the group in which fio reports each job: `stonewall` and `new_group` begin the next one.
    pub fn reporting_groups(&self) -> Vec<u32> {
        let begins = |(place, job): (usize, &Job)| place > 0 && (job.stonewall || job.new_group);
        let jobs = self.jobs.iter().enumerate();
        let steps = jobs.map(|job| u32::from(begins(job)));
        steps
            .scan(0, |group, step| {
                *group += step;
                Some(*group)
            })
            .collect()
    }

    /// Text of the file, which parses to the same jobs.
    pub fn to_fio(&self) -> String {
        let sections: Vec<String> = self.jobs.iter().map(Job::to_fio).collect();
        sections.join("\n")
    }
}

/// The options that `[global]` sections have set so far.
#[derive(Clone)]
struct Template {
    job: Job,
    base: SizeBase,
    places: BTreeMap<String, Assignment>,
}

struct Reader<'a> {
    file: &'a str,
    around: &'a dyn Surroundings,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn jobs(&mut self, sections: &[Section]) -> Vec<Job> {
        let mut global = Template {
            job: Job::new(""),
            base: SizeBase::Binary,
            places: BTreeMap::new(),
        };
        let mut jobs = Vec::new();
        let mut threads = 1u32;
        let overrides = self.overrides();
        let wanted = self.around.sections();
        for section in sections {
            if section.is_global() {
                self.apply(&mut global, &section.assignments, true);
                continue;
            }
            if !wanted.is_empty() && !wanted.contains(&section.name) {
                continue;
            }
            let mut template = global.clone();
            template.job.name = section.name.clone();
            template.job.ordinal = saturating_u32(jobs.len() as u64);
            template.job.first_thread = threads;
            self.apply(&mut template, &section.assignments, false);
            self.apply(&mut template, &overrides, false);
            self.settle(&mut template);
            self.check(&template, section);
            let mut job = template.job;
            job.origin.file = self.file.to_string();
            job.origin.line = section.line;
            let places = template.places.into_iter();
            job.origin.options = places.map(|(key, place)| (key, place.line)).collect();
            self.check_waiting(&job, &jobs);
            threads = threads.saturating_add(job.numjobs);
            jobs.push(job);
        }
        // As in fio, `exitall` of one job applies to all jobs.
        let exit_all = jobs.iter().any(|job| job.relation.exit_all);
        jobs.iter_mut()
            .for_each(|job| job.relation.exit_all = exit_all);
        jobs
    }

    /// Checks that a job waits for an earlier job of the file, as fio requires.
    fn check_waiting(&mut self, job: &Job, before: &[Job]) {
        let Some(name) = &job.relation.wait_for else {
            return;
        };
        if before.iter().any(|other| other.name == *name) {
            return;
        }
        let why = match job.name == *name {
            true => "a job cannot wait for itself",
            false => "no job of this name comes before it",
        };
        let line = job.origin.options.get("wait_for").copied();
        let problem = Problem::new(
            format!("`wait_for={name}`: {why}"),
            "name a job that is further up in the file",
        );
        let line = line.unwrap_or(job.origin.line);
        self.push(&job.origin.file.clone(), line, 0..0, "wait_for", problem);
    }

    /// The options from outside of the file.
    fn overrides(&self) -> Vec<Assignment> {
        let overrides = self.around.overrides().iter();
        overrides
            .map(|set| Assignment {
                key: set.key.clone(),
                value: set.value.clone(),
                file: Rc::from("the command line"),
                line: 0,
                span: 0..0,
            })
            .collect()
    }

    fn apply(&mut self, template: &mut Template, assignments: &[Assignment], is_global: bool) {
        let mut seen: BTreeMap<&str, &Assignment> = BTreeMap::new();
        for assignment in assignments {
            let name = main_name(&assignment.key);
            if let Some(first) = seen.insert(name, assignment) {
                let text = format!(
                    "`{}` is given in line {} and in line {}; as in fio, the last one counts",
                    assignment.key, first.line, assignment.line
                );
                template.job.origin.notices.push(text);
            }
            // As in fio, kb_base applies to the whole section, wherever it occurs.
            if name == "kb_base" {
                match assignment.value.as_deref() {
                    Some("1024") => template.base = SizeBase::Binary,
                    Some("1000") => template.base = SizeBase::Decimal,
                    _ => self.fault(
                        assignment,
                        Problem::new("`kb_base` is neither 1024 nor 1000", "write one of them"),
                    ),
                }
            }
        }
        for assignment in assignments {
            let name = main_name(&assignment.key);
            match self.set(template, name, assignment, is_global) {
                Ok(()) => {
                    template.places.insert(name.to_string(), assignment.clone());
                }
                Err(problem) => self.fault(assignment, problem),
            }
        }
    }

    fn set(
        &self,
        template: &mut Template,
        name: &str,
        assignment: &Assignment,
        is_global: bool,
    ) -> Result<(), Problem> {
        let text = assignment.value.as_deref();
        let text = text.map(|t| substitute(name, t, self.around)).transpose()?;
        if is_global && name == "name" {
            let text = "`name` in a global section has no effect, as in fio".to_string();
            template.job.origin.notices.push(text);
            return Ok(());
        }
        let value = Value {
            key: name,
            text: text.as_deref(),
            base: template.base,
        };
        let odd = text.as_deref().is_some_and(|t| value.has_odd_unit(t));
        option::set(&mut template.job, value, &assignment.key)?;
        if odd {
            template.job.origin.notices.push(format!(
                "`{name}={}`: as in fio, `iB` counts by 1000 while kb_base is 1024",
                text.unwrap_or_default()
            ));
        }
        Ok(())
    }

    /// Resolves options that exclude each other as fio does.
    fn settle(&self, template: &mut Template) {
        let job = &mut template.job;
        let mut notices = Vec::new();
        let engine = match &job.engine {
            Some(name) => Some(name.as_str()),
            None => self.around.is_fios().then_some(engine::DEFAULT),
        };
        if let Some(engine) = engine
            && engine::find(engine) == Some(Engine::Synchronous)
            && job.pacing.iodepth > 1
        {
            notices.push(format!(
                "job `{}`: the queue depth is 1 and not {}, as in fio, because the engine {engine} is synchronous{}; `ioengine=libaio` or `io_uring` gives the depth",
                job.name,
                job.pacing.iodepth,
                if job.engine.is_none() { " (fio's default)" } else { "" }
            ));
            job.pacing.iodepth = 1;
        }
        if self.around.is_fios() && job.direct.is_none() {
            notices.push(format!(
                "job `{}` has no `direct=`: fio would go through the page cache, here it is bypassed; write `direct=1` to mean the same in both",
                job.name
            ));
        }
        if job.pacing.time_based && job.pacing.runtime.is_none() {
            notices.push(format!(
                "job `{}`: `time_based` without `runtime` has no effect, as in fio",
                job.name
            ));
            job.pacing.time_based = false;
        }
        if job.files.count() > 1 {
            notices.push(format!(
                "job `{}`: its {} files are parts of the target, one after the other",
                job.name,
                job.files.count()
            ));
        }
        if job
            .strides
            .is_some_and(|zones| !zones.is_on && zones.size == 0)
        {
            let is_wanted = job
                .strides
                .is_some_and(|zones| zones.skip > 0 || zones.range.is_some());
            notices.extend(is_wanted.then(|| {
                format!(
                    "job `{}`: `zoneskip` and `zonerange` have no effect without `zonemode=strided`, as in fio",
                    job.name
                )
            }));
            job.strides = None;
        }
        if job.verify.comes_back() {
            job.pacing.serialize_overlap = true;
        }
        // As in fio, the time between pauses replaces the default of one operation.
        let default = u32::from(job.pacing.think_after.is_none());
        job.pacing.thinktime_blocks = job.think_blocks.unwrap_or(default);
        let depth = job.pacing.iodepth;
        job.pacing.batch = if job.batch == 0 { depth } else { job.batch }.min(depth);
        let low = if job.depth_low == 0 {
            depth
        } else {
            job.depth_low
        };
        let refill_at = low.min(depth.saturating_sub(job.complete_min));
        job.pacing.refill_at = (refill_at + 1 < depth).then_some(refill_at);
        job.origin.notices.extend(notices);
        let mut seen = BTreeSet::new();
        job.origin.notices.retain(|text| seen.insert(text.clone()));
    }

    fn check(&mut self, template: &Template, section: &Section) {
        for (key, problem) in check(&template.job) {
            match template.places.get(key) {
                Some(at) => self.push(&at.file, at.line, at.span.clone(), key, problem),
                None => self.push(
                    &section.file,
                    section.line,
                    section.span.clone(),
                    key,
                    problem,
                ),
            }
        }
    }

    fn fault(&mut self, at: &Assignment, problem: Problem) {
        self.push(&at.file, at.line, at.span.clone(), &at.key, problem);
    }

    fn push(&mut self, file: &str, line: usize, span: Range<usize>, key: &str, problem: Problem) {
        self.faults.push(Fault {
            file: file.to_string(),
            line,
            span,
            key: key.to_string(),
            message: problem.message,
            remedy: problem.remedy,
        });
    }
}
