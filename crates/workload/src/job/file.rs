//! A whole job file: from its text to jobs, with `[global]` sections merged in.
//! No file is opened here; the caller gives the text and a name for messages.

use super::check::check;
use super::error::{Fault, JobError, Problem};
use super::lines::{Assignment, Section, sections};
use super::model::Job;
use super::option::{self, main_name};
use super::value::Value;
use nandscope_units::{SizeBase, saturating_u32};
use std::collections::BTreeMap;
use std::ops::Range;

/// The jobs of a file in fio's grammar, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFile {
    /// The jobs; at least one.
    pub jobs: Vec<Job>,
}

impl JobFile {
    /// Reads the text of a job file; `file_name` is only used in messages.
    ///
    /// # Errors
    /// All faults of the file, each with line, option and remedy.
    pub fn parse(file_name: &str, text: &str) -> Result<JobFile, JobError> {
        let mut reader = Reader {
            file: file_name,
            faults: Vec::new(),
        };
        let sections = sections(file_name, text, &mut reader.faults);
        let jobs = reader.jobs(&sections);
        let mut faults = reader.faults;
        if jobs.is_empty() && faults.is_empty() {
            faults.push(Fault {
                file: file_name.to_string(),
                line: 0,
                span: 0..0,
                key: String::new(),
                message: "the file holds no job".to_string(),
                remedy: "add a section `[name]` with its options".to_string(),
            });
        }
        if faults.is_empty() {
            return Ok(JobFile { jobs });
        }
        faults.sort_by_key(|fault| fault.line);
        // A fault of `[global]` shows in every job that inherits it.
        faults.dedup();
        Err(JobError { faults })
    }

    /// The jobs that run at once, group after group: a job with `stonewall` begins a new one.
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

    /// The file as text again; reading it gives the same jobs.
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
    places: BTreeMap<String, (usize, Range<usize>)>,
}

struct Reader<'a> {
    file: &'a str,
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
        for section in sections {
            if section.name == "global" {
                self.apply(&mut global, section);
                continue;
            }
            let mut template = global.clone();
            template.job.name = section.name.clone();
            template.job.ordinal = saturating_u32(jobs.len() as u64);
            self.apply(&mut template, section);
            self.check(&template, section);
            let mut job = template.job;
            job.origin.file = self.file.to_string();
            job.origin.line = section.line;
            job.origin.options = template
                .places
                .into_iter()
                .map(|(key, (line, _))| (key, line))
                .collect();
            jobs.push(job);
        }
        jobs
    }

    fn apply(&mut self, template: &mut Template, section: &Section) {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut usable = Vec::new();
        for assignment in &section.assignments {
            let name = main_name(&assignment.key);
            match seen.insert(name, assignment.line) {
                None => usable.push((name, assignment)),
                Some(first) => self.fault(
                    assignment,
                    Problem::new(
                        format!("`{}` was given before in line {first}", assignment.key),
                        "keep one of them",
                    ),
                ),
            }
        }
        // As in fio, kb_base holds for the whole section, wherever it stands in it.
        for (name, assignment) in &usable {
            if *name == "kb_base" {
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
        let is_global = section.name == "global";
        for (name, assignment) in usable {
            match self.set(template, name, assignment, is_global) {
                Ok(()) => {
                    let place = (assignment.line, assignment.span.clone());
                    template.places.insert(name.to_string(), place);
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
        if is_global && name == "name" {
            return Err(Problem::new(
                "`name` in `[global]` would give all jobs one name",
                "move it to the job",
            ));
        }
        let text = assignment.value.as_deref();
        substitutions(name, text)?;
        let value = Value {
            key: name,
            text,
            base: template.base,
        };
        option::set(&mut template.job, value, &assignment.key)
    }

    fn check(&mut self, template: &Template, section: &Section) {
        for (key, problem) in check(&template.job) {
            let (line, span) = template
                .places
                .get(key)
                .cloned()
                .unwrap_or((section.line, section.span.clone()));
            self.push(line, span, key, problem);
        }
    }

    fn fault(&mut self, at: &Assignment, problem: Problem) {
        self.push(at.line, at.span.clone(), &at.key, problem);
    }

    fn push(&mut self, line: usize, span: Range<usize>, key: &str, problem: Problem) {
        self.faults.push(Fault {
            file: self.file.to_string(),
            line,
            span,
            key: key.to_string(),
            message: problem.message,
            remedy: problem.remedy,
        });
    }
}

/// fio would put in environment variables and facts about the host.
fn substitutions(name: &str, text: Option<&str>) -> Result<(), Problem> {
    let text = text.unwrap_or_default();
    if text.contains("${") {
        return Err(Problem::new(
            format!("`{name}={text}`: environment variables are not supported"),
            "write the value itself, so that the job means the same everywhere",
        ));
    }
    for keyword in ["$pagesize", "$mb_memory", "$ncpus"] {
        if text.contains(keyword) {
            return Err(Problem::new(
                format!("`{name}={text}`: `{keyword}` is not supported"),
                "write the number itself, so that the job means the same everywhere",
            ));
        }
    }
    Ok(())
}
