//! Purging a device: commands by which a device erases itself, chosen by what it reports, and a check of what it returns
//! afterwards. It takes an open device for which the guard allowed writing, and opens no other; only hdparm, for ATA, opens the
//! device by the kernel's name, which stays with the device as long as it is open here.
//!
//! A bridge that speaks another protocol may swallow erase commands. Behind USB only discards are offered, which the kernel sends
//! only if the bridge announces them.

mod ata;
mod blocks;
mod nvme;
mod samples;

pub use samples::{Contents, Samples};

use crate::Roots;
use crate::conditions::Queue;
use crate::identity::{Identity, Transport};
use nandscope_units::Bytes;
use serde::Serialize;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A way to purge a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// NVMe Format NVM with erasure of user data.
    Format,
    /// NVMe Sanitize, block erase.
    SanitizeBlock,
    /// NVMe Format NVM with a change of the encryption key.
    FormatCrypto,
    /// NVMe Sanitize, change of the encryption key.
    SanitizeCrypto,
    /// ATA SECURITY ERASE UNIT.
    SecurityErase,
    /// ATA SECURITY ERASE UNIT in its enhanced mode.
    EnhancedErase,
    /// Secure discard of all blocks: eMMC secure erase.
    SecureDiscard,
    /// Discard of all blocks: NVMe deallocate, ATA TRIM, SCSI UNMAP, SD erase, eMMC discard.
    Discard,
}

impl Method {
    /// All methods.
    pub const ALL: [Method; 8] = [
        Method::Format,
        Method::SanitizeBlock,
        Method::FormatCrypto,
        Method::SanitizeCrypto,
        Method::SecurityErase,
        Method::EnhancedErase,
        Method::SecureDiscard,
        Method::Discard,
    ];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Format => "format",
            Method::SanitizeBlock => "sanitize-block",
            Method::FormatCrypto => "format-crypto",
            Method::SanitizeCrypto => "sanitize-crypto",
            Method::SecurityErase => "security-erase",
            Method::EnhancedErase => "enhanced-erase",
            Method::SecureDiscard => "secure-discard",
            Method::Discard => "discard",
        }
    }

    /// Command and effect.
    pub const fn effect(self) -> &'static str {
        match self {
            Method::Format => "NVMe Format, user data erased",
            Method::SanitizeBlock => "NVMe Sanitize, all blocks erased",
            Method::FormatCrypto => "NVMe Format, key changed",
            Method::SanitizeCrypto => "NVMe Sanitize, key changed",
            Method::SecurityErase => "ATA security erase",
            Method::EnhancedErase => "ATA security erase, enhanced",
            Method::SecureDiscard => "secure discard of all blocks",
            Method::Discard => "discard of all blocks",
        }
    }

    /// Whether it can be stopped before its end.
    pub const fn can_stop(self) -> bool {
        matches!(self, Method::Discard | Method::SecureDiscard)
    }
}

/// A method, and whether it is possible on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// The method.
    pub method: Method,
    /// Why it is not possible; `None` if it is.
    pub why_not: Option<String>,
    /// Time that the device states, minutes.
    pub minutes: Option<u32>,
}

impl Offer {
    fn new(method: Method, why_not: Option<String>) -> Self {
        Offer {
            method,
            why_not,
            minutes: None,
        }
    }
}

/// Why a device was not purged.
#[derive(Debug, Error)]
pub enum PurgeError {
    /// The kernel or the device refused the command.
    #[error("the kernel or the device refused the command: {0}")]
    System(io::Error),
    /// The controller answered with an error: status code type and status code (NVMe base specification 1.4, section 4.6.1).
    #[error("the controller refused the command with status {0:#05x}")]
    Status(u32),
    /// The device reports that the operation failed.
    #[error("the device reports that the operation failed")]
    Failed,
    /// An external program is missing.
    #[error("{0} is not installed; install it, or choose --method discard")]
    Missing(&'static str),
    /// An external program failed.
    #[error("{0}")]
    Program(String),
    /// The device does not offer the method.
    #[error("the device does not offer {}", .0.name())]
    NotOffered(Method),
}

/// End of a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The whole device is purged.
    Whole,
    /// It was stopped after this many bytes.
    Stopped(u64),
}

