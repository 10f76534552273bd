//! Link modes: what each generation of each interface carries. Rates are of user data, after line
//! coding and packet overhead; each formula says how they follow from the signalling rate.
//! Latencies of hosts and bridges are not here: they belong to the host's chain.

use crate::convert::{ToF64, Whole};
use nandscope_units::Rate;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Protocol family of a link, which sets its queue limits and what it can express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// NVMe over PCIe: 64K queues of 64K commands.
    Nvme,
    /// AHCI over SATA: one queue of 32 commands.
    Ahci,
    /// SD bus: one command at a time (without command queueing), half duplex.
    Sd,
    /// eMMC bus: one command at a time (without command queueing), half duplex.
    Mmc,
    /// USB attached SCSI: tagged commands.
    UsbUas,
    /// USB bulk-only transport: one command at a time.
    UsbBot,
}

impl Protocol {
    /// Commands that may be outstanding.
    pub const fn queue_depth(self) -> u32 {
        match self {
            Protocol::Nvme => 65_535,
            Protocol::Ahci | Protocol::UsbUas => 32,
            Protocol::Sd | Protocol::Mmc | Protocol::UsbBot => 1,
        }
    }

    /// Name in host profiles, such as `ahci`.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Nvme => "nvme",
            Protocol::Ahci => "ahci",
            Protocol::Sd => "sd",
            Protocol::Mmc => "emmc",
            Protocol::UsbUas => "uas",
            Protocol::UsbBot => "bot",
        }
    }
}

/// A named link mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkMode {
    /// Name in profiles.
    pub name: String,
    /// Protocol family.
    pub protocol: Protocol,
    /// True if data flows in one direction at a time.
    pub half_duplex: bool,
    /// Bits on all lanes or lines together, one direction, before line coding is taken off, Mbit/s.
    pub signalling_mbit_per_s: u32,
    /// Rate after line coding (8b/10b, 128b/130b, 128b/132b, none).
    pub coded: Rate,
    /// User data rate, one direction.
    pub rate: Rate,
}

impl LinkMode {
    /// Share of the rate after line coding that is user data, 0 to 1: what headers, checksums,
    /// acknowledgements and gaps leave.
    pub fn efficiency(&self) -> f64 {
        self.rate.0.to_f64() / self.coded.0.to_f64()
    }
}

/// A link name that is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown link mode `{name}`; known are {known}")]
pub struct UnknownLink {
    /// Requested name.
    pub name: String,
    /// Names of the known link families.
    pub known: &'static str,
}

/// The forms of the names of all link modes, for messages and help.
pub const KNOWN: &str = "pcie-<1.0|2.0|3.0|4.0|5.0>-x<1|2|4|8|16>[-ahci], sata-<1.5|3|6>, sd-<spi|default|high-speed|sdr12|sdr25|sdr50|ddr50|sdr104>, \
     uhs2-<fd156|hd312>, uhs3-<fd312|fd624>, emmc-<legacy|hs|ddr52|hs200|hs400>, usb-<2.0|3.2-gen1|3.2-gen2|3.2-gen2x2>-<bot|uas>";

/// Names of all link modes, family by family, the slowest first.
pub fn names() -> Vec<String> {
    let mut names = Vec::new();
    for generation in ["1.0", "2.0", "3.0", "4.0", "5.0"] {
        for lanes in [1, 2, 4, 8, 16] {
            names.push(format!("pcie-{generation}-x{lanes}"));
        }
    }
    let rest = "sata-1.5 sata-3 sata-6 sd-spi sd-default sd-high-speed sd-sdr12 sd-sdr25 sd-sdr50 sd-ddr50 sd-sdr104 \
        uhs2-fd156 uhs2-hd312 uhs3-fd312 uhs3-fd624 emmc-legacy emmc-hs emmc-ddr52 emmc-hs200 emmc-hs400 usb-2.0-bot \
        usb-2.0-uas usb-3.2-gen1-bot usb-3.2-gen1-uas usb-3.2-gen2-bot usb-3.2-gen2-uas usb-3.2-gen2x2-bot usb-3.2-gen2x2-uas";
    names.extend(rest.split_whitespace().map(str::to_string));
    names
}

