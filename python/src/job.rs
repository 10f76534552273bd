//! [`Job`]: what to do, in fio's grammar or as keywords.

use crate::error::{Failure, of_class};
use crate::values::{self, Notation};
use nandscope_experiment::jobs::{Jobs, JobsError, notices};
use nandscope_files::{FollowLinks, open_regular};
use nandscope_workload::job::Override;
use nandscope_workload::trace::Format;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Jobs in fio's grammar: the text of a job file, or one job from keywords.
///
/// `Job(rw="randread", bs="4k", iodepth=32, runtime=10)` takes fio's options as keywords, with
/// `ioengine="libaio"` and `direct=1` unless they are given. `Job("[a]\nrw=read\n…")` reads the text of a job
/// file as the command line reads the file; `Job.from_file` reads a file. Option `True` sets a flag, `False` is 0.
#[pyclass(frozen, module = "nandscope", name = "Job")]
#[derive(Clone, Debug)]
pub struct Job {
    jobs: Arc<Jobs>,
    title: String,
    /// The file, beside which includes and traces are looked for.
    place: String,
}

impl Job {
    /// The parsed file, shared with running work.
    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    /// The name for titles of results.
    pub fn title(&self) -> &str {
        &self.title
    }

    fn parse(title: &str, place: &str, text: String) -> Result<Self, Failure> {
        let jobs = Jobs::parse(place, text, &[]).map_err(failure)?;
        Ok(Job {
            jobs: Arc::new(jobs),
            title: title.to_string(),
            place: place.to_string(),
        })
    }

    /// Reads a job file; of a trace it makes the job that replays it.
    ///
    /// # Errors
    /// As the command line.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        if is_trace(path) {
            check_line("the name of the job", &name)?;
            let trace = path.display().to_string();
            check_line("the path of the trace", &trace)?;
            let text = format!(
                "[{name}]\n{}read_iolog={trace}\n",
                default_options(|_| true)
            );
            return Job::parse(&name, &name, text);
        }
        let jobs = Jobs::read(path, &[]).map_err(failure)?;
        Ok(Job {
            jobs: Arc::new(jobs),
            title: name,
            place: path.display().to_string(),
        })
    }
}

/// Whether the file begins like a trace of a known format; `false` if it cannot be read.
fn is_trace(path: &Path) -> bool {
    const HEAD: u64 = 4096;
    let mut head = Vec::new();
    let file = open_regular(path, FollowLinks::Yes);
    let read = file.map(|file| file.take(HEAD).read_to_end(&mut head));
    matches!(read, Ok(Ok(_))) && Format::detect(&head).is_some()
}

/// Lines with what jobs of this package have by default, unless they have something else.
fn default_options(is_open: impl Fn(&str) -> bool) -> String {
    let options = [("ioengine", "libaio"), ("direct", "1")].into_iter();
    let open = options.filter(|(key, _)| is_open(key));
    open.map(|(key, value)| format!("{key}={value}\n"))
        .collect()
}

#[pymethods]
impl Job {
    #[new]
    #[pyo3(signature = (text=None, *, name="job", **options: "Any"))]
    fn new(text: Option<&str>, name: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        match (text, options) {
            (Some(text), None) => Ok(Job::parse(name, name, text.to_string())?),
            (Some(_), Some(_)) => Err(Failure::input(
                "give either the text of a job file or options as keywords, not both",
            )
            .into()),
            (None, None) => Err(Failure::input(
                "a job needs options, such as Job(rw=\"randread\", bs=\"4k\", size=\"1g\"), or the text of a job file",
            )
            .into()),
            (None, Some(options)) => Ok(Job::parse(name, name, text_of(name, options)?)?),
        }
    }

    /// Reads a job file. Of a trace (fio's iolog, blkparse, MSR or Alibaba CSV, nstrace) it makes the job that replays it.
    #[staticmethod]
    fn from_file(path: PathBuf) -> PyResult<Self> {
        Ok(Job::read(&path)?)
    }

