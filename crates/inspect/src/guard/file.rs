//! Files to measure on: made in free space, with a margin left, and never over a file that
//! somebody else made. A file that nandscope made before is taken again.

use super::marker::{self, MarkerCheck};
use super::pin::{Pinned, READ, WRITE};
use super::{Opened, Reason};
use crate::layers::Machine;
use crate::loops::{Behind, FileId};
use crate::place::Kind;
use crate::roots::Roots;
use nandscope_units::Bytes;
use rustix::fs::{AtFlags, FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Space that stays free next to a file: 5 % of the file system, at least 1 MiB, at most 4 GiB. A full
/// file system slows down and breaks other programs.
pub fn margin(file_system: Bytes) -> Bytes {
    (Bytes(file_system.0 / 20)).clamp(Bytes::mib(1), Bytes::gib(4))
}

/// Why a file target is refused.
type Reasons = Vec<Reason>;

pub(super) fn open(roots: &Roots, name: &Path, size: Bytes) -> Result<Opened, Reasons> {
    let system = |e: std::io::Error| vec![Reason::system(name, &e)];
    let spot = Spot::find(name)?;
    let (folder, last) = (spot.folder.as_fd(), spot.last.as_os_str());
    let create = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | WRITE;
    // Checked before the file is created, so that a refusal leaves nothing.
    let room = room(&spot.folder).map_err(system)?;
    let mut notes = Vec::new();
    let file = match rustix::fs::statat(folder, last, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => {
            room.for_more(size).map_err(|reason| vec![reason])?;
            let file = rustix::fs::openat(folder, last, create, Mode::from(0o600));
            let file = File::from(file.map_err(|e| system(e.into()))?);
            let marked = lock_alone(&file).and_then(|()| {
                marker::set(&file, folder, last, size)
                    .map_err(|e| vec![Reason::Unmarked(e.to_string())])
            });
            if marked.is_err() {
                remove_empty(&file, &spot);
            }
            notes.extend(marked?.note());
            file
        }
        Err(e) => return Err(system(e.into())),
        Ok(_) => reopen(roots, &spot)?,
    };
    let before = file.metadata().map_err(system)?.len();
    notes.extend(resize(&file, name, size, &room).map_err(|reason| vec![reason])?);
    if before != size.0 {
        marker::set(&file, folder, last, size)
            .map_err(|e| vec![Reason::Unmarked(e.to_string())])?;
    }
    Ok(Opened {
        file,
        path: spot.path(),
        kind: Kind::File,
        writable: true,
        size,
        identity: None,
        notes,
    })
}

/// Removes a file that was just created and is refused, as long as it is empty and has its name.
fn remove_empty(file: &File, spot: &Spot) {
    let named = rustix::fs::statat(&spot.folder, &spot.last, AtFlags::SYMLINK_NOFOLLOW);
    let (Ok(named), Ok(created)) = (named, rustix::fs::fstat(file)) else {
        return;
    };
    if FileId::of(&named) == FileId::of(&created) && created.st_size == 0 {
        // An empty file is harmless.
        let _ = rustix::fs::unlinkat(&spot.folder, &spot.last, AtFlags::empty());
    }
}

/// Reasons to refuse writing an existing file, which is not opened for writing.
pub(super) fn judge(roots: &Roots, name: &Path) -> Reasons {
    let judged = Spot::find(name).and_then(|spot| examine(roots, &spot));
    let shared = FlockOperation::NonBlockingLockShared;
    match judged {
        Ok(looked_at) => lock(&looked_at.file, shared).err().into_iter().collect(),
        Err(reasons) => reasons,
    }
}

/// A name in a folder that is held, so that no part of the path is looked up twice.
struct Spot {
    folder: OwnedFd,
    parent: PathBuf,
    last: OsString,
}

impl Spot {
    fn find(name: &Path) -> Result<Self, Reasons> {
        let system = |e: std::io::Error| vec![Reason::system(name, &e)];
        let last = name.file_name().ok_or_else(|| vec![Reason::NoTarget])?;
        let parent = match name.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let parent = parent.canonicalize().map_err(system)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&parent, flags, Mode::empty());
        Ok(Spot {
            folder: folder.map_err(|e| system(e.into()))?,
            parent,
            last: last.to_os_string(),
        })
    }

    fn path(&self) -> PathBuf {
        self.parent.join(&self.last)
    }
}

