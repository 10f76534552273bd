//! Power and heat in steps of 100 ms: what was drawn in a step follows from how long the device
//! was active in it, from the flash operations begun in it and from the bytes moved.

use super::Device;
use crate::profile::schema::PowerSection;
use crate::thermal::STEP;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// State of the meter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Meter {
    next_step: Nanos,
    busy_since: Option<Nanos>,
    busy_in_step: Nanos,
    pub(super) busy_total: Nanos,
    link_bytes: u64,
    array_j_before: f64,
    bus_bytes_before: u64,
    data_path_j_per_byte: f64,
    pub(super) energy_j: f64,
}

impl Meter {
    pub(super) fn new(power: &PowerSection) -> Self {
        Meter {
            next_step: STEP,
            busy_since: None,
            busy_in_step: Nanos::ZERO,
            busy_total: Nanos::ZERO,
            link_bytes: 0,
            array_j_before: 0.0,
            bus_bytes_before: 0,
            data_path_j_per_byte: power.data_path_pj_per_byte * 1e-12,
            energy_j: 0.0,
        }
    }

    pub(super) fn count_link(&mut self, bytes: u64) {
        self.link_bytes += bytes;
    }
}

impl Device {
    /// Sets the clock, and steps power and heat up to it.
    #[inline]
    pub(super) fn pass_time(&mut self, to: Nanos) {
        while self.meter.next_step <= to {
            self.step_meter();
        }
        self.now = to;
    }

    /// The device has begun or ended to be active.
    pub(super) fn note_busy(&mut self) {
        let busy =
            self.outstanding > 0 || self.array.outstanding() > 0 || self.background.working();
        match (busy, self.meter.busy_since) {
            (true, None) => self.meter.busy_since = Some(self.now),
            (false, Some(since)) => {
                self.meter.busy_in_step += self.now.saturating_sub(since);
                self.meter.busy_since = None;
            }
            _ => {}
        }
    }

    fn step_meter(&mut self) {
        let end = self.meter.next_step;
        let drawn = self.drawn_since_step(end);
        let m = &mut self.meter;
        m.energy_j += drawn.device_j + drawn.host_j;
        m.busy_total += drawn.busy;
        m.busy_in_step = Nanos::ZERO;
        m.busy_since = m.busy_since.map(|_| end);
        m.link_bytes = 0;
        m.array_j_before = self.array.energy_j();
        m.bus_bytes_before = self.array.bus_bytes();
        m.next_step = end + STEP;
        let before = self.thermal.clock();
        self.thermal.step(drawn.device_j / STEP.as_secs_f64());
        if self.thermal.clock() != before {
            self.array.set_clock(self.clock());
        }
    }

    /// Energy drawn up to the present, joules.
    pub(super) fn energy_j(&self) -> f64 {
        let drawn = self.drawn_since_step(self.now);
        self.meter.energy_j + drawn.device_j + drawn.host_j
    }

    /// What has been drawn from the end of the last whole step to `end`.
    fn drawn_since_step(&self, end: Nanos) -> Drawn {
        let m = &self.meter;
        let busy = m.busy_in_step
            + m.busy_since
                .map_or(Nanos::ZERO, |since| end.saturating_sub(since));
        let passed = (end + STEP).saturating_sub(m.next_step);
        let (busy_s, idle_s) = (
            busy.as_secs_f64(),
            passed.saturating_sub(busy).as_secs_f64(),
        );
        let link_bytes = m.link_bytes as f64;
        let bus_bytes = self.array.bus_bytes().saturating_sub(m.bus_bytes_before) as f64;
        let a = &self.attachment;
        let device_j = a.active_w * busy_s
            + a.idle_w * idle_s
            + (self.array.energy_j() - m.array_j_before)
            + bus_bytes * m.data_path_j_per_byte
            + link_bytes * a.link_j_per_byte;
        let host_j =
            a.chain.active_w * busy_s + a.chain.idle_w * idle_s + link_bytes * a.chain.j_per_byte;
        Drawn {
            busy,
            device_j,
            host_j,
        }
    }
}

/// Energy of a stretch of time, and how long the device was active in it.
struct Drawn {
    busy: Nanos,
    device_j: f64,
    host_j: f64,
}
