//! The rules for block devices, based on what the system reports about a device number. They explain a
//! refusal and cover what `O_EXCL` does not: the disk as a whole, the layers under a device, and its
//! contents.

use super::{DestroyData, Reason};
use crate::DeviceNumber;
use crate::identity::Identity;
use crate::layers::{self, Devices, Machine};
use crate::loops::{Behind, FileId};
use crate::roots::{self, Roots};
use crate::signature::Signature;
use nandscope_units::Bytes;
use std::path::{Path, PathBuf};

/// Mounts, swap and holders, on the device, on a partition of it, on anything stacked on them, or
/// on anything else that has the same storage under it.
pub(super) fn in_use(machine: &Machine<'_>, number: DeviceNumber) -> Vec<Reason> {
    let below = machine.downwards(number, false);
    let mut devices = machine.upwards(number);
    devices.extend(machine.disk_of(number));
    devices.extend(through_loops(machine, number));
    let twins = twins(machine, &below, &devices);
    devices.extend(twins.iter().flat_map(|twin| machine.upwards(*twin)));
    let mut reasons = Vec::new();
    // A device under a volume is held by the volume itself, and may hold other volumes too.
    let mounted = devices.union(&below).copied().collect();
    for mount in &machine.mounts {
        // btrfs has device numbers of its own, but its source is a device.
        let source = || match Behind::at(&mount.source) {
            Some(Behind::Device(device)) => Some(device),
            _ => None,
        };
        let of = |number: &DeviceNumber| Devices::get(&mounted, number).copied();
        if let Some(device) = of(&mount.number).or_else(|| of(&source()?)) {
            reasons.push(Reason::Mounted(
                machine.name_of(device),
                mount.point.clone(),
            ));
        }
    }
    reasons.extend(shared_systems(machine.roots, &devices, &reasons));
    for swap in &machine.swaps {
        if let Some(Behind::Device(device)) = Behind::at(swap)
            && mounted.contains(&device)
        {
            reasons.push(Reason::Swap(format!("/dev/{}", machine.name_of(device))));
        }
    }
    for file in files_behind(machine, &below) {
        reasons.extend(file_in_use(machine, file));
    }
    reasons.extend(
        twins
            .iter()
            .map(|n| Reason::BehindLoop(machine.name_of(*n))),
    );
    reasons.extend(holders(machine, &devices));
    reasons
}

/// A loop device on a block device writes to that device.
fn through_loops(machine: &Machine<'_>, number: DeviceNumber) -> Devices {
    let mut found = Devices::new();
    let mut next = Some(number);
    while let Some(number) = next {
        let disk = machine.disk_of(number).unwrap_or(number);
        next = match machine.behind(disk) {
            Some(Behind::Device(device)) if found.insert(device) => Some(device),
            _ => None,
        };
        found.extend(next.map(|n| machine.upwards(n)).unwrap_or_default());
    }
    found
}

/// The regular files at the bottom of a stack, which receive the writes.
fn files_behind(machine: &Machine<'_>, below: &Devices) -> Vec<FileId> {
    let behind = below.iter().filter_map(|number| machine.behind(*number));
    let files = behind.filter_map(|behind| match behind {
        Behind::File(file) => Some(file),
        Behind::Device(_) => None,
    });
    files.collect()
}

/// Other loop devices on the same file, whose contents would be overwritten.
fn twins(machine: &Machine<'_>, below: &Devices, own: &Devices) -> Devices {
    let files = files_behind(machine, below).into_iter();
    files
        .flat_map(|file| machine.loops_over(Behind::File(file)))
        .map(|twin| twin.number)
        .filter(|number| !below.contains(number) && !own.contains(number))
        .collect()
}

/// True if a file is used as swap or mounted directly, without a loop device (EROFS, FUSE).
pub(super) fn file_in_use(machine: &Machine<'_>, file: FileId) -> Vec<Reason> {
    let is_it = |path: &Path| Behind::at(path) == Some(Behind::File(file));
    let swaps = machine.swaps.iter().filter(|swap| is_it(swap));
    let mut reasons: Vec<Reason> = swaps
        .map(|swap| Reason::Swap(swap.display().to_string()))
        .collect();
    let mounts = machine.mounts.iter().filter(|mount| is_it(&mount.source));
    reasons
        .extend(mounts.map(|m| Reason::Mounted(m.source.display().to_string(), m.point.clone())));
    reasons
}

