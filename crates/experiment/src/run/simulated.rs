//! A simulated device as the target of a run, with contents if they are wanted.

use super::contents::{ContentTarget, Contents, ContentsError};
use super::level::Room;
use super::target::{RunTarget, TargetAbilities};
use super::{RunError, verify};
use crate::kept::{Kept, KeptError};
use crate::open::Simulated;
use crate::precondition::{Precondition, PreparationStep};
use nandscope_device::Device;
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target;
use nandscope_measure::verify::Verifier;
use nandscope_result::{Notice, TargetInfo};
use nandscope_workload::job::Job;
use std::collections::BTreeMap;
use std::sync::Arc;

/// See the module's text.
#[derive(Debug)]
pub struct SimulatedTarget {
    target: ContentTarget<SimTarget<Device>>,
    about: Simulated,
    verifier: Option<Arc<Verifier>>,
    /// The contents and their faults in words, for the result.
    contents: Option<String>,
}

impl SimulatedTarget {
    /// A device at its present time, without contents: what is written is not stored.
    pub fn new(about: Simulated, device: Device) -> Self {
        Self::over(about, device, None, None)
    }

    /// The same with contents, zeroes at first, that have these faults, written as commands of
    /// `nandscope ctl`.
    ///
    /// # Errors
    /// Returns [`ContentsError`] if a fault is invalid or makes no sense in a run.
    pub fn with_contents(
        about: Simulated,
        device: Device,
        faults: &[String],
        seed: u64,
    ) -> Result<Self, ContentsError> {
        let contents = Contents::new(device.capacity(), faults, seed)?;
        let described = match faults {
            [] => "stored".to_string(),
            faults => format!("stored, with faults: {}", faults.join("; ")),
        };
        Ok(Self::over(about, device, Some(contents), Some(described)))
    }

    fn over(
        about: Simulated,
        device: Device,
        contents: Option<Contents>,
        described: Option<String>,
    ) -> Self {
        SimulatedTarget {
            target: ContentTarget::new(SimTarget::new(device), contents),
            about,
            verifier: None,
            contents: described,
        }
    }

    /// Description of the device.
    pub fn about(&self) -> &Simulated {
        &self.about
    }

    /// The contents and their faults in words; `None` if nothing is stored.
    pub fn contents(&self) -> Option<&str> {
        self.contents.as_deref()
    }

    /// The device, at the present of its clock.
    pub fn device(&self) -> &Device {
        self.target.device().device()
    }

    /// Gives the device back, at the present of its clock.
    pub fn into_device(self) -> Device {
        self.target.into_device().into_device()
    }

    /// The device, to change between runs what takes no time. To send commands to it, take it with
    /// [`SimulatedTarget::into_device`] and make a new target of it afterwards.
    pub fn device_mut(&mut self) -> &mut Device {
        self.target.device_mut().device_mut()
    }

    /// The bytes of a file from which the device can be opened again as `sim:saved:FILE`. Contents are
    /// not in it.
    ///
    /// # Errors
    /// Returns [`KeptError`] if the device cannot be written out.
    pub fn save(&self) -> Result<Vec<u8>, KeptError> {
        Kept::write(&self.about, self.device())
    }
}

impl RunTarget for SimulatedTarget {
    type Target = ContentTarget<SimTarget<Device>>;

    fn target(&mut self) -> &mut Self::Target {
        &mut self.target
    }

    fn title(&self) -> String {
        self.about.device_source.profile.device.title.clone()
    }

    fn info(&self) -> TargetInfo {
        self.about.info(self.device())
    }

    fn abilities(&self) -> TargetAbilities {
        TargetAbilities {
            stores_contents: self.contents.is_some(),
            can_be_filled: true,
            has_page_cache: false,
        }
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let contents = self.contents.iter();
        contents
            .map(|text| ("contents".to_string(), text.clone()))
            .collect()
    }

    fn notices(&self) -> Vec<Notice> {
        let is_blank = self.contents.is_some() && self.about.state.is_some();
        let notice = || {
            Notice::warning(format!(
                "{}: a saved device has no contents, and what earlier runs wrote reads as zeros: jobs cannot verify it",
                self.about.name
            ))
        };
        is_blank.then(notice).into_iter().collect()
    }

    fn begin_group(&mut self, group: &[Job], seed: u64) {
        let data = verify::data_of_group(group, seed, self.target.capacity());
        self.verifier = data.verifier().cloned();
        self.target.write_from(data);
    }

    fn verifier(&self) -> Option<&Arc<Verifier>> {
        self.verifier.as_ref()
    }

    fn room(&mut self) -> Option<Room> {
        Room::of(self.device())
    }

    /// Takes no time of the device's clock.
    fn fill(
        &mut self,
        state: Precondition,
        seed: u64,
        step: &mut PreparationStep<'_>,
    ) -> Result<(), RunError> {
        Ok(state.apply_in_steps(self.device_mut(), seed, step)?)
    }
}
