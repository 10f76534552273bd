//! The invariants of a card, checked from the ground up, for tests and snapshots.

use super::geometry::{CardGeometry, native};
use super::map::Map;
use super::times::Times;
use super::{AuMapDevice, Buffer};
use crate::command::Status;
use crate::events::Event;
use crate::invariant::{Checked, InvalidState, check_near, check_sum, ensure};
use crate::profile;
use nandscope_units::SECTOR_BYTES;

impl AuMapDevice {
    /// Checks the invariants of the state at any instant.
    pub(crate) fn audit(&self) -> Checked {
        let p = &self.profile;
        profile::audit(p)?;
        let Some(card) = &p.card else {
            return Err(InvalidState("its profile is not that of a card".into()));
        };
        self.schedule.audit()?;
        self.attachment.audit(p)?;
        let now = self.schedule.now();
        self.power.audit(p, self.spans.until(now), now)?;
        self.counters.audit()?;
        self.audit_counters()?;
        self.spans.audit(self.schedule.now())?;
        let streams = card.controller.read_ahead_streams as usize;
        self.reads.audit(streams, self.schedule.now())?;
        let geometry = CardGeometry::new(p, card);
        let clock = self.power.clock(&self.attachment);
        let times = Times::new(p, card, &geometry, self.attachment.active_dies, clock);
        let cycles = native(p).cycles;
        ensure!(
            self.card == *card
                && self.identity == p.device
                && self.planes == p.nand.planes
                && self.times == times,
            "the controller is not that of the profile"
        );
        self.errors
            .audit(&p.nand.reliability, cycles, self.schedule.now())?;
        for at in [self.controller_free, self.flash_free] {
            check_near("the end of work", at, self.schedule.now())?;
        }
        if let Some(since) = self.read_only_since {
            check_near("the end of life", since, self.schedule.now())?;
        }
        let buffer = Buffer::new(&self.attachment, card, &geometry);
        let sectors = p.device.capacity_bytes / SECTOR_BYTES;
        self.buffer.audit(&buffer, sectors)?;
        // Checked first: later checks index lists by the geometry.
        ensure!(
            self.map.fits(&geometry),
            "the layout of the card differs from the profile"
        );
        let fresh = Map::new(p, card, geometry);
        self.map.audit(&fresh, self.schedule.now())?;
        self.audit_commands()
    }

    fn audit_counters(&self) -> Checked {
        let c = &self.flash_counters;
        let all = [
            c.flash_programmed.0,
            c.gc_writes.0,
            c.refreshed.0,
            c.erases,
            c.page_reads,
        ];
        all.into_iter()
            .try_for_each(|sum| check_sum("counters of the card", sum))
    }

    /// Checks that every command is free, queued at the host, or completes exactly once.
    fn audit_commands(&self) -> Checked {
        let mut used = self.commands.audit(self.attachment.chain.queue_depth, 0)?;
        let mut idle_timers = Vec::new();
        let mut interrupts = 0;
        for (at, event) in self.schedule.events().iter() {
            let index = match event {
                Event::Complete(index) => index,
                Event::Idle => {
                    idle_timers.push(at);
                    continue;
                }
                Event::Interrupt => {
                    interrupts += 1;
                    continue;
                }
                other => {
                    return Err(InvalidState(format!("a card waits for {other:?}")));
                }
            };
            let place = used.get_mut(index as usize);
            ensure!(
                place.is_some_and(|used| std::mem::replace(used, false)),
                "command {index} completes twice, or was not submitted"
            );
        }
        for index in self.adapter.held() {
            let place = used.get_mut(*index as usize);
            ensure!(
                place.is_some_and(|used| std::mem::replace(used, false)),
                "command {index} is held, and completes again or was not submitted"
            );
        }
        self.adapter
            .audit(&self.attachment.chain, interrupts, self.schedule.now())?;
        ensure!(!used.contains(&true), "a command never completes");
        ensure!(
            idle_timers == Vec::from_iter(self.idle_timer),
            "{} idle timers are pending",
            idle_timers.len()
        );
        for (index, request) in self.commands.iter() {
            let is_within = request.command.is_within(self.identity.capacity_bytes);
            ensure!(
                is_within != (request.status == Status::LbaOutOfRange)
                    && request.submitted <= self.schedule.now(),
                "command {index} is not the one that was submitted"
            );
        }
        Ok(())
    }
}
