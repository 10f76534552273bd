//! Resolves a name of the command line to a block device, file or folder, and to the block device under
//! it. It opens nothing; use [`crate::guard`] for that.

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
    /// A block special file.
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
    /// Kind of target.
    pub kind: Kind,
    /// The block device: itself, or the one under its file system (the first of several). `None` in
    /// memory, on a network, or if unknown.
    pub device: Option<DeviceNumber>,
    /// The mount it is in, for a file or a folder.
    pub mount: Option<Mount>,
}

impl Place {
    /// Resolves a name.
    ///
    /// # Errors
    /// `io::Error` if it does not exist or cannot be a target, such as a pipe or terminal.
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
