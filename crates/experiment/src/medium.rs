//! A simulated device with contents as a medium of verification: the device says how long everything takes, the store
//! keeps the bytes. It is as genuine as its profile, and as the faults that are injected.

use nandscope_blockio::fault::{FaultCommand, Faults, InvalidCommand, NotFake};
use nandscope_blockio::store::Store;
use nandscope_device::Device;
use nandscope_infer::authenticity::{JournaledDevice, Medium, MediumError};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::{Outcome, Reply, Request, Target as _};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use thiserror::Error;

const BLOCK: usize = 512;
/// Longer operations are cut into requests of this size, as the kernel of a real host does.
const REQUEST: u64 = 512 << 10;

/// A fault that a verification cannot have.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MediumFaultError {
    /// The text is not a fault command.
    #[error(transparent)]
    Command(#[from] InvalidCommand),
    /// The fault does not concern the contents.
    #[error(
        "`verify` injects fake, unreadable, read-errors, read-only, corrupt and tamper only; use `nandscope serve`"
    )]
    Elsewhere,
    /// The fake card would not hold less than the device.
    #[error(transparent)]
    NotFake(#[from] NotFake),
}

/// See the module's text.
pub struct SimulatedMedium {
    target: SimTarget,
    store: Store,
    faults: Faults,
    replies: Vec<Reply>,
}

impl SimulatedMedium {
    /// The device with blank contents.
    pub fn new(device: Device) -> Self {
        SimulatedMedium {
            store: Store::memory(device.capacity()),
            faults: Faults::new(1),
            target: SimTarget::new(device),
            replies: Vec::new(),
        }
    }

    /// Injects a fault, written as a command of `nandscope ctl`.
    ///
    /// # Errors
    /// Returns [`MediumFaultError`] if it is invalid or not about contents.
    pub fn inject(&mut self, command: &str) -> Result<(), MediumFaultError> {
        let command: FaultCommand = command.parse()?;
        let about_contents = matches!(
            command,
            FaultCommand::Unreadable(_)
                | FaultCommand::ReadErrors(_)
                | FaultCommand::ReadOnly(_)
                | FaultCommand::Fake(_)
                | FaultCommand::Corrupt(_)
                | FaultCommand::Tamper(_)
        );
        if !about_contents {
            return Err(MediumFaultError::Elsewhere);
        }
        self.faults.apply(command, &mut self.store)?;
        Ok(())
    }

    /// Description of the device for a journal, under this name.
    pub fn journaled(&self, identity: String) -> JournaledDevice {
        JournaledDevice {
            identity,
            blocks: self.blocks(),
            block_bytes: BLOCK,
        }
    }
}

impl SimulatedMedium {
    fn operate(&mut self, kind: OpKind, offset: u64, length: u64) -> Result<(), MediumError> {
        let gone = |e: nandscope_measure::target::TargetError| MediumError::Gone(e.to_string());
        let mut at = 0;
        loop {
            let piece = REQUEST.min(length - at);
            let request = Request {
                tag: 0,
                kind,
                offset: Bytes(offset + at),
                // At most one request, which fits.
                length: u32::try_from(piece).unwrap_or(u32::MAX),
                durable: false,
                thread: 0,
            };
            self.target.submit(request).map_err(gone)?;
            self.replies.clear();
            self.target
                .wait(Nanos::MAX, &mut self.replies)
                .map_err(gone)?;
            for reply in &self.replies {
                if let Outcome::Failed(why) = reply.outcome {
                    return Err(MediumError::Failed(why.to_string()));
                }
            }
            at += piece;
            if at >= length {
                return Ok(());
            }
        }
    }
}

impl Medium for SimulatedMedium {
    fn blocks(&self) -> u64 {
        self.target.capacity().0 / BLOCK as u64
    }

    fn block_bytes(&self) -> usize {
        BLOCK
    }

    fn read(&mut self, first: u64, into: &mut [u8]) -> Result<(), MediumError> {
        let (offset, length) = (first * BLOCK as u64, into.len() as u64);
        self.operate(OpKind::Read, offset, length)?;
        if self.faults.fails_read(&(offset..offset + length)) {
            return Err(MediumError::Failed("unreadable".to_string()));
        }
        let mut bytes = Vec::with_capacity(into.len());
        let read = self.store.append_to(&mut bytes, offset, length);
        read.map_err(|e| MediumError::Failed(e.to_string()))?;
        into.copy_from_slice(&bytes);
        Ok(())
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), MediumError> {
        let offset = first * BLOCK as u64;
        self.operate(OpKind::Write, offset, data.len() as u64)?;
        if self.faults.read_only {
            return Err(MediumError::Failed("the device is read-only".to_string()));
        }
        let mut data = data.to_vec();
        if self.faults.corrupts() {
            self.faults.corrupt(&mut data);
        }
        let written = self.store.write(offset, &data);
        written.map_err(|e| MediumError::Failed(e.to_string()))
    }

    fn settle(&mut self) -> Result<(), MediumError> {
        self.operate(OpKind::Flush, 0, 0)
    }

    fn now(&self) -> Nanos {
        self.target.now()
    }
}
