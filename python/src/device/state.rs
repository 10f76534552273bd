//! Who may use a device when: one call at a time, whatever its thread. A second call is refused rather than made to
//! wait, because it could wait for itself.

use crate::error::Failure;
use nandscope_device::Device;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// The device and what belongs to its state.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The simulated device; `None` during a run, and after a run that ended with an internal error of nandscope.
    device: Option<Device>,
    /// Commands that were submitted one by one and have not completed.
    pub outstanding: u64,
    /// Tag of the next command without one.
    pub next_tag: u64,
    /// How the device was prepared, for the notices of the next result.
    pub prepared: Vec<String>,
}

impl Slot {
    /// A device at its present.
    pub fn new(device: Device) -> Self {
        Slot {
            device: Some(device),
            outstanding: 0,
            next_tag: 0,
            prepared: Vec::new(),
        }
    }

    /// A copy that shares the memory of the map with this one until either writes there.
    pub fn fork(&mut self) -> Self {
        if let Some(device) = &mut self.device {
            device.share();
        }
        self.clone()
    }

    /// The device.
    ///
    /// # Errors
    /// `Failure` if a fault of nandscope has lost it.
    pub fn device(&mut self) -> Result<&mut Device, Failure> {
        self.device.as_mut().ok_or_else(lost)
    }

    /// Takes the device out for a run.
    ///
    /// # Errors
    /// As [`Slot::device`].
    pub fn take(&mut self) -> Result<Device, Failure> {
        self.device.take().ok_or_else(lost)
    }

    /// Puts the device back.
    pub fn put(&mut self, device: Device) {
        self.device = Some(device);
    }

    /// Refuses what would mix with commands under way.
    ///
    /// # Errors
    /// `Failure` if there are any.
    pub fn refuse_outstanding(&self) -> Result<(), Failure> {
        match self.outstanding {
            0 => Ok(()),
            n => Err(Failure::Input(format!(
                "{n} submitted commands have not completed; call advance() until they have"
            ))),
        }
    }
}

fn lost() -> Failure {
    Failure::internal("an earlier call on this device failed inside; make a new device")
}

/// A slot that one call at a time may use.
#[derive(Debug)]
pub struct Shared(Mutex<Slot>);

/// The right to use a slot.
pub struct Turn<'a>(MutexGuard<'a, Slot>);

impl Shared {
    /// A free slot.
    pub fn new(slot: Slot) -> Self {
        Shared(Mutex::new(slot))
    }

    /// The right to use it.
    ///
    /// # Errors
    /// [`Failure::Busy`] if another call has it.
    pub fn take(&self) -> Result<Turn<'_>, Failure> {
        match self.0.try_lock() {
            Ok(slot) => Ok(Turn(slot)),
            Err(TryLockError::WouldBlock) => Err(Failure::Busy),
            // The call that failed has left no device, or one between two commands.
            Err(TryLockError::Poisoned(_)) => Err(lost()),
        }
    }
}

impl Deref for Turn<'_> {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        &self.0
    }
}

impl DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut Slot {
        &mut self.0
    }
}
