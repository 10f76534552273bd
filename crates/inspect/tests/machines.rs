//! Trees of sysfs and procfs that represent other machines: what is read from them, and what the
//! guard concludes from stacks of devices that this kernel may not be able to build.

use crate::support::Folder;
use nandscope_inspect::conditions::Conditions;
use nandscope_inspect::identity::{Identity, Transport};
use nandscope_inspect::place::{Kind, Place};
use nandscope_inspect::registers::{Family, Registers};
use nandscope_inspect::telemetry::hwmon::Thermometer;
use nandscope_inspect::telemetry::ina::PowerSensor;
use nandscope_inspect::telemetry::meter::MeterFile;
use nandscope_inspect::telemetry::rapl::Domain;
use nandscope_inspect::telemetry::smart::{Smartctl, parse};
use nandscope_inspect::telemetry::transferred::{Transferred, Transfers};
use nandscope_inspect::{DeviceNumber, Roots};
use nandscope_units::Bytes;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

/// A tree: files with their contents, and a link in `dev/block` for each device.
struct Machine {
    folder: Folder,
    roots: Roots,
}

impl Machine {
    fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("machine-{name}"));
        for part in ["sys/dev/block", "sys/block", "proc", "dev"] {
            std::fs::create_dir_all(folder.path(part)).unwrap();
        }
        let roots = Roots::under(&folder.0);
        Machine { folder, roots }
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.folder.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    /// A device in this folder of `sys/devices`, with these files.
    fn device(&self, place: &str, number: &str, files: &[(&str, &str)]) -> DeviceNumber {
        let place = format!("sys/devices/{place}");
        self.put(&format!("{place}/dev"), number);
        for (name, text) in files {
            self.put(&format!("{place}/{name}"), text);
        }
        symlink(
            self.folder.path(&place),
            self.folder.path(&format!("sys/dev/block/{number}")),
        )
        .unwrap();
        number.parse().unwrap()
    }

    fn link(&self, from: &str, to: &str) {
        let from = self.folder.path(from);
        std::fs::create_dir_all(from.parent().unwrap()).unwrap();
        symlink(self.folder.path(to), from).unwrap();
    }
}

