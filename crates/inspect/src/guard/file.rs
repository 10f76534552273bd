//! Files to measure on: made in free space, with a margin left, and never over a file that
//! somebody else made. A file that nandscope made before is taken again.

use super::pin::{Pinned, WRITE};
use super::{Opened, Reason, marker};
use crate::layers;
use crate::mounts::swaps;
use crate::place::Kind;
use crate::roots::Roots;
use nandscope_units::Bytes;
use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What must stay free beside a file: 5 % of the file system, at least 1 MiB, at most 4 GiB. A
/// full file system slows down, and other programs fail on it.
pub fn margin(file_system: Bytes) -> Bytes {
    (Bytes(file_system.0 / 20)).clamp(Bytes::mib(1), Bytes::gib(4))
}

pub(super) fn open(roots: &Roots, name: &Path, size: Bytes) -> Result<Opened, Reason> {
    let system = |e: std::io::Error| Reason::system(name, &e);
    let last = name.file_name().ok_or(Reason::NoTarget)?;
    let parent = match name.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let parent = parent.canonicalize().map_err(system)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder: OwnedFd =
        rustix::fs::open(&parent, flags, Mode::empty()).map_err(|e| system(e.into()))?;
    let path = parent.join(last);
    let create = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | WRITE;
    // Asked before there is a file: a refusal should leave nothing behind.
    let room = room(&folder).map_err(system)?;
    let file = match rustix::fs::statat(&folder, last, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => {
            room.for_more(size)?;
            let file = rustix::fs::openat(&folder, last, create, Mode::from(0o600));
            let file = File::from(file.map_err(|e| system(e.into()))?);
            lock(&file)?;
            let marked = marker::set(&file, folder.as_fd(), last);
            marked.map_err(|e| Reason::Unmarked(e.to_string()))?;
            file
        }
        Err(e) => return Err(system(e.into())),
        Ok(_) => reopen(roots, folder.as_fd(), last, &path)?,
    };
    let note = resize(&file, name, size, &room)?;
    Ok(Opened {
        file,
        path,
        kind: Kind::File,
        writable: true,
        size,
        identity: None,
        notes: note.into_iter().collect(),
    })
}

/// Opens a file that is there, where it is one of ours and of nobody else.
fn reopen(
    roots: &Roots,
    folder: BorrowedFd<'_>,
    last: &OsStr,
    path: &Path,
) -> Result<File, Reason> {
    let system = |e: std::io::Error| Reason::system(path, &e);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held =
        rustix::fs::openat(folder, last, flags, Mode::empty()).map_err(|e| system(e.into()))?;
    let pinned = Pinned::of(held, path).map_err(system)?;
    match pinned.kind() {
        Some(Kind::File) => {}
        _ if pinned.file_type() == rustix::fs::FileType::Symlink => {
            return Err(Reason::Link(
                path.canonicalize().unwrap_or_else(|_| path.into()),
            ));
        }
        _ => return Err(Reason::NoTarget),
    }
    // For reading first: opening for writing already changes a file for whoever watches it.
    let looked_at = pinned.reopen(super::pin::READ).map_err(system)?;
    if !marker::is_set(&looked_at, folder, last) {
        return Err(Reason::ForeignFile);
    }
    let about = looked_at.metadata().map_err(system)?;
    if about.nlink() != 1 {
        return Err(Reason::ManyNames(about.nlink()));
    }
    let (device, inode) = (about.dev(), about.ino());
    let is_it = |other: &Path| {
        std::fs::metadata(other).is_ok_and(|about| (about.dev(), about.ino()) == (device, inode))
    };
    if swaps(roots).map_err(system)?.iter().any(|swap| is_it(swap)) {
        return Err(Reason::Swap(path.display().to_string()));
    }
    if let Some((number, _)) = layers::loop_backings(roots)
        .into_iter()
        .find(|(_, f)| is_it(f))
    {
        return Err(Reason::BehindLoop(layers::name_of(roots, number)));
    }
    let file = pinned.reopen(WRITE).map_err(system)?;
    lock(&file)?;
    Ok(file)
}

/// Two measurements on one file would spoil each other.
fn lock(file: &File) -> Result<(), Reason> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|_| Reason::Held)
}

/// The room of a file system.
struct Room {
    free: Bytes,
    all: Bytes,
}

fn room(folder: &OwnedFd) -> std::io::Result<Room> {
    // An O_PATH descriptor does for this since Linux 3.12.
    let about = rustix::fs::fstatvfs(folder)?;
    let bytes = |blocks: u64| Bytes(blocks.saturating_mul(about.f_frsize));
    Ok(Room {
        free: bytes(about.f_bavail),
        all: bytes(about.f_blocks),
    })
}

impl Room {
    fn for_more(&self, more: Bytes) -> Result<(), Reason> {
        let wanted = more + margin(self.all);
        if wanted > self.free {
            return Err(Reason::Room(self.free, wanted));
        }
        Ok(())
    }
}

/// Brings a file to its size and takes hold of the room for it, where the file system can.
fn resize(file: &File, name: &Path, size: Bytes, room: &Room) -> Result<Option<String>, Reason> {
    let system = |e: std::io::Error| Reason::system(name, &e);
    let about = file.metadata().map_err(system)?;
    let there = Bytes(about.blocks().saturating_mul(512).min(size.0));
    if size > there {
        room.for_more(Bytes(size.0 - there.0))?;
    }
    if about.len() != size.0 {
        file.set_len(size.0).map_err(system)?;
    }
    if size == Bytes::ZERO {
        return Ok(None);
    }
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size.0) {
        Ok(()) => Ok(None),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let note = "the file system reserves no room: it may run full while measuring";
            Ok(Some(note.to_string()))
        }
        Err(e) => {
            // It stays as an empty file of ours: removing it by its name could hit another one.
            let _ = file.set_len(0);
            Err(system(e.into()))
        }
    }
}
