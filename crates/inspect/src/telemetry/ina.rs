//! Power from an INA226, INA219 or a relative of theirs on the machine's I2C bus, through the
//! kernel's driver `ina2xx`: the sensor sits in the supply of the device.

use super::{Absent, Reading, integer};
use crate::roots::{self, Roots};
use std::path::PathBuf;

/// Chips supported by the driver.
const CHIPS: [&str; 8] = [
    "ina209", "ina219", "ina220", "ina226", "ina230", "ina231", "ina260", "sy24655",
];

/// An INA2xx, as hwmon shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerSensor {
    /// The chip and its monitor, such as `ina226 (hwmon3)`.
    pub name: String,
    folder: PathBuf,
}

/// One reading of a power sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supply {
    /// Power, W.
    pub watts: f64,
    /// Volts, if available.
    pub volts: Option<f64>,
    /// Amperes, if available; negative if the current is reversed.
    pub amperes: Option<f64>,
}

impl PowerSensor {
    /// All power sensors of the machine. They do not report which one feeds the device.
    ///
    /// # Errors
    /// `Absent` if the machine has no power sensors.
    pub fn find(roots: &Roots) -> Reading<Vec<Self>> {
        let folder = roots.sys.join("class/hwmon");
        let sensor = |name: String| {
            let place = folder.join(&name);
            let chip = roots::text(&place.join("name"))?;
            CHIPS.contains(&chip.as_str()).then(|| PowerSensor {
                name: format!("{chip} ({name})"),
                folder: place,
            })
        };
        let found: Vec<_> = roots::names(&folder)
            .into_iter()
            .filter_map(sensor)
            .collect();
        if found.is_empty() {
            return Err(Absent::new("no INA226 or INA219 in hwmon"));
        }
        Ok(found)
    }

    /// Current power, voltage and current.
    ///
    /// # Errors
    /// `Absent` if the sensor cannot be read.
    pub fn read(&self) -> Reading<Supply> {
        let of = |name: &str| integer(&self.folder.join(name)).map(|n| n as f64);
        Ok(Supply {
            watts: of("power1_input")? / 1e6,
            // in0 is the shunt, in1 the bus.
            volts: of("in1_input").ok().map(|n| n / 1e3),
            amperes: of("curr1_input").ok().map(|n| n / 1e3),
        })
    }
}
