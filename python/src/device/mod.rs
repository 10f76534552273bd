//! [`Device`]: a simulated device. Its methods are in files by what they do: [`state`] says who may use it when,
//! [`commands`] drives it command by command, [`run`] runs jobs on it, [`probe`] infers its inside, [`verify`] checks what it keeps, [`properties`] says what it is.

mod commands;
mod probe;
mod properties;
mod run;
pub mod state;
mod verify;

pub use commands::Completion;

use crate::background;
use crate::error::{Failure, of_class};
use crate::overrides;
use nandscope_device::{Afterwards, FillError, break_if};
use nandscope_experiment::{Kept, OpenOptions, Precondition, PreconditionError, Simulated, open};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use state::{Shared, Slot};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Notice in the results of a device whose preparation was interrupted.
const INTERRUPTED: &str =
    "before the run the device was filled in part: its preparation was interrupted";

/// A simulated device in virtual time.
///
/// `profile` is a name of the library (`sm2708-250gb`), a profile file (`./card.toml`) or a saved device
/// (`saved:FILE`); `host` a name of the library or a file, `direct` by default. `overrides` replaces values of
/// the profile by dotted keys, as in `{"ftl.over_provisioning": 0.28}`; they may be keywords too:
/// `Device("reference-nvme-64gb", **{"controller.cores": 2})`. Every random choice follows from `seed`.
///
/// The device keeps its state from call to call; `fork()` gives a copy. One call at a time uses it:
/// a second one raises `BusyError`.
#[pyclass(frozen, module = "nandscope", name = "Device")]
#[derive(Debug)]
pub struct Device {
    about: Simulated,
    seed: u64,
    shared: Arc<Shared>,
}

impl Device {
    /// A device of these profiles, with its state.
    pub fn new_of(about: Simulated, seed: u64, slot: Slot) -> Self {
        Device {
            about,
            seed,
            shared: Arc::new(Shared::new(slot)),
        }
    }

    /// A copy of the device, without commands under way.
    ///
    /// # Errors
    /// `Failure` if another call uses it, or commands have not completed.
    pub fn copy(&self) -> Result<nandscope_device::Device, Failure> {
        let mut slot = self.shared.take()?;
        slot.refuse_outstanding()?;
        Ok(slot.device()?.clone())
    }

    /// The device itself; nothing is left here.
    ///
    /// # Errors
    /// As [`Device::copy`].
    pub fn take(&self) -> Result<nandscope_device::Device, Failure> {
        let mut slot = self.shared.take()?;
        slot.refuse_outstanding()?;
        slot.take()
    }

