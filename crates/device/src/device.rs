//! The device: commands in, completions out, in virtual time. The profile decides the translation
//! layer: a page map (SSDs, SD Express cards) or an AU map (SD cards, eMMC, USB sticks). Both are
//! driven by the same three calls.
//!
//! Invariants: the clock never goes back; every submitted command completes exactly once; two
//! devices made from the same profile, host and seed and given the same commands at the same
//! times give the same completions.

use crate::command::{Command, Completion, SubmitError};
use crate::error::{AttachError, DeviceError};
use crate::fill::{Afterwards, Fill, FillError, FillProgress, FillStep};
use crate::health::{HealthLog, Identity};
use crate::invariant::InvalidState;
use crate::mapping::au::AuMapDevice;
use crate::mapping::page::PageMapDevice;
use crate::policy::VictimPolicy;
use crate::powercut::Cut;
use crate::profile::host::HostProfile;
use crate::profile::schema::Profile;
use crate::registers::CardRegisters;
use crate::telemetry::{Counters, Telemetry, Wear};
use nandscope_units::{Bytes, Lba, Nanos};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A simulated flash device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Device(Ftl);

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Ftl {
    PageMap(Box<PageMapDevice>),
    AuMap(Box<AuMapDevice>),
}

/// Calls a method on whichever translation layer the device has.
macro_rules! dispatch {
    ($device:expr, $inner:ident => $call:expr) => {
        match $device {
            Ftl::PageMap($inner) => $call,
            Ftl::AuMap($inner) => $call,
        }
    };
}

impl Device {
    /// A device fresh from the factory, attached to a host.
    ///
    /// # Errors
    /// [`DeviceError`] if host and device have no link in common, if the profile describes no
    /// translation layer, or if it names a victim policy that the program has to supply.
    pub fn new(profile: &Profile, host: &HostProfile, seed: u64) -> Result<Self, DeviceError> {
        let device = Self::unsupplied(profile, host, seed)?;
        match device.missing_policy() {
            Some(name) => Err(DeviceError::no_policy(name)),
            None => Ok(device),
        }
    }

    /// As [`Device::new`], with a victim policy that the program supplies. The profile names it:
    /// `ftl.collection = "program:NAME"`.
    ///
    /// # Errors
    /// As [`Device::new`], and [`DeviceError::OtherVictimPolicy`] if the profile does not name this policy.
    pub fn with_victim_policy(
        profile: &Profile,
        host: &HostProfile,
        seed: u64,
        policy: &Arc<dyn VictimPolicy>,
    ) -> Result<Self, DeviceError> {
        let mut device = Self::unsupplied(profile, host, seed)?;
        device.supply(policy)?;
        Ok(device)
    }

    /// Uses a victim policy of the program, which the profile must name.
    pub(crate) fn supply(&mut self, policy: &Arc<dyn VictimPolicy>) -> Result<(), DeviceError> {
        let is_wanted = match &mut self.0 {
            Ftl::PageMap(device) => device.chooser_mut().supply(policy),
            Ftl::AuMap(_) => false,
        };
        if is_wanted {
            return Ok(());
        }
        Err(DeviceError::OtherVictimPolicy {
            name: policy.name().to_string(),
        })
    }

    /// Name of the victim policy that the program has yet to supply.
    pub(crate) fn missing_policy(&self) -> Option<&str> {
        match &self.0 {
            Ftl::PageMap(device) => device.chooser().missing(),
            Ftl::AuMap(_) => None,
        }
    }

    /// A device fresh from the factory, which may lack the victim policy that its profile names.
    fn unsupplied(profile: &Profile, host: &HostProfile, seed: u64) -> Result<Self, DeviceError> {
        let ftl = match (&profile.ftl, &profile.controller, &profile.card) {
            (Some(ftl), Some(controller), None) => Ftl::PageMap(Box::new(PageMapDevice::new(
                profile, ftl, controller, host, seed,
            )?)),
            (None, None, Some(card)) => {
                Ftl::AuMap(Box::new(AuMapDevice::new(profile, card, host, seed)?))
            }
            _ => return Err(DeviceError::TranslationLayer),
        };
        Ok(Device(ftl))
    }

