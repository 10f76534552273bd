//! Writing on Unix, relative to an open folder.

pub use crate::partial::is_abandoned;
use crate::partial::{Partial, settle, sync_folder, unlock};
use crate::place::{Found, Links, Place, descend, open_folder};
pub use crate::written::refuse_other_names;
use crate::{Access, WriteError, abandoned, folder_of, name_of, stream, written};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, Stat, fchmod, fchown, flock, fstat, openat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Mode for access by the owner only.
const OWNER_ONLY: Mode = Mode::RUSR.union(Mode::WUSR);
/// Mode of a new file before the umask.
const USUAL: Mode = Mode::from_bits_retain(0o666);
/// Data of a test write, which fails if the disk is full.
const TRIAL: [u8; 512] = [0; 512];

pub fn write(path: &Path, bytes: &[u8], access: Access) -> Result<(), WriteError> {
    let place = Place::find(path, Links::Follow)?;
    place.refuse_locked(path)?;
    match place.found {
        Found::Stream { linked } => stream::write(path, &place, linked, bytes),
        Found::Nothing | Found::File(_) => replace(path, &place, bytes, access).map(drop),
    }
}

pub fn write_in(
    folder: &Path,
    inside: &Path,
    bytes: &[u8],
    access: Access,
) -> Result<(), WriteError> {
    let (place, path) = (Place::find_in(folder, inside)?, folder.join(inside));
    place.refuse_locked(&path)?;
    replace(&path, &place, bytes, access).map(drop)
}

pub fn begin(path: &Path, head: &[u8], access: Access) -> Result<File, WriteError> {
    let place = Place::find(path, Links::Refuse)?;
    replace(path, &place, head, access)
}

pub fn begin_new(path: &Path, head: &[u8], access: Access) -> Result<File, WriteError> {
    let (folder, file) = appear(path, head, access, true)?;
    settle(&folder, &file).map_err(WriteError::io(path, "put its name on the disk"))?;
    Ok(file)
}

pub fn begin_unsynced(path: &Path, head: &[u8], access: Access) -> Result<File, WriteError> {
    let (_, file) = appear(path, head, access, false)?;
    unlock(&file);
    Ok(file)
}

/// Creates a new file that appears under its name with the contents `head`, and returns it locked.
fn appear(
    path: &Path,
    head: &[u8],
    access: Access,
    synced: bool,
) -> Result<(OwnedFd, File), WriteError> {
    let name = name_of(path).map_err(WriteError::refused(path))?;
    let folder =
        open_folder(CWD, folder_of(path), OFlags::empty())
            .map_err(WriteError::io::<Errno>(path, "open its folder"))?;
    let mode = match access {
        Access::Usual => USUAL,
        Access::Owner => OWNER_ONLY,
    };
    remove_abandoned(path);
    let (partial, mut file) = Partial::create(&folder, name, mode)
        .map_err(WriteError::io(path, "make a file beside it"))?;
    file.write_all(head)
        .map_err(WriteError::io(path, "write its contents"))?;
    if synced {
        file.sync_all()
            .map_err(WriteError::io(path, "put its contents on the disk"))?;
    }
    partial
        .claim(name)
        .map_err(WriteError::io(path, "give it its name"))?;
    Ok((folder, file))
}

fn replace(path: &Path, place: &Place, bytes: &[u8], access: Access) -> Result<File, WriteError> {
    written::refuse_twice(path, place)?;
    let older = match &place.found {
        Found::File(older) if access == Access::Usual => Some(older),
        _ => None,
    };
    // The file that replaces another one is private to its owner until it is complete.
    let mode = match (access, older) {
        (Access::Usual, None) => USUAL,
        _ => OWNER_ONLY,
    };
    remove_abandoned(path);
    let (partial, mut file) = Partial::create(&place.folder, &place.name, mode)
        .map_err(WriteError::io(path, "make a file beside it"))?;
    file.write_all(bytes)
        .map_err(WriteError::io(path, "write its contents"))?;
    if let Some(older) = older {
        take_over(&file, older);
    }
    file.sync_all()
        .map_err(WriteError::io(path, "put its contents on the disk"))?;
    partial
        .rename(&place.name)
        .map_err(WriteError::io(path, "give it its name"))?;
    written::remember(path, place, &file);
    settle(&place.folder, &file).map_err(WriteError::io(path, "put its name on the disk"))?;
    Ok(file)
}