    /// The same jobs with options set on each of them.
    #[pyo3(signature = (**options: "Any"))]
    fn set(&self, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let overrides = overrides_of(options)?;
        let jobs = Jobs::parse(&self.place, self.jobs.text.clone(), &overrides).map_err(failure)?;
        Ok(Job::parse(&self.title, &self.place, jobs.file.to_fio())?)
    }

    /// Name in titles of results.
    #[getter]
    fn name(&self) -> &str {
        &self.title
    }

    /// The text from which the jobs were read.
    #[getter]
    fn text(&self) -> &str {
        &self.jobs.text
    }

    /// Names of the jobs, in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.jobs
            .file
            .jobs
            .iter()
            .map(|job| job.name.clone())
            .collect()
    }

    /// Notices on how options of the jobs were interpreted, such as defaults that differ from fio's.
    #[getter]
    fn notices(&self) -> Vec<String> {
        notices(&self.jobs.file).cloned().collect()
    }

    /// The jobs as they were understood, in fio's grammar.
    fn to_fio(&self) -> String {
        self.jobs.file.to_fio()
    }

    fn __eq__(&self, other: &Job) -> bool {
        self.title == other.title && self.jobs.file == other.jobs.file
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (&self.title, self.to_fio()).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!(
            "<nandscope.Job {}: {}>",
            self.title,
            self.names().join(", ")
        )
    }

    fn __str__(&self) -> &str {
        &self.jobs.text
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (String, String, String))> {
        let restore = slf.get_type().getattr("_restore")?;
        let job = slf.get();
        let (title, place) = (job.title.clone(), job.place.clone());
        Ok((restore, (title, place, job.jobs.text.clone())))
    }

    /// Name of the job file in messages; what the jobs include is looked for beside it.
    #[getter]
    fn place(&self) -> &str {
        &self.place
    }

    #[staticmethod]
    fn _restore(title: &str, place: &str, text: String) -> PyResult<Self> {
        Ok(Job::parse(title, place, text)?)
    }
}

fn failure(error: JobsError) -> Failure {
    of_class(error.class(), &error)
}

/// The job file with one job of these options.
fn text_of(name: &str, options: &Bound<'_, PyDict>) -> PyResult<String> {
    check_line("the name of the job", name)?;
    let is_open = |key: &str| !options.contains(key).unwrap_or(false);
    let mut text = format!("[{name}]\n{}", default_options(is_open));
    for (key, value) in options {
        let (key, value) = option_of(&key, &value)?;
        text.push_str(&format!("{key}={value}\n"));
    }
    Ok(text)
}

/// A line break would begin another option.
fn check_line(what: &str, text: &str) -> Result<(), Failure> {
    match text.contains(['\n', '\r', '\0']) || (what.starts_with("the name") && text.contains(']'))
    {
        true => Err(Failure::Input(format!(
            "{what}: {text:?} does not fit on a line of a job file"
        ))),
        false => Ok(()),
    }
}

/// fio's job files: flags are 0 and 1, and colons separate the parts of a value.
const FIO: Notation = Notation {
    flag: |flag| if flag { "1" } else { "0" }.to_string(),
    float: |number| format!("{number:?}"),
    text: str::to_string,
    list: |parts| parts.join(":"),
};

/// An option with its value, to be set on jobs.
///
/// # Errors
/// `PyErr` if the value has no form in a job file.
fn option_of(key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
    let key: String = key.extract()?;
    let value = values::text_of(&key, value, &FIO)?;
    check_line(&key, &value)?;
    Ok((key, value))
}

/// The options of a mapping, as they are set on every job.
///
/// # Errors
/// `PyErr` if a value has no form in a job file.
pub fn overrides_of(options: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Override>> {
    let options = options.into_iter().flatten().map(|(key, value)| {
        let (key, value) = option_of(&key, &value)?;
        Ok(Override {
            key,
            value: Some(value),
        })
    });
    options.collect()
}
