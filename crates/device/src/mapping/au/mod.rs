//! Cards with allocation units: SD cards, eMMC, USB sticks. [`map`] is their translation layer, [`times`] the cost of
//! flash operations, [`service`] the path of a command through the card, [`buffer`] the partly written pages in RAM. A
//! card serves one command after another, so the end of a command is known when it begins, and the event queue holds
//! little but completions.
//!
//! Not modelled: contents (as everywhere in this crate); reads that overtake the programs of a write-back buffer.

mod audit;
mod buffer;
mod geometry;
mod map;
mod op_counts;
mod open;
mod physical;
mod power;
mod precondition;
mod read_streams;
mod report;
mod service;
mod shared_log;
#[cfg(test)]
mod small;
mod times;
mod unpersisted;

pub(crate) use geometry::CardGeometry;

use crate::command::{Command, Completion, Status, SubmitError};
use crate::error::AttachError;
use crate::events::Event;
use crate::flash::reliability::Errors;
use crate::host::adapter::Ending;
use crate::host::attachment::{Attachment, RecentLinkTime};
use crate::host::counters::HostCounters;
use crate::host::{Adapter, Commands, Request};
use crate::power::Power;
use crate::profile::card::CardSection;
use crate::profile::host::HostProfile;
use crate::profile::schema::{DeviceSection, Profile};
use crate::random::Random;
use crate::schedule::Schedule;
use crate::telemetry::Counters;
use buffer::Buffer;
use map::Map;
use nandscope_units::{Bytes, Nanos};
use op_counts::OpCounts;
use power::Spans;
use read_streams::ReadStreams;
use serde::{Deserialize, Serialize};
use service::WriteStream;
use times::{FlashCost, Times};
use unpersisted::UnpersistedWrites;

/// A simulated card with allocation units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AuMapDevice {
    profile: Profile,
    card: CardSection,
    identity: DeviceSection,
    serial: String,
    attachment: Attachment,
    schedule: Schedule,
    commands: Commands<Request>,
    adapter: Adapter,
    /// Time at which the controller finishes earlier commands and background work.
    controller_free: Nanos,
    /// Time at which the flash finishes the data that the buffer has accepted.
    flash_free: Nanos,
    map: Map,
    buffer: Buffer,
    reads: ReadStreams,
    writing: WriteStream,
    planes: u32,
    times: Times,
    errors: Errors,
    power: Power,
    spans: Spans,
    counters: HostCounters,
    flash_counters: Counters,
    /// Time at which the last spare AU was used up.
    read_only_since: Option<Nanos>,
    idle_planned: Option<Nanos>,
    /// Time of the pending idle timer; there is at most one.
    idle_timer: Option<Nanos>,
    /// Writes that a power cut would destroy; `None` unless writes are tracked.
    #[serde(skip)]
    unpersisted: Option<Box<UnpersistedWrites>>,
    #[serde(skip)]
    recent: Recent,
}

/// Times computed last, reused for equal commands. Not part of the state.
#[derive(Clone, Debug, Default)]
struct Recent {
    link: RecentLinkTime,
    /// Flash operation counts, and their cost at the present clock.
    cost: (OpCounts, FlashCost),
}

impl AuMapDevice {
    /// A card fresh from the factory, attached to a host.
    ///
    /// # Errors
    /// [`AttachError`] if host and device have no link in common.
    pub(crate) fn new(
        profile: &Profile,
        card: &CardSection,
        host: &HostProfile,
        seed: u64,
    ) -> Result<Self, AttachError> {
        let mut random = Random::new(seed);
        let geometry = CardGeometry::new(profile, card);
        let attachment = Attachment::new(profile, host)?;
        let times = Times::new(
            profile,
            card,
            &geometry,
            attachment.active_dies,
            attachment.clock_share,
        );
        let cycles = geometry::native(profile).cycles;
        Ok(AuMapDevice {
            card: card.clone(),
            identity: profile.device.clone(),
            serial: format!("{:08x}", random.bits() >> 32),
            schedule: Schedule::default(),
            commands: Commands::default(),
            adapter: Adapter::default(),
            controller_free: Nanos::ZERO,
            flash_free: Nanos::ZERO,
            buffer: Buffer::new(&attachment, card, &geometry),
            reads: ReadStreams::default(),
            writing: WriteStream::default(),
            planes: profile.nand.planes,
            map: Map::new(profile, card, geometry),
            power: Power::new(profile),
            spans: Spans::default(),
            counters: HostCounters::default(),
            flash_counters: Counters::default(),
            read_only_since: None,
            idle_planned: None,
            idle_timer: None,
            unpersisted: None,
            recent: Recent::default(),
            profile: profile.clone(),
            times,
            attachment,
            errors: Errors::new(&profile.nand.reliability, cycles, random),
        })
    }

    pub(crate) fn attach(
        &mut self,
        profile: &Profile,
        host: &HostProfile,
    ) -> Result<(), AttachError> {
        let mut dropped = Vec::new();
        while self.commands.outstanding() > 0 && self.next_event().is_some() {
            self.advance(Nanos::MAX, &mut dropped);
        }
        let attachment = Attachment::new(profile, host)?;
        self.write_out_buffer(self.schedule.now());
        self.buffer = Buffer::new(&attachment, &self.card, &self.map.geometry);
        self.attachment = attachment;
        self.adapter = Adapter::default();
        self.counters.power_cycled(true);
        self.set_times();
        Ok(())
    }

