//! What a name on the command line refers to: a block device, a file or a folder, and the block
//! device to which its operations go in the end. Looks only; whoever wants to open it asks
//! [`crate::guard`].

use crate::layers;
use crate::mounts::{Mount, mounts};
use crate::{DeviceNumber, Roots};
use serde::Serialize;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The kinds of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A block device.
    BlockDevice,
    /// A regular file.
    File,
    /// A folder.
    Directory,
}

/// A target, found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// As it was named.
    #[serde(serialize_with = "crate::lossy::path")]
    pub name: PathBuf,
    /// Without links.
    #[serde(serialize_with = "crate::lossy::path")]
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// The block device: itself, or the one under its file system. The first of several, none
    /// where it is in memory, on a network, or cannot be told.
    pub device: Option<DeviceNumber>,
    /// The mount it is in, for a file or a folder.
    pub mount: Option<Mount>,
}

impl Place {
    /// Finds out what a name refers to.
    ///
    /// # Errors
    /// Where there is nothing of that name, or something that is no target: a pipe, a terminal.
    pub fn find(roots: &Roots, name: &Path) -> io::Result<Self> {
        let path = name.canonicalize()?;
        let about = std::fs::metadata(&path)?;
        let kind = about.file_type();
        let kind = if kind.is_block_device() {
            return Ok(Place {
                name: name.to_path_buf(),
                path,
                kind: Kind::BlockDevice,
                device: Some(DeviceNumber::from_raw(about.rdev())),
                mount: None,
            });
        } else if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Directory
        } else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "neither a block device nor a file nor a folder",
            ));
        };
        let mounts = mounts(roots)?;
        let devices = layers::devices_under(roots, &mounts, &path);
        Ok(Place {
            name: name.to_path_buf(),
            kind,
            device: devices.first().copied(),
            mount: layers::mount_under(&mounts, &path).cloned(),
            path,
        })
    }
}
