//! Firmware of relocation: the map of every moved unit is checked and updated on a core, which looks for commands of the
//! host in between.

use crate::convert::{Narrow, Whole};
use crate::events::Event;
use crate::flash::Owner;
use crate::mapping::page::PageMapDevice;
use nandscope_units::Nanos;

/// Interval at which the firmware polls for host commands while it handles moved units, ns (or after each unit, if
/// units take longer): a few times per command of a fast drive. Assumed; 1 to 50 µs are plausible.
const POLL_NS: f64 = 10e3;

impl PageMapDevice {
    /// Starts the firmware's check and update of the map for all moved units of a job, on one core.
    pub(super) fn handle_moved_units(&mut self, job: u32) {
        if self.controller.relocate_unit_us == 0.0 {
            return self.on_relocation_handled(job);
        }
        self.background.jobs[job].unhandled = self.log.geometry.native.program_units;
        let done = self.book_some_units(job, self.units_between_polls(), 1);
        self.schedule.push(done, Event::Relocated(job));
    }

    /// Books a core for the units that the firmware handles in `looks` polling intervals; returns the end.
    fn book_some_units(&mut self, job: u32, (per_unit_ns, most): (f64, u32), looks: u32) -> Nanos {
        let unhandled = &mut self.background.jobs[job].unhandled;
        let units = most.min(*unhandled);
        *unhandled -= units * looks;
        let time = (per_unit_ns * f64::from(units)).floor_u64() * u64::from(looks);
        self.cores.book(self.schedule.now(), Nanos(time))
    }

    /// Firmware time of a moved unit at the present clock, ns; then the number of units handled per polling interval.
    fn units_between_polls(&self) -> (f64, u32) {
        let per_unit_ns = self.controller.relocate_unit_us * 1e3 / self.clock();
        (per_unit_ns, (POLL_NS / per_unit_ns).floor_u32().max(1))
    }

    /// Continues after a core has handled the units it was booked for. If no other event comes before `until`, the next
    /// units follow at once instead of by an event each.
    pub(in crate::mapping::page) fn on_units_handled(&mut self, job: u32, until: Nanos) {
        let mut clock = self.clock();
        let mut between_looks = self.units_between_polls();
        while self.background.jobs[job].unhandled > 0 {
            let looks = self.undisturbed_looks(job, between_looks, until);
            let done = self.book_some_units(job, between_looks, looks);
            if !self.is_undisturbed(done, until) {
                return self.schedule.push(done, Event::Relocated(job));
            }
            self.pass_time(done);
            if self.clock() != clock {
                clock = self.clock();
                between_looks = self.units_between_polls();
            }
        }
        self.on_relocation_handled(job);
    }

    /// Number of polling intervals before the next other event and `until`, at least 1. Larger than 1 only if one core
    /// handles the units one after another.
    fn undisturbed_looks(&self, job: u32, (per_unit_ns, most): (f64, u32), until: Nanos) -> u32 {
        if !self.cores.is_one_and_free(self.schedule.now()) {
            return 1;
        }
        let next = self.schedule.next_time().unwrap_or(Nanos::MAX);
        let before = next
            .min(self.power.meter.next_step())
            .saturating_sub(Nanos(1));
        let rest = before
            .min(self.commands.horizon(until, self.schedule.now()))
            .saturating_sub(self.schedule.now());
        let time = (per_unit_ns * f64::from(most)).floor_u64();
        let whole = self.background.jobs[job].unhandled / most;
        let looks = rest.0.checked_div(time).unwrap_or(1);
        looks.min(u64::from(whole)).max(1).narrow()
    }

    /// Whether an event at `at` would be the next event handled on the way to `until`.
    fn is_undisturbed(&self, at: Nanos, until: Nanos) -> bool {
        at <= self.commands.horizon(until, self.schedule.now())
            && self.schedule.next_time().is_none_or(|next| at < next)
    }

    fn on_relocation_handled(&mut self, job: u32) {
        if let Some(unit) = self.background.jobs[job].unit {
            self.submit_program(unit, Owner::RelocationProgram { job });
            self.program_parity(&unit);
        }
    }
}