/// Removes partial files of killed processes. Failures are harmless.
fn remove_abandoned(path: &Path) {
    for partial in abandoned(path) {
        let _ = std::fs::remove_file(partial);
    }
}

/// Gives a file the owner, group and mode of the one that it replaces, as far as the system lets us; what
/// a group may do is then never given to another one.
fn take_over(file: &File, older: &Stat) {
    let (uid, gid) = (Uid::from_raw(older.st_uid), Gid::from_raw(older.st_gid));
    if fchown(file, Some(uid), Some(gid)).is_err() {
        // Only the superuser can change the owner; users can set one of their own groups.
        let _ = fchown(file, None, Some(gid));
    }
    let mut mode = Mode::from_raw_mode(older.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
    if !fstat(file).is_ok_and(|now| now.st_gid == older.st_gid) {
        let others = mode.bits() & Mode::RWXO.bits();
        mode &= (Mode::RWXU | Mode::RWXO).union(Mode::from_bits_retain(others << 3));
    }
    // On some file systems all files have the same mode, and changing it fails; no change is needed there.
    let _ = fchmod(file, mode);
}

pub fn create_new(path: &Path, access: Access) -> Result<File, WriteError> {
    let name = name_of(path).map_err(WriteError::refused(path))?;
    let folder =
        open_folder(CWD, folder_of(path), OFlags::empty())
            .map_err(WriteError::io::<Errno>(path, "open its folder"))?;
    let flags = OFlags::RDWR | OFlags::CREATE;
    let exclusive = OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = match access {
        Access::Usual => USUAL,
        Access::Owner => OWNER_ONLY,
    };
    openat(&folder, name, flags | exclusive, mode)
        .map(File::from)
        .map_err(WriteError::io(path, "make it"))
}

pub fn check(path: &Path) -> Result<(), WriteError> {
    let place = Place::find(path, Links::Follow)?;
    place.refuse_locked(path)?;
    match place.found {
        Found::Stream { .. } => Ok(()),
        Found::Nothing | Found::File(_) => {
            try_out(&place).map_err(WriteError::io(path, "make a file beside it"))
        }
    }
}

pub fn check_in(folder: &Path, inside: &Path) -> Result<(), WriteError> {
    Place::find_in(folder, inside)?.refuse_locked(&folder.join(inside))
}

pub fn check_folder(folder: &Path) -> Result<(), WriteError> {
    let opened = open_folder(CWD, folder, OFlags::empty())
        .map_err(WriteError::io(folder, "open this folder"))?;
    let place = Place {
        folder: opened,
        name: OsStr::new("nandscope").to_os_string(),
        found: Found::Nothing,
    };
    try_out(&place).map_err(WriteError::io(folder, "make a file in this folder"))
}

pub fn create_folder(folder: &Path) -> Result<(), WriteError> {
    let is_missing = |f: &&Path| !f.as_os_str().is_empty() && !f.is_dir();
    let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    for missing in missing.into_iter().rev() {
        match std::fs::create_dir(missing) {
            // Another process has created the folder first.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && missing.is_dir() => {}
            made => made.map_err(WriteError::io(folder, "make this folder"))?,
        }
        sync_folder_of(missing).map_err(WriteError::io(folder, "put its name on the disk"))?;
    }
    Ok(())
}

pub fn create_folder_in(folder: &Path, inside: &Path) -> Result<(), WriteError> {
    descend(folder, inside, true).map(drop)
}

/// Whether names in this folder that differ in case only are one name; tested with a temporary file.
pub fn ignores_case(folder: &Path) -> bool {
    let Ok(folder) = open_folder(CWD, folder, OFlags::empty()) else {
        return false;
    };
    Partial::create(&folder, OsStr::new("nandscope"), OWNER_ONLY)
        .is_ok_and(|(partial, _)| partial.is_found_in_capitals())
}

pub fn lock(file: &File) {
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = open_folder(CWD, folder_of(path), OFlags::empty())?;
    Ok(sync_folder(&folder)?)
}

/// Writes a partial file, and removes it.
fn try_out(place: &Place) -> io::Result<()> {
    // An unnamed file vanishes however the process ends.
    #[cfg(target_os = "linux")]
    if let Ok(file) = openat(
        &place.folder,
        ".",
        OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC,
        OWNER_ONLY,
    ) {
        return File::from(file).write_all(&TRIAL);
    }
    let (partial, mut file) = Partial::create(&place.folder, &place.name, OWNER_ONLY)?;
    file.write_all(&TRIAL)?;
    drop(partial);
    Ok(())
}