/// Data rates of a link mode on the wire.
#[derive(Clone, Copy)]
struct Wire {
    signalling_mbit_per_s: f64,
    /// Share of the signalling rate left after line coding.
    coding: f64,
    mb_per_s: f64,
}

/// Whether the link of that name uses the NVMe protocol.
pub(crate) fn is_nvme(name: &str) -> bool {
    link_mode(name).is_ok_and(|link| link.protocol == Protocol::Nvme)
}

/// Looks a link mode up by name.
///
/// # Errors
/// [`UnknownLink`] if no mode has that name.
pub fn link_mode(name: &str) -> Result<LinkMode, UnknownLink> {
    let unknown = || UnknownLink {
        name: name.to_string(),
        known: KNOWN,
    };
    let (family, rest) = name.split_once('-').ok_or_else(unknown)?;
    let found = match family {
        "pcie" => pcie(rest),
        "sata" => sata(rest).map(|w| (Protocol::Ahci, w)),
        "sd" => sd(rest).map(|w| (Protocol::Sd, w)),
        "uhs2" | "uhs3" => uhs(family, rest).map(|w| (Protocol::Sd, w)),
        "emmc" => emmc(rest).map(|w| (Protocol::Mmc, w)),
        "usb" => usb(rest),
        _ => None,
    };
    let (protocol, wire) = found.ok_or_else(unknown)?;
    Ok(LinkMode {
        name: name.to_string(),
        protocol,
        half_duplex: match protocol {
            Protocol::Nvme | Protocol::UsbUas => false,
            Protocol::Ahci => family == "sata",
            Protocol::Sd | Protocol::Mmc | Protocol::UsbBot => true,
        },
        signalling_mbit_per_s: wire.signalling_mbit_per_s.floor_u32(),
        coded: Rate::from_mb_per_s(wire.signalling_mbit_per_s * wire.coding / 8.0),
        rate: Rate::from_mb_per_s(wire.mb_per_s),
    })
}

/// Framing, sequence number, header and CRC of a packet with data: 1, 2, 12 (three double words),
/// 4 and 1 bytes, 4 more with 64-bit addresses, and 2 of padding and skip symbols (PCIe base
/// specification 3.0 §2.2, §3.6 and §4.2).
const PCIE_PACKET_BYTES: f64 = 26.0;
/// Size of an acknowledgement or a credit update, bytes: a data-link-layer packet (PCIe base specification 3.0 §3.4).
const PCIE_CREDIT_BYTES: f64 = 8.0;
/// Share of the rate left by gathered credit updates and acknowledgements.
const PCIE_GATHERED: f64 = 0.997;

/// PCIe: signalling rate × lanes × line coding (8b/10b up to 2.0, 128b/130b after) × share of
/// payload in what a packet takes. Controllers and chipsets of generations 1 and 2 carried 128
/// bytes in a packet and sent one acknowledgement or credit update for each, which gives
/// 128/(128 + 26 + 8) × 0.997 = 78.8 %, where 78 to 79 % were measured (AnandTech 2014). Later ones
/// carry 256 bytes and gather acknowledgements, which gives 893 MB/s for 3.0 x1, where Silicon
/// Motion states 895 for SD Express.
///
/// With `-ahci` the device speaks AHCI over PCIe, as drives did before NVMe: one queue of 32.
fn pcie(rest: &str) -> Option<(Protocol, Wire)> {
    let (rest, protocol) = match rest.strip_suffix("-ahci") {
        Some(rest) => (rest, Protocol::Ahci),
        None => (rest, Protocol::Nvme),
    };
    let (generation, lanes) = rest.split_once("-x")?;
    let lanes = ["1", "2", "4", "8", "16"]
        .into_iter()
        .find(|n| *n == lanes)?
        .parse::<u32>()
        .ok()?;
    let (giga_transfers, old) = match generation {
        "1.0" => (2.5, true),
        "2.0" => (5.0, true),
        "3.0" => (8.0, false),
        "4.0" => (16.0, false),
        "5.0" => (32.0, false),
        _ => return None,
    };
    let (coding, share) = if old {
        let packet = 128.0 + PCIE_PACKET_BYTES + PCIE_CREDIT_BYTES;
        (0.8, 128.0 / packet * PCIE_GATHERED)
    } else {
        let packet = 256.0 + PCIE_PACKET_BYTES;
        (128.0 / 130.0, 256.0 / packet * PCIE_GATHERED)
    };
    let signalling_mbit_per_s = giga_transfers * 1000.0 * f64::from(lanes);
    let wire = Wire {
        signalling_mbit_per_s,
        coding,
        mb_per_s: signalling_mbit_per_s / 8.0 * coding * share,
    };
    Some((protocol, wire))
}

