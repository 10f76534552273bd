//! Whose turn it is: the device's, up to its next completion, or the kernel's.

use super::{Machine, MachineError};
use crate::time_travel::Op;
use nandscope_device::SimulatedDevice;
use nandscope_units::Nanos;

/// Time requested by a kernel that sleeps without a timer (`S64_MAX`).
const FOR_EVER: Nanos = Nanos(i64::MAX as u64);

impl<D: SimulatedDevice> Machine<'_, D> {
    /// The kernel sleeps: advances the device or wakes the kernel. Returns true if the power is cut.
    pub(super) fn schedule(&mut self) -> Result<bool, MachineError> {
        if self.backend.has_finished() {
            self.call()?;
            return Ok(false);
        }
        let target = self.request.filter(|t| *t < FOR_EVER);
        if let Some(cut) = self.limits.cut
            && target.is_none_or(|t| t >= cut)
            && self.backend.outstanding() == 0
        {
            self.device_until(cut)?;
            self.now = cut;
            return Ok(true);
        }
        let end = self.limits.virtual_time + Nanos(1);
        let until = target
            .unwrap_or(end)
            .min(end)
            .min(self.limits.cut.unwrap_or(end));
        if self.backend.outstanding() > 0 {
            let reached = self.device_to_first_completion(until)?;
            self.now = self.now.max(reached);
            if self.backend.has_finished() {
                if self.cut_is_over() {
                    return Ok(true);
                }
                self.call()?;
                return Ok(false);
            }
            if self.cut_is_over() {
                return Ok(true);
            }
        }
        match target {
            Some(target) if target <= end => {
                self.now = self.now.max(target);
                self.wake()?;
                Ok(false)
            }
            Some(_) => Err(MachineError::TooLate(self.limits.virtual_time)),
            None => Err(MachineError::Asleep(self.now)),
        }
    }

    /// Returns finished requests to the kernel.
    fn call(&mut self) -> Result<(), MachineError> {
        self.backend.return_finished()?;
        self.call_due = true;
        Ok(())
    }

    /// Lets the kernel run from now on.
    fn wake(&mut self) -> Result<(), MachineError> {
        let limit = self.limit();
        self.request = None;
        self.waiting = false;
        self.free_until = Some(limit);
        self.tell(Op::FreeUntil, limit)?;
        self.tell(Op::Run, self.now)
    }

    /// Up to when the kernel can run without an interrupt of the device.
    fn limit(&self) -> Nanos {
        // Requests answered without the device are returned at this very time.
        if self.backend.has_finished() {
            return self.now;
        }
        let device = if self.backend.outstanding() == 0 {
            None
        } else {
            self.device.next_event()
        };
        let device = device.map(|at| at.saturating_sub(self.device_ahead));
        [device, self.limits.cut, Some(FOR_EVER)]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(FOR_EVER)
    }

    /// Sends a shorter limit if the kernel's limit is later than the present one; returns whether it was sent.
    pub(super) fn shorten_free_run(&mut self) -> Result<bool, MachineError> {
        let limit = self.limit();
        if self.free_until.is_some_and(|until| until > limit) {
            self.free_until = Some(limit);
            self.tell(Op::FreeUntil, limit)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Lets the device's time pass up to `until`, whatever completes on the way.
    pub(super) fn device_until(&mut self, until: Nanos) -> Result<(), MachineError> {
        loop {
            let reached = self.device_to_first_completion(until)?;
            if reached >= until {
                return Ok(());
            }
        }
    }

    /// Lets the device's time pass up to `until` or to its first completion, and gives the time.
    fn device_to_first_completion(&mut self, until: Nanos) -> Result<Nanos, MachineError> {
        let mut last = Nanos::ZERO;
        loop {
            let until = until + self.device_ahead;
            let reached = self.device.advance(until, &mut self.completions);
            let kernel = reached.saturating_sub(self.device_ahead);
            let some = !self.completions.is_empty();
            for completion in self.completions.drain(..) {
                self.backend
                    .finish(&completion, self.device_ahead)
                    .map_err(MachineError::from)?;
            }
            if some || reached >= until {
                return Ok(kernel);
            }
            if self.device.next_event().is_none() || reached <= last {
                return Err(MachineError::Stalled(reached));
            }
            last = reached;
        }
    }
}
