//! [`Result`]: a result document for Python.

mod plots;
pub mod tables;

pub use plots::{Plot, Plots};

use crate::error::Failure;
use crate::operations::Operations;
use crate::table::{Table, escaped};
use nandscope_report::{html, terminal};
use nandscope_result::{Operation, ResultDocument, WallClock, histogram, json};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of a run: what was asked, on what, with which seed, and what was measured.
///
/// It is the same document that the command line writes with `--result RESULT.json`.
#[pyclass(frozen, module = "nandscope", name = "Result")]
#[derive(Debug)]
pub struct RunResult {
    document: Arc<ResultDocument>,
    operations: Option<Arc<Operations>>,
}

impl RunResult {
    /// A document, with its single operations where they were kept.
    pub fn new(document: ResultDocument, operations: Option<Operations>) -> Self {
        RunResult {
            document: Arc::new(document),
            operations: operations.map(Arc::new),
        }
    }

    fn text(&self, wall: bool) -> std::result::Result<String, Failure> {
        let text = match wall {
            true => json::to_json(&self.document),
            false => {
                let mut document = (*self.document).clone();
                document.wall = WallClock::default();
                json::to_json(&document)
            }
        };
        text.map_err(Failure::internal)
    }
}

#[pymethods]
impl RunResult {
    /// One line for the title of a report.
    #[getter]
    fn title(&self) -> &str {
        &self.document.title
    }

    /// Seed of all random choices.
    #[getter]
    fn seed(&self) -> u64 {
        self.document.seed
    }

    /// True if every step ran to its end.
    #[getter]
    fn complete(&self) -> bool {
        self.document.complete
    }

    /// Name of the target, such as `sim:sm2708-250gb`.
    #[getter]
    fn target(&self) -> &str {
        &self.document.target.name
    }

    /// Ids of the steps, in order.
    #[getter]
    fn steps(&self) -> Vec<String> {
        self.document.steps.iter().map(|s| s.id.clone()).collect()
    }

    /// Notices on the conditions and errors of the run, each with its level: `warning: …`.
    #[getter]
    fn notices(&self) -> Vec<String> {
        let notices = self.document.notices.iter();
        notices
            .map(|n| format!("{}: {}", n.level, n.text))
            .collect()
    }

    /// Single numbers with their units.
    ///
    /// Columns: id, title, mode, value, unit, low, high (smallest and largest of the repeats).
    #[getter]
    fn figures(&self) -> Table {
        tables::figures(&self.document)
    }

    /// The value of one figure, in its unit.
    ///
    /// Raises `KeyError` if there is no figure of this id; `figures["id"]` lists them.
    fn figure(&self, id: &str) -> PyResult<f64> {
        let mut all = self.document.all_figures();
        all.find(|f| f.id == id).map(|f| f.value).ok_or_else(|| {
            PyKeyError::new_err(format!(
                "there is no figure `{id}`; figures[\"id\"] lists them"
            ))
        })
    }

    /// The series: values of each interval, such as bandwidth and temperature.
    ///
    /// Columns: step, name, unit, t_s (end of the interval on the target's clock, s), value.
    #[getter]
    fn series(&self) -> Table {
        tables::series(&self.document)
    }

    /// Each job and operation.
    ///
    /// Columns: step, job, operation, operations, bytes, runtime_s, mb_per_s, iops; latencies since the submission, min_us,
    /// mean_us, p50_us, p99_us, p99.9_us, p99.99_us, max_us; and since the scheduled start, due_mean_us, due_p99_us,
    /// due_p99.9_us, due_max_us.
    #[getter]
    fn jobs(&self) -> PyResult<Table> {
        Ok(tables::jobs(&self.document)?)
    }

    /// Differences of the device's counters over each step. Columns: step, name, value. The name has the unit
    /// (`folded_bytes`, `energy_j`); the other counters are numbers of events.
    #[getter]
    fn counters(&self) -> Table {
        tables::counters(&self.document)
    }

    /// Notable moments of the steps. Columns: step, kind, t_s, until_s, text.
    #[getter]
    fn events(&self) -> Table {
        tables::events(&self.document)
    }

    /// The answers of a procedure or a probe. Columns: step, id, question, answer, confidence (0 to 1), evidence.
    #[getter]
    fn conclusions(&self) -> Table {
        tables::conclusions(&self.document)
    }

    /// The single operations of a run with `operations=True`, in the order of their completions.
    ///
    /// Columns: submitted_ns, completed_ns (on the target's clock), offset_bytes, length_bytes, operation
    /// (0 read, 1 write, 2 trim, 3 flush), status (0 done, 1 failed, 2 unsupported).
    #[getter]
    fn operations(&self) -> PyResult<Table> {
        let kept = self.operations.as_ref().ok_or_else(|| {
            Failure::input("the operations of this run were not kept; use run(…, operations=True)")
        })?;
        Ok(kept.table())
    }