    /// Works on the device beside the interpreter.
    fn work<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Slot) -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let shared = self.shared.clone();
        background::run(py, None, move |_| work(&mut *shared.take()?))
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (profile, host=None, seed=1, *, overrides: "dict[str, Any] | None"=None, **keywords: "Any"))]
    fn new(
        py: Python<'_>,
        profile: PathBuf,
        host: Option<PathBuf>,
        seed: u64,
        overrides: Option<&Bound<'_, PyDict>>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = OpenOptions {
            host: host.map(|host| host.to_string_lossy().into_owned()),
            seed,
            overrides: overrides::of_mappings([overrides, keywords])?,
        };
        let name = target_name(&profile);
        let (about, device) = background::run(py, None, move |_| {
            open(&name, &options).map_err(|e| of_class(e.class(), &e))
        })?;
        Ok(Device::new_of(about, seed, Slot::new(device)))
    }

    /// Brings the device into a state without advancing its clock: filled, `sequential`, `sequential:80`, `random`,
    /// `random:80` (percent of the capacity); filled and then overwritten at random, `overwritten:2` (times the
    /// capacity); or until write amplification is level, `steady`. The seed is that of the device unless another is given.
    ///
    /// `progress` is called as in `run`, with the fraction of the present part (filling, then overwriting) and the units
    /// written in it. Ctrl-C, or an exception in `progress`, leaves the device filled in part.
    #[pyo3(signature = (state="sequential", *, seed=None, progress=None))]
    fn precondition(
        &self,
        py: Python<'_>,
        state: &str,
        seed: Option<u64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let state: Precondition = state.parse().map_err(Failure::input)?;
        let seed = seed.unwrap_or(self.seed);
        let shared = self.shared.clone();
        background::run_shown(py, "precondition", progress, move |watch| {
            let mut slot = shared.take()?;
            slot.refuse_outstanding()?;
            let device = slot.device()?;
            let unit = device.overwrite_unit().0.max(1);
            let done = state.apply_in_steps(device, seed, &mut |now| {
                watch.report(background::Progress {
                    fraction: Some(now.fraction()),
                    operations: now.written.0 / unit,
                    elapsed_s: 0.0,
                });
                break_if(watch.stops())
            });
            if done == Err(PreconditionError::Stopped) {
                slot.prepared.push(INTERRUPTED.to_string());
            }
            done.map_err(Failure::input)?;
            if let Some(text) = state.describe() {
                slot.prepared
                    .push(format!("before the run the device was {text}"));
            }
            Ok(())
        })
    }

    /// Overwrites random units without advancing the clock: `times` the capacity, in units of the map.
    /// Several times the capacity give the steady state of random writes.
    #[pyo3(signature = (times, *, seed=None))]
    fn overwrite_randomly(&self, py: Python<'_>, times: f64, seed: Option<u64>) -> PyResult<()> {
        const MOST: f64 = 1000.0;
        if !(0.0..=MOST).contains(&times) {
            let text = format!("times is {times}; give a number from 0 to {MOST}");
            return Err(Failure::Input(text).into());
        }
        let seed = seed.unwrap_or(self.seed);
        let shared = self.shared.clone();
        background::run(py, None, move |watch| {
            let mut slot = shared.take()?;
            slot.refuse_outstanding()?;
            let device = slot.device()?;
            let unit = device.overwrite_unit().0 as f64;
            let count = (times * device.capacity().0 as f64 / unit) as u64;
            let step = &mut |_| break_if(watch.stops());
            let (done, text) = match device.overwrite(count, seed, Afterwards::Idle, step) {
                Err(FillError::Stopped) => (Err(FillError::Stopped), INTERRUPTED.to_string()),
                done => (
                    done,
                    format!("before the run {count} random units of the device were overwritten"),
                ),
            };
            slot.prepared.push(text);
            done.map(drop).map_err(Failure::internal)
        })
    }

    /// A copy of the device in its present state. Both go on independently, also in different threads. A copy takes
    /// microseconds, and memory only for what either writes to afterwards.
    fn fork(&self, py: Python<'_>) -> PyResult<Device> {
        let slot = self.work(py, |slot| Ok(slot.fork()))?;
        Ok(Device::new_of(self.about.clone(), self.seed, slot))
    }

    /// The device as bytes: what `nandscope run --save FILE` writes, to be opened as `saved:FILE` or by
    /// `Device.restore`.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let about = self.about.clone();
        let bytes = self.work(py, move |slot| {
            slot.refuse_outstanding()?;
            Kept::write(&about, slot.device()?).map_err(Failure::internal)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The device that `snapshot` wrote; results call it `name`.
    #[classmethod]
    #[pyo3(signature = (snapshot, *, name="sim:saved", seed=1))]
    fn restore(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        snapshot: &[u8],
        name: &str,
        seed: u64,
    ) -> PyResult<Self> {
        let (name, snapshot) = (name.to_string(), snapshot.to_vec());
        let (about, device) = background::run(py, None, move |_| {
            let (kept, snapshot) = Kept::open(&snapshot).map_err(Failure::input)?;
            let about = properties::of_kept(kept, name)?;
            let device = nandscope_device::Device::load(snapshot).map_err(Failure::input)?;
            Ok((about, device))
        })?;
        Ok(Device::new_of(about, seed, Slot::new(device)))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let device = slf.get();
        let state = device.snapshot(slf.py())?;
        let prepared = device.shared.take()?.prepared.clone();
        let restore = slf.get_type().getattr("_restore")?;
        let arguments = (state, device.about.name.clone(), device.seed, prepared);
        Ok((restore, arguments).into_pyobject(slf.py())?.into_any())
    }

    #[classmethod]
    fn _restore(
        class: &Bound<'_, PyType>,
        py: Python<'_>,
        snapshot: &[u8],
        name: &str,
        seed: u64,
        prepared: Vec<String>,
    ) -> PyResult<Self> {
        let device = Device::restore(class, py, snapshot, name, seed)?;
        device.shared.take()?.prepared = prepared;
        Ok(device)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Device> {
        self.fork(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Device> {
        let _ = memo;
        self.fork(py)
    }

    fn __repr__(&self) -> String {
        let host = &self.about.host_source.profile.host.name;
        format!(
            "<nandscope.Device {} on {host}, seed {}>",
            self.about.name, self.seed
        )
    }
}

/// The name of a target: `sim:` may be left out.
pub fn target_name(profile: &Path) -> String {
    let name = profile.to_string_lossy();
    match name.starts_with("sim:") {
        true => name.into_owned(),
        false => format!("sim:{name}"),
    }
}
