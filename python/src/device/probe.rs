//! What is inside a device, from times of operations alone: `Device.probe`.

use super::Device;
use crate::background::{self, Progress};
use crate::error::Failure;
use crate::result::RunResult;
use nandscope_infer::probe::{Options, probe, step};
use nandscope_infer::timed::ProbeError;
use nandscope_measure::sim::SimTarget;
use nandscope_result::{ResultDocument, procedure};
use nandscope_units::{Bytes, Nanos};
use pyo3::prelude::*;

#[pymethods]
impl Device {
    /// Infers what is inside from times of operations alone, as `nandscope probe` does, on a fork: the device stays as
    /// it is. `Result.conclusions` has the answers with their confidence and evidence.
    ///
    /// `time_s` is the device's time that may be spent, `write_bytes` the most that is written (by default 4 GB, above
    /// 36 GB of capacity 3 %). `progress` is that of `run`.
    #[pyo3(signature = (*, time_s=1200.0, write_bytes=None, read_only=false, seed=None, progress=None))]
    fn probe(
        &self,
        py: Python<'_>,
        time_s: f64,
        write_bytes: Option<u64>,
        read_only: bool,
        seed: Option<u64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RunResult> {
        const LONGEST_S: f64 = 1e9;
        if !(0.0..=LONGEST_S).contains(&time_s) {
            let text = format!("time_s is {time_s}; give a number from 0 to {LONGEST_S}");
            return Err(Failure::Input(text).into());
        }
        let (device, about) = (self.copy()?, self.about.clone());
        let seed = seed.unwrap_or(self.seed);
        let document = background::run_shown(py, "probe", progress, move |watch| {
            let info = about.info(&device);
            let options = Options {
                time: Nanos::from_secs_f64(time_s),
                read_only,
                seed,
                ..Options::for_capacity(device.capacity())
            };
            let options = Options {
                writes: write_bytes.map_or(options.writes, Bytes),
                ..options
            };
            let mut tell = |share: f64, at: Nanos| {
                watch.report(Progress {
                    fraction: Some(share),
                    operations: 0,
                    elapsed_s: at.as_secs_f64(),
                });
            };
            let target = SimTarget::new(device);
            let report = probe(target, &options, &|| watch.stops(), &mut tell);
            let report = report.map_err(|error| match error {
                ProbeError::Stopped => Failure::input("interrupted before the first answer"),
                ProbeError::Failed(why) => Failure::Input(why),
            })?;
            Ok(ResultDocument {
                complete: report.cut_short.is_none(),
                steps: vec![step(&report)],
                ..ResultDocument::begin(procedure::PROBE, info.model.clone(), seed, info)
            })
        })?;
        Ok(RunResult::new(document, None))
    }
}
