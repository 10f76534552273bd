//! Long idle times in one go. Power and heat are stepped in intervals of 100 ms, which are 16 billion
//! for 50 years. Once an idle device has reached its final temperature, a step changes nothing but the
//! clock, the energy and a few counts; such steps are added up here, bit for bit as if each were taken.

use crate::attachment::Attachment;
use crate::meter::{FlashUse, Meter};
use crate::thermal::{STEP, Thermal};
use nandscope_units::Nanos;

/// Steps that are taken one by one before it is worth looking whether the rest can be skipped.
pub(crate) const STEPS_BEFORE_SKIP: u32 = 512;

/// Takes all steps that end by `to` at once where none of them changes a temperature; nothing otherwise.
pub(crate) fn skip_steps(
    meter: &mut Meter,
    thermal: &mut Thermal,
    flash: FlashUse,
    attachment: &Attachment,
    to: Nanos,
) {
    let first = meter.next_step();
    if to < first || !meter.is_idle(flash) {
        return;
    }
    let count = (to.0 - first.0) / STEP.0 + 1;
    if thermal.settled(meter.idle_watts(flash, attachment)) {
        meter.take_idle_steps(count, flash, attachment);
        thermal.take_settled_steps(count);
    }
}

/// `sum + term + term + …` with `count` terms, none below zero: the same bits as adding them one by one.
///
/// Between two powers of two all numbers are equally far apart, so that every addition of the same term
/// grows the sum by the same amount. That holds from the second addition there on: where a sum lies halfway
/// between two numbers it is rounded to the even one, and all that start from an even one round alike.
pub(crate) fn add_repeatedly(mut sum: f64, term: f64, mut count: u64) -> f64 {
    let power = |x: f64| x.to_bits() >> 52;
    while count > 0 {
        let next = sum + term;
        count -= 1;
        if next == sum {
            return sum;
        }
        let crossed = power(next) != power(sum);
        sum = next;
        if crossed {
            continue;
        }
        let growth = (sum + term) - sum;
        let limit = f64::from_bits((power(sum) + 1) << 52);
        // Not quite up to the limit, where additions begin to round otherwise.
        let steps = ((limit - sum) / growth) as u64;
        let steps = steps.saturating_sub(2).min(count);
        sum += growth * steps as f64;
        count -= steps;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::library;
    use crate::random::Random;

    #[test]
    fn repeated_addition_gives_the_same_bits() {
        let mut random = Random::new(1);
        let mut draw = |scale: f64| (random.bits() >> 11) as f64 * scale;
        for scale in [1e-30, 1e-20, 1e-17, 1e-16, 1e-3] {
            for _ in 0..20 {
                let (start, term) = (draw(1e-16), draw(scale));
                let one_by_one = (0..30_000).fold(start, |sum, _| sum + term);
                let at_once = add_repeatedly(start, term, 30_000);
                assert_eq!(at_once.to_bits(), one_by_one.to_bits(), "{start} {term}");
            }
        }
        // Halfway between two numbers, beside zero, and without effect.
        let half = f64::EPSILON / 2.0;
        for (start, term) in [
            (1.0, half),
            (1.0 + f64::EPSILON, half),
            (1.0, 3.0 * half),
            (0.0, 0.1),
            (0.0, 0.0),
            (1e300, 1.0),
            (0.0, 5e-324),
        ] {
            let one_by_one = (0..1000).fold(start, |sum, _| sum + term);
            assert_eq!(
                add_repeatedly(start, term, 1000).to_bits(),
                one_by_one.to_bits()
            );
        }
    }

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
        // Until the temperature stands still.
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