/// Loop devices whose backing file cannot be identified, so that it may be this device.
pub(super) fn unknown(machine: &Machine<'_>) -> Vec<Reason> {
    let unknown = machine.loops.iter().filter(|l| l.behind.is_none());
    unknown
        .map(|l| Reason::UnknownLoop(l.name.clone()))
        .collect()
}

/// Devices of a mounted btrfs file system that are not the one that the mount names.
fn shared_systems(roots: &Roots, devices: &Devices, known: &[Reason]) -> Vec<Reason> {
    let names: Vec<_> = devices.iter().map(|n| layers::name_of(roots, *n)).collect();
    let systems = layers::btrfs_devices(roots);
    let members = systems
        .iter()
        .flatten()
        .filter(|member| names.contains(member));
    let said = |member: &str| {
        known
            .iter()
            .any(|r| matches!(r, Reason::Mounted(device, _) if device == member))
    };
    members
        .filter(|member| !said(member))
        .map(|member| Reason::Holder(member.clone(), "a mounted btrfs file system".to_string()))
        .collect()
}

fn holders(machine: &Machine<'_>, devices: &Devices) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for number in devices {
        let Ok(folder) = machine.roots.block(*number) else {
            continue;
        };
        let name = roots::file_name(&folder);
        let holders = roots::names(&folder.join("holders")).into_iter();
        reasons.extend(holders.map(|holder| Reason::Holder(name.clone(), holder)));
        let above = machine.loops_over(Behind::Device(*number));
        reasons.extend(above.map(|l| Reason::Holder(name.clone(), l.name.clone())));
    }
    reasons
}

/// True if a protected path is on this disk, or the device is on a disk with one.
pub(super) fn protects(
    machine: &Machine<'_>,
    number: DeviceNumber,
    protected: &[(String, PathBuf)],
) -> Vec<Reason> {
    // Everything that a write reaches, with its disks; but not the disk under the file system of a loop
    // device's backing file, which stays intact.
    let mut reached = machine.upwards(number);
    reached.extend(machine.downwards(number, false));
    let is_reached = |path: &Path| {
        let under = machine.devices_under(path).into_iter();
        let mut all = under.flat_map(|n| machine.downwards(n, true));
        all.any(|n| reached.contains(&n))
    };
    protected
        .iter()
        .filter(|(_, path)| is_reached(path))
        .map(|(what, _)| Reason::Protected(what.clone()))
        .collect()
}

/// Devices that take no writes at all.
pub(super) fn cannot_be_written(roots: &Roots, number: DeviceNumber) -> Vec<Reason> {
    let Ok(identity) = Identity::read(roots, number) else {
        return vec![Reason::Empty];
    };
    let mut reasons = Vec::new();
    if identity.size == Bytes::ZERO {
        reasons.push(Reason::Empty);
    }
    if identity.read_only {
        reasons.push(Reason::ReadOnly);
    }
    reasons
}

/// Contents of the device, unless destroying them was allowed by name. Partitions known to the kernel
/// count even if their table is not found any more.
pub(super) fn carries(
    identity: &Identity,
    signatures: &[Signature],
    name: &Path,
    destroy: &DestroyData,
) -> Option<Reason> {
    let nothing = signatures.is_empty() && identity.partitions.is_empty();
    match destroy {
        DestroyData::Named(given) if is_name_of(identity, name, given) => None,
        DestroyData::Named(given) => Some(Reason::OtherName(given.clone(), identity.name.clone())),
        DestroyData::PutBack | DestroyData::Overwrite => None,
        _ if nothing => None,
        _ => Some(Reason::Carries(signatures.to_vec(), identity.name.clone())),
    }
}

/// A device is named by what the kernel calls it, or as the target was.
pub(super) fn is_name_of(identity: &Identity, name: &Path, given: &str) -> bool {
    let given = given.trim();
    given == identity.name
        || given.strip_prefix("/dev/") == Some(identity.name.as_str())
        || (!given.is_empty() && Path::new(given) == name)
}

#[cfg(test)]
mod tests;
