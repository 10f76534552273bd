//! The device: commands in, completions out, in virtual time. What it is inside depends on its
//! profile: a page-mapped log (SSDs, SD Express cards; `paged`) or a map of allocation units (SD
//! and eMMC cards, USB sticks; `au`). Both are driven by the same three calls.
//!
//! Invariants: the clock never goes back; every submitted command completes exactly once; two
//! devices made from the same profile, host and seed and given the same commands at the same
//! times give the same completions.

use crate::au::AuDevice;
use crate::command::{Command, Completion, SubmitError};
use crate::fill::Fill;
use crate::health::{HealthLog, Identity};
use crate::invariant::InvalidState;
use crate::paged::PagedDevice;
use crate::powercut::Cut;
use crate::profile::host::HostProfile;
use crate::profile::schema::Profile;
use crate::telemetry::{Counters, Telemetry};
use nandscope_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// A simulated flash device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Device(Inside);

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Inside {
    Paged(Box<PagedDevice>),
    Au(Box<AuDevice>),
}

/// Calls the same method of whichever device is inside.
macro_rules! inside {
    ($device:expr, $inner:ident => $call:expr) => {
        match $device {
            Inside::Paged($inner) => $call,
            Inside::Au($inner) => $call,
        }
    };
}

impl Device {
    /// A device fresh from the factory, attached to a host.
    ///
    /// # Errors
    /// A message for people where host and device have no link in common, or where the profile
    /// describes no translation layer.
    pub fn new(profile: &Profile, host: &HostProfile, seed: u64) -> Result<Self, String> {
        let inside = match (&profile.ftl, &profile.controller, &profile.card) {
            (Some(ftl), Some(controller), None) => Inside::Paged(Box::new(PagedDevice::new(
                profile, ftl, controller, host, seed,
            )?)),
            (None, None, Some(card)) => {
                Inside::Au(Box::new(AuDevice::new(profile, card, host, seed)?))
            }
            _ => {
                return Err(
                    "a profile has either the tables [ftl] and [controller], or the table [card]"
                        .to_string(),
                );
            }
        };
        Ok(Device(inside))
    }

    /// Moves the device to another host (takes the card out of one reader and puts it into another).
    /// What is outstanding completes first; the device is powered off and on.
    ///
    /// # Errors
    /// A message for people where host and device have no link in common.
    pub fn attach(&mut self, profile: &Profile, host: &HostProfile) -> Result<(), String> {
        inside!(&mut self.0, d => d.attach(profile, host))
    }

    /// Present time of the device.
    pub fn now(&self) -> Nanos {
        inside!(&self.0, d => d.now())
    }

    /// Addressable capacity.
    pub fn capacity(&self) -> Bytes {
        inside!(&self.0, d => d.capacity())
    }

    /// The host path in words, stage by stage.
    pub fn path(&self) -> &[String] {
        inside!(&self.0, d => d.path())
    }

    /// Hands a command over at time `at`. Any number may be outstanding; those beyond the queue
    /// depth of the host path wait there.
    ///
    /// # Errors
    /// Where `at` is before the present, or before something that happens in the device.
    #[inline]
    pub fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError> {
        inside!(&mut self.0, d => d.submit(command, at))
    }

    /// Time of the next thing that happens in the device, if any is planned.
    #[inline]
    pub fn next_event(&self) -> Option<Nanos> {
        inside!(&self.0, d => d.next_event())
    }

    /// Lets time pass until `until`, or until the first instant at which commands complete;
    /// appends their completions and returns the time reached. With `until` at [`Nanos::MAX`] and
    /// nothing planned the clock stays.
    #[inline]
    pub fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        inside!(&mut self.0, d => d.advance(until, completions))
    }

    /// Fills the first `share` (0 to 1) of the capacity at once, and lets background work finish
    /// as it would in a long idle time. Must be called while nothing is outstanding. Returns
    /// false where something is.
    pub fn precondition(&mut self, share: f64, fill: Fill) -> bool {
        inside!(&mut self.0, d => d.precondition(share, fill))
    }

    /// Overwrites `count` mapping units (for cards: pages) drawn uniformly from the whole
    /// capacity, at once. With several times the capacity this is the steady state of random
    /// writes. Must be called while nothing is outstanding. Returns false where something is.
    pub fn overwrite_randomly(&mut self, count: u64, seed: u64) -> bool {
        inside!(&mut self.0, d => d.overwrite_randomly(count, seed))
    }

    /// Numbers writes from now on, the next one being 0, and keeps account of which are on the
    /// medium, for [`Device::durable_writes`] and [`Device::cut_power`]. Not part of a snapshot.
    pub fn track_writes(&mut self) {
        inside!(&mut self.0, d => d.track_writes());
    }

    /// All writes of lower numbers are on the medium and stay there.
    pub fn durable_writes(&mut self) -> u64 {
        inside!(&mut self.0, d => d.durable_writes())
    }

    /// Power goes, and comes back at once. Commands that are under way are never completed; the
    /// device goes on with what the medium holds, and its present is when it answers again. Of
    /// writes before [`Device::track_writes`] nothing is said.
    pub fn cut_power(&mut self) -> Cut {
        inside!(&mut self.0, d => d.cut_power())
    }

    /// What the device says it is.
    pub fn identity(&self) -> Identity {
        inside!(&self.0, d => d.identity())
    }

    /// The health log in the form of NVMe's.
    pub fn health(&self) -> HealthLog {
        inside!(&self.0, d => d.health())
    }

    /// A reading of power, temperatures and counters at the present time. Heat is that of
    /// the last whole step of 100 ms.
    pub fn telemetry(&self) -> Telemetry {
        inside!(&self.0, d => d.telemetry())
    }

    /// Counters of the inside.
    pub fn counters(&self) -> Counters {
        inside!(&self.0, d => d.counters())
    }

    /// Checks the invariants of the whole state, as is done when a snapshot is read. Slow: it looks at
    /// everything.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn audit(&self) -> Result<(), InvalidState> {
        inside!(&self.0, d => d.audit())
    }
}
