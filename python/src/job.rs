//! [`Job`]: what to do, in fio's grammar or as keywords.

use crate::error::{Failure, of_class};
use nandscope_experiment::jobs::{Jobs, JobsError, notices};
use nandscope_workload::job::Override;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::path::PathBuf;
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
}

impl Job {
    /// The jobs.
    pub fn jobs(&self) -> &Arc<Jobs> {
        &self.jobs
    }

    /// The name for titles of results.
    pub fn title(&self) -> &str {
        &self.title
    }

    fn parse(title: &str, text: String) -> Result<Self, Failure> {
        let jobs = Jobs::parse(title, text, &[]).map_err(failure)?;
        Ok(Job {
            jobs: Arc::new(jobs),
            title: title.to_string(),
        })
    }
}

impl Job {
    /// Reads a job file.
    ///
    /// # Errors
    /// As the command line.
    pub fn read(path: &std::path::Path) -> Result<Self, Failure> {
        let jobs = Jobs::read(path, &[]).map_err(failure)?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(Job {
            jobs: Arc::new(jobs),
            title: name.to_string_lossy().into_owned(),
        })
    }
}

#[pymethods]
impl Job {
    #[new]
    #[pyo3(signature = (text=None, *, name="job", **options: "Any"))]
    fn new(text: Option<&str>, name: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        match (text, options) {
            (Some(text), None) => Ok(Job::parse(name, text.to_string())?),
            (Some(_), Some(_)) => Err(Failure::input(
                "give either the text of a job file or options as keywords, not both",
            )
            .into()),
            (None, None) => Err(Failure::input(
                "a job needs options, such as Job(rw=\"randread\", bs=\"4k\", size=\"1g\"), or the text of a job file",
            )
            .into()),
            (None, Some(options)) => Ok(Job::parse(name, text_of(name, options)?)?),
        }
    }

    /// Reads a job file.
    #[staticmethod]
    fn from_file(path: PathBuf) -> PyResult<Self> {
        Ok(Job::read(&path)?)
    }

    /// The same jobs with options set on each of them.
    #[pyo3(signature = (**options: "Any"))]
    fn set(&self, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut overrides = Vec::new();
        for (key, value) in options.into_iter().flatten() {
            let key: String = key.extract()?;
            let value = option_text(&key, &value)?;
            check_line(&key, &value)?;
            overrides.push(Override {
                key,
                value: Some(value),
            });
        }
        let jobs = Jobs::parse(&self.title, self.jobs.text.clone(), &overrides).map_err(failure)?;
        Ok(Job::parse(&self.title, jobs.file.to_fio())?)
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

    /// What must be known of how the jobs were understood.
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

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String, String))> {
        let restore = slf.get_type().getattr("_restore")?;
        let job = slf.get();
        Ok((restore, (job.title.clone(), job.jobs.text.clone())))
    }

    #[staticmethod]
    fn _restore(title: &str, text: String) -> PyResult<Self> {
        Ok(Job::parse(title, text)?)
    }
}

fn failure(error: JobsError) -> Failure {
    of_class(error.class(), &error)
}

/// The job file with one job of these options.
fn text_of(name: &str, options: &Bound<'_, PyDict>) -> PyResult<String> {
    const DEFAULTS: [(&str, &str); 2] = [("ioengine", "libaio"), ("direct", "1")];
    check_line("the name of the job", name)?;
    let mut text = format!("[{name}]\n");
    for (key, value) in DEFAULTS {
        if !options.contains(key)? {
            text.push_str(&format!("{key}={value}\n"));
        }
    }
    for (key, value) in options {
        let key: String = key.extract()?;
        let value = option_text(&key, &value)?;
        check_line(&key, &value)?;
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

/// The value of an option: a text, a number or a bool, or several of them, which fio separates by colons.
fn option_text(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Some(text) = part_text(value)? {
        return Ok(text);
    }
    let parts = match (value.cast::<PyList>(), value.cast::<PyTuple>()) {
        (Ok(list), _) => list.iter().collect::<Vec<_>>(),
        (_, Ok(tuple)) => tuple.iter().collect(),
        _ => return Err(of_another_kind(key, value)),
    };
    let parts = parts
        .iter()
        .map(|part| part_text(part)?.ok_or_else(|| of_another_kind(key, part)));
    Ok(parts.collect::<PyResult<Vec<_>>>()?.join(":"))
}

fn part_text(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Some(if flag.is_true() { "1" } else { "0" }.to_string()));
    }
    let is_text = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>();
    is_text.then(|| Ok(value.str()?.to_string())).transpose()
}

fn of_another_kind(key: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name();
    let kind = kind.map_or_else(
        |_| "value of an unknown type".to_string(),
        |k| k.to_string(),
    );
    PyTypeError::new_err(format!(
        "option `{key}` is a {kind}; give a text, a number, a bool or a list of them"
    ))
}
