//! Points of sweeps for `nandscope.sweeping`: made and checked, run one by one or on the pool of threads, kept in the
//! store of the command line. A point has the same key, and its result the same bytes, as in `nandscope sweep`.

use crate::background::{self, Progress, Watch};
use crate::device::state::Slot;
use crate::device::{Device, target_name};
use crate::error::{Failure, of_class};
use crate::job::overrides_of;
use crate::overrides;
use nandscope_device::break_if;
use nandscope_experiment::memory;
use nandscope_experiment::run::RunOptions;
use nandscope_result::{ResultDocument, json};
use nandscope_suite::at_once;
use nandscope_sweep::table::Outcome;
use nandscope_sweep::{
    Found, Keep, Metric, Parts, Point, PointError, PointMaker as Maker, Range, RowFiles, Sampling,
    Store, StoreError, pool,
};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Result of a point: its metrics, the reason if it ended early, and its result document.
type Measured = (Vec<Option<f64>>, Option<String>, String);

/// Makes the points of a sweep; what several of them share is read and checked once.
#[pyclass(frozen, module = "nandscope._native", name = "PointMaker")]
#[derive(Debug)]
pub struct PointMaker(Mutex<Maker>);

#[pymethods]
impl PointMaker {
    #[new]
    fn new() -> Self {
        PointMaker(Mutex::new(Maker::default()))
    }

    /// A point. Raises `Error` if the device, the job or a metric is impossible.
    #[pyo3(signature = (
        profile, host, overrides: "dict[str, Any]", precondition, job_name, job_file, job_text,
        job_options: "dict[str, Any]", seed, metrics
    ))]
    #[allow(clippy::too_many_arguments, reason = "what describes a point")]
    fn point(
        &self,
        profile: PathBuf,
        host: Option<String>,
        overrides: &Bound<'_, PyDict>,
        precondition: &str,
        job_name: &str,
        job_file: &str,
        job_text: &str,
        job_options: &Bound<'_, PyDict>,
        seed: u64,
        metrics: Vec<String>,
    ) -> PyResult<SweepPoint> {
        let parts = Parts {
            target: target_name(&profile),
            host,
            overrides: overrides::of_mappings([Some(overrides)])?,
            job_file: job_file.to_string(),
            job_text: job_text.to_string(),
            job_options: overrides_of(Some(job_options))?,
            options: RunOptions {
                seed,
                precondition: precondition.parse().map_err(Failure::input)?,
                ..RunOptions::new(job_name)
            },
        };
        let mut maker = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let point = maker.point(parts).map_err(of_point)?;
        let metrics = metrics
            .iter()
            .map(|name| Metric::read(name, &point.jobs.file));
        let metrics = metrics.collect::<Result<_, _>>().map_err(Failure::input)?;
        Ok(SweepPoint { point, metrics })
    }

    /// Bytes of memory that the largest device needs.
    #[getter]
    fn device_memory(&self) -> u64 {
        let maker = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        maker.device_memory().0
    }
}

/// A point of a sweep, ready to be run.
#[pyclass(frozen, module = "nandscope._native", name = "SweepPoint")]
#[derive(Clone, Debug)]
pub struct SweepPoint {
    point: Point,
    metrics: Vec<Metric>,
}

#[pymethods]
impl SweepPoint {
    /// Hash of everything that the result depends on.
    #[getter]
    fn key(&self) -> &str {
        &self.point.key
    }

    /// The same of the device before the run.
    #[getter]
    fn device_key(&self) -> &str {
        &self.point.device_key
    }

    /// The device in its state before the run.
    fn condition(&self, py: Python<'_>) -> PyResult<Device> {
        let point = self.point.clone();
        let device = background::run(py, None, move |watch| {
            point
                .condition(&mut |_| break_if(watch.stops()))
                .map_err(of_point)
        })?;
        let about = (*self.point.about).clone();
        Ok(Device::new_of(about, self.point.seed(), Slot::new(device)))
    }

    /// Runs the jobs on a fork of the device from `condition`, which is used up: metrics, failure, result document.
    #[pyo3(signature = (device, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        device: &Device,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Measured> {
        let own = self.clone();
        let device = device.take()?;
        background::run(py, progress, move |watch| {
            let stop = || watch.stops();
            let document = own.point.run_on(device, &mut (), &stop);
            match document.map_err(of_point)? {
                Some(document) => measured(&document, &own.metrics),
                None => Err(Failure::input("interrupted")),
            }
        })
    }
}

/// The store of a sweep in a folder, that of `nandscope sweep -o`.
#[pyclass(frozen, module = "nandscope._native", name = "PointStore")]
#[derive(Debug)]
pub struct PointStore(Store);

#[pymethods]
impl PointStore {
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        Ok(PointStore(Store::open(&folder).map_err(of_store)?))
    }

    /// Result of a finished point; `None` if it is not finished, and, with a warning, if its file is damaged.
    fn find(&self, py: Python<'_>, point: &SweepPoint) -> PyResult<Option<Measured>> {
        match self.0.find(&point.point) {
            Found::Whole(document) => Ok(Some(measured(&document, &point.metrics)?)),
            Found::Nothing => Ok(None),
            Found::Damaged(why) => {
                let text = format!("{why}; the point is run again").replace('\0', "");
                // Without a zero byte it is a C string.
                let text = std::ffi::CString::new(text).unwrap_or_default();
                PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
                Ok(None)
            }
        }
    }

    /// Keeps the result document of a point.
    fn keep(&self, point: &SweepPoint, document: &str) -> PyResult<()> {
        let document = json::from_json(document, Path::new("the result of a point"))
            .map_err(Failure::input)?;
        Ok(self.0.keep(&point.point, &document).map_err(of_store)?)
    }
}

