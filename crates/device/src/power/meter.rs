//! Power in steps of 100 ms: the energy of a step follows from the time that the device was active, the energy of the
//! flash and the bytes moved. Heat follows in [`crate::power::thermal`].

use crate::convert::ToF64;
use crate::host::attachment::Attachment;
use crate::invariant::{Checked, check_number, check_sum, ensure};
use crate::power::repeated_sum::add_repeatedly;
use crate::power::thermal::STEP;
use crate::profile::schema::PowerSection;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Upper bound of the energy drawn over a device's life, J.
const MOST_J: f64 = 1e15;

/// Energy drawn and data moved by flash arrays and channels since the start of the device's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlashUse {
    pub(crate) energy_j: f64,
    pub(crate) bus_bytes: u64,
}

impl FlashUse {
    /// Checks that energy and data can still grow.
    pub(crate) fn audit(&self) -> Checked {
        check_sum("bytes on the channels", self.bus_bytes)?;
        check_number("the flash's energy, J,", self.energy_j, 0.0, MOST_J)
    }
}

/// State of the meter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Meter {
    next_step: Nanos,
    busy_since: Option<Nanos>,
    /// End of the last activity.
    idle_since: Nanos,
    /// Energy saved by power states in finished idle times of this step, J.
    saved_j: f64,
    busy_in_step: Nanos,
    busy_total: Nanos,
    link_bytes: u64,
    before: FlashUse,
    data_path_j_per_byte: f64,
    energy_j: f64,
}

/// Energy of a time interval, and the time in it that the device was active.
struct Drawn {
    busy: Nanos,
    device_j: f64,
    host_j: f64,
}

impl Meter {
    pub(crate) fn new(power: &PowerSection) -> Self {
        Meter {
            next_step: STEP,
            busy_since: None,
            idle_since: Nanos::ZERO,
            saved_j: 0.0,
            busy_in_step: Nanos::ZERO,
            busy_total: Nanos::ZERO,
            link_bytes: 0,
            before: FlashUse::default(),
            data_path_j_per_byte: power.data_path_pj_per_byte * 1e-12,
            energy_j: 0.0,
        }
    }

    pub(crate) fn count_link(&mut self, bytes: u64) {
        self.link_bytes += bytes;
    }

    /// End of the present step.
    #[inline]
    pub(crate) fn next_step(&self) -> Nanos {
        self.next_step
    }

    /// Time that the device was active, in all whole steps.
    pub(crate) fn busy_total(&self) -> Nanos {
        self.busy_total
    }

    /// Records that the device is active or idle from `now` on.
    pub(crate) fn note(&mut self, busy: bool, now: Nanos) {
        match (busy, self.busy_since) {
            (true, None) => self.busy_since = Some(now),
            (false, Some(since)) => {
                self.busy_in_step += now.saturating_sub(since);
                self.busy_since = None;
                self.idle_since = now;
            }
            _ => {}
        }
    }

    /// Time since the last activity at `at`; `None` if the device is active.
    pub(crate) fn idle_time(&self, at: Nanos) -> Option<Nanos> {
        let idle = self.busy_since.is_none();
        idle.then(|| at.saturating_sub(self.idle_since))
    }

    /// Ends an idle time: adds the energy that power states have saved in it.
    pub(crate) fn end_idle(&mut self, now: Nanos, a: &Attachment) {
        self.saved_j = self.saved_since_step(now, a);
    }

    /// Energy that power states have saved from the end of the last whole step to `end`, J.
    fn saved_since_step(&self, end: Nanos, a: &Attachment) -> f64 {
        let Some(idle) = self.idle_time(end) else {
            return self.saved_j;
        };
        let step = self.next_step.saturating_sub(STEP);
        let before = step.saturating_sub(self.idle_since);
        self.saved_j + a.idle_states.saved_j(a.idle_w, before, idle)
    }

    /// Ends the present step; returns the mean power of the device in it, watts.
    pub(crate) fn step(&mut self, flash: FlashUse, attachment: &Attachment) -> f64 {
        let end = self.next_step;
        let drawn = self.drawn_since_step(end, flash, attachment);
        self.energy_j += drawn.device_j + drawn.host_j;
        self.busy_total += drawn.busy;
        self.busy_in_step = Nanos::ZERO;
        self.busy_since = self.busy_since.map(|_| end);
        self.link_bytes = 0;
        self.saved_j = 0.0;
        self.before = flash;
        self.next_step = end + STEP;
        drawn.device_j / STEP.as_secs_f64()
    }

