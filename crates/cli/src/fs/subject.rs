//! The targets of the command: simulated devices, of which each cell gets a fresh one, and real devices, which run one
//! cell after the other.

use super::cells::CellError;
use super::real::RealDevice;
use crate::console::Console;
use crate::failure::Failure;
use crate::steps::Asked;
use crate::target::{self, Simulated};
use nandscope_device::Device;
use nandscope_experiment::OpenOptions;
use nandscope_result::{ResultDocument, TargetInfo};
use nandscope_uml::cell::Card;
use nandscope_uml::filesystem::FileSystem;
use nandscope_units::Bytes;
use std::path::Path;

/// The allocation unit that flash tools assume where the device reports none.
pub const ASSUMED: Card = Card {
    unit: Bytes::mib(4),
    open: 64,
};

/// A target, its allocation units, and whether its host sends discards.
pub struct Subject {
    source: Source,
    /// Its allocation units.
    pub card: Card,
    /// Whether its host sends discards.
    pub discard: bool,
}

enum Source {
    Simulated(Box<Simulated>),
    Real(Box<RealDevice>),
}

impl Subject {
    /// Opens a simulated device.
    ///
    /// # Errors
    /// As [`target::open_with`].
    pub fn simulated(
        name: &str,
        options: &OpenOptions,
        console: &Console,
    ) -> Result<Subject, Failure> {
        let (simulated, _) = target::open_with(name, options, console)?;
        let profile = &simulated.device_source.profile;
        // A device with a page-mapped log has no allocation units.
        let card = profile.card.as_ref().map_or(ASSUMED, |card| Card {
            unit: Bytes::kib(u64::from(card.au_kib)),
            open: card.open_aus,
        });
        let stages = &simulated.host_source.profile.stage;
        Ok(Subject {
            card,
            discard: stages.iter().all(|stage| stage.discard),
            source: Source::Simulated(Box::new(simulated)),
        })
    }

    /// A real device.
    pub fn real(device: RealDevice) -> Subject {
        Subject {
            card: Card {
                unit: device.unit().unwrap_or(ASSUMED.unit),
                ..ASSUMED
            },
            discard: true,
            source: Source::Real(Box::new(device)),
        }
    }

    /// The real device, if it is one.
    pub fn as_real(&self) -> Option<&RealDevice> {
        match &self.source {
            Source::Real(device) => Some(device),
            Source::Simulated(_) => None,
        }
    }

    fn as_simulated(&self) -> Option<&Simulated> {
        match &self.source {
            Source::Simulated(simulated) => Some(simulated),
            Source::Real(_) => None,
        }
    }

    /// Lets go of a real device, and detaches a file.
    pub fn release(&mut self, console: &Console) {
        if let Source::Real(device) = &mut self.source {
            device.release(console);
        }
    }

    /// A fresh device, with `open` open allocation units instead of its own number.
    ///
    /// # Errors
    /// [`CellError`] if it cannot be made, or the target is real.
    pub fn device(&self, seed: u64, open: Option<u32>) -> Result<Device, CellError> {
        let real = || CellError::Real(self.title().to_string());
        let simulated = self.as_simulated().ok_or_else(real)?;
        let host = &simulated.host_source.profile;
        let mut profile = simulated.device_source.profile.clone();
        if let (Some(card), Some(open)) = (&mut profile.card, open) {
            card.open_aus = open;
        }
        Ok(Device::new(&profile, host, seed)?)
    }

    /// Whether its kernel has this file system: the one of virtual time has all.
    pub fn has(&self, fs: FileSystem) -> bool {
        self.as_real().is_none_or(|device| device.has(fs))
    }

    /// Page of the card that its profile states.
    pub fn page_kib(&self) -> Option<u32> {
        let profile = &self.as_simulated()?.device_source.profile;
        profile.card.as_ref()?.page_kib
    }

    /// Name for people.
    pub fn title(&self) -> &str {
        match &self.source {
            Source::Simulated(simulated) => &simulated.device_source.profile.device.title,
            Source::Real(device) => device.title(),
        }
    }

    /// Name for files and columns.
    pub fn short(&self) -> &str {
        match &self.source {
            Source::Simulated(simulated) => &simulated.device_source.profile.device.name,
            Source::Real(device) => device.short(),
        }
    }

    /// Name with the allocation unit, above a table.
    pub fn heading(&self) -> String {
        match &self.source {
            Source::Simulated(_) => format!(
                "{} (allocation unit {}, {} open)",
                self.title(),
                self.card.unit,
                self.card.open
            ),
            Source::Real(device) => format!(
                "{} (real time; allocation unit {}{})",
                self.title(),
                self.card.unit,
                match device.unit() {
                    Some(_) => " by its register",
                    None => " assumed",
                }
            ),
        }
    }

    /// Size of the device.
    pub fn capacity(&self) -> Bytes {
        match &self.source {
            Source::Simulated(simulated) => {
                Bytes(simulated.device_source.profile.device.capacity_bytes)
            }
            Source::Real(device) => device.capacity(),
        }
    }

    /// Target information of the result.
    pub fn info(&self, seed: u64) -> TargetInfo {
        match &self.source {
            Source::Real(device) => device.info().clone(),
            Source::Simulated(simulated) => self
                .device(seed, None)
                .map(|device| simulated.info(&device))
                .unwrap_or_default(),
        }
    }

    /// The properties of the target on which its cells depend.
    pub fn asked(&self, blank: &ResultDocument) -> Asked {
        let asked = Asked::new("fs").on(&blank.target);
        match &self.source {
            Source::Simulated(simulated) => {
                asked.and("profile of the host", &simulated.host_source.text)
            }
            Source::Real(device) => device.asked(asked),
        }
    }
}

/// The last part of a target's name on the command line.
pub fn short_name(name: &str) -> String {
    let last = Path::new(name).file_name();
    last.map_or_else(|| name.to_string(), |n| n.to_string_lossy().into_owned())
}
