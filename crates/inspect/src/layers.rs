//! The devices below and above a block device: partitions and their disk, device mapper and RAID, loop
//! devices; and the disks under a folder. Devices are identified by number, files by inode. Stacks may
//! have any depth.

use crate::DeviceNumber;
use crate::identity::whole_disk;
use crate::loops::{Behind, FileId, Loop, loops};
use crate::mounts::{Mount, mount_at, mounts, swaps};
use crate::roots::{self, Roots};
use rustix::fs::{AtFlags, CWD, StatxFlags};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// A set of block devices.
pub(crate) type Devices = BTreeSet<DeviceNumber>;

/// A snapshot of mounts and swap.
#[derive(Clone, Debug)]
pub(crate) struct Machine<'a> {
    /// Locations of the system's files.
    pub roots: &'a Roots,
    /// From `/proc/self/mountinfo`.
    pub mounts: Vec<Mount>,
    /// Swap devices and files.
    pub swaps: Vec<PathBuf>,
    /// Loop devices in use.
    pub loops: Vec<Loop>,
}

impl<'a> Machine<'a> {
    /// Reads mounts and swap.
    ///
    /// # Errors
    /// `io::Error` if `/proc` does not list mounts or swap.
    pub fn read(roots: &'a Roots) -> io::Result<Self> {
        Ok(Machine {
            mounts: mounts(roots)?,
            swaps: swaps(roots)?,
            loops: loops(roots),
            roots,
        })
    }

    /// Name of a device in sysfs, or its number if it has none.
    pub fn name_of(&self, number: DeviceNumber) -> String {
        name_of(self.roots, number)
    }

    /// The device and everything above it: its partitions, their holders, and loop devices on any of
    /// them.
    pub fn upwards(&self, number: DeviceNumber) -> Devices {
        let mut found = Devices::new();
        let mut waiting = vec![number];
        while let Some(next) = waiting.pop() {
            if !found.insert(next) {
                continue;
            }
            if let Ok(folder) = self.roots.block(next) {
                waiting.extend(numbers_in(&folder.join("holders")));
                waiting.extend(partition_numbers(&folder));
            }
            let above = self.loops_over(Behind::Device(next));
            waiting.extend(above.map(|above| above.number));
        }
        found
    }

    /// The device and everything below it, down to whole disks. Below a loop device is its backing
    /// device and, with `through_files`, also the disks of the file system of its backing file.
    pub fn downwards(&self, number: DeviceNumber, through_files: bool) -> Devices {
        let mut found = Devices::new();
        let mut waiting = vec![number];
        while let Some(next) = waiting.pop() {
            if !found.insert(next) {
                continue;
            }
            let Ok(folder) = self.roots.block(next) else {
                continue;
            };
            waiting.extend(numbers_in(&folder.join("slaves")));
            waiting.extend(own_number(&whole_disk(&folder)));
            match self.behind(next) {
                Some(Behind::Device(device)) => waiting.push(device),
                Some(Behind::File(file)) if through_files => waiting.extend(self.under_file(file)),
                _ => {}
            }
        }
        found
    }

    /// Backing file or device, for a loop device.
    pub fn behind(&self, number: DeviceNumber) -> Option<Behind> {
        self.loops
            .iter()
            .find(|own| own.number == number)
            .and_then(|own| own.behind)
    }

    /// The loop devices over a file or a device.
    pub fn loops_over(&self, what: Behind) -> impl Iterator<Item = &Loop> {
        self.loops.iter().filter(move |l| l.behind == Some(what))
    }

    /// The whole disk of a partition, or the device itself.
    pub fn disk_of(&self, number: DeviceNumber) -> Option<DeviceNumber> {
        own_number(&whole_disk(&self.roots.block(number).ok()?))
    }

    /// Devices of the file system of a path; empty if it has none (memory, network) or they are unknown
    /// (the layers of a container).
    pub fn devices_under(&self, path: &Path) -> Vec<DeviceNumber> {
        devices_under(self.roots, &self.mounts, path)
    }

    /// The devices of the file system that a file is in. btrfs shows numbers of no device for its
    /// files: any that is mounted may be the one.
    fn under_file(&self, file: FileId) -> Vec<DeviceNumber> {
        match self.roots.block(file.device) {
            Ok(_) => vec![file.device],
            Err(_) => all_of_btrfs(self.roots),
        }
    }
}

/// Name of a device in sysfs, or its number if it has none.
pub(crate) fn name_of(roots: &Roots, number: DeviceNumber) -> String {
    roots
        .block(number)
        .map_or_else(|_| number.to_string(), |folder| roots::file_name(&folder))
}

/// As [`Machine::devices_under`].
pub(crate) fn devices_under(roots: &Roots, mounts: &[Mount], path: &Path) -> Vec<DeviceNumber> {
    let Ok(about) = rustix::fs::stat(path) else {
        return Vec::new();
    };
    let number = DeviceNumber::from_raw(about.st_dev);
    if roots.block(number).is_ok() {
        return vec![number];
    }
    // btrfs and others show numbers of no device; the mount names one, and sysfs its companions.
    let Some(mount) = mount_under(mounts, path) else {
        return Vec::new();
    };
    match Behind::at(&mount.source) {
        Some(Behind::Device(source)) => companions(roots, source),
        // `/dev/root` is not a name of a device.
        _ if mount.file_system == "btrfs" => all_of_btrfs(roots),
        _ => Vec::new(),
    }
}

/// The mount of a path by the kernel's mount id; before Linux 5.8, by name.
pub(crate) fn mount_under<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let path = path.canonicalize().ok()?;
    let about = rustix::fs::statx(CWD, &path, AtFlags::empty(), StatxFlags::MNT_ID).ok();
    let id = about
        .filter(|about| about.stx_mask & StatxFlags::MNT_ID.bits() != 0)
        .map(|about| about.stx_mnt_id);
    mount_at(mounts, &path, id)
}

/// All devices of the btrfs file system of this device, or only this device.
fn companions(roots: &Roots, number: DeviceNumber) -> Vec<DeviceNumber> {
    let name = name_of(roots, number);
    btrfs_devices(roots)
        .into_iter()
        .find(|names| names.contains(&name))
        .map_or_else(|| vec![number], |names| numbers_of(roots, &names))
}

/// All devices of all btrfs file systems that are mounted.
fn all_of_btrfs(roots: &Roots) -> Vec<DeviceNumber> {
    let systems = btrfs_devices(roots).into_iter();
    systems
        .flat_map(|names| numbers_of(roots, &names))
        .collect()
}

fn numbers_of(roots: &Roots, names: &[String]) -> Vec<DeviceNumber> {
    let folder = roots.sys.join("class/block");
    let numbers = names.iter().filter_map(|n| own_number(&folder.join(n)));
    numbers.collect()
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
