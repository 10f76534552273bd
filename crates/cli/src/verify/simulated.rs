//! A simulated device with contents as a target of verification: the device says how long everything
//! takes, the store keeps the bytes. It is as genuine as its profile, and as the faults that are injected.

use super::open::Target;
use crate::console::Console;
use crate::failure::Failure;
use crate::target;
use nandscope_blockio::fault::{FaultCommand, Faults};
use nandscope_blockio::store::Store;
use nandscope_infer::verify::{Medium, MediumError, Subject};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::{Outcome, Reply, Request, Target as _};
use nandscope_result::TargetKind;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

const BLOCK: usize = 512;
/// Longer operations are cut into requests of this size, as the kernel of a real host does.
const REQUEST: u64 = 512 << 10;

struct Simulated {
    target: SimTarget,
    store: Store,
    faults: Faults,
    replies: Vec<Reply>,
}

/// Opens the simulated device of that name, blank, with these faults, as commands of `nandscope ctl`.
///
/// # Errors
/// Returns an error if there is no such device, or if a fault is unknown or is not about contents.
pub fn open(name: &str, commands: &[String], console: &Console) -> Result<Target, Failure> {
    let (simulated, device) = target::open(name, None, 1, console)?;
    let mut store = Store::memory(device.capacity());
    let mut faults = Faults::new(1);
    for text in commands {
        inject(text, &mut faults, &mut store)
            .map_err(|why| Failure::usage(format!("--fault `{text}`: {why}")))?;
    }
    let medium = Simulated {
        target: SimTarget::new(device),
        store,
        faults,
        replies: Vec::new(),
    };
    Ok(Target {
        subject: Subject {
            // Its contents are gone when the program ends: each one is another device.
            identity: format!("{name} {}", std::process::id()),
            blocks: medium.blocks(),
            block_bytes: BLOCK,
        },
        medium: Box::new(medium),
        model: simulated.device_source.profile.device.title,
        kind: TargetKind::Simulated,
        registers: None,
    })
}

fn inject(text: &str, faults: &mut Faults, store: &mut Store) -> Result<(), String> {
    let command: FaultCommand = text.parse().map_err(|why| format!("{why}"))?;
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
        return Err(
            "`verify` injects fake, unreadable, read-errors, read-only, corrupt and tamper only; use `nandscope serve`"
                .to_string(),
        );
    }
    let applied = faults.apply(command, store);
    applied.map(|_| ()).map_err(|why| why.to_string())
}

impl Simulated {
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

impl Medium for Simulated {
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