    /// Makes clones cheap: from now on they and this device share the memory of the map, and each takes a page of its own
    /// where it writes. A clone takes microseconds then; each access to the map takes a few nanoseconds more.
    pub fn share(&mut self) {
        if let Ftl::PageMap(device) = &mut self.0 {
            device.share();
        }
    }

    /// Moves the device to another host, like a card to another reader. Outstanding commands complete
    /// first; the device is powered off and on.
    ///
    /// # Errors
    /// [`AttachError`] if host and device have no link in common.
    pub fn attach(&mut self, profile: &Profile, host: &HostProfile) -> Result<(), AttachError> {
        dispatch!(&mut self.0, d => d.attach(profile, host))
    }

    /// Present time of the device.
    pub fn now(&self) -> Nanos {
        dispatch!(&self.0, d => d.now())
    }

    /// Addressable capacity.
    pub fn capacity(&self) -> Bytes {
        dispatch!(&self.0, d => d.capacity())
    }

    /// The host path in words, stage by stage.
    pub fn path(&self) -> &[String] {
        dispatch!(&self.0, d => d.path())
    }

    /// Submits a command at `at`. Any number may be outstanding; those beyond the queue
    /// depth of the host path wait there.
    ///
    /// # Errors
    /// [`SubmitError`] if `at` is before the present or after the next event.
    #[inline]
    pub fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError> {
        dispatch!(&mut self.0, d => d.submit(command, at))
    }

    /// Prefetches the memory that a command at `lba` will need. Call it as soon as the address is known; it changes no
    /// state, and a wrong guess costs little.
    #[inline]
    pub fn prefetch(&self, lba: Lba) {
        if let Ftl::PageMap(d) = &self.0 {
            d.prefetch(lba);
        }
    }

    /// Time of the next event, if there is one.
    #[inline]
    pub fn next_event(&self) -> Option<Nanos> {
        dispatch!(&self.0, d => d.next_event())
    }

