//! What lies under a block device and what is stacked on it: partitions and their disk, device
//! mapper and RAID, loop devices; and the disks under a folder. All of it from sysfs, where the
//! stacking may be of any depth.

use crate::DeviceNumber;
use crate::identity::whole_disk;
use crate::mounts::{Mount, mount_of};
use crate::roots::{self, Roots};
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A set of block devices.
pub(crate) type Devices = BTreeSet<DeviceNumber>;

/// The number of the block device at a path, following links.
pub(crate) fn number_at(path: &Path) -> Option<DeviceNumber> {
    let about = std::fs::metadata(path).ok()?;
    let is_block = about.file_type().is_block_device();
    is_block.then(|| DeviceNumber::from_raw(about.rdev()))
}

/// The name of a device in sysfs, or its number where it has none.
pub(crate) fn name_of(roots: &Roots, number: DeviceNumber) -> String {
    roots
        .block(number)
        .map_or_else(|_| number.to_string(), |folder| roots::file_name(&folder))
}

/// The device and everything that stands on it: its partitions, what holds any of them, loop
/// devices behind which one of them is.
pub(crate) fn upwards(roots: &Roots, number: DeviceNumber) -> Devices {
    let loops = loop_backings(roots);
    let mut found = Devices::new();
    let mut waiting = vec![number];
    while let Some(next) = waiting.pop() {
        if !found.insert(next) {
            continue;
        }
        if let Ok(folder) = roots.block(next) {
            waiting.extend(numbers_in(&folder.join("holders")));
            waiting.extend(partition_numbers(&folder));
        }
        let behind = loops
            .iter()
            .filter(|(_, file)| number_at(file) == Some(next));
        waiting.extend(behind.map(|(number, _)| *number));
    }
    found
}

/// The device and everything that it stands on, down to whole disks. A loop device stands on the
/// device behind it, and with `mounts` also on the disks of the file system that its file is in.
pub(crate) fn downwards(roots: &Roots, mounts: Option<&[Mount]>, number: DeviceNumber) -> Devices {
    let mut found = Devices::new();
    let mut waiting = vec![number];
    while let Some(next) = waiting.pop() {
        if !found.insert(next) {
            continue;
        }
        let Ok(folder) = roots.block(next) else {
            continue;
        };
        waiting.extend(numbers_in(&folder.join("slaves")));
        let whole = whole_disk(&folder);
        waiting.extend(own_number(&whole));
        if let Some(file) = roots::text(&folder.join("loop/backing_file")) {
            let file = Path::new(&file);
            match (number_at(file), mounts) {
                (Some(device), _) => waiting.push(device),
                (None, Some(mounts)) => waiting.extend(devices_under(roots, mounts, file)),
                (None, None) => {}
            }
        }
    }
    found
}

/// The disk of which a device is a partition.
pub(crate) fn disk_of(roots: &Roots, number: DeviceNumber) -> Option<DeviceNumber> {
    own_number(&whole_disk(&roots.block(number).ok()?))
}

/// The devices on which the file system of a path stands; none where it stands on none (memory,
/// network), or where that cannot be told (the layers of a container).
pub(crate) fn devices_under(roots: &Roots, mounts: &[Mount], path: &Path) -> Vec<DeviceNumber> {
    let Ok(path) = path.canonicalize() else {
        return Vec::new();
    };
    let Ok(about) = std::fs::metadata(&path) else {
        return Vec::new();
    };
    let number = DeviceNumber::from_raw(about.dev());
    if roots.block(number).is_ok() {
        return vec![number];
    }
    // btrfs and others show numbers of no device; the mount names one, and sysfs its companions.
    let Some(mount) = mount_of(mounts, &path) else {
        return Vec::new();
    };
    let Some(source) = number_at(&mount.source) else {
        return Vec::new();
    };
    companions(roots, source)
}

/// All devices of the btrfs file system of which this is one, or just this.
fn companions(roots: &Roots, number: DeviceNumber) -> Vec<DeviceNumber> {
    let name = name_of(roots, number);
    btrfs_devices(roots)
        .into_iter()
        .find(|names| names.contains(&name))
        .map(|names| {
            let folder = roots.sys.join("class/block");
            names
                .iter()
                .filter_map(|n| own_number(&folder.join(n)))
                .collect()
        })
        .unwrap_or_else(|| vec![number])
}

/// The names of the devices of each btrfs file system that is mounted.
pub(crate) fn btrfs_devices(roots: &Roots) -> Vec<Vec<String>> {
    let folder = roots.sys.join("fs/btrfs");
    let systems = roots::names(&folder).into_iter();
    systems
        .map(|name| roots::names(&folder.join(name).join("devices")))
        .filter(|devices| !devices.is_empty())
        .collect()
}

/// Every loop device that is in use, with the file or device behind it.
pub(crate) fn loop_backings(roots: &Roots) -> Vec<(DeviceNumber, PathBuf)> {
    let folder = roots.sys.join("block");
    let backing = |name: String| {
        let place = folder.join(name);
        let file = roots::text(&place.join("loop/backing_file"))?;
        Some((own_number(&place)?, PathBuf::from(file)))
    };
    let names = roots::names(&folder).into_iter();
    names
        .filter(|name| name.starts_with("loop"))
        .filter_map(backing)
        .collect()
}

fn own_number(folder: &Path) -> Option<DeviceNumber> {
    roots::text(&folder.join("dev"))?.parse().ok()
}

fn numbers_in(folder: &Path) -> Vec<DeviceNumber> {
    let names = roots::names(folder).into_iter();
    names.filter_map(|n| own_number(&folder.join(n))).collect()
}

fn partition_numbers(folder: &Path) -> Vec<DeviceNumber> {
    let names = roots::names(folder).into_iter();
    names
        .map(|name| folder.join(name))
        .filter(|place| place.join("partition").exists())
        .filter_map(|place| own_number(&place))
        .collect()
}
