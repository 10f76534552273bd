//! The registers of a simulated card, decoded as those of a real one.

use nandscope_device::profile::Profile;
use nandscope_device::{CardRegisters, Device};
use nandscope_inspect::registers::{Family, RegisterTexts, Registers};

/// The registers of an SD card or eMMC on a link that has them; without the identity of the card if its profile gives none.
pub fn registers(device: &Device, profile: &Profile) -> Option<Registers> {
    let registers = decoded(device)?;
    let known = profile.registers.is_some();
    Some(Registers {
        cid: registers.cid.filter(|_| known),
        ..registers
    })
}

fn decoded(device: &Device) -> Option<Registers> {
    let digits = |bytes: &[u8]| Some(bytes.iter().map(|b| format!("{b:02x}")).collect());
    Some(Registers::decode(&match device.registers()? {
        CardRegisters::Sd { cid, csd, scr, ssr } => RegisterTexts {
            family: Family::Sd,
            cid: digits(&cid),
            csd: digits(&csd),
            scr: digits(&scr),
            ssr: digits(ssr.as_slice()),
            ext_csd: None,
        },
        CardRegisters::Mmc { cid, csd, ext_csd } => RegisterTexts {
            family: Family::Mmc,
            cid: digits(&cid),
            csd: digits(&csd),
            scr: None,
            ssr: None,
            ext_csd: digits(ext_csd.as_slice()),
        },
    }))
}
