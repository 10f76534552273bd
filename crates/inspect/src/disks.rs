//! The disks of this machine.

use crate::DeviceNumber;
use crate::identity::{Identity, Transport};
use crate::roots::{self, Roots};
use nandscope_units::Bytes;

/// The disks with a medium, by name, and loop devices with a backing file: no partitions and no memory.
pub fn disks(roots: &Roots) -> Vec<Identity> {
    let folder = roots.sys.join("block");
    let names = roots::names(&folder).into_iter();
    let numbers = names.filter_map(|name| {
        let number = roots::text(&folder.join(name).join("dev"))?;
        number.parse::<DeviceNumber>().ok()
    });
    numbers
        .filter_map(|number| Identity::read(roots, number).ok())
        .filter(|disk| disk.size > Bytes::ZERO)
        .filter(|disk| match disk.transport {
            Transport::Loop => disk.backing_file.is_some(),
            Transport::Memory => false,
            _ => true,
        })
        .collect()
}