#[test]
fn an_nvme_drive_with_a_partition() {
    let m = Machine::new("nvme");
    let controller = "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0";
    m.put(
        &format!("{controller}/model"),
        "Samsung SSD 970 PRO 512GB               ",
    );
    m.put(&format!("{controller}/serial"), "S463NF0K");
    m.put(&format!("{controller}/firmware_rev"), "1B2QEXP7");
    m.put(&format!("{controller}/hwmon1/name"), "nvme");
    m.put(&format!("{controller}/hwmon1/temp2_input"), "51850");
    m.put(&format!("{controller}/hwmon1/temp2_label"), "Sensor 1");
    m.put(&format!("{controller}/hwmon1/temp1_input"), "38850");
    m.put(&format!("{controller}/hwmon1/temp1_label"), "Composite");
    for (name, text) in [
        ("current_link_speed", "5.0 GT/s PCIe"),
        ("current_link_width", "4"),
        ("max_link_speed", "8.0 GT/s PCIe"),
        ("max_link_width", "4"),
    ] {
        m.put(&format!("sys/devices/pci0000:00/0000:01:00.0/{name}"), text);
    }
    let disk = "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
    let number = m.device(
        disk,
        "259:0",
        &[
            ("size", "1000215216"),
            ("ro", "0"),
            ("queue/rotational", "0"),
            ("queue/logical_block_size", "512"),
            ("queue/scheduler", "[none] mq-deadline"),
            ("queue/discard_max_bytes", "2199023255040"),
            ("queue/write_cache", "write back"),
        ],
    );
    let part = m.device(
        &format!("{disk}/nvme0n1p1"),
        "259:1",
        &[("size", "2048"), ("start", "4096"), ("partition", "1")],
    );
    m.link(&format!("sys/devices/{disk}/device"), controller);
    let identity = Identity::read(&m.roots, number).unwrap();
    assert_eq!(identity.name, "nvme0n1");
    assert_eq!(identity.model.as_deref(), Some("Samsung SSD 970 PRO 512GB"));
    assert_eq!(identity.serial.as_deref(), Some("S463NF0K"));
    assert_eq!(identity.firmware.as_deref(), Some("1B2QEXP7"));
    assert_eq!(identity.size, Bytes(512_110_190_592));
    assert_eq!(identity.transport, Transport::Nvme);
    assert_eq!(identity.rotational, Some(false));
    let link = "PCIe 5.0 GT/s PCIe x4 (device: 8.0 GT/s PCIe x4)";
    assert_eq!(identity.link.as_deref(), Some(link));
    assert_eq!(identity.link_bytes_per_s(), Some(2e9));
    assert_eq!(identity.partitions.len(), 1);
    assert_eq!(identity.partitions[0].start, Bytes(4096 * 512));
    let partition = Identity::read(&m.roots, part).unwrap();
    assert_eq!(partition.partition_of.as_deref(), Some("nvme0n1"));
    assert_eq!(partition.model, identity.model);

    let sensors = Thermometer::of(&m.roots, number).unwrap();
    assert_eq!(sensors.len(), 2);
    assert_eq!(
        (sensors[0].label.as_str(), sensors[0].read()),
        ("Composite", Ok(38.85))
    );

    let place = Place {
        name: PathBuf::from("/dev/nvme0n1"),
        path: PathBuf::from("/dev/nvme0n1"),
        kind: Kind::BlockDevice,
        device: Some(number),
        mount: None,
    };
    m.put("proc/sys/kernel/osrelease", "6.12.1");
    m.put("proc/loadavg", "3.10 0.5 0.2 1/87 9075");
    m.put(
        "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: A\nflags\t: fpu sse\nprocessor\t: 1",
    );
    m.put(
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "powersave",
    );
    m.put(
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
        "powersave",
    );
    let found = Conditions::gather(&m.roots, &place);
    assert_eq!(found.temperature_c, Some(38.85));
    let environment = found.environment();
    let of = |name: &str| environment.get(name).map(String::as_str);
    assert_eq!(of("kernel"), Some("6.12.1"));
    assert_eq!(of("scheduler"), Some("none"));
    assert_eq!(of("cpu governor"), Some("powersave"));
    assert_eq!(of("write cache"), Some("write back"));
    assert!(of("discard").unwrap().starts_with("passed"));
    let codes: Vec<_> = found.warnings.iter().map(|w| w.code).collect();
    assert_eq!(codes, ["governor", "load", "narrow-link"]);
    // A quiet machine with everything as it should be has nothing to warn of.
    m.put("proc/loadavg", "0.10 0.5 0.2 1/87 9075");
    for cpu in [0, 1] {
        m.put(
            &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"),
            "performance",
        );
    }
    m.put(
        "sys/devices/pci0000:00/0000:01:00.0/current_link_speed",
        "8.0 GT/s PCIe",
    );
    assert_eq!(Conditions::gather(&m.roots, &place).warnings, []);
    // And one with everything against it.
    m.put("proc/cpuinfo", "processor\t: 0\nflags\t: fpu hypervisor");
    m.put(&format!("sys/devices/{disk}/queue/scheduler"), "none [bfq]");
    m.put(&format!("sys/devices/{disk}/queue/discard_max_bytes"), "0");
    m.put(&format!("{controller}/hwmon1/temp1_input"), "72850");
    m.put(&format!("{controller}/model"), "QEMU NVMe Ctrl");
    m.put("sys/class/power_supply/AC/type", "Mains");
    m.put("sys/class/power_supply/AC/online", "0");
    let found = Conditions::gather(&m.roots, &place);
    let codes: Vec<_> = found.warnings.iter().map(|w| w.code).collect();
    let all = [
        "virtual-machine",
        "battery",
        "virtual-disk",
        "warm",
        "scheduler",
        "no-discard",
    ];
    assert_eq!(codes, all);
}

#[test]
fn a_stick_a_disk_and_a_stack() {
    let m = Machine::new("others");
    let usb = "pci0000:00/0000:00:14.0/usb2/2-1";
    m.put(&format!("sys/devices/{usb}/bDeviceClass"), "00");
    m.put(&format!("sys/devices/{usb}/serial"), "4C53000123");
    m.put(&format!("sys/devices/{usb}/speed"), "480");
    let target = format!("sys/devices/{usb}/2-1:1.0/host6/target6:0:0/6:0:0:0");
    m.put(&format!("{target}/vendor"), "SanDisk ");
    m.put(&format!("{target}/model"), "Extreme");
    m.put(&format!("{target}/rev"), "0001");
    let place = format!("{usb}/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb");
    let stick = m.device(
        &place,
        "8:16",
        &[("size", "8"), ("ro", "1"), ("removable", "1")],
    );
    m.link(&format!("sys/devices/{place}/device"), &target);
    let identity = Identity::read(&m.roots, stick).unwrap();
    assert_eq!(identity.transport, Transport::Usb);
    assert_eq!(identity.model.as_deref(), Some("SanDisk Extreme"));
    assert_eq!(identity.serial.as_deref(), Some("4C53000123"));
    assert_eq!(identity.link.as_deref(), Some("USB at 480 Mbit/s"));
    assert!(identity.read_only && identity.removable == Some(true));

    let target = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0";
    m.put(&format!("{target}/vendor"), "ATA     ");
    m.put(&format!("{target}/model"), "PLEXTOR PX-256M6");
    m.put(&format!("{target}/vpd_pg80"), "\0\u{80}\0\u{8}P0244911");
    m.put(
        "sys/devices/pci0000:00/0000:00:17.0/ata1/link1/ata_link/link1/sata_spd",
        "6.0 Gbps",
    );
    let place = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
    let disk = m.device(
        place,
        "8:0",
        &[("size", "8"), ("holders/dm-0/dev", "252:0")],
    );
    m.link(&format!("sys/devices/{place}/device"), target);
    let identity = Identity::read(&m.roots, disk).unwrap();
    assert_eq!(identity.transport, Transport::Ata);
    assert_eq!(identity.model.as_deref(), Some("PLEXTOR PX-256M6"));
    assert_eq!(identity.link.as_deref(), Some("SATA at 6.0 Gbps"));
    assert_eq!(identity.holders, ["dm-0"]);
    assert!(Identity::read(&m.roots, "8:32".parse().unwrap()).is_err());
}