    /// Advances time to `until`, or to the first instant at which commands complete; appends their
    /// completions and returns the time reached. With `until` at [`Nanos::MAX`] and no planned event the
    /// clock does not move.
    #[inline]
    pub fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        dispatch!(&mut self.0, d => d.advance(until, completions))
    }

    /// Fills the first `share` (0 to 1) of the capacity without advancing time, and completes background
    /// work as in a long idle time. `step` is called every few milliseconds.
    ///
    /// # Errors
    /// [`FillError::Busy`] if commands are outstanding; [`FillError::Stopped`] if `step` ends it.
    pub fn fill(
        &mut self,
        share: f64,
        fill: Fill,
        step: &mut FillStep<'_>,
    ) -> Result<FillProgress, FillError> {
        dispatch!(&mut self.0, d => d.precondition(share, fill, step))
    }

    /// Overwrites `count` mapping units (for cards: pages), drawn uniformly from the whole capacity,
    /// without advancing time; with [`Afterwards::Load`] some more, so that the next writes meet the free space of
    /// a device that is being written to. Several times the capacity give the steady state of random writes. `step` is
    /// called every few milliseconds.
    ///
    /// # Errors
    /// As [`Device::fill`].
    pub fn overwrite(
        &mut self,
        count: u64,
        seed: u64,
        afterwards: Afterwards,
        step: &mut FillStep<'_>,
    ) -> Result<FillProgress, FillError> {
        dispatch!(&mut self.0, d => d.overwrite_randomly(count, seed, afterwards, step))
    }

    /// As [`Device::fill`], in one step that cannot be stopped. Returns false if commands are outstanding.
    pub fn precondition(&mut self, share: f64, fill: Fill) -> bool {
        self.fill(share, fill, &mut to_the_end).is_ok()
    }

    /// As [`Device::overwrite`], in one step that cannot be stopped and with a long idle time afterwards. Returns false
    /// if commands are outstanding.
    pub fn overwrite_randomly(&mut self, count: u64, seed: u64) -> bool {
        self.overwrite(count, seed, Afterwards::Idle, &mut to_the_end)
            .is_ok()
    }

    /// Size of one of the `count` overwrites of [`Device::overwrite`]: a mapping unit, or a page of a card.
    pub fn overwrite_unit(&self) -> Bytes {
        match &self.0 {
            Ftl::PageMap(d) => Bytes(d.unit_bytes()),
            Ftl::AuMap(d) => Bytes(d.overwrite_unit()),
        }
    }

    /// Bytes that can be written before more must be relocated: free blocks, what is left of open ones, and what the block
    /// under relocation has given up, at the native cell mode. Write amplification over a span in which this falls is
    /// lower than over a longer one. `None` for cards, which relocate with each write.
    pub fn free_room(&self) -> Option<Bytes> {
        match &self.0 {
            Ftl::PageMap(d) => Some(d.free_room()),
            Ftl::AuMap(_) => None,
        }
    }

    /// Number of erase blocks that are collected and erased together. `None` for cards.
    pub fn blocks_per_superblock(&self) -> Option<u32> {
        match &self.0 {
            Ftl::PageMap(d) => Some(d.blocks_per_superblock()),
            Ftl::AuMap(_) => None,
        }
    }

    /// Numbers writes from now on, the next one being 0, and tracks which are persistent, for [`Device::durable_writes`] and [`Device::cut_power`]. Not part of a snapshot.
    pub fn track_writes(&mut self) {
        dispatch!(&mut self.0, d => d.track_writes());
    }

    /// Number of the first write that may not be persistent yet; all earlier writes are.
    pub fn durable_writes(&mut self) -> u64 {
        dispatch!(&mut self.0, d => d.durable_writes())
    }

    /// Cuts and restores the power. Outstanding commands never complete; the device continues with
    /// the contents of the medium, at the time at which it is ready again. Writes before
    /// [`Device::track_writes`] are not reported.
    pub fn cut_power(&mut self) -> Cut {
        dispatch!(&mut self.0, d => d.cut_power())
    }

    /// Answer to the identify command.
    pub fn identity(&self) -> Identity {
        dispatch!(&self.0, d => d.identity())
    }

    /// The health log in the form of NVMe's.
    pub fn health(&self) -> HealthLog {
        dispatch!(&self.0, d => d.health())
    }

    /// The registers of an SD card or eMMC; `None` over NVMe, AHCI and USB.
    pub fn registers(&self) -> Option<CardRegisters> {
        dispatch!(&self.0, d => d.registers())
    }

    /// A reading of power, temperatures and counters at the present time. Heat is that of
    /// the last whole step of 100 ms.
    pub fn telemetry(&self) -> Telemetry {
        dispatch!(&self.0, d => d.telemetry())
    }

    /// Counters of the translation layer.
    pub fn counters(&self) -> Counters {
        dispatch!(&self.0, d => d.counters())
    }

    /// Wear of the blocks. It looks at every superblock.
    pub fn wear(&self) -> Wear {
        dispatch!(&self.0, d => d.wear())
    }

    /// A copy of the device without its read plan; `None` if it has no plan.
    pub(crate) fn without_plan(&self) -> Option<Self> {
        match &self.0 {
            Ftl::PageMap(d) => d.without_plan().map(|d| Device(Ftl::PageMap(Box::new(d)))),
            Ftl::AuMap(_) => None,
        }
    }

    /// Checks the invariants of the whole state, as is done when a snapshot is read. Slow: it looks at
    /// everything.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&self) -> Result<(), InvalidState> {
        let without_plan = self.without_plan();
        dispatch!(&without_plan.as_ref().unwrap_or(self).0, d => d.audit())
    }
}

fn to_the_end(_: FillProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
