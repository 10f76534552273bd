//! Power from an INA226, INA219 or a relative of theirs on the machine's I2C bus, through the
//! kernel's driver `ina2xx`: the sensor sits in the supply of the device.

use super::{Absent, Reading, integer};
use crate::roots::{self, Roots};
use std::path::PathBuf;

/// Chips that the driver knows.
const CHIPS: [&str; 8] = [
    "ina209", "ina219", "ina220", "ina226", "ina230", "ina231", "ina260", "sy24655",
];

/// One power sensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerSensor {
    /// The chip and its monitor, such as `ina226 (hwmon3)`.
    pub name: String,
    folder: PathBuf,
}

/// What a power sensor shows at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supply {
    /// Watts.
    pub watts: f64,
    /// Volts, where the sensor shows them.
    pub volts: Option<f64>,
    /// Amperes, where the sensor shows them; negative when the current flows back.
    pub amperes: Option<f64>,
}

impl PowerSensor {
    /// All sensors of the machine. Which of them feeds the device, only its owner knows.
    ///
    /// # Errors
    /// Where there are none.
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

    /// Power now, with voltage and current.
    ///
    /// # Errors
    /// Where the sensor does not answer.
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
