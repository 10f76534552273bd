//! The file in the folder of a mount.

use nandscope_units::Bytes;

/// Most data of one read or write.
pub const LARGEST_TRANSFER: u32 = 1 << 20;
/// The one file of the mounted folder: the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Name in the mounted folder.
    pub name: String,
    /// Size in bytes, that of the device.
    pub size: Bytes,
    /// It cannot be written.
    pub read_only: bool,
    /// Discards reach the device; where not, no holes can be made.
    pub discards: bool,
    /// User and group to whom it belongs.
    pub owner: (u32, u32),
}

impl File {
    /// Creates a file owned by the current user.
    pub fn new(name: &str, size: Bytes, read_only: bool, discards: bool) -> Self {
        let user = rustix::process::getuid().as_raw();
        let group = rustix::process::getgid().as_raw();
        File {
            name: name.to_string(),
            size,
            read_only,
            discards,
            owner: (user, group),
        }
    }
}
