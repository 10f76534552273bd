//! The registers of SD cards and eMMC, decoded: CID, CSD, SCR and SSR as sysfs shows them in
//! hexadecimal, EXT_CSD as debugfs does. Bit positions are those of the SD Physical Layer
//! Simplified Specification (as Linux' `drivers/mmc/core/sd.c` reads them) and of JESD84-B51 (as
//! its `mmc.c` does).
//!
//! A register is believed: whether a card is what it claims to be is not judged here.

mod bits;
mod cid;
mod csd;
mod ext_csd;
mod recorded;
mod scr;
mod ssr;

pub use bits::{Register, RegisterError};
pub use cid::{Checksum, Cid};
pub use csd::Csd;
pub use ext_csd::ExtCsd;
pub use recorded::{RecordedError, RecordedRegisters, read_recorded};
pub use scr::Scr;
pub use ssr::Ssr;

use crate::DeviceNumber;
use crate::identity::whole_disk;
use crate::roots::{self, Roots};
use serde::Serialize;
use std::path::Path;

/// Family of a card. CID and CSD differ between families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// SD memory card.
    Sd,
    /// eMMC or MultiMediaCard.
    Mmc,
}

/// The registers that exist and could be decoded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Registers {
    /// The family, from the kernel's `type`.
    pub family: Family,
    /// Card identification.
    pub cid: Option<Cid>,
    /// Card-specific data.
    pub csd: Option<Csd>,
    /// SD configuration.
    pub scr: Option<Scr>,
    /// SD status.
    pub ssr: Option<Ssr>,
    /// Extended card-specific data of an eMMC.
    pub ext_csd: Option<ExtCsd>,
    /// Registers that were there and could not be decoded, and why.
    pub faults: Vec<String>,
}

/// The registers of a card in hexadecimal digits, as the kernel shows them; `None` for a register that the card
/// lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterTexts {
    /// Family of the card.
    pub family: Family,
    /// Card identification.
    pub cid: Option<String>,
    /// Card-specific data.
    pub csd: Option<String>,
    /// SD configuration.
    pub scr: Option<String>,
    /// SD status.
    pub ssr: Option<String>,
    /// Extended card-specific data, byte 0 first.
    pub ext_csd: Option<String>,
}

impl Registers {
    /// Reads the registers of the card with this block device; `None` if it is not a card in a native
    /// slot (a USB reader hides the registers).
    pub fn read(roots: &Roots, number: DeviceNumber) -> Option<Self> {
        let whole = whole_disk(&roots.block(number).ok()?);
        let device = whole.join("device");
        let family = match roots::text(&device.join("type"))?.as_str() {
            "SD" => Family::Sd,
            "MMC" => Family::Mmc,
            _ => return None,
        };
        let of = |name: &str| roots::text(&device.join(name));
        Some(Self::decode(&RegisterTexts {
            family,
            cid: of("cid"),
            csd: of("csd"),
            scr: of("scr"),
            ssr: of("ssr"),
            ext_csd: ext_csd_file(roots, &device),
        }))
    }

    /// Decodes registers in hexadecimal digits.
    pub fn decode(texts: &RegisterTexts) -> Self {
        let family = texts.family;
        let mut faults = Vec::new();
        let ext_csd = texts.ext_csd.as_ref();
        let ext_csd = ext_csd.and_then(|t| keep(ExtCsd::from_hex(t), "EXT_CSD", &mut faults));
        let revision = ext_csd.as_ref().map(|e| e.revision);
        let (cid, csd) = (texts.cid.as_ref(), texts.csd.as_ref());
        let of_sd = |text: &'_ Option<String>| text.clone().filter(|_| family == Family::Sd);
        let (scr, ssr) = (of_sd(&texts.scr), of_sd(&texts.ssr));
        Registers {
            family,
            cid: cid.and_then(|t| keep(Cid::from_hex(t, family, revision), "CID", &mut faults)),
            csd: csd.and_then(|t| keep(Csd::from_hex(t, family), "CSD", &mut faults)),
            scr: scr.and_then(|t| keep(Scr::from_hex(&t), "SCR", &mut faults)),
            ssr: ssr.and_then(|t| keep(Ssr::from_hex(&t), "SSR", &mut faults)),
            ext_csd,
            faults,
        }
    }
}

fn keep<T>(read: Result<T, RegisterError>, name: &str, faults: &mut Vec<String>) -> Option<T> {
    read.map_err(|e| faults.push(format!("{name}: {e}"))).ok()
}

/// debugfs has the register of card `mmc0:0001` in `mmc0/mmc0:0001/ext_csd`; root only.
fn ext_csd_file(roots: &Roots, device: &Path) -> Option<String> {
    let card = roots::file_name(&device.canonicalize().ok()?);
    let (host, _) = card.split_once(':')?;
    let folder = roots.sys.join("kernel/debug").join(host).join(&card);
    roots::text(&folder.join("ext_csd"))
}