#[test]
fn a_card_in_a_slot() {
    let m = Machine::new("card");
    let card = "sys/devices/platform/soc/mmc/mmc_host/mmc0/mmc0:aaaa";
    for (name, text) in [
        ("type", "SD"),
        ("name", "SL16G"),
        ("cid", "035054534c31364730da0a5d93010101"),
        ("csd", "400e00325b59000073a77f800a400001"),
        ("scr", "0235800201000000"),
        ("ssr", &format!("{}04{}", "0".repeat(16), "0".repeat(110))),
    ] {
        m.put(&format!("{card}/{name}"), text);
    }
    let place = "platform/soc/mmc/mmc_host/mmc0/mmc0:aaaa/block/mmcblk0";
    let number = m.device(place, "179:0", &[("size", "30318592")]);
    m.link(&format!("sys/devices/{place}/device"), card);
    // The slot's controller is on PCIe; its link is not the card's.
    for (name, text) in [
        ("current_link_speed", "5.0 GT/s PCIe"),
        ("current_link_width", "1"),
        ("max_link_speed", "5.0 GT/s PCIe"),
        ("max_link_width", "1"),
    ] {
        m.put(&format!("sys/devices/platform/soc/mmc/{name}"), text);
    }
    let identity = Identity::read(&m.roots, number).unwrap();
    assert_eq!(identity.transport, Transport::Sd);
    assert_eq!(identity.link, None);
    let registers = Registers::read(&m.roots, number).unwrap();
    assert_eq!(registers.family, Family::Sd);
    assert_eq!(registers.cid.unwrap().product, "SL16G");
    assert_eq!(registers.csd.unwrap().capacity, Some(Bytes(15_523_119_104)));
    assert_eq!(registers.ssr.unwrap().classes(), "C10");
    assert_eq!(registers.faults, Vec::<String>::new());
    m.put(&format!("{card}/cid"), "0350");
    let registers = Registers::read(&m.roots, number).unwrap();
    assert!(registers.cid.is_none() && registers.faults[0].starts_with("CID: has 4"));
}

#[test]
fn power_and_its_absence() {
    let m = Machine::new("power");
    assert!(
        Domain::packages(&m.roots)
            .unwrap_err()
            .0
            .contains("no RAPL")
    );
    assert!(
        PowerSensor::find(&m.roots)
            .unwrap_err()
            .0
            .contains("no INA226")
    );
    for (zone, name) in [("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core")] {
        m.put(&format!("sys/class/powercap/{zone}/name"), name);
        m.put(
            &format!("sys/class/powercap/{zone}/max_energy_range_uj"),
            "262143328850",
        );
        m.put(
            &format!("sys/class/powercap/{zone}/energy_uj"),
            "262143000000",
        );
    }
    let mut packages = Domain::packages(&m.roots).unwrap();
    assert_eq!(packages.len(), 1);
    assert_eq!(packages[0].name, "package-0");
    assert_eq!(packages[0].read(), Ok(0.0));
    m.put("sys/class/powercap/intel-rapl:0/energy_uj", "1671149");
    assert_eq!(packages[0].read(), Ok(2.0));
    m.put("sys/class/powercap/intel-rapl:0/energy_uj", "broken");
    assert!(
        packages[0]
            .read()
            .unwrap_err()
            .0
            .contains("is not a number")
    );

    let sensor = "sys/class/hwmon/hwmon3";
    for (name, text) in [
        ("name", "ina226"),
        ("power1_input", "2350000"),
        ("in1_input", "3312"),
    ] {
        m.put(&format!("{sensor}/{name}"), text);
    }
    m.put("sys/class/hwmon/hwmon1/name", "coretemp");
    let sensors = PowerSensor::find(&m.roots).unwrap();
    assert_eq!(sensors.len(), 1);
    let supply = sensors[0].read().unwrap();
    assert_eq!(
        (supply.watts, supply.volts, supply.amperes),
        (2.35, Some(3.312), None)
    );
}

