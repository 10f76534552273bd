//! A device with a contact, a cable or a power supply that fails for a while.

use super::Device;
use nandscope_infer::authenticity::{Medium, MediumError};
use nandscope_units::Nanos;
use nandscope_units::random::SplitMix64;

/// Fault of the contact, cable or power supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Writes are answered with an error.
    ReadOnly,
    /// Writes are acknowledged and lost.
    SilentlyReadOnly,
    /// Some reads are answered with an error.
    ReadErrors,
    /// Unflushed data is partly lost, and all operations fail for a while.
    LostPower,
    /// The device is permanently gone.
    Removed,
}

/// A device with a fault during operations `from..until`.
pub struct Troubled {
    pub device: Device,
    pub trouble: Trouble,
    pub from: u64,
    pub until: u64,
    pub operations: u64,
    random: SplitMix64,
    /// Contents before the writes since the last flush, by block.
    unflushed: Vec<(u64, Vec<u8>)>,
}

impl Troubled {
    pub fn new(device: Device, trouble: Trouble, seed: u64) -> Self {
        Troubled {
            device,
            trouble,
            from: u64::MAX,
            until: u64::MAX,
            operations: 0,
            random: SplitMix64::new(seed),
            unflushed: Vec::new(),
        }
    }

    /// Starts a fault of `length` operations after `after` more operations.
    pub fn in_trouble(&mut self, after: u64, length: u64) {
        self.from = self.operations + after;
        self.until = self.from.saturating_add(length);
    }

    /// Ends the fault.
    pub fn repaired(&mut self) {
        (self.from, self.until) = (u64::MAX, u64::MAX);
    }

    fn next(&mut self) -> Result<bool, MediumError> {
        let number = self.operations;
        self.operations += 1;
        if self.trouble == Trouble::Removed && number >= self.from {
            return Err(MediumError::Gone("no such device".into()));
        }
        if number == self.from && self.trouble == Trouble::LostPower {
            for (place, old) in std::mem::take(&mut self.unflushed).into_iter().rev() {
                if self.random.below(2) == 0 {
                    self.device.force(place, &old);
                }
            }
        }
        Ok((self.from..self.until).contains(&number))
    }
}

fn failed() -> Result<(), MediumError> {
    Err(MediumError::Failed("input/output error".into()))
}

impl Medium for Troubled {
    fn blocks(&self) -> u64 {
        self.device.blocks()
    }

    fn block_bytes(&self) -> usize {
        self.device.block_bytes()
    }

    fn read(&mut self, first: u64, into: &mut [u8]) -> Result<(), MediumError> {
        match (self.next()?, self.trouble) {
            (true, Trouble::ReadErrors) if self.random.below(3) > 0 => failed(),
            (true, Trouble::LostPower) => failed(),
            _ => self.device.read(first, into),
        }
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), MediumError> {
        match (self.next()?, self.trouble) {
            (true, Trouble::ReadOnly | Trouble::LostPower) => failed(),
            (true, Trouble::SilentlyReadOnly) => Ok(()),
            _ => {
                for place in first..first + (data.len() / 512) as u64 {
                    self.unflushed.push((place, self.device.now_in(place)));
                }
                self.device.write(first, data)
            }
        }
    }

    fn settle(&mut self) -> Result<(), MediumError> {
        match (self.next()?, self.trouble) {
            (true, Trouble::LostPower) => failed(),
            _ => {
                self.unflushed.clear();
                self.device.settle()
            }
        }
    }

    fn now(&self) -> Nanos {
        self.device.now()
    }
}
