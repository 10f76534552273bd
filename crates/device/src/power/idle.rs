//! Long idle times in one step. Power and heat advance in intervals of 100 ms, which are 16 billion for
//! 50 years. Once an idle device has reached its final temperature, an interval changes only the clock,
//! the energy and a few counts; such intervals are added up here, bit for bit as if each were taken.

use crate::host::attachment::Attachment;
use crate::power::meter::{FlashUse, Meter};
use crate::power::thermal::{STEP, Thermal};
use nandscope_units::Nanos;

/// Steps executed one by one before checking whether the rest can be skipped.
pub(crate) const STEPS_BEFORE_SKIP: u32 = 512;

/// Takes all intervals that end by `to` at once if none of them changes a temperature; otherwise does
/// nothing.
pub(crate) fn skip_steps(
    meter: &mut Meter,
    thermal: &mut Thermal,
    flash: FlashUse,
    attachment: &Attachment,
    to: Nanos,
) {
    let first = meter.next_step();
    if to < first || !meter.is_idle(flash) || !meter.has_settled_state(attachment) {
        return;
    }
    let count = (to.0 - first.0) / STEP.0 + 1;
    if thermal.settled(meter.idle_watts(flash, attachment)) {
        meter.take_idle_steps(count, flash, attachment);
        thermal.take_settled_steps(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::library;

    #[test]
    fn skipped_steps_give_the_same_state() {
        let profile = library::device("reference-nvme-64gb").unwrap();
        let profile = profile.profile().unwrap();
        let host = library::host("direct").unwrap().host_profile().unwrap();
        let attachment = Attachment::new(&profile, &host).unwrap();
        let (mut meter, mut thermal) = (
            Meter::new(&profile.power),
            Thermal::new(&profile.thermal, &profile.power),
        );
        let flash = FlashUse {
            energy_j: 3.3,
            bus_bytes: 1 << 20,
        };
        let to = Nanos::from_secs(90_000);
        let step = |meter: &mut Meter, thermal: &mut Thermal| {
            let watts = meter.step(flash, &attachment);
            thermal.step(watts);
        };
        // Until the temperature no longer changes.
        let mut taken = 0u64;
        while !(meter.is_idle(flash) && thermal.settled(meter.idle_watts(flash, &attachment))) {
            step(&mut meter, &mut thermal);
            taken += 1;
            assert!(taken < 500_000, "no final temperature");
        }
        let (mut quick, mut quick_thermal) = (meter.clone(), thermal.clone());
        skip_steps(&mut quick, &mut quick_thermal, flash, &attachment, to);
        while meter.next_step() <= to {
            step(&mut meter, &mut thermal);
        }
        assert!(quick.next_step() > to, "nothing was skipped");
        assert_eq!(quick_thermal, thermal);
        assert_eq!(quick.next_step(), meter.next_step());
        assert_eq!(
            quick.energy_j(to, flash, &attachment).to_bits(),
            meter.energy_j(to, flash, &attachment).to_bits()
        );
    }
}