    /// A percentile of the latency over all jobs, in µs, from the histograms (3 digits).
    ///
    /// `percent` is 0 to 100; `operation` is `read`, `write`, `trim` or `flush`; `job` is a name.
    /// By default all operations of all jobs count. `None` without any operation.
    #[pyo3(signature = (percent, operation=None, job=None))]
    fn percentile(
        &self,
        percent: f64,
        operation: Option<&str>,
        job: Option<&str>,
    ) -> PyResult<Option<f64>> {
        if !(0.0..=100.0).contains(&percent) {
            let text = format!("percent is {percent}; give a number from 0 to 100");
            return Err(Failure::Input(text).into());
        }
        let mut all = histogram::empty();
        let jobs = self.document.steps.iter().flat_map(|s| &s.jobs);
        let directions = jobs
            .filter(|j| job.is_none_or(|name| j.name == name))
            .flat_map(|j| &j.directions)
            .filter(|d| match operation {
                Some(operation) => d.kind == Operation::from(operation),
                None => d.kind != Operation::Mixed,
            });
        for direction in directions {
            let one = histogram::decode(&direction.latency.histogram).map_err(Failure::input)?;
            all.add(&one).map_err(Failure::internal)?;
        }
        Ok((!all.is_empty()).then(|| all.value_at_percentile(percent) as f64 / 1e3))
    }

    /// The table `figures`, `series`, `jobs`, `counters`, `events`, `conclusions` or `operations` as a polars DataFrame.
    #[pyo3(signature = (table="series"))]
    fn to_polars<'py>(slf: &Bound<'py, Self>, table: &str) -> PyResult<Bound<'py, PyAny>> {
        slf.get().check_table(table)?;
        slf.getattr(table)?.call_method0("to_polars")
    }

    /// The same table as a pandas DataFrame.
    #[pyo3(signature = (table="series"))]
    fn to_pandas<'py>(slf: &Bound<'py, Self>, table: &str) -> PyResult<Bound<'py, PyAny>> {
        slf.get().check_table(table)?;
        slf.getattr(table)?.call_method0("to_pandas")
    }

    /// The plots of the report, of one step or of all.
    #[pyo3(signature = (step=None))]
    fn plot(&self, step: Option<&str>) -> PyResult<Plots> {
        if let Some(id) = step.filter(|id| self.document.steps.iter().all(|s| s.id != *id)) {
            let text = format!(
                "there is no step `{id}`; the result has {}",
                self.steps().join(", ")
            );
            return Err(PyKeyError::new_err(text));
        }
        Ok(Plots::of(&self.document, step)?)
    }

    /// The whole report as one self-contained HTML page.
    fn html(&self) -> PyResult<String> {
        Ok(html::render(&self.document).map_err(Failure::internal)?)
    }

    /// Writes the report (a page, plots, tables) and `result.json` into a folder; gives the paths.
    fn report(&self, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        let refused = |e: &dyn std::fmt::Display| Failure::File(e.to_string());
        let mut written =
            nandscope_report::write_all(&self.document, &folder).map_err(|e| refused(&e))?;
        let path = folder.join("result.json");
        json::write(&path, &self.document).map_err(|e| refused(&e))?;
        written.push(path);
        Ok(written)
    }

    /// Writes the document into a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        Ok(json::write(&path, &self.document).map_err(|e| Failure::File(e.to_string()))?)
    }

    /// Reads a document from a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        let document = json::read(&path).map_err(|e| match e {
            json::DocumentError::Io { .. } => Failure::File(e.to_string()),
            other => Failure::input(other),
        })?;
        Ok(RunResult::new(document, None))
    }

    /// Reads a document from its JSON text.
    #[classmethod]
    fn from_json(_class: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        let document = json::from_json(text, Path::new("the text")).map_err(Failure::input)?;
        Ok(RunResult::new(document, None))
    }

    /// The document as JSON: the same bytes that the command line writes. Without `wall` the date and duration of the
    /// run are left out, so that equal runs have equal bytes.
    #[pyo3(signature = (*, wall=true))]
    fn json(&self, wall: bool) -> PyResult<String> {
        Ok(self.text(wall)?)
    }

    /// The document as dictionaries and lists; docs/result.schema.json describes it.
    #[pyo3(signature = () -> "dict[str, Any]")]
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let loaded = py
            .import("json")?
            .call_method1("loads", (self.text(true)?,))?;
        Ok(loaded.cast_into::<PyDict>()?)
    }

    /// Pickled as its JSON text, without the single operations.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = slf.get_type().getattr("from_json")?;
        Ok((restore, (slf.get().text(true)?,)))
    }

    fn __eq__(&self, other: &RunResult) -> bool {
        self.document == other.document
    }

    fn __repr__(&self) -> String {
        format!(
            "<nandscope.Result: {}, seed {}>",
            self.document.title, self.document.seed
        )
    }

    fn __str__(&self) -> String {
        let options = terminal::Options {
            width: 80,
            ..terminal::Options::default()
        };
        terminal::summary(&self.document, &[], &options)
    }

    fn _repr_html_(&self) -> PyResult<String> {
        let mut page = format!("<h4>{}</h4>", escaped(&self.document.title));
        page.push_str(&tables::jobs(&self.document)?.html());
        for notice in self.notices() {
            page.push_str(&format!("<p>{}</p>", escaped(&notice)));
        }
        Ok(page)
    }
}

impl RunResult {
    fn check_table(&self, name: &str) -> std::result::Result<(), Failure> {
        const TABLES: [&str; 7] = [
            "figures",
            "series",
            "jobs",
            "counters",
            "events",
            "conclusions",
            "operations",
        ];
        match TABLES.contains(&name) {
            true => Ok(()),
            false => Err(Failure::Input(format!(
                "unknown table `{name}`; use {}",
                TABLES.join(", ")
            ))),
        }
    }
}
