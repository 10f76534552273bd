//! A folder of this machine as a target: a new folder is made in it, measured in, and removed.

use super::conditions;
use super::instruments::Panel;
use super::{RealArguments, folder_environment};
use crate::failure::Failure;
use nandscope_inspect::Roots;
use nandscope_inspect::guard::margin;
use nandscope_inspect::identity::Identity;
use nandscope_measure::real::FolderTarget;
use nandscope_result::{TargetInfo, TargetKind};
use nandscope_units::Bytes;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Smallest free space in which a measurement makes sense.
const LEAST: Bytes = Bytes::mib(32);

/// A folder that is open.
pub struct Folder {
    /// The target itself.
    pub target: FolderTarget,
    /// Target information of the result.
    pub info: TargetInfo,
    /// The instruments that observe it.
    pub panel: Panel,
    /// Environment of the measurement, for the result.
    pub environment: BTreeMap<String, String>,
    /// Conditions that affect the interpretation of the results.
    pub warnings: Vec<String>,
    /// The folder that was created for the measurement; removed when this is dropped, after the target.
    pub made: Made,
    /// Time at which the folder on the command line was created, in seconds since 1970 and nanoseconds, if the file system
    /// stores it. It distinguishes file systems that are mounted at the same place.
    pub created: Option<String>,
}

/// A folder that nandscope created in another one. It is removed on drop if it is empty.
pub struct Made {
    parent: OwnedFd,
    name: String,
}

impl Drop for Made {
    fn drop(&mut self) {
        // A folder that is not empty stays: its files are not nandscope's, or could not be removed.
        let _ = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
    }
}

/// Creates a folder for the measurement in the folder `name`. The target may fill the file system up to a margin.
///
/// # Errors
/// `Exit::File` if the folder cannot be made, or space is insufficient; `Exit::Usage` if an instrument is invalid.
pub fn open(name: &str, arguments: &RealArguments) -> Result<Folder, Failure> {
    let refuse = |e: Errno| {
        let e = std::io::Error::from(e);
        Failure::file(format!(
            "cannot measure in {name}: {e}; check the permissions"
        ))
    };
    let path = Path::new(name);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = rustix::fs::open(path, flags, Mode::empty()).map_err(refuse)?;
    let room = room(&parent).map_err(refuse)?;
    if room < LEAST {
        return Err(Failure::file(format!(
            "{name} has {room} of free space beyond the margin, but {LEAST} are needed; free some space"
        )));
    }
    let created = created(&parent);
    let made = make(parent).map_err(refuse)?;
    let flags = flags | OFlags::NOFOLLOW;
    let own = rustix::fs::openat(&made.parent, &made.name, flags, Mode::empty()).map_err(refuse)?;
    let mut target = FolderTarget::new(own, arguments.sync_files).map_err(Failure::file)?;
    let roots = Roots::default();
    let around = conditions::gather(&roots, path);
    let device = around.device.as_ref().filter(|_| around.single);
    let panel = Panel::begin(&roots, device, arguments.power.as_deref());
    let panel = panel.map_err(Failure::usage)?;
    target.observe_with(panel.instruments());
    let mut warnings = around.warnings;
    if !target.is_direct() {
        warnings.push("the file system does not take direct I/O: writes go through the page cache and are synced as a whole, the cache is dropped before reading".to_string());
    }
    let model = around.device.as_ref().and_then(|d| d.model.clone());
    Ok(Folder {
        info: TargetInfo {
            name: name.to_string(),
            kind: TargetKind::Directory,
            model: model.unwrap_or_else(|| name.to_string()),
            capacity_bytes: room.0,
            link_bytes_per_s: device.and_then(Identity::link_bytes_per_s),
            ..TargetInfo::default()
        },
        environment: folder_environment(&target, &panel, around.environment, arguments),
        target,
        panel,
        warnings,
        made,
        created,
    })
}

fn created(folder: &OwnedFd) -> Option<String> {
    let about = rustix::fs::statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let kept = StatxFlags::from_bits_retain(about.stx_mask).contains(StatxFlags::BTIME);
    let time = about.stx_btime;
    // The root of a FAT file system has no entry that could hold a time.
    (kept && time.tv_sec != 0).then(|| format!("{}.{:09}", time.tv_sec, time.tv_nsec))
}

/// Space that may be filled: free space less the margin.
fn room(folder: &OwnedFd) -> Result<Bytes, Errno> {
    let about = rustix::fs::fstatvfs(folder)?;
    let bytes = |blocks: u64| Bytes(blocks.saturating_mul(about.f_frsize));
    let margin = margin(bytes(about.f_blocks));
    Ok(Bytes(bytes(about.f_bavail).0.saturating_sub(margin.0)))
}

fn make(parent: OwnedFd) -> Result<Made, Errno> {
    let process = std::process::id();
    for number in 0..u32::MAX {
        let name = format!("nandscope-{process}-{number}");
        match rustix::fs::mkdirat(&parent, &name, Mode::from(0o700)) {
            Ok(()) => return Ok(Made { parent, name }),
            Err(Errno::EXIST) => {}
            Err(e) => return Err(e),
        }
    }
    Err(Errno::EXIST)
}
