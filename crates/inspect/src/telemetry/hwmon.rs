//! Temperatures in `hwmon`: of NVMe drives, and of ATA disks if the module `drivetemp` is loaded.

use super::{Absent, Reading, integer};
use crate::DeviceNumber;
use crate::identity::whole_disk;
use crate::roots::{self, Roots};
use std::path::{Path, PathBuf};

/// One sensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thermometer {
    /// The label of the sensor (`Composite`), or the name of its driver.
    pub label: String,
    file: PathBuf,
}

impl Thermometer {
    /// The sensors of a device, the composite one first.
    ///
    /// # Errors
    /// `Absent` if the device has no sensors; the message has a remedy.
    pub fn of(roots: &Roots, number: DeviceNumber) -> Reading<Vec<Self>> {
        let folder = roots
            .block(number)
            .map_err(|e| Absent::new(e.to_string()))?;
        let device = whole_disk(&folder).join("device");
        let mut found: Vec<Self> = monitors(&device).iter().flat_map(|m| sensors(m)).collect();
        found.sort_by_key(|sensor| sensor.label != "Composite");
        if found.is_empty() {
            return Err(Absent::new(
                "the device has no sensor under hwmon (for ATA disks: modprobe drivetemp)",
            ));
        }
        Ok(found)
    }

    /// Degrees Celsius.
    ///
    /// # Errors
    /// `Absent` if the sensor cannot be read.
    pub fn read(&self) -> Reading<f64> {
        Ok(integer(&self.file)? as f64 / 1000.0)
    }
}

/// A driver puts its monitor into the folder `hwmon` of the device, or directly into it.
fn monitors(device: &Path) -> Vec<PathBuf> {
    [device.to_path_buf(), device.join("hwmon")]
        .iter()
        .flat_map(|folder| {
            let names = roots::names(folder).into_iter();
            let names = names.filter(|n| n.starts_with("hwmon") && n != "hwmon");
            names.map(|n| folder.join(n)).collect::<Vec<_>>()
        })
        .collect()
}

fn sensors(monitor: &Path) -> Vec<Thermometer> {
    let driver = roots::text(&monitor.join("name")).unwrap_or_default();
    let sensor = |name: String| {
        let number = name.strip_prefix("temp")?.strip_suffix("_input")?;
        let label = roots::text(&monitor.join(format!("temp{number}_label")));
        Some(Thermometer {
            label: label.unwrap_or_else(|| driver.clone()),
            file: monitor.join(&name),
        })
    };
    roots::names(monitor)
        .into_iter()
        .filter_map(sensor)
        .collect()
}
