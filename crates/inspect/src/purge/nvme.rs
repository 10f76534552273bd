//! Admin commands of NVMe, through the descriptor of a namespace: what the controller offers, Format NVM and Sanitize
//! (NVM Express Base Specification 1.4, sections 5.15, 5.23 and 5.24).

use super::{Method, Offer, PurgeError};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::Duration;

const IDENTIFY: u8 = 0x06;
const GET_LOG_PAGE: u8 = 0x02;
const FORMAT: u8 = 0x80;
const SANITIZE: u8 = 0x84;
/// Number of the log page with the state of a sanitize operation, and its length in bytes.
const SANITIZE_STATUS: u32 = 0x81;
const STATUS_BYTES: usize = 512;
/// All namespaces.
const ALL: u32 = 0xffff_ffff;
/// Time limit of short commands, and of a format, milliseconds: no drive states how long the latter takes.
const SHORT_MS: u32 = 10_000;
const FORMAT_MS: u32 = 4 * 3600 * 1000;
/// Interval at which the state of a sanitize operation is read.
const POLL: Duration = Duration::from_millis(500);

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h.
#[derive(Debug, Default)]
#[repr(C)]
struct Passthrough {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

// `NVME_IOCTL_ADMIN_CMD` is `_IOWR('N', 0x41, struct nvme_passthru_cmd)`, and contains this size.
const _: () = assert!(size_of::<Passthrough>() == 72);
const ADMIN_COMMAND: libc::c_ulong = 0xc048_4e41;
/// `_IO('N', 0x40)`: the number of the namespace.
const NAMESPACE_ID: libc::c_ulong = 0x4e40;

/// Sends an admin command that reads into `data`, which may be empty.
#[allow(
    unsafe_code,
    reason = "an ioctl without a safe wrapper that keeps its result"
)]
fn admin(file: &File, mut command: Passthrough, data: &mut [u8]) -> Result<(), PurgeError> {
    command.address = data.as_mut_ptr() as u64;
    command.data_bytes = u32::try_from(data.len()).unwrap_or(0);
    // SAFETY: the kernel reads and writes one `nvme_passthru_cmd`, and at most `data_bytes` bytes at `address`, which are
    // those of `data`. For a file that is no NVMe namespace it fails with ENOTTY.
    let status = unsafe { libc::ioctl(file.as_raw_fd(), ADMIN_COMMAND as _, &raw mut command) };
    match status {
        0 => Ok(()),
        1.. => Err(PurgeError::Status(status.unsigned_abs() & 0x7ff)),
        _ => Err(PurgeError::System(io::Error::last_os_error())),
    }
}

#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
fn namespace_of(file: &File) -> Result<u32, PurgeError> {
    // SAFETY: NVME_IOCTL_ID has no argument.
    let number = unsafe { libc::ioctl(file.as_raw_fd(), NAMESPACE_ID as _) };
    match u32::try_from(number) {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(PurgeError::System(io::Error::last_os_error())),
    }
}

fn identify(file: &File, namespace: u32, structure: u32) -> Result<[u8; 4096], PurgeError> {
    let mut data = [0; 4096];
    let command = Passthrough {
        opcode: IDENTIFY,
        namespace,
        words_10_15: [structure, 0, 0, 0, 0, 0],
        timeout_ms: SHORT_MS,
        ..Passthrough::default()
    };
    admin(file, command, &mut data)?;
    Ok(data)
}

fn word(data: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    if let Some(part) = data.get(at..at + 4) {
        bytes.copy_from_slice(part);
    }
    u32::from_le_bytes(bytes)
}

/// Erase capabilities of a controller and a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drive {
    namespace: u32,
    /// Optional admin commands (OACS).
    commands: u16,
    /// Sanitize capabilities (SANICAP).
    sanitize: u32,
    /// Format NVM attributes (FNA).
    format: u8,
    /// Format and protection in use, as Format NVM expects them.
    layout: u32,
    /// Number of active namespaces.
    namespaces: u32,
}

impl Drive {
    /// Asks the controller.
    pub(super) fn read(file: &File) -> Result<Self, PurgeError> {
        let namespace = namespace_of(file)?;
        let controller = identify(file, 0, 1)?;
        let own = identify(file, namespace, 0)?;
        let list = identify(file, 0, 2)?;
        let active = list.chunks_exact(4).filter(|n| *n != [0; 4]).count();
        Ok(Drive {
            namespace,
            namespaces: u32::try_from(active).unwrap_or(u32::MAX),
            layout: layout(own[26], own[29]),
            ..Drive::of_controller(&controller)
        })
    }

    fn of_controller(data: &[u8]) -> Self {
        Drive {
            namespace: 0,
            commands: (word(data, 256) & 0xffff) as u16,
            sanitize: word(data, 328),
            format: data.get(524).copied().unwrap_or(0),
            layout: 0,
            namespaces: 1,
        }
    }

    /// The ways to purge this namespace.
    pub(super) fn offers(&self) -> Vec<Offer> {
        let others = self.namespaces.saturating_sub(1);
        let shared = match others {
            0 => None,
            1 => Some("it would erase another namespace too".to_string()),
            n => Some(format!("it would erase {n} other namespaces too")),
        };
        let unsupported = || Some("the controller does not support it".to_string());
        let format = |crypto: bool| match self.commands & 2 != 0 {
            _ if crypto && self.format & 4 == 0 => unsupported(),
            false => unsupported(),
            // Bit 0: a format concerns all namespaces; bit 1: its secure erase does.
            true if self.format & 3 != 0 => shared.clone(),
            true => None,
        };
        let sanitize = |bit: u32| match self.sanitize & bit != 0 {
            false => unsupported(),
            true => shared.clone(),
        };
        vec![
            Offer::new(Method::Format, format(false)),
            Offer::new(Method::SanitizeBlock, sanitize(2)),
            Offer::new(Method::FormatCrypto, format(true)),
            Offer::new(Method::SanitizeCrypto, sanitize(1)),
        ]
    }