/// SATA: 8b/10b coding, and frames of 8 KiB with a 4-byte header, CRC and primitives; the rest is the
/// handshake between frames. Real drives reach 560 MB/s at 6 Gbit/s and 275 at 3 Gbit/s.
fn sata(rest: &str) -> Option<Wire> {
    let (signalling_mbit_per_s, mb_per_s) = match rest {
        "1.5" => (1500.0, 137.0),
        "3" => (3000.0, 275.0),
        "6" => (6000.0, 560.0),
        _ => return None,
    };
    Some(Wire {
        signalling_mbit_per_s,
        coding: 0.8,
        mb_per_s,
    })
}

/// SD: clock × width; a 512-byte block on four lines takes 1024 clocks of data and about 22 of
/// start, CRC-16 and end bits (SD physical layer simplified specification §4.3), plus gaps.
fn sd(rest: &str) -> Option<Wire> {
    let (clock_mhz, lines, edges) = match rest {
        "spi" => (25.0, 1.0, 1.0),
        "default" | "sdr12" => (25.0, 4.0, 1.0),
        "high-speed" | "sdr25" => (50.0, 4.0, 1.0),
        "sdr50" => (100.0, 4.0, 1.0),
        "ddr50" => (50.0, 4.0, 2.0),
        "sdr104" => (208.0, 4.0, 1.0),
        _ => return None,
    };
    Some(in_blocks(clock_mhz, lines, edges))
}

/// Blocks of 512 bytes with 22 clocks of framing, in parallel without line coding.
fn in_blocks(clock_mhz: f64, lines: f64, edges: f64) -> Wire {
    let clocks = 512.0 * 8.0 / (lines * edges);
    let signalling_mbit_per_s = clock_mhz * lines * edges;
    Wire {
        signalling_mbit_per_s,
        coding: 1.0,
        mb_per_s: signalling_mbit_per_s / 8.0 * clocks / (clocks + 22.0),
    }
}

/// UHS-II and UHS-III: 8b/10b coding, published rates less packet overhead of about 4 %.
fn uhs(family: &str, rest: &str) -> Option<Wire> {
    let coded_mb_per_s = match (family, rest) {
        ("uhs2", "fd156") => 156.0,
        ("uhs2", "hd312") | ("uhs3", "fd312") => 312.0,
        ("uhs3", "fd624") => 624.0,
        _ => return None,
    };
    Some(Wire {
        signalling_mbit_per_s: coded_mb_per_s * 10.0,
        coding: 0.8,
        mb_per_s: coded_mb_per_s * 0.96,
    })
}

/// eMMC (JESD84-B51): clock × 8 lines × edges, with the same block framing as SD.
fn emmc(rest: &str) -> Option<Wire> {
    let (clock_mhz, edges) = match rest {
        "legacy" => (26.0, 1.0),
        "hs" => (52.0, 1.0),
        "ddr52" => (52.0, 2.0),
        "hs200" => (200.0, 1.0),
        "hs400" => (200.0, 2.0),
        _ => return None,
    };
    Some(in_blocks(clock_mhz, 8.0, edges))
}

