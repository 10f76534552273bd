//! The conditions of a measurement: kernel, processor, block queue, mount, temperature, other load; and
//! which of them distort the result ([`Warning`]).
//!
//! They are read once, before a measurement. Values that the system does not report are absent. Nothing
//! is changed.

mod processor;
mod queue;
mod virtualisation;
mod warnings;

pub use processor::Processor;
pub use queue::Queue;
pub use warnings::Warning;

use crate::identity::{Identity, Transport};
use crate::mounts::Mount;
use crate::place::Place;
use crate::roots::{self, Roots};
use crate::telemetry::hwmon::Thermometer;
use crate::telemetry::{Absent, Reading};
use serde::Serialize;
use std::collections::BTreeMap;

/// State of the machine during a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conditions {
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Processors and how they are clocked.
    pub processor: Processor,
    /// Load of the last minute, as the kernel counts it.
    pub load: Option<f64>,
    /// Kind of virtual machine, if this is one.
    pub virtual_machine: Option<String>,
    /// True if the machine runs on battery.
    pub on_battery: Option<bool>,
    /// The block device to which operations go.
    pub device: Option<Identity>,
    /// Its queue and its limits.
    pub queue: Option<Queue>,
    /// The mount, for a file or a folder.
    pub mount: Option<Mount>,
    /// Temperature of the device, degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Why there is no temperature.
    pub temperature_absent: Option<String>,
    /// Conditions that distort the measurement.
    pub warnings: Vec<Warning>,
}

impl Conditions {
    /// Looks at the machine and the way to a target.
    pub fn gather(roots: &Roots, place: &Place) -> Self {
        let device = place.device.and_then(|n| Identity::read(roots, n).ok());
        let temperature = match place.device {
            Some(number) => temperature(roots, number),
            None => Err(Absent::new("no block device is known")),
        };
        let mut conditions = Conditions {
            kernel: roots::text(&roots.proc.join("sys/kernel/osrelease")),
            processor: Processor::read(roots),
            load: load(roots),
            virtual_machine: virtualisation::detect(roots),
            on_battery: on_battery(roots),
            queue: place.device.and_then(|n| Queue::read(roots, n)),
            mount: place.mount.clone(),
            temperature_c: temperature.as_ref().ok().copied(),
            temperature_absent: temperature.err().map(|absent| absent.0),
            warnings: Vec::new(),
            device,
        };
        conditions.warnings = warnings::of(&conditions, place);
        conditions
    }

    /// Name and value of each condition, for the field `environment` of a result document.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let mut pairs = BTreeMap::new();
        let mut put = |name: &str, value: Option<String>| {
            pairs.extend(value.map(|value| (name.to_string(), value)));
        };
        let cpu = &self.processor;
        put("kernel", self.kernel.clone());
        put("processor", cpu.model.clone());
        put("processors", (cpu.count > 0).then(|| cpu.count.to_string()));
        put(
            "cpu governor",
            (!cpu.governors.is_empty()).then(|| cpu.governors.join(", ")),
        );
        put("load before", self.load.map(|l| l.to_string()));
        put("virtual machine", self.virtual_machine.clone());
        put("on battery", self.on_battery.map(|b| b.to_string()));
        put(
            "temperature before",
            self.temperature_c.map(|t| format!("{t:.1} °C")),
        );
        if let Some(device) = &self.device {
            put("device", Some(device.name.clone()));
            put("transport", Some(device.transport.to_string()));
            put("link", device.link.clone());
            put("USB device", device.usb_device.clone());
            put("firmware", device.firmware.clone());
        }
        if let Some(mount) = &self.mount {
            put("file system", Some(mount.file_system.clone()));
            put("mount options", Some(mount.options.join(",")));
        }
        if let Some(queue) = &self.queue {
            pairs.extend(queue.environment());
        }
        pairs
    }

    /// True if the device uses this transport.
    fn is_on(&self, transport: Transport) -> bool {
        self.device
            .as_ref()
            .is_some_and(|d| d.transport == transport)
    }
}

fn temperature(roots: &Roots, number: crate::DeviceNumber) -> Reading<f64> {
    let sensors = Thermometer::of(roots, number)?;
    let first = sensors.first().ok_or_else(|| Absent::new("no sensor"))?;
    first.read()
}

fn load(roots: &Roots) -> Option<f64> {
    let text = roots::text(&roots.proc.join("loadavg"))?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    load.is_finite().then_some(load)
}

/// True if there are mains supplies and none is online.
fn on_battery(roots: &Roots) -> Option<bool> {
    let folder = roots.sys.join("class/power_supply");
    let mains = roots::names(&folder).into_iter().filter_map(|name| {
        let place = folder.join(name);
        (roots::text(&place.join("type"))? == "Mains")
            .then(|| roots::flag(&place.join("online")).unwrap_or(true))
    });
    let online: Vec<bool> = mains.collect();
    (!online.is_empty()).then(|| !online.contains(&true))
}
