//! Identity of a block device from sysfs: model, serial number, firmware, size, transport, partitions,
//! and the devices above and below it.
//!
//! The device itself is not queried, and its claims are not checked.

use crate::DeviceNumber;
use crate::roots::{self, Roots};
use nandscope_units::{Bytes, Lba};
use serde::Serialize;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Bus by which a device is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// NVMe, over PCIe unless [`Identity::link`] says otherwise.
    Nvme,
    /// SATA or parallel ATA.
    Ata,
    /// USB, whichever protocol is spoken on it.
    Usb,
    /// A card in a slot that speaks SD.
    Sd,
    /// eMMC, or a MultiMediaCard.
    Mmc,
    /// Universal flash storage.
    Ufs,
    /// SCSI in some other way.
    Scsi,
    /// A disk of a virtual machine: virtio or Xen.
    Virtual,
    /// A file as a block device.
    Loop,
    /// Device mapper: LVM, encryption, multipath.
    Mapper,
    /// A RAID array of the kernel.
    Raid,
    /// Memory: zram, brd, pmem.
    Memory,
    /// Over a network: nbd, rbd.
    Network,
    /// Another transport, or an unknown one.
    Unknown,
}

impl Transport {
    /// Whether devices of this transport can have SMART: not loop devices, combinations of devices, and devices of other
    /// machines.
    pub fn can_have_smart(self) -> bool {
        !matches!(
            self,
            Transport::Loop
                | Transport::Mapper
                | Transport::Raid
                | Transport::Memory
                | Transport::Network
                | Transport::Virtual
        )
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Transport::Nvme => "NVMe",
            Transport::Ata => "ATA",
            Transport::Usb => "USB",
            Transport::Sd => "SD",
            Transport::Mmc => "eMMC",
            Transport::Ufs => "UFS",
            Transport::Scsi => "SCSI",
            Transport::Virtual => "virtual disk",
            Transport::Loop => "loop device",
            Transport::Mapper => "device mapper",
            Transport::Raid => "RAID array",
            Transport::Memory => "memory",
            Transport::Network => "network",
            Transport::Unknown => "unknown",
        })
    }
}

/// A partition known to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Partition {
    /// Name of the device, such as `sdb1`.
    pub name: String,
    /// Major and minor number.
    pub number: DeviceNumber,
    /// First byte on the whole disk.
    pub start: Bytes,
    /// Length.
    pub size: Bytes,
}

/// A block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// The kernel's name, such as `sdb`.
    pub name: String,
    /// Major and minor number.
    pub number: DeviceNumber,
    /// Vendor and model, if reported.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Revision of the firmware.
    pub firmware: Option<String>,
    /// Capacity as the kernel reports it.
    pub size: Bytes,
    /// Bus by which it is attached.
    pub transport: Transport,
    /// Link speed as the kernel describes it.
    pub link: Option<String>,
    /// USB id and name of the card reader, the bridge, or the stick itself, for a device on USB.
    pub usb_device: Option<String>,
    /// True for a rotational disk.
    pub rotational: Option<bool>,
    /// True if the medium is removable.
    pub removable: Option<bool>,
    /// True if it cannot be written: a lock switch or a setting.
    pub read_only: bool,
    /// Bytes of a logical block.
    pub logical_block: Option<Bytes>,
    /// Bytes of a physical block, as the device claims.
    pub physical_block: Option<Bytes>,
    /// Disk of this partition.
    pub partition_of: Option<String>,
    /// Partitions, where this is a disk.
    pub partitions: Vec<Partition>,
    /// Devices that are stacked on this one: LVM, RAID, encryption.
    pub holders: Vec<String>,
    /// Backing file of a loop device, by the path that the kernel reports.
    #[serde(serialize_with = "crate::lossy::maybe")]
    pub backing_file: Option<PathBuf>,
}