/// USB: line coding (none, 8b/10b, 128b/132b) and bulk packet overhead give about 40, 450, 1,070
/// and 2,000 MB/s of data.
fn usb(rest: &str) -> Option<(Protocol, Wire)> {
    let (speed, transport) = rest.rsplit_once('-')?;
    let protocol = match transport {
        "bot" => Protocol::UsbBot,
        "uas" => Protocol::UsbUas,
        _ => return None,
    };
    let (signalling_mbit_per_s, coding, mb_per_s) = match speed {
        "2.0" => (480.0, 1.0, 40.0),
        "3.2-gen1" => (5_000.0, 0.8, 450.0),
        "3.2-gen2" => (10_000.0, 128.0 / 132.0, 1070.0),
        "3.2-gen2x2" => (20_000.0, 128.0 / 132.0, 2000.0),
        _ => return None,
    };
    let wire = Wire {
        signalling_mbit_per_s,
        coding,
        mb_per_s,
    };
    Some((protocol, wire))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_agree_with_what_is_published() {
        let cases = [
            ("pcie-3.0-x1", 895.0, 0.01),
            ("pcie-2.0-x1", 400.0, 0.02),
            ("pcie-2.0-x2", 780.0, 0.011),
            ("pcie-2.0-x4", 1560.0, 0.011),
            ("pcie-3.0-x4", 3560.0, 0.01),
            ("sd-sdr104", 104.0, 0.03),
            ("sd-high-speed", 25.0, 0.03),
            ("sata-6", 560.0, 0.001),
            ("sata-3", 275.0, 0.001),
            ("usb-2.0-bot", 40.0, 0.001),
        ];
        for (name, mb_per_s, share) in cases {
            let got = link_mode(name).expect(name).rate.as_mb_per_s();
            assert!((got / mb_per_s - 1.0).abs() <= share, "{name}: {got}");
        }
    }

    #[test]
    fn link_speeds_are_those_of_the_specifications() {
        // Name, Gbit/s on the wire, Gbit/s after line coding.
        let cases = [
            ("sata-3", 3.0, 2.4),
            ("sata-6", 6.0, 4.8),
            ("pcie-2.0-x2", 10.0, 8.0),
            ("pcie-2.0-x4", 20.0, 16.0),
            ("pcie-3.0-x2", 16.0, 15.754),
            ("pcie-3.0-x4", 32.0, 31.508),
            ("uhs2-fd156", 1.56, 1.248),
            ("emmc-hs400", 3.2, 3.2),
        ];
        for (name, wire, coded) in cases {
            let mode = link_mode(name).expect(name);
            assert_eq!(f64::from(mode.signalling_mbit_per_s), wire * 1e3, "{name}");
            let got = mode.coded.as_mb_per_s() * 8.0 / 1e3;
            assert!((got / coded - 1.0).abs() < 1e-3, "{name}: {got}");
        }
        let measured = link_mode("pcie-2.0-x2").expect("known").efficiency();
        assert!((0.78..=0.79).contains(&measured), "{measured}");
    }

    #[test]
    fn every_name_is_found_and_carries_less_than_its_wire() {
        for name in names() {
            let mode = link_mode(&name).expect(&name);
            assert!((0.5..1.0).contains(&mode.efficiency()), "{name}");
            assert!(mode.coded.0 * 8 <= u64::from(mode.signalling_mbit_per_s) * 1_000_000);
        }
    }

    #[test]
    fn ahci_over_pcie_is_the_same_wire_with_one_queue() {
        let (nvme, ahci) = (link_mode("pcie-2.0-x2"), link_mode("pcie-2.0-x2-ahci"));
        let (nvme, ahci) = (nvme.expect("known"), ahci.expect("known"));
        assert_eq!(nvme.rate, ahci.rate);
        assert!(!ahci.half_duplex);
        assert_eq!(ahci.protocol.queue_depth(), 32);
        assert_eq!(nvme.protocol.queue_depth(), 65_535);
    }

    #[test]
    fn unknown_names_are_refused_with_what_is_known() {
        for name in [
            "",
            "pcie",
            "pcie-6.0-x4",
            "pcie-3.0-x3",
            "pcie-3.0-x04",
            "pcie-3.0-x4-nvme",
            "uhs2-fd624",
            "sd-warp",
            "usb-3.2-gen2",
        ] {
            let error = link_mode(name).expect_err(name);
            assert!(error.to_string().contains("pcie-<"));
        }
    }
}
