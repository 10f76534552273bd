//! Heat: a network of two thermal masses (controller, case) and the ambient, computed in fixed steps; throttling
//! follows the controller's temperature, with a delay of one firmware interval.
//!
//! Not modelled: the flash's own temperature (taken to be the case's), airflow, the reader's heat, the dependence of
//! leakage on temperature.

use crate::convert::Narrow;
use crate::invariant::{Checked, check_number, check_sum, ensure};
use crate::profile::schema::{PowerSection, ThermalSection};
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

/// Step of the thermal model: 100 ms.
pub(crate) const STEP: Nanos = Nanos(100_000_000);
/// Steps between two settings of the throttle by the firmware.
const FIRMWARE_STEPS: u32 = 10;

/// Upper bound of a temperature, °C.
const MOST_C: f64 = 1e12;

/// State of the thermal model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Thermal {
    section: ThermalSection,
    controller_share: f64,
    controller_c: f64,
    case_c: f64,
    clock: f64,
    steps: u32,
    warning_steps: u64,
    critical_steps: u64,
}

impl Thermal {
    pub(crate) fn new(section: &ThermalSection, power: &PowerSection) -> Self {
        Thermal {
            section: section.clone(),
            controller_share: power.controller_share,
            controller_c: section.ambient_c,
            case_c: section.ambient_c,
            clock: 1.0,
            steps: 0,
            warning_steps: 0,
            critical_steps: 0,
        }
    }

    /// Advances by one [`STEP`] at a mean power of the device, watts. Explicit Euler: the check of the profile keeps
    /// the step well below the time constants.
    pub(crate) fn step(&mut self, device_w: f64) {
        (self.controller_c, self.case_c) = self.temperatures_after(device_w);
        self.warning_steps += u64::from(self.controller_c >= self.section.warning_c);
        self.critical_steps += u64::from(self.controller_c >= self.section.critical_c);
        self.steps += 1;
        if self.steps >= FIRMWARE_STEPS {
            self.steps = 0;
            self.clock = self.clock_for(self.controller_c);
        }
    }

    /// Whether steps at this power change neither a temperature nor the clock.
    pub(crate) fn settled(&self, device_w: f64) -> bool {
        self.temperatures_after(device_w) == (self.controller_c, self.case_c)
            && self.clock == self.clock_for(self.controller_c)
    }

    /// Counts `count` steps at a constant power at which nothing changes.
    pub(crate) fn take_settled_steps(&mut self, count: u64) {
        let hot = |limit_c: f64| u64::from(self.controller_c >= limit_c) * count;
        self.warning_steps += hot(self.section.warning_c);
        self.critical_steps += hot(self.section.critical_c);
        self.steps = ((u64::from(self.steps) + count) % u64::from(FIRMWARE_STEPS)).narrow();
    }

    /// Temperatures of controller and case after one step.
    fn temperatures_after(&self, device_w: f64) -> (f64, f64) {
        let s = &self.section;
        let dt = STEP.as_secs_f64();
        let to_case_w = (self.controller_c - self.case_c) / s.controller_to_case_k_per_w;
        let to_ambient_w = (self.case_c - s.ambient_c) / s.case_to_ambient_k_per_w;
        let controller_w = device_w * self.controller_share;
        let case_w = device_w - controller_w + to_case_w - to_ambient_w;
        (
            self.controller_c + (controller_w - to_case_w) * dt / s.controller_j_per_k,
            self.case_c + case_w * dt / s.case_j_per_k,
        )
    }

    fn clock_for(&self, celsius: f64) -> f64 {
        let s = &self.section;
        let hot = (celsius - s.throttle_start_c) / (s.throttle_full_c - s.throttle_start_c);
        1.0 - hot.clamp(0.0, 1.0) * (1.0 - s.throttle_clock)
    }

    /// Checks that temperatures and clock are possible ones.
    pub(crate) fn audit(&self, section: &ThermalSection, power: &PowerSection) -> Checked {
        ensure!(
            self.section == *section
                && self.controller_share == power.controller_share
                && self.steps < FIRMWARE_STEPS,
            "the thermal network is not that of the profile"
        );
        check_number("the controller, °C,", self.controller_c, -300.0, MOST_C)?;
        check_number("the case, °C,", self.case_c, -300.0, MOST_C)?;
        check_number("the clock", self.clock, section.throttle_clock, 1.0)?;
        check_sum("steps", self.warning_steps.max(self.critical_steps))
    }

    /// Share of the clock that throttling leaves, 0 to 1.
    pub(crate) fn clock(&self) -> f64 {
        self.clock
    }

    /// Controller temperature, which SMART reports, °C.
    pub(crate) fn controller_c(&self) -> f64 {
        self.controller_c
    }

    /// Whether the warning temperature is reached.
    pub(crate) fn is_above_warning(&self) -> bool {
        self.controller_c >= self.section.warning_c
    }

    /// Surface temperature of the case, °C.
    pub(crate) fn case_c(&self) -> f64 {
        self.case_c
    }

    /// Total times above the warning and above the critical temperature.
    pub(crate) fn time_above(&self) -> (Nanos, Nanos) {
        (STEP * self.warning_steps, STEP * self.critical_steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thermal() -> Thermal {
        let section = ThermalSection {
            ambient_c: 25.0,
            controller_to_case_k_per_w: 4.0,
            case_to_ambient_k_per_w: 30.0,
            controller_j_per_k: 1.0,
            case_j_per_k: 5.0,
            throttle_start_c: 90.0,
            throttle_full_c: 100.0,
            throttle_clock: 0.25,
            warning_c: 95.0,
            critical_c: 110.0,
        };
        Thermal::new(
            &section,
            &PowerSection {
                controller_share: 0.5,
                data_path_pj_per_byte: 0.0,
            },
        )
    }

    #[test]
    fn the_steady_state_is_that_of_the_network() {
        let mut thermal = thermal();
        for _ in 0..20_000 {
            thermal.step(2.0);
        }
        assert!(
            (thermal.case_c() - 85.0).abs() < 0.01,
            "{}",
            thermal.case_c()
        );
        assert!(
            (thermal.controller_c() - 89.0).abs() < 0.01,
            "{}",
            thermal.controller_c()
        );
        assert_eq!(thermal.clock(), 1.0);
    }

    #[test]
    fn throttling_is_proportional_between_its_limits() {
        let thermal = thermal();
        assert_eq!(thermal.clock_for(80.0), 1.0);
        assert_eq!(thermal.clock_for(95.0), 0.625);
        assert_eq!(thermal.clock_for(140.0), 0.25);
    }
}