#[test]
fn a_meter_s_file_is_followed() {
    let m = Machine::new("meter");
    let path = m.folder.path("meter.csv");
    let mut file = MeterFile::new(&path);
    assert!(file.poll().unwrap_err().0.contains("no such file"));
    std::fs::write(&path, "time_s,power_W\n0,1.5\n1,").unwrap();
    assert_eq!(file.poll().unwrap().len(), 1);
    assert_eq!(file.poll().unwrap().len(), 0);
    std::fs::write(&path, "time_s,power_W\n0,1.5\n1,2.5\n").unwrap();
    assert_eq!(file.poll().unwrap()[0].watts, 2.5);
    // Started over, with other columns.
    std::fs::write(&path, "V,A\n5,0.1\n").unwrap();
    assert!((file.poll().unwrap()[0].watts - 0.5).abs() < 1e-12);
}

#[test]
fn smart_of_nvme_and_ata() {
    let nvme = parse(include_bytes!("data/smart-nvme.json")).unwrap();
    assert_eq!(nvme.model.as_deref(), Some("Example NVMe 250GB"));
    assert_eq!(nvme.temperature_c, Some(35.0));
    assert_eq!(nvme.host_written, Some(Bytes(1_969_459 * 512_000)));
    assert_eq!(nvme.host_read, Some(Bytes(2_025_034 * 512_000)));
    assert_eq!(
        (nvme.used_percent, nvme.spare_percent),
        (Some(3.0), Some(100.0))
    );
    assert_eq!(
        (nvme.unsafe_shutdowns, nvme.media_errors),
        (Some(12), Some(0))
    );
    assert_eq!(nvme.passed, Some(true));
    let ata = parse(include_bytes!("data/smart-ata.json")).unwrap();
    assert_eq!(ata.protocol.as_deref(), Some("ATA"));
    assert_eq!(ata.host_written, Some(Bytes(1000 * (32 << 20))));
    assert_eq!((ata.link_errors, ata.used_percent), (Some(7), Some(9.0)));
    assert_eq!(ata.power_on_hours, Some(1234));
    assert_eq!(ata.attributes.len(), 4);
    let failed = br#"{"smartctl":{"exit_status":2,"messages":[{"string":"Permission denied","severity":"error"}]}}"#;
    assert!(parse(failed).unwrap_err().0.contains("Permission denied"));
    assert!(parse(b"{}").is_err() && parse(b"nonsense").is_err());
}

#[test]
fn smartctl_is_run_and_its_absence_explained() {
    let folder = Folder::new("smartctl");
    let absent = Smartctl::new(&folder.path("none"), "/dev/sda".as_ref()).read();
    assert!(absent.unwrap_err().0.contains("not installed"));
    let program = folder.path("smartctl");
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/smart-nvme.json");
    // Bits beyond the first two speak of the health, not of the asking.
    std::fs::write(&program, format!("#!/bin/sh\ncat {fixture}\nexit 8\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let smart = Smartctl::new(&program, "/dev/nvme0".as_ref())
        .read()
        .unwrap();
    assert_eq!(smart.temperature_c, Some(35.0));
}

#[test]
fn transfers_are_counted_in_sectors_of_512_bytes_unless_counting_is_off() {
    let m = Machine::new("transfers");
    // Of a 6.1 kernel.
    let stat = "    1024       12    16384      500      256        8     4096      300        0      700      800        0        0        0        0        3        1";
    let files = [("size", "8192"), ("stat", stat), ("queue/iostats", "1")];
    let number = m.device("virtual/block/sdx", "8:16", &files);
    let transfers = Transfers::of(&m.roots, number).unwrap();
    let expected = Transferred {
        read: Bytes(16384 * 512),
        written: Bytes(4096 * 512),
        reads: 1024,
        writes: 256,
    };
    assert_eq!(transfers.read(), Ok(expected));
    m.put("sys/devices/virtual/block/sdx/queue/iostats", "0");
    let why = Transfers::of(&m.roots, number).unwrap_err();
    assert!(why.0.contains("does not count"), "{why}");
    m.put("sys/devices/virtual/block/sdx/queue/iostats", "1");
    m.put("sys/devices/virtual/block/sdx/stat", "1 2 x");
    assert!(transfers.read().unwrap_err().0.contains("unknown format"));
}
