//! Hosts: boards with ports, drivers that follow the protocol, and the chain that a device gets.

use crate::support;
use nandscope_device::Device;
use nandscope_device::profile::{HostProfile, parse_host};
use nandscope_units::Nanos;

const BOARD: &str = include_str!("../profiles/hosts/asus-z87-satae.toml");

fn board(text: &str) -> HostProfile {
    parse_host("board.toml", text).unwrap_or_else(|e| panic!("{e:?}"))
}

/// The PCIe slot of the board with only that link.
fn slot_with(link: &str) -> HostProfile {
    let mut slot = board(BOARD).ports().remove(0);
    slot.host.links = vec![link.to_string()];
    slot
}

/// Time of a 4 KiB read of unmapped data, so that it includes no flash time.
fn read_time(host: &HostProfile) -> Nanos {
    let profile = support::profile("plextor-m6e-256gb");
    let mut device = Device::new(&profile, host, 1).unwrap_or_else(|e| panic!("{e}"));
    let done = support::one(&mut device, support::read(1, 1 << 30, 4096));
    done.completed - done.submitted
}

#[test]
fn a_command_costs_six_microseconds_with_ahci_and_2_8_with_nvme() {
    let ahci = read_time(&slot_with("pcie-2.0-x2-ahci"));
    let nvme = read_time(&slot_with("pcie-2.0-x2"));
    let mut bare = slot_with("pcie-2.0-x2");
    bare.stack.clear();
    let bare = read_time(&bare);
    assert_eq!(ahci - bare, Nanos(6_000));
    assert_eq!(nvme - bare, Nanos(2_800));
}

#[test]
fn the_protocol_sets_the_queue_and_the_wire_the_rate() {
    let (_, ahci) = slot_with("pcie-2.0-x2-ahci")
        .attach(&["pcie-2.0-x2-ahci"])
        .unwrap();
    let (_, nvme) = slot_with("pcie-2.0-x2").attach(&["pcie-2.0-x2"]).unwrap();
    assert_eq!((ahci.queue_depth, nvme.queue_depth), (32, 65_535));
    assert_eq!(ahci.rate, nvme.rate);
    assert!(!ahci.half_duplex && !nvme.half_duplex);
    let (_, sata) = board(BOARD).attach(&["sata-6"]).unwrap();
    assert_eq!(sata.queue_depth, 32);
    assert!(sata.half_duplex);
}

#[test]
fn a_board_takes_the_first_port_that_fits() {
    // Links of the device, a stage of the port expected, and data rate of the chain, MB/s.
    let cases: &[(&[&str], &str, f64)] = &[
        (&["pcie-2.0-x2-ahci"], "CPU lanes", 787.8),
        (&["sata-6"], "Intel SATA controller", 560.0),
        (&["sata-3", "sata-6"], "Intel SATA controller", 560.0),
        (&["sata-1.5"], "Intel SATA controller", 137.0),
        (&["pcie-3.0-x4"], "CPU lanes", 3564.9),
    ];
    for (links, stage, mb_per_s) in cases {
        let (_, chain) = board(BOARD).attach(links).unwrap();
        assert!(
            chain.path.iter().any(|p| p.starts_with(stage)),
            "{links:?}: {:?}",
            chain.path
        );
        let got = chain.rate.as_mb_per_s();
        assert!((got / mb_per_s - 1.0).abs() < 1e-3, "{links:?}: {got}");
    }
    let error = board(BOARD).attach(&["sd-sdr104"]).unwrap_err().to_string();
    assert!(
        error.contains("asus-z87-satae") && error.contains("sata-6"),
        "{error}"
    );
}

#[test]
fn the_lane_of_the_asm106se_bounds_what_its_port_carries() {
    let ports = board(BOARD).ports();
    let port = ports.iter().find(|p| p.host.title == "ASMedia SATA");
    let (_, chain) = port.unwrap().attach(&["sata-6"]).unwrap();
    let got = chain.rate.as_mb_per_s();
    assert!((390.0..=400.0).contains(&got), "{got}");
}

#[test]
fn a_host_without_ports_is_its_own_port() {
    let direct = support::host("direct");
    assert_eq!(direct.ports(), vec![direct.clone()]);
    assert_eq!(direct.links(), direct.host.links);
    // Each link of a board is listed once.
    let board = board(BOARD);
    let links = board.links();
    let mut sorted = links.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), links.len());
}

#[test]
fn broken_boards_are_refused_with_line_key_and_remedy() {
    let cases = [
        (
            "[[port]]\nname = \"PCH slot\"",
            "[[port]]\nname = \"PCIe slot\"",
            "port.1.name",
            "two ports `PCIe slot`",
        ),
        (
            "protocol = \"nvme\"",
            "protocol = \"ahci\"",
            "stack.1.protocol",
            "two stacks for `ahci`",
        ),
        (
            "protocol = \"nvme\"",
            "protocol = \"scsi\"",
            "stack.1.protocol",
            "unknown protocol `scsi`",
        ),
        (
            "command_us = 3.5",
            "command_us = -1.0",
            "stack.0.command_us",
            "-1 is out of range",
        ),
        (
            "links = [\"sata-6\", \"sata-3\", \"sata-1.5\"]",
            "links = []",
            "port.3.links",
            "no link to a device",
        ),
        (
            "link = \"pcie-3.0-x16\"",
            "link = \"pcie-3.0-x17\"",
            "port.0.stage.0.link",
            "unknown link mode",
        ),
        (
            "sources = [",
            "links = [\"sata-6\"]\nsources = [",
            "host.links",
            "has no links of its own",
        ),
    ];
    for (find, put, key, part) in cases {
        assert!(BOARD.contains(find), "{find}");
        let text = BOARD.replacen(find, put, 1);
        let faults = parse_host("b.toml", &text).expect_err(find);
        let fault = faults
            .iter()
            .find(|f| f.key == key)
            .unwrap_or_else(|| panic!("{key}: {faults:?}"));
        assert!(fault.message.contains(part), "{}", fault.message);
        assert!(fault.line > 1 && !fault.remedy.is_empty(), "{fault}");
    }
}
