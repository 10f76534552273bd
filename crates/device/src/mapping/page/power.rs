//! Power and heat of a page-mapped device: input of the power meter, and the effect of throttling.

use super::PageMapDevice;
use crate::power::idle::STEPS_BEFORE_SKIP;
use crate::power::meter::FlashUse;
use nandscope_units::Nanos;

impl PageMapDevice {
    /// Sets the clock and updates power and heat up to it.
    #[inline]
    pub(super) fn pass_time(&mut self, to: Nanos) {
        if self.power.next_step() <= to {
            self.step_to(to);
        }
        self.schedule.set_now(to);
    }

    /// Updates power and heat up to a time, in steps.
    #[cold]
    fn step_to(&mut self, to: Nanos) {
        let mut taken = 0u32;
        while self.power.meter.next_step() <= to {
            self.step_meter();
            taken = taken.wrapping_add(1);
            if taken.is_multiple_of(STEPS_BEFORE_SKIP) {
                let flash = self.flash_use();
                self.power.skip_steps(flash, &self.attachment, to);
            }
        }
    }

    /// Tells the power meter that the device has become active or idle.
    pub(super) fn note_busy(&mut self) {
        let busy = self.commands.outstanding() > 0
            || self.array.outstanding() > 0
            || self.background.working();
        if busy && !self.attachment.idle_states.is_empty() {
            self.power
                .meter
                .end_idle(self.schedule.now(), &self.attachment);
        }
        self.power.meter.note(busy, self.schedule.now());
    }

    /// Time at which the controller handles a command that arrives at `arrival`: a device in a non-operational power
    /// state leaves it first, and all commands that arrive meanwhile wait.
    pub(super) fn awake_at(&mut self, arrival: Nanos) -> Nanos {
        if self.attachment.idle_states.is_empty() {
            return arrival;
        }
        if let Some(idle) = self.power.meter.idle_time(arrival) {
            self.awake = arrival + self.attachment.idle_states.wake_time(idle);
        }
        arrival.max(self.awake)
    }

    /// Number of the NVMe power state.
    pub(super) fn power_state(&self) -> u32 {
        let idle = self.power.meter.idle_time(self.schedule.now());
        let asleep = idle.and_then(|idle| self.attachment.idle_states.after(idle));
        asleep.map_or(self.attachment.power_state, |state| state.number)
    }

    fn step_meter(&mut self) {
        self.count_plan(self.power.meter.next_step());
        let flash = self.flash_use();
        let power = &mut self.power;
        if power.step(flash, &self.attachment, &mut self.errors) {
            self.array.set_clock(self.clock());
        }
    }

    /// Energy drawn up to the present, joules.
    pub(super) fn energy_j(&self) -> f64 {
        let uncounted = self.uncounted();
        let flash = FlashUse {
            energy_j: self
                .array
                .energy_j(uncounted.arrays_pj, uncounted.bus_bytes),
            bus_bytes: self.array.bus_bytes() + uncounted.bus_bytes,
        };
        let mut meter = self.power.meter.clone();
        meter.count_link(uncounted.link_bytes);
        meter.energy_j(self.schedule.now(), flash, &self.attachment)
    }

    pub(super) fn flash_use(&self) -> FlashUse {
        FlashUse {
            energy_j: self.array.energy_j(0, 0),
            bus_bytes: self.array.bus_bytes(),
        }
    }
}
