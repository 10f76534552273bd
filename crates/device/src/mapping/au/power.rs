//! Power and heat of a card. Flash operations are known when they begin; their energy is spread
//! evenly over their time.

use super::AuMapDevice;
use super::times::FlashCost;
use crate::convert::{ToF64, Whole};
use crate::invariant::{Checked, check_near, ensure};
use crate::power::idle::STEPS_BEFORE_SKIP;
use crate::power::meter::FlashUse;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Flash work under way, and the sum of finished work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Spans {
    under_way: VecDeque<Span>,
    done: FlashUse,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Span {
    from: Nanos,
    to: Nanos,
    energy_j: f64,
    bus_bytes: u64,
}

impl Spans {
    pub(super) fn add(&mut self, from: Nanos, cost: &FlashCost) {
        if cost.energy_j == 0.0 && cost.bus_bytes == 0 {
            return;
        }
        self.under_way.push_back(Span {
            from,
            to: from + cost.time,
            energy_j: cost.energy_j,
            bus_bytes: cost.bus_bytes,
        });
    }

    /// Energy drawn and data moved up to `now`.
    pub(super) fn until(&self, now: Nanos) -> FlashUse {
        let mut sum = self.done;
        for span in &self.under_way {
            let share = span.share(now);
            sum.energy_j += span.energy_j * share;
            sum.bus_bytes += (span.bus_bytes.to_f64() * share).floor_u64();
        }
        sum
    }

    /// Checks that all work ends, and that its energy can be summed.
    pub(super) fn audit(&self, now: Nanos) -> Checked {
        self.done.audit()?;
        for span in &self.under_way {
            check_near("the end of flash work", span.to, now)?;
            let own = FlashUse {
                energy_j: span.energy_j,
                bus_bytes: span.bus_bytes,
            };
            own.audit()?;
            ensure!(
                span.bus_bytes <= 1 << 50 && self.under_way.len() < 1 << 11,
                "flash work moves {} bytes",
                span.bus_bytes
            );
        }
        Ok(())
    }

    /// Adds finished work to the sum.
    fn settle(&mut self, now: Nanos) {
        let done = &mut self.done;
        self.under_way.retain(|span| {
            if span.to > now {
                return true;
            }
            done.energy_j += span.energy_j;
            done.bus_bytes += span.bus_bytes;
            false
        });
    }
}

impl Span {
    fn share(&self, now: Nanos) -> f64 {
        let whole = self.to.saturating_sub(self.from).0;
        if now >= self.to || whole == 0 {
            return f64::from(u8::from(now >= self.from));
        }
        now.saturating_sub(self.from).0.to_f64() / whole.to_f64()
    }
}

impl AuMapDevice {
    /// Sets the clock and updates power and heat up to it.
    #[inline]
    pub(super) fn pass_time(&mut self, to: Nanos) {
        let mut taken = 0u32;
        while self.power.meter.next_step() <= to {
            self.step_meter();
            taken = taken.wrapping_add(1);
            if taken.is_multiple_of(STEPS_BEFORE_SKIP) {
                let flash = self.spans.until(self.power.meter.next_step());
                self.power.skip_steps(flash, &self.attachment, to);
            }
        }
        self.schedule.set_now(to);
    }

    fn step_meter(&mut self) {
        let end = self.power.meter.next_step();
        self.spans.settle(end);
        let flash = self.spans.until(end);
        let power = &mut self.power;
        if power.step(flash, &self.attachment, &mut self.errors) {
            self.set_times();
        }
    }

    /// Energy drawn up to the present, joules.
    pub(super) fn energy_j(&self) -> f64 {
        self.power.meter.energy_j(
            self.schedule.now(),
            self.spans.until(self.schedule.now()),
            &self.attachment,
        )
    }
}
