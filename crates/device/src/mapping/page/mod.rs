//! A device with a page map: host path, controller, translation and flash, connected by one event
//! queue. [`log`] is the translation, on top of [`map`] (both directions of the mapping), [`victims`]
//! (closed superblocks by valid units) and [`map_cache`]. [`commands`] is the way of a command from the host and back.
//! [`reads`], [`writes`] and [`background`] hold the three kinds of work, [`power`] the power drawn. Cards with
//! allocation units are in [`crate::mapping::au`].

mod audit;
mod background;
mod commands;
mod cores;
mod decoding;
mod discards;
pub(crate) mod geometry;
pub(crate) mod log;
mod lpn;
mod map;
mod map_cache;
mod map_fetches;
mod packing;
mod parity;
mod parity_rows;
mod power;
mod ppn;
mod precondition;
mod program_id;
mod read_plan;
mod readahead;
mod reads;
mod recent;
mod recovery;
mod report;
mod scheduler;
#[cfg(test)]
mod small;
mod unpersisted;
mod writes;

use crate::command::{Command, Completion, SubmitError};
use crate::convert::Narrow;
use crate::error::AttachError;
use crate::flash::reliability::Errors;
use crate::flash::{Array, ArrayTimes};
use crate::host::attachment::Attachment;
use crate::host::counters::HostCounters;
use crate::host::{Adapter, Commands, Link, Request};
use crate::mapping::page::geometry::Geometry;
use crate::mapping::page::log::{Log, PageRun, ProgramUnit};
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::map_fetches::{MapFetches, MapWaiter};
use crate::mapping::page::ppn::Ppn;
pub(crate) use crate::mapping::page::program_id::ProgramId;
use crate::mapping::page::readahead::ReadAhead;
pub(crate) use crate::mapping::page::readahead::SegmentId;
use crate::policy::pacing::Pace;
use crate::policy::victim::Chooser;
use crate::power::Power;
use crate::profile::host::HostProfile;
use crate::profile::schema::{ControllerSection, FtlSection, Profile};
use crate::random::Random;
use crate::schedule::Schedule;
use background::Background;
use cores::Cores;
use decoding::Decoders;
use discards::Discarding;
use nandscope_units::{Bytes, Lba, Nanos, SECTOR_BYTES};
use packing::PackedWrites;
use parity::ParityPrograms;
use read_plan::ReadPlan;
use recent::RecentTimes;
use serde::{Deserialize, Serialize};
use unpersisted::UnpersistedWrites;
use writes::Writes;

/// A command on its way through the device.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pending {
    request: Request,
    /// First logical unit and number of units.
    first: Lpn,
    units: u32,
    /// Number of flash operations, segments and fetches that a read waits for.
    waits: u32,
    /// Units of a write without a place in the buffer; then units whose data has not arrived.
    to_admit: u32,
    to_arrive: u32,
    /// End of the last transfer on the link.
    link_done: Nanos,
}

/// A simulated flash device with a page-mapped log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PageMapDevice {
    profile: Profile,
    serial: String,
    controller: ControllerSection,
    attachment: Attachment,
    schedule: Schedule,
    array: Array,
    log: Log,
    errors: Errors,
    read_ahead: ReadAhead,
    map_fetches: MapFetches,
    commands: Commands<Pending>,
    packed: PackedWrites,
    adapter: Adapter,
    cores: Cores,
    decoders: Decoders,
    link: Link,
    /// End of the last exit from a power state.
    awake: Nanos,
    writes: Writes,
    parity: ParityPrograms,
    discarding: Option<Discarding>,
    background: Background,
    pace: Pace,
    power: Power,
    counters: HostCounters,
    /// Writes that a power cut would destroy; `None` unless writes are tracked.
    #[serde(skip)]
    unpersisted: Option<Box<UnpersistedWrites>>,
    #[serde(skip)]
    scratch: Scratch,
    #[serde(skip)]
    recent: RecentTimes,
    /// Planned reads; turned back into events before the device is saved.
    #[serde(skip)]
    plan: ReadPlan,
}

/// Reused buffers, so that the hot path allocates nothing.
#[derive(Clone, Debug, Default)]
struct Scratch {
    runs: Vec<(Option<PageRun>, u32)>,
    sources: Vec<Ppn>,
    full: Vec<ProgramUnit>,
    map_waiters: Vec<MapWaiter>,
    written: Vec<ProgramUnit>,
    merges: Vec<PageRun>,
}

/// Capacity of the write buffer, mapping units.
fn buffer_units(controller: &ControllerSection, geometry: &Geometry) -> u32 {
    (u64::from(controller.write_buffer_kib) * 1024 / u64::from(geometry.unit_bytes)).clamp_u32()
}

/// Capacity of read-ahead, mapping units.
fn read_ahead_units(controller: &ControllerSection, geometry: &Geometry) -> u32 {
    controller.read_ahead_kib * 1024 / geometry.unit_bytes
}

/// Sectors of a mapping unit.
fn unit_sectors(geometry: &Geometry) -> u32 {
    (u64::from(geometry.unit_bytes) / SECTOR_BYTES).narrow()
}

impl PageMapDevice {
    /// Makes copies cheap: they share the memory of the map.
    pub(crate) fn share(&mut self) {
        self.log.map.share();
    }

    /// A device fresh from the factory, attached to a host.
    ///
    /// # Errors
    /// [`AttachError`] if host and device have no link in common.
    /// The choice of victims.
    pub(crate) fn chooser(&self) -> &Chooser {
        &self.log.chooser
    }

    /// See [`PageMapDevice::chooser`].
    pub(crate) fn chooser_mut(&mut self) -> &mut Chooser {
        &mut self.log.chooser
    }

