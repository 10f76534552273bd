//! The rules about block devices, each from what the system says of a device number. They explain
//! a refusal and cover what `O_EXCL` does not: the disk as a whole, the layers under a device, and
//! what is on it.

use super::{DestroyData, Reason};
use crate::DeviceNumber;
use crate::identity::Identity;
use crate::layers::{self, Devices};
use crate::mounts::{Mount, swaps};
use crate::roots::{self, Roots};
use crate::signature::Signature;
use nandscope_units::Bytes;
use std::path::{Path, PathBuf};

/// Mounts, swap and holders, on the device, on a partition of it, or on anything stacked on them.
pub(super) fn in_use(roots: &Roots, mounts: &[Mount], number: DeviceNumber) -> Vec<Reason> {
    let mut devices = layers::upwards(roots, number);
    devices.extend(through_loops(roots, number));
    devices.extend(twins(roots, number));
    devices.extend(layers::disk_of(roots, number));
    let mut reasons = Vec::new();
    for mount in mounts {
        // btrfs has numbers of its own; its source is a device all the same.
        let by_source = || layers::number_at(&mount.source).filter(|n| devices.contains(n));
        let device = devices.get(&mount.number).copied().or_else(by_source);
        if let Some(device) = device {
            reasons.push(Reason::Mounted(
                layers::name_of(roots, device),
                mount.point.clone(),
            ));
        }
    }
    reasons.extend(shared_systems(roots, &devices, &reasons));
    let swapped = swaps(roots).unwrap_or_default();
    let swapped = swapped.iter().filter_map(|path| layers::number_at(path));
    let swapped = swapped.filter(|n| devices.contains(n));
    reasons.extend(swapped.map(|n| Reason::Swap(layers::name_of(roots, n))));
    reasons.extend(holders(roots, &devices));
    reasons
}

/// A loop device may have a block device behind it, which is then what would be written.
fn through_loops(roots: &Roots, number: DeviceNumber) -> Devices {
    let loops = layers::loop_backings(roots);
    let mut found = Devices::new();
    let mut next = Some(number);
    while let Some(number) = next {
        let behind = loops.iter().find(|(n, _)| *n == number);
        next = behind.and_then(|(_, file)| layers::number_at(file));
        next = next.filter(|n| found.insert(*n));
        found.extend(next.map(|n| layers::upwards(roots, n)).unwrap_or_default());
    }
    found
}

/// Other loop devices with the same file behind them.
fn twins(roots: &Roots, number: DeviceNumber) -> Devices {
    let loops = layers::loop_backings(roots);
    let own = loops.iter().find(|(n, _)| *n == number);
    let file = own.map(|(_, file)| file);
    let same = loops
        .iter()
        .filter(|(n, f)| *n != number && Some(f) == file);
    same.flat_map(|(n, _)| layers::upwards(roots, *n)).collect()
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

fn holders(roots: &Roots, devices: &Devices) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for number in devices {
        let Ok(folder) = roots.block(*number) else {
            continue;
        };
        let name = roots::file_name(&folder);
        let holders = roots::names(&folder.join("holders")).into_iter();
        reasons.extend(holders.map(|holder| Reason::Holder(name.clone(), holder)));
    }
    let loops = layers::loop_backings(roots).into_iter();
    let behind = loops.filter_map(|(number, file)| {
        let device = layers::number_at(&file).filter(|n| devices.contains(n))?;
        Some(Reason::Holder(
            layers::name_of(roots, device),
            layers::name_of(roots, number),
        ))
    });
    reasons.extend(behind);
    reasons
}

/// Whether one of the protected paths lies on the disk, or the device on a disk that holds one.
pub(super) fn protects(
    roots: &Roots,
    mounts: &[Mount],
    number: DeviceNumber,
    protected: &[(String, PathBuf)],
) -> Vec<Reason> {
    // What writing reaches, and the disks it reaches it on; not the disk under the file system of
    // a loop device's file, which stays whole.
    let mut reached = layers::upwards(roots, number);
    reached.extend(layers::downwards(roots, None, number));
    let is_reached = |path: &Path| {
        let under = layers::devices_under(roots, mounts, path);
        let mut all = under
            .into_iter()
            .flat_map(|n| layers::downwards(roots, Some(mounts), n));
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

/// What is on the device, and whether it was given up by name. Partitions that the kernel knows
/// count even where their table is not found any more.
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
        DestroyData::PutBack => None,
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