    /// Carries out a format or sanitize operation, and waits for its end. `progress` gets the completed share.
    pub(super) fn purge(
        &self,
        file: &File,
        method: Method,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), PurgeError> {
        match method {
            Method::Format => self.format(file, 1),
            Method::FormatCrypto => self.format(file, 2),
            Method::SanitizeBlock => sanitize(file, 2, progress),
            Method::SanitizeCrypto => sanitize(file, 4, progress),
            _ => Err(PurgeError::NotOffered(method)),
        }
    }

    fn format(&self, file: &File, secure_erase: u32) -> Result<(), PurgeError> {
        let command = Passthrough {
            opcode: FORMAT,
            namespace: self.namespace,
            words_10_15: [self.layout | secure_erase << 9, 0, 0, 0, 0, 0],
            timeout_ms: FORMAT_MS,
            ..Passthrough::default()
        };
        admin(file, command, &mut [])
    }
}

/// Format and protection in use as bits of Format NVM, from the bytes FLBAS and DPS of the namespace.
fn layout(flbas: u8, dps: u8) -> u32 {
    let (flbas, dps) = (u32::from(flbas), u32::from(dps));
    let (low, metadata_at_end, high) = (flbas & 0xf, flbas >> 4 & 1, flbas >> 5 & 3);
    let (protection, first) = (dps & 7, dps >> 3 & 1);
    low | metadata_at_end << 4 | protection << 5 | first << 8 | high << 12
}

fn sanitize(file: &File, action: u32, progress: &mut dyn FnMut(f64)) -> Result<(), PurgeError> {
    let command = Passthrough {
        opcode: SANITIZE,
        words_10_15: [action, 0, 0, 0, 0, 0],
        timeout_ms: SHORT_MS,
        ..Passthrough::default()
    };
    admin(file, command, &mut [])?;
    loop {
        let mut log = [0; STATUS_BYTES];
        let command = Passthrough {
            opcode: GET_LOG_PAGE,
            namespace: ALL,
            words_10_15: [
                SANITIZE_STATUS | (STATUS_BYTES as u32 / 4 - 1) << 16,
                0,
                0,
                0,
                0,
                0,
            ],
            timeout_ms: SHORT_MS,
            ..Passthrough::default()
        };
        admin(file, command, &mut log)?;
        match state(word(&log, 0)) {
            State::UnderWay(share) => progress(share),
            State::Done => return Ok(()),
            State::Failed => return Err(PurgeError::Failed),
        }
        sleep(POLL);
    }
}

/// State of a sanitize operation.
#[derive(Debug, PartialEq)]
enum State {
    UnderWay(f64),
    Done,
    Failed,
}

/// From SPROG, the share in 65,536ths, and SSTAT above it.
fn state(word: u32) -> State {
    match word >> 16 & 7 {
        2 => State::UnderWay(f64::from(word & 0xffff) / 65_536.0),
        1 | 4 => State::Done,
        _ => State::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(commands: u16, sanitize: u32, format: u8, namespaces: u32) -> Drive {
        Drive {
            namespace: 1,
            commands,
            sanitize,
            format,
            layout: 0,
            namespaces,
        }
    }

    fn offered(drive: &Drive) -> Vec<Method> {
        let offers = drive.offers().into_iter();
        offers
            .filter(|o| o.why_not.is_none())
            .map(|o| o.method)
            .collect()
    }

    #[test]
    fn methods_follow_from_what_the_controller_reports() {
        assert_eq!(offered(&drive(0, 0, 0, 1)), []);
        assert_eq!(offered(&drive(2, 0, 0, 1)), [Method::Format]);
        assert_eq!(
            offered(&drive(2, 0, 4, 1)),
            [Method::Format, Method::FormatCrypto]
        );
        let all = drive(2, 3, 4, 1);
        assert_eq!(offered(&all).len(), 4);
        // A sanitize operation always concerns all namespaces, a format only where the controller says so.
        assert_eq!(
            offered(&drive(2, 3, 4, 2)),
            [Method::Format, Method::FormatCrypto]
        );
        assert_eq!(offered(&drive(2, 3, 5, 2)), []);
        assert_eq!(offered(&drive(2, 3, 6, 2)), []);
    }

    #[test]
    fn the_fields_of_the_controller_are_where_the_specification_has_them() {
        let mut data = [0u8; 4096];
        data[256] = 0x0a;
        data[328] = 3;
        data[524] = 4;
        assert_eq!(
            Drive::of_controller(&data),
            Drive {
                namespace: 0,
                ..drive(10, 3, 4, 1)
            }
        );
    }

    #[test]
    fn a_format_keeps_block_size_and_protection() {
        assert_eq!(layout(0, 0), 0);
        // Format 1 with metadata at the end of the data; protection of type 2 in the first bytes of the metadata.
        assert_eq!(layout(0x11, 0x0a), 1 | 1 << 4 | 2 << 5 | 1 << 8);
        // Format 17.
        assert_eq!(layout(0x21, 0), 1 | 1 << 12);
    }

    #[test]
    fn the_state_of_a_sanitize_operation() {
        assert_eq!(state(0x0002_8000), State::UnderWay(0.5));
        assert_eq!(state(0x0001_ffff), State::Done);
        assert_eq!(state(0x0104_ffff), State::Done);
        assert_eq!(state(0x0003_0000), State::Failed);
    }
}