    pub(crate) fn new(
        profile: &Profile,
        ftl: &FtlSection,
        controller: &ControllerSection,
        host: &HostProfile,
        seed: u64,
    ) -> Result<Self, AttachError> {
        let geometry = Geometry::new(profile, ftl);
        let mut random = Random::new(seed);
        let log = Log::new(profile, ftl, geometry.clone(), &mut random);
        let attachment = Attachment::new(profile, host)?;
        let cycles = geometry.native.cycles;
        let mut device = PageMapDevice {
            profile: profile.clone(),
            serial: format!("NS{:010X}", random.bits() >> 24),
            controller: controller.clone(),
            schedule: Schedule::default(),
            array: Array::new(
                ArrayTimes::new(&profile.nand),
                geometry.channels,
                geometry.dies,
            ),
            read_ahead: ReadAhead::new(
                read_ahead_units(controller, &geometry),
                unit_sectors(&geometry),
            ),
            map_fetches: MapFetches::new(ftl),
            commands: Commands::default(),
            packed: PackedWrites::default(),
            adapter: Adapter::default(),
            cores: Cores::new(controller),
            decoders: Decoders::new(controller.ecc_engines),
            link: Link::default(),
            awake: Nanos::ZERO,
            discarding: None,
            parity: ParityPrograms::default(),
            writes: Writes::new(buffer_units(controller, &geometry)),
            background: Background::new(ftl),
            pace: Pace::default(),
            power: Power::new(profile),
            counters: HostCounters::default(),
            unpersisted: None,
            scratch: Scratch::default(),
            recent: RecentTimes::default(),
            plan: ReadPlan::default(),
            errors: Errors::new(&profile.nand.reliability, cycles, random),
            attachment,
            log,
        };
        device.apply_attachment(profile, host)?;
        Ok(device)
    }

    /// Moves the device to another host (takes the card out of one reader and puts it into another).
    /// Outstanding commands complete first; the device is powered off and on.
    ///
    /// # Errors
    /// [`AttachError`] if host and device have no link in common.
    pub(crate) fn attach(
        &mut self,
        profile: &Profile,
        host: &HostProfile,
    ) -> Result<(), AttachError> {
        let mut dropped = Vec::new();
        while self.commands.outstanding() > 0 && self.next_event().is_some() {
            self.advance(Nanos::MAX, &mut dropped);
        }
        self.flush_for_power_off();
        self.apply_attachment(profile, host)?;
        self.counters.power_cycled(true);
        Ok(())
    }

    fn apply_attachment(
        &mut self,
        profile: &Profile,
        host: &HostProfile,
    ) -> Result<(), AttachError> {
        self.attachment = Attachment::new(profile, host)?;
        self.adapter = Adapter::default();
        self.array.set_active_dies(self.attachment.active_dies);
        self.array.set_clock(self.clock());
        Ok(())
    }

    /// Present time of the device.
    pub(crate) fn now(&self) -> Nanos {
        self.schedule.now()
    }

    /// Addressable capacity.
    pub(crate) fn capacity(&self) -> Bytes {
        Bytes(self.profile.device.capacity_bytes)
    }

    /// The host path in words, stage by stage.
    pub(crate) fn path(&self) -> &[String] {
        &self.attachment.chain.path
    }

    /// Submits a command at `at`. Any number may be outstanding; those beyond the queue
    /// depth of the host path wait there.
    ///
    /// # Errors
    /// [`SubmitError`] if `at` is before the present or after the next event.
    pub(crate) fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError> {
        if self.plan.is_active() {
            if at != self.schedule.now() {
                self.leave_plan();
            } else if self.submit_planned(&command) {
                return Ok(());
            }
        }
        self.schedule.admit(at)?;
        self.pass_time(at);
        let units = self.units_of(&command);
        let index = self.add_command(command, units);
        self.number(index, command.kind);
        if command.kind.changes_data() {
            self.writes.outstanding += 1;
            self.wake_from_idle();
        }
        if self.commands.outstanding() < self.attachment.chain.queue_depth {
            self.start(index);
        } else {
            if self.plan.is_active() {
                self.leave_plan();
            }
            self.commands.wait(index);
        }
        Ok(())
    }

    /// Time of the next thing that happens in the device, if any is planned.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        if self.plan.is_active() {
            return self.plan.next_time();
        }
        self.schedule.next_time()
    }

    /// Begins to fetch the map entry of a command at `lba` from memory.
    #[inline]
    pub(crate) fn prefetch(&self, lba: Lba) {
        let unit = lba.0 >> unit_sectors(&self.log.geometry).trailing_zeros();
        if unit < u64::from(self.log.geometry.user_units) {
            self.log.map.prefetch(Lpn(unit.narrow()));
        }
    }

    /// Lets time pass until `until`, or until the first instant at which commands complete;
    /// appends their completions and returns the time reached. With `until` at [`Nanos::MAX`] and
    /// nothing planned the clock stays.
    pub(crate) fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        if let Some(reached) = self.advance_plan(until, completions) {
            return reached;
        }
        while let Some((at, event)) = self
            .schedule
            .pop_until(self.commands.horizon(until, self.schedule.now()))
        {
            self.pass_time(at);
            self.handle(event, until);
        }
        if self.commands.nothing_done() && until != Nanos::MAX {
            self.pass_time(until);
        }
        self.commands.hand_over(completions);
        self.schedule.now()
    }

    /// Share of the full clock that the interface and throttling allow, 0 to 1.
    fn clock(&self) -> f64 {
        self.power.clock(&self.attachment)
    }

    pub(crate) fn unit_bytes(&self) -> u64 {
        u64::from(self.log.geometry.unit_bytes)
    }
}