/// The table of the points of a sweep as Parquet, in the files of `nandscope sweep -o`.
#[pyclass(frozen, module = "nandscope._native", name = "PointRows")]
#[derive(Debug)]
pub struct PointRows(RowFiles);

#[pymethods]
impl PointRows {
    /// Files in the folder of a sweep: the names of its parameters, and the values of each point as texts.
    #[new]
    fn new(folder: PathBuf, parameters: Vec<String>, points: Vec<Vec<String>>) -> Self {
        let points: Vec<&[String]> = points.iter().map(Vec::as_slice).collect();
        PointRows(RowFiles::new(&folder, &parameters, &points))
    }

    /// Writes the rows of the points with one result, unless they are there: the values of each, and its metrics.
    fn write(
        &self,
        point: &SweepPoint,
        values: Vec<Vec<String>>,
        metrics: Vec<Option<f64>>,
        complete: bool,
    ) -> PyResult<()> {
        let values: Vec<&[String]> = values.iter().map(Vec::as_slice).collect();
        let names = point.metrics.iter().map(|metric| metric.name.as_str());
        let metrics: Vec<_> = names.zip(metrics).collect();
        let written = self.0.write(&point.point, &values, &metrics, complete);
        Ok(written.map_err(|error| Failure::File(error.to_string()))?)
    }
}

/// The points of a sample, `random:N` or `lhs:N`, as `nandscope sweep --sample` draws them: for each a number per axis. An
/// axis is a range (low, high, logarithmic), whose number is within it, or `None`, whose number is a share from 0 to
/// below 1.
#[pyfunction]
pub fn sample(
    how: &str,
    axes: Vec<Option<(f64, f64, bool)>>,
    seed: u64,
) -> PyResult<Vec<Vec<f64>>> {
    let sampling: Sampling = how.parse().map_err(Failure::input)?;
    let ranges = axes.iter().map(|axis| match axis {
        None => Ok(None),
        Some((low, high, is_log)) => match Range::new(*low, *high, *is_log) {
            Some(range) => Ok(Some(range)),
            None => Err(Failure::Input(format!("{low} to {high} is not a range"))),
        },
    });
    let ranges: Vec<Option<Range>> = ranges.collect::<Result<_, _>>()?;
    let number = |(range, share): (&Option<Range>, f64)| match range {
        Some(range) => range.at(share),
        None => share,
    };
    let points = sampling.shares(ranges.len(), seed).into_iter();
    Ok(points
        .map(|shares| ranges.iter().zip(shares).map(number).collect())
        .collect())
}

/// Runs points of one maker on the pool of threads, `jobs` of them or one per processor, and keeps each in the store as
/// soon as it is done. `progress` is called as `progress(fraction, done, 0.0)`.
#[pyfunction]
#[pyo3(signature = (points, device_memory, *, jobs=None, store=None, progress=None))]
pub fn run_points(
    py: Python<'_>,
    points: Vec<Py<SweepPoint>>,
    device_memory: u64,
    jobs: Option<usize>,
    store: Option<&PointStore>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Measured>> {
    let own: Vec<SweepPoint> = points.iter().map(|point| point.get().clone()).collect();
    let kept = Gathered {
        store: store.map(|store| store.0.clone()),
        documents: Mutex::default(),
    };
    let device = nandscope_units::Bytes(device_memory);
    let threads = at_once::threads_within(at_once::threads(jobs), device, memory::left());
    background::run(py, progress, move |watch| {
        let points: Vec<Point> = own.iter().map(|own| own.point.clone()).collect();
        run_all(&points, &kept, threads, watch)?;
        let documents = kept.documents.into_inner();
        let mut documents = documents.unwrap_or_else(PoisonError::into_inner);
        let all = own.iter().map(|own| {
            let document = documents.remove(&own.point.key);
            let document = document.ok_or_else(|| Failure::input("interrupted"))?;
            measured(&document, &own.metrics)
        });
        all.collect()
    })
}

fn run_all(
    points: &[Point],
    kept: &Gathered,
    threads: usize,
    watch: &Watch,
) -> Result<(), Failure> {
    let mut tell = |now: pool::SweepProgress| {
        watch.report(Progress {
            fraction: Some(now.share),
            operations: now.done as u64,
            elapsed_s: 0.0,
        });
    };
    let stop = || watch.stops();
    let ran = pool::run(points, &[], kept, threads, &stop, &mut tell);
    ran.map(|_| ())
        .map_err(|error| of_class(error.class(), &error))
}

/// The documents of finished points, which are kept in a store, too, if there is one.
struct Gathered {
    store: Option<Store>,
    documents: Mutex<BTreeMap<String, ResultDocument>>,
}

impl Keep for Gathered {
    /// Finds nothing: the caller has looked for finished points before.
    fn find(&self, _: &Point) -> Found {
        Found::Nothing
    }

    fn keep(&self, point: &Point, document: &ResultDocument) -> Result<(), StoreError> {
        if let Some(store) = &self.store {
            store.keep(point, document)?;
        }
        let mut documents = self
            .documents
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        documents.insert(point.key.clone(), document.clone());
        Ok(())
    }
}

fn measured(document: &ResultDocument, metrics: &[Metric]) -> Result<Measured, Failure> {
    let outcome = Outcome::of(document, metrics);
    let text = json::to_json(document).map_err(Failure::internal)?;
    Ok((outcome.metrics, outcome.failure, text))
}

fn of_point(error: PointError) -> Failure {
    of_class(error.class(), &error)
}

fn of_store(error: StoreError) -> Failure {
    Failure::File(error.to_string())
}
