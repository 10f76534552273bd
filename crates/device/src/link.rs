//! Link modes: what each generation of each interface carries. Rates are of user data, after line
//! coding and packet overhead; how they follow from the signalling rate stands beside each formula.
//! Latencies of hosts and bridges are not here: they belong to the host's chain.

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
    /// SD bus: one command at a time, half duplex.
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

    /// Whether data flows one way at a time.
    pub const fn half_duplex(self) -> bool {
        matches!(
            self,
            Protocol::Ahci | Protocol::Sd | Protocol::Mmc | Protocol::UsbBot
        )
    }
}

/// A link mode that is known by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkMode {
    /// Its name in profiles.
    pub name: String,
    /// Protocol family.
    pub protocol: Protocol,
    /// User data rate, one direction.
    pub rate: Rate,
}

/// A link name that is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{name}` is no link mode; known are {known}")]
pub struct UnknownLink {
    /// What was asked for.
    pub name: String,
    /// The known families.
    pub known: &'static str,
}

const KNOWN: &str = "pcie-<1.0|2.0|3.0|4.0|5.0>-x<1|2|4|8|16>, sata-<1.5|3|6>, sd-<spi|default|high-speed|sdr12|sdr25|sdr50|ddr50|sdr104>, \
     uhs2-<fd156|hd312>, uhs3-<fd312|fd624>, emmc-<legacy|hs|ddr52|hs200|hs400>, usb-<2.0|3.2-gen1|3.2-gen2|3.2-gen2x2>-<bot|uas>";

/// Looks a link mode up by name.
///
/// # Errors
/// Where no mode has that name.
pub fn link_mode(name: &str) -> Result<LinkMode, UnknownLink> {
    let unknown = || UnknownLink {
        name: name.to_string(),
        known: KNOWN,
    };
    let (family, rest) = name.split_once('-').ok_or_else(unknown)?;
    let (protocol, mb_per_s) = match family {
        "pcie" => pcie(rest).ok_or_else(unknown)?,
        "sata" => (Protocol::Ahci, sata(rest).ok_or_else(unknown)?),
        "sd" => (Protocol::Sd, sd(rest).ok_or_else(unknown)?),
        "uhs2" | "uhs3" => (Protocol::Sd, uhs(rest).ok_or_else(unknown)?),
        "emmc" => (Protocol::Mmc, emmc(rest).ok_or_else(unknown)?),
        "usb" => usb(rest).ok_or_else(unknown)?,
        _ => return Err(unknown()),
    };
    Ok(LinkMode {
        name: name.to_string(),
        protocol,
        rate: Rate::from_mb_per_s(mb_per_s),
    })
}

/// PCIe: signalling rate × lanes × line coding (8b/10b up to 2.0, 128b/130b after) × share of
/// payload in a transaction-layer packet. A read completion or a write of 256 bytes carries 26
/// bytes of framing, sequence number, header and CRC (3-DW header, PCIe base specification 3.0
/// §2.2 and §3.6), and about 0.3 % of the time goes to flow control and acknowledgements.
/// The formula gives 893 MB/s for 3.0 x1, where Silicon Motion states 895 for SD Express.
/// Generation 2.0 controllers and chipsets of their time carried 128-byte payloads:
/// 0.8 × 128/(128+26) × …, which is the 78 to 79 % that was measured.
fn pcie(rest: &str) -> Option<(Protocol, f64)> {
    let (generation, lanes) = rest.split_once("-x")?;
    let lanes: u32 = lanes
        .parse()
        .ok()
        .filter(|n| matches!(n, 1 | 2 | 4 | 8 | 16))?;
    let (giga_transfers, coding, payload) = match generation {
        "1.0" => (2.5, 0.8, 128.0),
        "2.0" => (5.0, 0.8, 128.0),
        "3.0" => (8.0, 128.0 / 130.0, 256.0),
        "4.0" => (16.0, 128.0 / 130.0, 256.0),
        "5.0" => (32.0, 128.0 / 130.0, 256.0),
        _ => return None,
    };
    let raw_mb_per_s = giga_transfers * 1000.0 / 8.0 * f64::from(lanes) * coding;
    Some((
        Protocol::Nvme,
        raw_mb_per_s * payload / (payload + 26.0) * 0.997,
    ))
}

