//! Conditions under which a real target is measured, for the result: the machine, the path to the device, the card's
//! registers, and warnings about conditions that disturb a measurement.

use crate::inspect::card_environment;
use nandscope_inspect::Roots;
use nandscope_inspect::conditions::Conditions;
use nandscope_inspect::identity::Identity;
use nandscope_inspect::place::Place;
use nandscope_inspect::registers::Registers;
use std::collections::BTreeMap;
use std::path::Path;

/// Conditions of the measurement.
#[derive(Default)]
pub struct Circumstances {
    /// Name and value of each condition.
    pub environment: BTreeMap<String, String>,
    /// Conditions that disturb the measurement.
    pub warnings: Vec<String>,
    /// The warnings that times may not be those of flash: caches, files, virtual disks, memory.
    pub layers: Vec<String>,
    /// The block device to which operations go.
    pub device: Option<Identity>,
    /// Whether operations go to that device only.
    pub single: bool,
}

/// File systems that lie on several devices, or on another file system.
const SPREAD: [&str; 4] = ["btrfs", "zfs", "bcachefs", "overlay"];

/// Codes of the warnings about something between the program and the flash.
const LAYERS: [&str; 5] = [
    "virtual-machine",
    "virtual-disk",
    "layered",
    "memory",
    "no-device",
];

/// Gathers the conditions of the machine and of the path to the target. They only inform: if the path leads elsewhere
/// meanwhile, the report is wrong, but nothing is changed.
pub fn gather(roots: &Roots, path: &Path) -> Circumstances {
    let Ok(place) = Place::find(roots, path) else {
        return Circumstances::default();
    };
    let conditions = Conditions::gather(roots, &place);
    let mut environment = conditions.environment();
    if let Some(why) = &conditions.temperature_absent {
        let text = format!("not known: {why}");
        environment.insert("temperature before".to_string(), text);
    }
    let layers = conditions.warnings.iter();
    let layers = layers.filter(|w| LAYERS.contains(&w.code));
    let layers = layers.map(|w| w.text.clone()).collect();
    let registers = place.device.and_then(|n| Registers::read(roots, n));
    environment.extend(card_environment(registers.as_ref()));
    Circumstances {
        environment,
        layers,
        warnings: conditions.warnings.into_iter().map(|w| w.text).collect(),
        device: conditions.device,
        single: !conditions
            .mount
            .is_some_and(|mount| SPREAD.contains(&mount.file_system.as_str())),
    }
}