/// A file that every rule allows to be written, open for reading.
struct Examined {
    pinned: Pinned,
    file: File,
}

/// Checks that an existing file was made by nandscope and is not used elsewhere.
fn examine(roots: &Roots, spot: &Spot) -> Result<Examined, Reasons> {
    let path = spot.path();
    let system = |e: std::io::Error| vec![Reason::system(&path, &e)];
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::openat(&spot.folder, &spot.last, flags, Mode::empty());
    let pinned = Pinned::of(held.map_err(|e| system(e.into()))?, &path).map_err(system)?;
    match pinned.kind() {
        Some(Kind::File) => {}
        _ if pinned.file_type() == rustix::fs::FileType::Symlink => {
            let to = path.canonicalize().unwrap_or_else(|_| path.clone());
            return Err(vec![Reason::Link(to)]);
        }
        _ => return Err(vec![Reason::NoTarget]),
    }
    // Read-only first: opening for writing is visible to programs that watch the file.
    let file = pinned.reopen(READ).map_err(system)?;
    let mut reasons = Reasons::new();
    match marker::read(&file, spot.folder.as_fd(), &spot.last) {
        MarkerCheck::Own => {}
        mark => reasons.push(Reason::ForeignFile(mark)),
    }
    let about = rustix::fs::fstat(&file).map_err(|e| system(e.into()))?;
    let names = file.metadata().map_err(system)?.nlink();
    if names != 1 {
        reasons.push(Reason::ManyNames(names));
    }
    let machine = Machine::read(roots).map_err(system)?;
    let id = FileId::of(&about);
    reasons.extend(super::block::file_in_use(&machine, id));
    let above = machine.loops_over(Behind::File(id));
    reasons.extend(above.map(|l| Reason::BehindLoop(l.name.clone())));
    let unknown = super::block::unknown(&machine);
    // A loop device has its backing file open, so a file that is not open elsewhere has none.
    if !unknown.is_empty() && super::alone::is_alone(&file).is_err() {
        let held = lock(&file, FlockOperation::NonBlockingLockShared).err();
        reasons.extend(held.map_or(unknown, |reason| vec![reason]));
    }
    if reasons.is_empty() {
        Ok(Examined { pinned, file })
    } else {
        Err(reasons)
    }
}

/// Opens an existing file that was made by nandscope and is not used elsewhere.
fn reopen(roots: &Roots, spot: &Spot) -> Result<File, Reasons> {
    let examined = examine(roots, spot)?;
    let file = examined.pinned.reopen(WRITE);
    let file = file.map_err(|e| vec![Reason::system(&spot.path(), &e)])?;
    lock_alone(&file)?;
    // Held from here on: what was true of the size is true now.
    match marker::read(&file, spot.folder.as_fd(), &spot.last) {
        MarkerCheck::Own => Ok(file),
        mark => Err(vec![Reason::ForeignFile(mark)]),
    }
}

/// Two measurements on one file would spoil each other.
fn lock(file: &File, how: FlockOperation) -> Result<(), Reason> {
    rustix::fs::flock(file, how).map_err(|e| match e {
        Errno::WOULDBLOCK => Reason::Held,
        e => Reason::System(format!("cannot lock the file: {e}")),
    })
}

fn lock_alone(file: &File) -> Result<(), Reasons> {
    lock(file, FlockOperation::NonBlockingLockExclusive).map_err(|reason| vec![reason])
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

/// Resizes a file and reserves its space, if the file system can.
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
            let note =
                "the file system cannot reserve space: it may run full during the measurement";
            Ok(Some(note.to_string()))
        }
        Err(e) => {
            // An empty file stays: removing it by name could remove another file.
            let _ = file.set_len(0);
            Err(system(e.into()))
        }
    }
}