    fn set_times(&mut self) {
        let clock = self.power.clock(&self.attachment);
        self.times = Times::new(
            &self.profile,
            &self.card,
            &self.map.geometry,
            self.attachment.active_dies,
            clock,
        );
        self.recent.cost = Default::default();
    }

    pub(crate) fn now(&self) -> Nanos {
        self.schedule.now()
    }

    pub(crate) fn capacity(&self) -> Bytes {
        Bytes(self.identity.capacity_bytes)
    }

    pub(crate) fn path(&self) -> &[String] {
        &self.attachment.chain.path
    }

    #[inline]
    pub(crate) fn submit(&mut self, command: Command, at: Nanos) -> Result<(), SubmitError> {
        self.schedule.admit(at)?;
        self.pass_time(at);
        let request = Request::new(command, at, self.identity.capacity_bytes);
        let index = self.commands.add(request);
        self.number(index, command.kind);
        self.idle_planned = None;
        if self.commands.outstanding() < self.attachment.chain.queue_depth {
            self.start(index);
        } else {
            self.commands.wait(index);
        }
        Ok(())
    }

    pub(crate) fn next_event(&self) -> Option<Nanos> {
        self.schedule.next_time()
    }

    pub(crate) fn advance(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
        while let Some((at, event)) = self
            .schedule
            .pop_until(self.commands.horizon(until, self.schedule.now()))
        {
            self.pass_time(at);
            match event {
                Event::Complete(index) => self.on_end(index),
                Event::Interrupt => self.on_interrupt(),
                Event::Idle => self.on_idle(),
                _ => {}
            }
        }
        if self.commands.nothing_done() && until != Nanos::MAX {
            self.pass_time(until);
        }
        self.commands.hand_over(completions);
        self.schedule.now()
    }

    /// Starts a command, whose completion time is known at once.
    fn start(&mut self, index: u32) {
        self.commands.start();
        self.power.meter.note(true, self.schedule.now());
        let chain = &self.attachment.chain;
        let passed = self
            .adapter
            .pass(self.schedule.now() + chain.command, chain);
        let begin = passed.max(self.controller_free);
        let back = chain.completion;
        let stops = self.attachment.stops(&self.commands[index].command);
        let end = self.serve(index, begin) + stops;
        self.controller_free = end;
        self.schedule.push(end + back, Event::Complete(index));
    }

    /// Reports a command that has ended to the host, unless an adapter holds its completion back.
    fn on_end(&mut self, index: u32) {
        let Some(moderation) = &self.attachment.chain.moderation else {
            return self.on_complete(index);
        };
        match self.adapter.end(index, self.schedule.now(), moderation) {
            Ending::Seen => self.on_complete(index),
            Ending::Held => {}
            Ending::Opens(at) => self.schedule.push(at, Event::Interrupt),
        }
    }

    /// Reports all commands whose completions an adapter has held.
    fn on_interrupt(&mut self) {
        for index in self.adapter.interrupt() {
            self.on_complete(index);
        }
    }

    fn on_complete(&mut self, index: u32) {
        let request = &self.commands[index];
        let payload = self.payload(request.command.kind);
        let completion = request.completion(self.schedule.now(), payload);
        if request.status == Status::Ok {
            self.counters.count(&request.command);
        }
        if let Some(unpersisted) = &mut self.unpersisted {
            unpersisted.numbers.completed(index);
        }
        self.commands.finish(index, completion);
        if let Some(next) = self.commands.take_waiting() {
            self.start(next);
        }
        if self.commands.outstanding() == 0 {
            // The order of free indices is not part of the state.
            self.commands.clear();
            self.power.meter.note(false, self.schedule.now());
            self.plan_idle(
                self.schedule.now() + Nanos::from_micros_f64(self.card.merge_after_ms * 1e3),
            );
        }
    }

    fn plan_idle(&mut self, at: Nanos) {
        if self.card.merge_after_ms > 0.0 && self.map.has_deferred_merges() {
            self.start_idle_timer(at);
        }
    }

    /// Plans the idle timer that starts deferred merges. A pending timer that expires earlier is restarted when it
    /// does.
    fn start_idle_timer(&mut self, at: Nanos) {
        self.idle_planned = Some(at);
        if self.idle_timer.is_none() {
            self.idle_timer = Some(at);
            self.schedule.push(at, Event::Idle);
        }
    }

    /// Executes one deferred merge; commands that arrive meanwhile wait for its end.
    fn on_idle(&mut self) {
        self.idle_timer = None;
        let Some(planned) = self.idle_planned else {
            return;
        };
        if planned > self.schedule.now() {
            return self.start_idle_timer(planned);
        }
        self.idle_planned = None;
        self.power.meter.note(false, self.schedule.now());
        if let Some(ops) = self.map.take_deferred_merge() {
            let cost = self.charge(&ops, self.schedule.now());
            self.controller_free = self.schedule.now() + cost.time;
            self.power.meter.note(true, self.schedule.now());
            if self.map.has_deferred_merges() {
                self.plan_idle(self.controller_free);
            } else {
                self.start_idle_timer(self.controller_free);
            }
        }
    }
}
