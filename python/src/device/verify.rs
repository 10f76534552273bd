//! Whether a device keeps what it claims to keep: `Device.verify`.

use super::Device;
use crate::background::{self, Progress};
use crate::error::Failure;
use crate::result::RunResult;
use nandscope_experiment::SimulatedMedium;
use nandscope_infer::authenticity::{
    Finding, Options, Salt, UndoJournal, VerifyError, step, summary, verify,
};
use nandscope_result::{ResultDocument, procedure};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

#[pymethods]
impl Device {
    /// Checks whether the device keeps what is written to it, as `nandscope verify` does, on a fork with blank contents:
    /// the device stays as it is. `Result.conclusions` has the verdict (genuine, fake, failing, suspicious) with its
    /// evidence, `Result.figures` the real capacity.
    ///
    /// `faults` are commands of `nandscope ctl` about contents, such as `"fake 4GiB wrap"`. `budget` is the most blocks
    /// that are written, `cache` the size in blocks of the largest cache that is certain to be detected, `repeats` how
    /// often all stamps are read once more. `progress` is that of `run`.
    #[pyo3(signature = (
        *, faults=Vec::new(), budget=None, cache=None, repeats=None, seed=None, progress=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn verify(
        &self,
        py: Python<'_>,
        faults: Vec<String>,
        budget: Option<u32>,
        cache: Option<u64>,
        repeats: Option<u32>,
        seed: Option<u64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RunResult> {
        let (device, about) = (self.copy()?, self.about.clone());
        let seed = seed.unwrap_or(self.seed);
        let defaults = Options::default();
        let options = Options {
            budget: budget.unwrap_or(defaults.budget),
            cache: cache.unwrap_or(defaults.cache),
            repeats: repeats.unwrap_or(defaults.repeats),
            leave: false,
        };
        let document = background::run_shown(py, "verify", progress, move |watch| {
            let info = about.info(&device);
            let mut medium = SimulatedMedium::new(device);
            for fault in &faults {
                let injected = medium.inject(fault);
                injected.map_err(|why| Failure::Input(format!("fault `{fault}`: {why}")))?;
            }
            let finding = examine(
                &mut medium,
                &options,
                seed,
                &|| watch.stops(),
                &mut |share| {
                    watch.report(Progress {
                        fraction: Some(share),
                        operations: 0,
                        elapsed_s: 0.0,
                    });
                },
            )?;
            Ok(ResultDocument {
                steps: vec![step(&finding, &summary(&finding, &[]))],
                ..ResultDocument::begin(procedure::VERIFY, info.model.clone(), seed, info)
            })
        })?;
        Ok(RunResult::new(document, None))
    }
}

/// The contents of a simulated device are in memory only, so its journal is a temporary file that nobody needs
/// afterwards.
fn examine(
    medium: &mut SimulatedMedium,
    options: &Options,
    seed: u64,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(f64),
) -> Result<Finding, Failure> {
    let file = TemporaryFile::new();
    let mut salt = [0x6e; 16];
    salt[8..].copy_from_slice(&seed.to_le_bytes());
    let journaled = medium.journaled("simulated".to_string());
    let journal = UndoJournal::create(&file.0, journaled, Salt(salt));
    let mut journal = journal.map_err(|e| Failure::File(format!("the journal: {e}")))?;
    let mut tell = |_, share, _| progress(share);
    verify(medium, &mut journal, options, stop, &mut tell).map_err(|error| match error {
        VerifyError::Journal(_) => Failure::File(error.to_string()),
        error => Failure::Input(error.to_string()),
    })
}

/// The name of a file that is removed at the end.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("nandscope-verify-{}-{number}.journal", std::process::id());
        TemporaryFile(std::env::temp_dir().join(name))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // It is gone already if everything was put back.
        let _ = std::fs::remove_file(&self.0);
    }
}
