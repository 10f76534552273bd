//! Warnings about conditions that distort a measurement, as the result contains them.

use super::Conditions;
use crate::identity::Transport;
use crate::place::{Kind, Place};
use nandscope_units::Bytes;
use serde::Serialize;

/// Largest share of all processors in use before the start; more is load of other programs.
const MOST_LOAD: f64 = 0.3;
/// A drive this warm at the start may soon throttle: NVMe drives warn from 70 to 85 °C.
const WARM_C: f64 = 60.0;
/// Models by which virtual disks and the volumes of clouds give themselves away.
const VIRTUAL_MODELS: [&str; 8] = [
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual",
    "Amazon Elastic",
    "PersistentDisk",
    "Msft",
    "XENSRC",
];
/// Mount options that affect the measurement, with their effect.
const MOUNT_OPTIONS: [(&str, &str); 4] = [
    ("sync", "every write waits for the device"),
    (
        "compress",
        "data is compressed before it reaches the device",
    ),
    (
        "discard",
        "deletions discard at once and compete with the measurement",
    ),
    ("data=journal", "data is written twice"),
];

/// A condition that limits the use of a measurement, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A word that stays the same.
    pub code: &'static str,
    /// The problem and its remedy.
    pub text: String,
}

pub(super) fn of(conditions: &Conditions, place: &Place) -> Vec<Warning> {
    let mut all = Vec::new();
    all.extend(machine(conditions));
    all.extend(device(conditions));
    all.extend(queue(conditions));
    all.extend(file_system(conditions, place));
    all
}

fn warning(code: &'static str, text: impl Into<String>) -> Warning {
    Warning {
        code,
        text: text.into(),
    }
}

fn machine(c: &Conditions) -> Vec<Warning> {
    let mut all = Vec::new();
    if let Some(name) = &c.virtual_machine {
        let text =
            format!("this is a virtual machine ({name}): the host shares its time and disks");
        all.push(warning("virtual-machine", text));
    }
    let slow = c.processor.governors.iter().find(|g| *g != "performance");
    if let Some(governor) = slow {
        let text = format!(
            "the frequency governor is `{governor}`: latencies at low load are longer; \
            `cpupower frequency-set -g performance` prevents it"
        );
        all.push(warning("governor", text));
    }
    if let Some(load) = c.load
        && load > MOST_LOAD * c.processor.count.max(1) as f64
    {
        let text = format!("other programs are running: the load is {load}");
        all.push(warning("load", text));
    }
    if c.on_battery == Some(true) {
        all.push(warning(
            "battery",
            "the machine runs on battery and may save power",
        ));
    }
    all
}

fn device(c: &Conditions) -> Vec<Warning> {
    let Some(device) = &c.device else {
        return vec![warning(
            "no-device",
            "no block device is known under this target",
        )];
    };
    let mut all = Vec::new();
    let model = device.model.as_deref().unwrap_or_default();
    let virtual_model = VIRTUAL_MODELS.iter().any(|name| model.contains(name));
    if virtual_model || c.is_on(Transport::Virtual) {
        all.push(warning(
            "virtual-disk",
            "the disk is virtual: caches of its host are measured too",
        ));
    }
    let below = match device.transport {
        Transport::Loop => "the device is a file: its file system and the cache are measured too",
        Transport::Mapper | Transport::Raid => "the device is stacked on other devices",
        Transport::Memory => "the device is memory",
        Transport::Network => "the device is on a network",
        _ => "",
    };
    if !below.is_empty() {
        all.push(warning("layered", below));
    }
    if device.rotational == Some(true)
        && matches!(device.transport, Transport::Ata | Transport::Scsi)
    {
        all.push(warning("rotational", "the disk is rotational, not flash"));
    }
    if device
        .link
        .as_deref()
        .is_some_and(|l| l.contains("480 Mbit/s") || l.contains(" 12 Mbit/s"))
    {
        all.push(warning(
            "slow-link",
            "USB 2 limits the device to about 40 MB/s: use another port or cable",
        ));
    }
    if narrowed(device.link.as_deref()) {
        let text = format!(
            "the link is slower than the device supports: {}",
            device.link.clone().unwrap_or_default()
        );
        all.push(warning("narrow-link", text));
    }
    if let Some(t) = c.temperature_c.filter(|t| *t >= WARM_C) {
        all.push(warning(
            "warm",
            format!("the device is at {t:.0} °C already and may throttle"),
        ));
    }
    all
}

/// `PCIe 8.0 GT/s PCIe x4 (device: 16.0 GT/s PCIe x4)`.
fn narrowed(link: Option<&str>) -> bool {
    let parts = link.and_then(|l| l.strip_prefix("PCIe ")?.split_once(" (device: "));
    parts.is_some_and(|(now, most)| most.trim_end_matches(')') != now)
}

fn queue(c: &Conditions) -> Vec<Warning> {
    let Some(queue) = &c.queue else {
        return Vec::new();
    };
    let mut all = Vec::new();
    if let Some(name) = queue.scheduler.as_deref().filter(|s| *s != "none") {
        let text = format!(
            "the scheduler `{name}` reorders requests; \
            write `none` to queue/scheduler to measure the device alone"
        );
        all.push(warning("scheduler", text));
    }
    if queue.writeback_throttling_us.is_some_and(|us| us > 0) && c.mount.is_some() {
        let text =
            "buffered writes are throttled (wbt): write 0 to queue/wbt_lat_usec to disable it";
        all.push(warning("writeback-throttling", text));
    }
    if queue.largest_discard == Some(Bytes::ZERO) {
        let text = "discards do not reach the device: it cannot be purged";
        all.push(warning("no-discard", text));
    }
    all
}

fn file_system(c: &Conditions, place: &Place) -> Vec<Warning> {
    let Some(mount) = c.mount.as_ref().filter(|_| place.kind != Kind::BlockDevice) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let memory = ["tmpfs", "ramfs"].contains(&mount.file_system.as_str());
    if memory {
        all.push(warning(
            "memory",
            format!("{} is memory: no device is measured", mount.point.display()),
        ));
    }
    for (option, effect) in MOUNT_OPTIONS {
        let set =
            |o: &String| o == option || o.split_once('=').is_some_and(|(name, _)| name == option);
        if mount.options.iter().any(set) {
            all.push(warning(
                "mount-option",
                format!("mounted with `{option}`: {effect}"),
            ));
        }
    }
    all
}
