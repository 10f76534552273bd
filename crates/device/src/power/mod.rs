//! Power and heat: energy per operation becomes power ([`meter`]), power becomes temperature
//! ([`thermal`]); [`idle`] advances both over long idle times, in which a device may enter a power state
//! ([`states`]).

pub(crate) mod idle;
pub(crate) mod meter;
mod repeated_sum;
pub(crate) mod states;
pub(crate) mod thermal;

use crate::flash::reliability::Errors;
use crate::host::attachment::Attachment;
use crate::invariant::Checked;
use crate::profile::schema::Profile;
use meter::{FlashUse, Meter};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use thermal::{STEP, Thermal};

/// Power and heat of a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Power {
    pub(crate) meter: Meter,
    pub(crate) thermal: Thermal,
}

impl Power {
    pub(crate) fn new(profile: &Profile) -> Self {
        Power {
            meter: Meter::new(&profile.power),
            thermal: Thermal::new(&profile.thermal, &profile.power),
        }
    }

    /// Share of the full clock that the interface and throttling allow, 0 to 1.
    #[inline]
    pub(crate) fn clock(&self, attachment: &Attachment) -> f64 {
        attachment.clock_share * self.thermal.clock()
    }

    /// End of the current interval of 100 ms.
    #[inline]
    pub(crate) fn next_step(&self) -> Nanos {
        self.meter.next_step()
    }

    /// Ends a step, by the end of which the flash has used `flash`; sets the temperature of the flash errors. Returns
    /// whether the clock has changed.
    pub(crate) fn step(
        &mut self,
        flash: FlashUse,
        attachment: &Attachment,
        errors: &mut Errors,
    ) -> bool {
        let watts = self.meter.step(flash, attachment);
        let before = self.thermal.clock();
        self.thermal.step(watts);
        let at = self.meter.next_step().saturating_sub(STEP);
        errors.set_temperature(self.thermal.case_c(), at);
        self.thermal.clock() != before
    }

    /// Ends all steps up to `to` at once, if none of them changes a temperature.
    pub(crate) fn skip_steps(&mut self, flash: FlashUse, attachment: &Attachment, to: Nanos) {
        idle::skip_steps(&mut self.meter, &mut self.thermal, flash, attachment, to);
    }

    pub(crate) fn audit(&self, profile: &Profile, flash: FlashUse, now: Nanos) -> Checked {
        self.meter.audit(&profile.power, flash, now)?;
        self.thermal.audit(&profile.thermal, &profile.power)
    }
}