/// SATA: 8b/10b coding, and frames of 8 KiB with a 4-byte header, CRC and primitives; the rest is
/// the handshake between frames. 560 MB/s at 6 Gbit/s and 275 at 3 Gbit/s are what is reached.
fn sata(rest: &str) -> Option<f64> {
    match rest {
        "1.5" => Some(137.0),
        "3" => Some(275.0),
        "6" => Some(560.0),
        _ => None,
    }
}

/// SD: clock × width; a 512-byte block on four lines takes 1024 clocks of data and about 22 of
/// start, CRC-16 and end bits (SD physical layer simplified specification §4.3), plus gaps.
fn sd(rest: &str) -> Option<f64> {
    let (clock_mhz, lines, edges) = match rest {
        "spi" => (25.0, 1.0, 1.0),
        "default" | "sdr12" => (25.0, 4.0, 1.0),
        "high-speed" | "sdr25" => (50.0, 4.0, 1.0),
        "sdr50" => (100.0, 4.0, 1.0),
        "ddr50" => (50.0, 4.0, 2.0),
        "sdr104" => (208.0, 4.0, 1.0),
        _ => return None,
    };
    let clocks = 512.0 * 8.0 / (lines * edges);
    Some(clock_mhz * lines * edges / 8.0 * clocks / (clocks + 22.0))
}

/// UHS-II and UHS-III: published rates less packet overhead of about 4 %.
fn uhs(rest: &str) -> Option<f64> {
    match rest {
        "fd156" => Some(156.0 * 0.96),
        "hd312" | "fd312" => Some(312.0 * 0.96),
        "fd624" => Some(624.0 * 0.96),
        _ => None,
    }
}

/// eMMC (JESD84-B51): clock × 8 lines × edges, with the same block framing as SD.
fn emmc(rest: &str) -> Option<f64> {
    let (clock_mhz, edges) = match rest {
        "legacy" => (26.0, 1.0),
        "hs" => (52.0, 1.0),
        "ddr52" => (52.0, 2.0),
        "hs200" => (200.0, 1.0),
        "hs400" => (200.0, 2.0),
        _ => return None,
    };
    let clocks = 512.0 / edges;
    Some(clock_mhz * edges * clocks / (clocks + 22.0))
}

/// USB: line coding and bulk packet overhead give about 40, 450, 1,070 and 2,000 MB/s of data.
fn usb(rest: &str) -> Option<(Protocol, f64)> {
    let (speed, transport) = rest.rsplit_once('-')?;
    let protocol = match transport {
        "bot" => Protocol::UsbBot,
        "uas" => Protocol::UsbUas,
        _ => return None,
    };
    let mb_per_s = match speed {
        "2.0" => 40.0,
        "3.2-gen1" => 450.0,
        "3.2-gen2" => 1070.0,
        "3.2-gen2x2" => 2000.0,
        _ => return None,
    };
    Some((protocol, mb_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_agree_with_what_is_published() {
        let cases = [
            ("pcie-3.0-x1", 895.0, 0.01),
            ("pcie-2.0-x2", 780.0, 0.06),
            ("pcie-3.0-x4", 3560.0, 0.01),
            ("sd-sdr104", 104.0, 0.03),
            ("sd-high-speed", 25.0, 0.03),
            ("sata-6", 560.0, 0.001),
            ("usb-2.0-bot", 40.0, 0.001),
        ];
        for (name, mb_per_s, share) in cases {
            let got = link_mode(name).expect(name).rate.as_mb_per_s();
            assert!((got / mb_per_s - 1.0).abs() <= share, "{name}: {got}");
        }
    }

    #[test]
    fn unknown_names_are_refused_with_what_is_known() {
        for name in [
            "",
            "pcie",
            "pcie-6.0-x4",
            "pcie-3.0-x3",
            "sd-warp",
            "usb-3.2-gen2",
        ] {
            let error = link_mode(name).expect_err(name);
            assert!(error.to_string().contains("pcie-<"));
        }
    }
}