impl Identity {
    /// Reads the identity from sysfs. Partitions get the vendor data of their disk.
    ///
    /// # Errors
    /// The error of sysfs if the device does not exist.
    pub fn read(roots: &Roots, number: DeviceNumber) -> io::Result<Self> {
        let folder = roots.block(number)?;
        let whole = whole_disk(&folder);
        let about = Vendor::read(&whole);
        let queue = whole.join("queue");
        let transport = transport(&whole);
        Ok(Identity {
            name: roots::file_name(&folder).replace('!', "/"),
            number,
            model: about.model,
            serial: about.serial,
            firmware: about.firmware,
            size: sectors(&folder.join("size")),
            transport,
            link: link(&whole, transport),
            usb_device: usb_device(&whole),
            rotational: roots::flag(&queue.join("rotational")),
            removable: roots::flag(&whole.join("removable")),
            read_only: roots::flag(&folder.join("ro")).unwrap_or(false),
            logical_block: roots::number(&queue.join("logical_block_size")).map(Bytes),
            physical_block: roots::number(&queue.join("physical_block_size")).map(Bytes),
            partition_of: (whole != folder).then(|| roots::file_name(&whole)),
            partitions: partitions(&folder),
            holders: roots::names(&folder.join("holders")),
            backing_file: crate::loops::shown_path(&folder),
        })
    }
}

impl Identity {
    /// Upper bound of the transfer rate in bytes per second, if the kernel reports the link speed: the
    /// wire rate after line coding (8b/10b up to 5 GT/s of PCIe, 5 Gbit/s of USB, and for SATA;
    /// 128b/130b and 128b/132b above).
    pub fn link_bytes_per_s(&self) -> Option<f64> {
        let link = self.link.as_deref()?;
        if let Some(rest) = link.strip_prefix("USB at ") {
            let mbit: f64 = rest.split_whitespace().next()?.parse().ok()?;
            let coding = match mbit {
                m if m <= 480.0 => 1.0,
                m if m <= 5000.0 => 0.8,
                _ => 128.0 / 132.0,
            };
            return Some(mbit * 1e6 * coding / 8.0);
        }
        if let Some(rest) = link.strip_prefix("SATA at ") {
            let gbit: f64 = rest.split_whitespace().next()?.parse().ok()?;
            return Some(gbit * 1e9 * 0.8 / 8.0);
        }
        let rest = link.strip_prefix("PCIe ")?.split(" (").next()?;
        let transfers: f64 = rest.split_whitespace().next()?.parse().ok()?;
        let lanes: f64 = rest.rsplit(" x").next()?.trim().parse().ok()?;
        let coding = if transfers <= 5.0 { 0.8 } else { 128.0 / 130.0 };
        Some(transfers * 1e9 * coding * lanes / 8.0)
    }
}

/// The sysfs folder of the whole disk, for a disk or a partition.
pub(crate) fn whole_disk(folder: &Path) -> PathBuf {
    match folder.parent() {
        Some(parent) if folder.join("partition").exists() => parent.to_path_buf(),
        _ => folder.to_path_buf(),
    }
}

/// sysfs counts sectors of 512 bytes whatever the device's blocks are.
fn sectors(path: &Path) -> Bytes {
    Lba(roots::number(path).unwrap_or(0)).offset()
}

fn partitions(folder: &Path) -> Vec<Partition> {
    let partition = |name: String| {
        let place = folder.join(&name);
        let number = roots::text(&place.join("dev"))?.parse().ok()?;
        place.join("partition").exists().then(|| Partition {
            number,
            start: sectors(&place.join("start")),
            size: sectors(&place.join("size")),
            name,
        })
    };
    let names = roots::names(folder).into_iter();
    let mut all: Vec<_> = names.filter_map(partition).collect();
    all.sort_by_key(|p| (p.start, p.number));
    all
}

/// Vendor data of a device, which drivers keep in different places.
#[derive(Debug, Default)]
struct Vendor {
    model: Option<String>,
    serial: Option<String>,
    firmware: Option<String>,
}

impl Vendor {
    fn read(whole: &Path) -> Self {
        let device = whole.join("device");
        let of = |name: &str| roots::text(&device.join(name));
        let model = match (of("vendor"), of("model")) {
            // `vendor` of a virtio disk is a number, of an ATA disk always `ATA`.
            (Some(vendor), Some(model)) if vendor != "ATA" && !vendor.starts_with("0x") => {
                Some(format!("{vendor} {model}"))
            }
            (_, model) => model,
        };
        Vendor {
            model: model
                .or_else(|| of("name"))
                .or_else(|| roots::text(&whole.join("dm/name"))),
            serial: of("serial")
                .or_else(|| roots::text(&whole.join("serial")))
                .or_else(|| unit_serial(&device))
                .or_else(|| above(whole, "serial"))
                .or_else(|| roots::text(&whole.join("dm/uuid"))),
            firmware: of("firmware_rev")
                .or_else(|| of("fwrev"))
                .or_else(|| of("rev")),
        }
    }
}

