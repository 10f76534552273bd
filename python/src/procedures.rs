//! The laboratory's procedures as functions: whole reviews, inference, comparison with published measurements.

use crate::background::{self, Progress, Watch};
use crate::device::target_name;
use crate::error::{Failure, of_class};
use crate::overrides;
use crate::result::{RunResult, tables};
use crate::table::Table;
use nandscope_device::memory_estimate;
use nandscope_experiment::{device_source, host_source, memory};
use nandscope_result::ResultDocument;
use nandscope_suite::facts::{self, Comparison};
use nandscope_suite::spec::attachments;
use nandscope_suite::{Procedure, ReviewObserver, ReviewOptions, SimSpec, SuiteError, at_once};
use nandscope_units::Nanos;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Runs a whole procedure on a new simulated device, as `nandscope review` does, and gives its result.
///
/// `suite` is `card`, `ssd`, `ssd-peers`, `iometer`, `flashbench`, `flashbench-whole`, `speed-class`, `fill` or `plain`.
/// Without `host` and `modes` the device is attached in all ways that its profile names. `quick` takes a tenth of the data.
/// `progress` is that of `Device.run`.
#[pyfunction]
#[pyo3(signature = (
    profile, *, suite="card", host=None, seed=1, quick=false, modes=Vec::new(),
    overrides: "dict[str, Any] | None"=None, progress=None
))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn review(
    py: Python<'_>,
    profile: PathBuf,
    suite: &str,
    host: Option<PathBuf>,
    seed: u64,
    quick: bool,
    modes: Vec<String>,
    overrides: Option<&Bound<'_, PyDict>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    let procedure = Procedure::find(suite).map_err(of_suite)?;
    let overrides = overrides::of_mappings([overrides])?;
    let name = target_name(&profile);
    let source = device_source(name.trim_start_matches("sim:"));
    let source = source.map_err(|e| of_class(e.class(), &e))?;
    let source = overrides::apply(source, &overrides)?;
    let mut spec = SimSpec::new(&name, &source.text, source.profile).map_err(of_suite)?;
    if let Some(host) = host {
        let host = host_source(&host.to_string_lossy()).map_err(|e| of_class(e.class(), &e))?;
        let host = host.profile;
        spec.modes = attachments(&host.host.title, &host, &spec.profile);
    }
    let options = ReviewOptions {
        modes,
        seed,
        quick,
        earlier: None,
    };
    let document = background::run_shown(py, "review", progress, move |watch| {
        memory::check(&spec.name, &spec.profile).map_err(|e| Failure::File(e.to_string()))?;
        let mut observer = Watched { watch };
        procedure
            .run(&spec, &options, &mut observer, &|| watch.stops())
            .map_err(of_suite)
    })?;
    Ok(RunResult::new(document, None))
}

/// Compares simulated devices with published measurements, as `nandscope validate` does.
///
/// `devices` are names of the library; without them all that have published measurements, which takes minutes. Columns:
/// device, figure, unit, simulated, published, error_percent, met, predicted (no parameter was chosen by it), source.
/// `jobs` threads are used, by default one per processor, if their devices fit into memory.
#[pyfunction]
#[pyo3(signature = (devices=Vec::new(), *, jobs=None))]
pub fn validate(py: Python<'_>, devices: Vec<String>, jobs: Option<usize>) -> PyResult<Table> {
    let mut list = facts::validations().map_err(of_suite)?;
    if let Some(unknown) = devices
        .iter()
        .find(|d| list.iter().all(|v| v.device != **d))
    {
        let text = format!(
            "no published facts about `{unknown}`; docs/validation.md has the devices that have some"
        );
        return Err(Failure::Input(text).into());
    }
    list.retain(|v| devices.is_empty() || devices.contains(&v.device));
    let compared = background::run(py, None, move |watch| {
        let specs = list.iter().map(|validation| validation.spec());
        let specs: Vec<SimSpec> = specs.collect::<Result<_, _>>().map_err(of_suite)?;
        let largest = specs
            .iter()
            .map(|spec| memory_estimate(&spec.profile))
            .max();
        let threads = at_once::threads_within(
            at_once::threads(jobs),
            largest.unwrap_or_default(),
            memory::left(),
        );
        let stop = || watch.stops();
        let measure = |number: usize| list[number].measure(&specs[number], &stop);
        let measured = at_once::run(list.len(), threads, &stop, measure, |_| {});
        let named = list.iter().zip(measured.into_iter().flatten());
        let compared = named.map(|(validation, comparison)| {
            let comparison = comparison.map_err(of_suite)?;
            Ok((validation.device.clone(), comparison))
        });
        compared.collect::<Result<Vec<(String, Comparison)>, Failure>>()
    })?;
    Ok(tables::comparisons(&compared))
}

fn of_suite(error: SuiteError) -> Failure {
    match error {
        SuiteError::Facts(_) => Failure::internal(error),
        _ => Failure::input(error),
    }
}

struct Watched<'a> {
    watch: &'a Watch,
}

impl ReviewObserver for Watched<'_> {
    fn progress(&mut self, fraction: f64, _mode: &str, _step: &str, at: Nanos) {
        self.watch.report(Progress {
            fraction: Some(fraction),
            operations: 0,
            elapsed_s: at.as_secs_f64(),
        });
    }

    fn step_done(&mut self, _document: &ResultDocument) {}
}