/// An open device, and the ways to purge it.
#[derive(Debug)]
pub struct Purge {
    node: PathBuf,
    size: u64,
    drive: Drive,
    offers: Vec<Offer>,
}

/// Erase commands besides discards.
#[derive(Debug)]
enum Drive {
    Nvme(nvme::Drive),
    Ata(ata::Security),
    None,
}

const HDPARM: &str = "hdparm";

impl Purge {
    /// Asks the device for its methods, and changes nothing. A method about which it cannot be asked is not possible, for that
    /// reason.
    pub fn of(roots: &Roots, file: &File, identity: &Identity) -> Self {
        let node = roots.dev.join(&identity.name);
        let without = |method, why: String| (Drive::None, vec![Offer::new(method, Some(why))]);
        let (drive, mut offers) = match identity.transport {
            _ if identity.partition_of.is_some() => {
                let why = "it would erase the other partitions; name the whole disk";
                without(Method::Format, why.to_string())
            }
            Transport::Nvme => match nvme::Drive::read(file) {
                Ok(drive) => (Drive::Nvme(drive), drive.offers()),
                Err(e) => without(Method::Format, e.to_string()),
            },
            Transport::Ata => match ata::read(Path::new(HDPARM), &node) {
                Ok(security) => (Drive::Ata(security), security.offers()),
                Err(e) => without(Method::SecurityErase, e.to_string()),
            },
            Transport::Usb => {
                let why = "a USB bridge may swallow it; attach the drive directly";
                without(Method::SecurityErase, why.to_string())
            }
            _ => (Drive::None, Vec::new()),
        };
        let largest = Queue::read(roots, identity.number).and_then(|queue| queue.largest_discard);
        let none = match largest {
            Some(largest) if largest > Bytes::ZERO => None,
            _ => Some("the kernel sends no discards to this device".to_string()),
        };
        if identity.transport == Transport::Mmc {
            offers.push(Offer::new(Method::SecureDiscard, none.clone()));
        }
        offers.push(Offer::new(Method::Discard, none));
        Purge {
            node,
            size: identity.size.0,
            drive,
            offers,
        }
    }

    /// Methods in the order of preference, with the reasons against those that are not possible.
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// First possible method other than a change of the encryption key, which erases no flash; `None` if there is none.
    pub fn preferred(&self) -> Option<Method> {
        let crypto = |m| matches!(m, Method::FormatCrypto | Method::SanitizeCrypto);
        let possible = self.offers.iter().filter(|o| o.why_not.is_none());
        possible.map(|o| o.method).find(|m| !crypto(*m))
    }

    /// Purges the device. `goes_on` gets the completed share, where the device states it, and answers whether to go on; only
    /// discards can be stopped.
    ///
    /// # Errors
    /// [`PurgeError`]; the device is then purged in part or not at all.
    pub fn carry_out(
        &self,
        file: &File,
        method: Method,
        goes_on: &mut dyn FnMut(Option<f64>) -> bool,
    ) -> Result<Ended, PurgeError> {
        goes_on(None);
        match (method, &self.drive) {
            (Method::Discard | Method::SecureDiscard, _) => {
                let secure = method == Method::SecureDiscard;
                let done = blocks::discard(file, self.size, secure, &mut |s| goes_on(Some(s)))?;
                return Ok(match done == self.size {
                    true => Ended::Whole,
                    false => Ended::Stopped(done),
                });
            }
            (_, Drive::Nvme(drive)) => drive.purge(file, method, &mut |share| {
                goes_on(Some(share));
            })?,
            (_, Drive::Ata(security)) => security.purge(Path::new(HDPARM), &self.node, method)?,
            (_, Drive::None) => return Err(PurgeError::NotOffered(method)),
        }
        Ok(Ended::Whole)
    }
}