/// The serial number in the SCSI page 80h of vital product data: four bytes of head, then text.
fn unit_serial(device: &Path) -> Option<String> {
    let page = roots::read_bytes(&device.join("vpd_pg80")).ok()?;
    let text = String::from_utf8_lossy(page.get(4..)?)
        .trim_matches(['\0', ' '])
        .to_string();
    (!text.is_empty()).then_some(text)
}

/// An attribute of the nearest USB device above.
fn above(whole: &Path, attribute: &str) -> Option<String> {
    whole
        .ancestors()
        .find(|folder| folder.join("bDeviceClass").exists())
        .and_then(|folder| roots::text(&folder.join(attribute)))
}

/// From the path of the device, which names every bus it hangs on, the last one first.
fn transport(whole: &Path) -> Transport {
    let name = roots::file_name(whole);
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if starts(&["loop"]) {
        return Transport::Loop;
    } else if starts(&["dm-"]) {
        return Transport::Mapper;
    } else if starts(&["md"]) {
        return Transport::Raid;
    } else if starts(&["zram", "ram", "pmem"]) {
        return Transport::Memory;
    } else if starts(&["nbd", "rbd", "drbd"]) {
        return Transport::Network;
    } else if starts(&["xvd", "vd"]) {
        return Transport::Virtual;
    } else if starts(&["nvme"]) {
        return Transport::Nvme;
    }
    if starts(&["mmcblk"]) {
        return match roots::text(&whole.join("device/type")).as_deref() {
            Some("SD") => Transport::Sd,
            _ => Transport::Mmc,
        };
    }
    let parts = whole.components().rev();
    let mut parts = parts.map(|c| c.as_os_str().to_string_lossy().into_owned());
    let numbered = |part: &str, bus: &str| {
        part.strip_prefix(bus)
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    parts
        .find_map(|part| match part.as_str() {
            p if numbered(p, "usb") => Some(Transport::Usb),
            p if numbered(p, "ata") => Some(Transport::Ata),
            p if numbered(p, "virtio") => Some(Transport::Virtual),
            p if p.contains("ufs") => Some(Transport::Ufs),
            _ => None,
        })
        .unwrap_or(if name.starts_with("sd") {
            Transport::Scsi
        } else {
            Transport::Unknown
        })
}

/// Link speed of the nearest bus. The link of a PCIe function is that of the device for NVMe only: otherwise it is that of the
/// controller of a card's slot, of SAS or of other disks.
fn link(whole: &Path, transport: Transport) -> Option<String> {
    let device = whole.join("device").canonicalize().ok()?;
    device.ancestors().find_map(|folder| {
        if folder.join("bDeviceClass").exists() {
            let speed = roots::text(&folder.join("speed"))?;
            return Some(format!("USB at {speed} Mbit/s"));
        }
        if let Some(speed) = ata_speed(folder) {
            return Some(speed);
        }
        if transport != Transport::Nvme {
            return None;
        }
        let now = roots::text(&folder.join("current_link_speed"))?;
        let lanes = roots::text(&folder.join("current_link_width"))?;
        let most = roots::text(&folder.join("max_link_speed"))?;
        let most_lanes = roots::text(&folder.join("max_link_width"))?;
        Some(format!(
            "PCIe {now} x{lanes} (device: {most} x{most_lanes})"
        ))
    })
}

/// Id and name of the USB device that contains a disk, as `05e3:0749 USB3.0 Card Reader`.
fn usb_device(whole: &Path) -> Option<String> {
    let device = whole.join("device").canonicalize().ok()?;
    let usb = device
        .ancestors()
        .find(|folder| folder.join("bDeviceClass").exists())?;
    let [vendor, product] = ["idVendor", "idProduct"].map(|name| roots::text(&usb.join(name)));
    let id = format!("{}:{}", vendor?, product?);
    Some(match roots::text(&usb.join("product")) {
        Some(name) => format!("{id} {name}"),
        None => id,
    })
}

/// An ATA port keeps its links in folders next to the device's.
fn ata_speed(folder: &Path) -> Option<String> {
    let port = roots::file_name(folder);
    let number = port.strip_prefix("ata")?;
    let link = format!("link{number}");
    let place = folder.join(&link).join("ata_link").join(&link);
    Some(format!("SATA at {}", roots::text(&place.join("sata_spd"))?))
}