    /// Whether only idle power was drawn since the current step began.
    pub(crate) fn is_idle(&self, flash: FlashUse) -> bool {
        let active = self.busy_since.is_some() || !self.busy_in_step.is_zero();
        !active && self.link_bytes == 0 && self.before == flash
    }

    /// Whether an idle device keeps its present power until it is used.
    pub(crate) fn has_settled_state(&self, a: &Attachment) -> bool {
        let step = self.next_step.saturating_sub(STEP);
        self.idle_time(step)
            .is_some_and(|idle| a.idle_states.is_last(idle))
    }

    /// Mean power of an idle device in a step, watts.
    pub(crate) fn idle_watts(&self, flash: FlashUse, attachment: &Attachment) -> f64 {
        let drawn = self.drawn_since_step(self.next_step, flash, attachment);
        drawn.device_j / STEP.as_secs_f64()
    }

    /// Ends `count` steps of an idle device.
    pub(crate) fn take_idle_steps(&mut self, count: u64, flash: FlashUse, attachment: &Attachment) {
        let drawn = self.drawn_since_step(self.next_step, flash, attachment);
        self.energy_j = add_repeatedly(self.energy_j, drawn.device_j + drawn.host_j, count);
        self.next_step += STEP * count;
    }

    /// Energy drawn up to `now` by device and host adapter, joules.
    pub(crate) fn energy_j(&self, now: Nanos, flash: FlashUse, attachment: &Attachment) -> f64 {
        let drawn = self.drawn_since_step(now, flash, attachment);
        self.energy_j + drawn.device_j + drawn.host_j
    }

    /// Checks that the meter agrees with the clock and with the energy of the flash.
    pub(crate) fn audit(&self, power: &PowerSection, flash: FlashUse, now: Nanos) -> Checked {
        // The sum of energies may have rounding errors in its last digits.
        ensure!(
            self.before.energy_j <= flash.energy_j + 0.1,
            "the flash had drawn {} J before and {} J now",
            self.before.energy_j,
            flash.energy_j
        );
        let begun = self.next_step.saturating_sub(STEP);
        ensure!(
            self.next_step > now
                && begun <= now
                && self.busy_in_step <= STEP
                && self
                    .busy_since
                    .is_none_or(|since| since <= now && since >= begun)
                && self.busy_total <= now
                && self.idle_since <= now
                && self.data_path_j_per_byte == power.data_path_pj_per_byte * 1e-12,
            "the meter's step ends at {}, and now is {now}",
            self.next_step
        );
        check_sum("bytes on the link", self.link_bytes)?;
        check_sum("bytes on the channels", self.before.bus_bytes)?;
        check_number("the energy saved, J,", self.saved_j, -MOST_J, MOST_J)?;
        check_number("the energy, J,", self.energy_j, -MOST_J, MOST_J)?;
        check_number("the flash's energy, J,", self.before.energy_j, 0.0, MOST_J)
    }

    /// Energy drawn from the end of the last whole step to `end`.
    fn drawn_since_step(&self, end: Nanos, flash: FlashUse, a: &Attachment) -> Drawn {
        let busy = self.busy_in_step
            + self
                .busy_since
                .map_or(Nanos::ZERO, |since| end.saturating_sub(since));
        let passed = (end + STEP).saturating_sub(self.next_step);
        let (busy_s, idle_s) = (
            busy.as_secs_f64(),
            passed.saturating_sub(busy).as_secs_f64(),
        );
        let link_bytes = self.link_bytes.to_f64();
        let bus_bytes = flash
            .bus_bytes
            .saturating_sub(self.before.bus_bytes)
            .to_f64();
        let device_j = a.active_w * busy_s
            + a.idle_w * idle_s
            + (flash.energy_j - self.before.energy_j)
            + bus_bytes * self.data_path_j_per_byte
            + link_bytes * a.link_j_per_byte
            - self.saved_since_step(end, a);
        let host_j =
            a.chain.active_w * busy_s + a.chain.idle_w * idle_s + link_bytes * a.chain.j_per_byte;
        Drawn {
            busy,
            device_j,
            host_j,
        }
    }
}
