//! Status of a loop device: LOOP_GET_STATUS64 of `linux/loop.h`.

use super::{Behind, FileId};
use crate::DeviceNumber;
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl};
use std::os::fd::AsFd;
use std::path::PathBuf;

/// LOOP_GET_STATUS64, a number from before the scheme of `_IO`.
const GET_STATUS64: Opcode = 0x4c05;

/// A name in `struct loop_info64`.
#[repr(C)]
struct Text([u8; 64]);

impl Default for Text {
    fn default() -> Self {
        Text([0; 64])
    }
}

/// `struct loop_info64`.
#[derive(Default)]
#[repr(C)]
pub(super) struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    /// `LO_FLAGS_…`.
    pub(super) flags: u32,
    file_name: Text,
    crypt_name: Text,
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

// The size that the kernel writes.
const _: () = assert!(size_of::<Info>() == 232);

/// Numbers of the backing file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    device: DeviceNumber,
    inode: u64,
    /// Zero for a file. Old kernels give the number of its file system.
    rdevice: u64,
}

/// Queries a loop device.
///
/// # Errors
/// `ENXIO` if it has no backing file; `ENOTTY` if it is not a loop device.
#[allow(unsafe_code, reason = "an ioctl without a safe wrapper")]
pub(super) fn read(node: impl AsFd) -> Result<Status, Errno> {
    let mut info = Info::default();
    // SAFETY: LOOP_GET_STATUS64 writes one `struct loop_info64`, the type of the argument: plain
    // integers, for which every bit pattern is valid.
    unsafe { ioctl(node, Updater::<GET_STATUS64, Info>::new(&mut info))? };
    Ok(Status {
        device: DeviceNumber::from_raw(info.device),
        inode: info.inode,
        rdevice: info.rdevice,
    })
}

impl Status {
    /// A file or a device. The path helps where an old kernel leaves both possible.
    pub fn behind(self, path: impl FnOnce() -> Option<PathBuf>) -> Behind {
        let device = DeviceNumber::from_raw(self.rdevice);
        let is_device = match self.rdevice {
            0 => false,
            _ if device != self.device => true,
            _ => path().and_then(|p| Behind::at(&p)) == Some(Behind::Device(device)),
        };
        if is_device {
            return Behind::Device(device);
        }
        Behind::File(FileId {
            device: self.device,
            inode: self.inode,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_on_old_and_new_kernels_and_a_device() {
        let system: DeviceNumber = "8:1".parse().unwrap();
        let status = |rdevice| Status {
            device: system,
            inode: 7,
            rdevice,
        };
        let raw = |major, minor| rustix::fs::makedev(major, minor);
        let file = Behind::File(FileId {
            device: system,
            inode: 7,
        });
        assert_eq!(status(0).behind(|| None), file);
        assert_eq!(status(raw(8, 1)).behind(|| None), file);
        let disk = Behind::Device("259:300".parse().unwrap());
        assert_eq!(status(raw(259, 300)).behind(|| None), disk);
    }
}
