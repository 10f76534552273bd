//! Resolves a path to an open folder, the name in it, and the file type of that name.

use crate::partial::sync_folder;
use crate::{Refusal, WriteError, folder_of, name_of};
use rustix::fs::{
    Access, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, accessat, flock, fstat,
    mkdirat, openat, readlinkat, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

/// Links that are followed at most, as in Linux.
const MOST_LINKS: u32 = 40;
/// Mode bits of a folder in which everyone may make files, and remove their own only.
const STICKY_FOR_ALL: Mode = Mode::SVTX.union(Mode::WOTH);

/// File type of a name.
#[derive(Debug)]
pub enum Found {
    /// The name does not exist.
    Nothing,
    /// A regular file, which may be written.
    File(Box<Stat>),
    /// A character device or a FIFO, which may be written.
    Stream {
        /// A link of /proc, which the system follows itself.
        linked: bool,
    },
}

/// A name in an open folder.
#[derive(Debug)]
pub struct Place {
    /// Open descriptor of the folder, which stays valid if the folder is renamed.
    pub folder: OwnedFd,
    /// Without a slash.
    pub name: OsString,
    /// File type of the name.
    pub found: Found,
}

/// Treatment of a link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// To their targets.
    Follow,
    /// Links and special files are refused.
    Refuse,
}

impl Place {
    /// Opens the folder of `path` and checks the name in it.
    ///
    /// # Errors
    /// `WriteError::Refused` if the file must not be written; `WriteError::Io` if a system call fails.
    pub fn find(path: &Path, links: Links) -> Result<Place, WriteError> {
        let name = name_of(path).map_err(WriteError::refused(path))?;
        let folder = open_folder(CWD, folder_of(path), OFlags::empty())
            .map_err(WriteError::io(path, "open its folder"))?;
        Search { path, links }.from(folder, name)
    }

    /// Opens `folder`, descends to the folder of `inside` without following links, and checks the name
    /// in it.
    ///
    /// # Errors
    /// `WriteError::Refused` if `inside` leads out of the folder or the file is not a regular one; `WriteError::Io` if
    /// a system call fails.
    pub fn find_in(folder: &Path, inside: &Path) -> Result<Place, WriteError> {
        let path = &folder.join(inside);
        let name = name_of(inside).map_err(WriteError::refused(path))?;
        let open = descend(folder, folder_of(inside), false)?;
        let links = Links::Refuse;
        Search { path, links }.from(open, name)
    }

    /// Refuses a file that another open file has locked exclusively: it belongs to a running program.
    ///
    /// # Errors
    /// `WriteError::Refused` if it is locked.
    pub fn refuse_locked(&self, path: &Path) -> Result<(), WriteError> {
        let Found::File(_) = self.found else {
            return Ok(());
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // An unreadable file cannot be tested for a lock; some file systems have no locks.
        let Ok(file) = openat(&self.folder, &self.name, flags, Mode::empty()) else {
            return Ok(());
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => Err(WriteError::refused(path)(Refusal::Locked)),
            _ => Ok(()),
        }
    }
}

/// Opens `folder` and the folder `inside` of it, without following links in `inside`. With `create` missing folders are
/// made.
///
/// # Errors
/// `WriteError::Refused` if `inside` leads out of the folder; `WriteError::Io` if a system call fails.
pub fn descend(folder: &Path, inside: &Path, create: bool) -> Result<OwnedFd, WriteError> {
    let path = &folder.join(inside);
    let io = |action| WriteError::io::<Errno>(path, action);
    let mut open = open_folder(CWD, folder, OFlags::empty()).map_err(io("open its folder"))?;
    for part in inside.components() {
        let part = match part {
            Component::Normal(part) => part,
            Component::CurDir => continue,
            _ => return Err(WriteError::refused(path)(Refusal::Outside)),
        };
        let step = || open_folder(open.as_fd(), Path::new(part), OFlags::NOFOLLOW);
        let opened = match step() {
            Err(Errno::NOENT) if create => {
                match mkdirat(&open, part, Mode::from_bits_retain(0o777)) {
                    // Created, or another process created it first.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(io("make its folder")(error)),
                }
                sync_folder(&open).map_err(io("put the name of its folder on the disk"))?;
                step()
            }
            opened => opened,
        };
        open = match opened {
            Err(Errno::LOOP | Errno::NOTDIR) if is_link(&open, part) => {
                return Err(WriteError::refused(path)(Refusal::Outside));
            }
            opened => opened.map_err(io("open its folder"))?,
        };
    }
    Ok(open)
}

/// The path as given by the user, for messages.
struct Search<'a> {
    path: &'a Path,
    links: Links,
}

impl Search<'_> {
    /// Checks a name in a folder and follows it if it is a link.
    fn from(&self, mut folder: OwnedFd, name: &OsStr) -> Result<Place, WriteError> {
        let mut name = name.to_os_string();
        for _ in 0..MOST_LINKS {
            let found = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => Some(Found::Nothing),
                Err(error) => return Err(self.io("look at it")(error)),
                Ok(stat) => self.kind_of(&folder, &name, stat)?,
            };
            if let Some(found) = found {
                return Ok(Place {
                    folder,
                    name,
                    found,
                });
            }
            let target = readlinkat(&folder, &name, Vec::new()).map_err(self.io("follow it"))?;
            let target = Path::new(OsStr::from_bytes(target.as_bytes()));
            name = name_of(target)
                .map_err(WriteError::refused(self.path))?
                .to_os_string();
            folder = open_folder(folder.as_fd(), folder_of(target), OFlags::empty())
                .map_err(self.io("open the folder that the link leads to"))?;
        }
        Err(self.refused(Refusal::Links))
    }

    /// File type of an entry; `None` for a link to be followed.
    fn kind_of(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        stat: Stat,
    ) -> Result<Option<Found>, WriteError> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if self.links == Links::Refuse && kind != FileType::RegularFile {
            return Err(self.refused(Refusal::NotRegular));
        }
        check_kind(kind).map_err(|refusal| self.refused(refusal))?;
        if is_foreign(folder, &stat).map_err(self.io("look at its folder"))? {
            return Err(self.refused(Refusal::ForeignEntry));
        }
        if kind == FileType::Symlink && is_proc(folder) {
            return self.open_file(folder, name).map(Some);
        }
        if kind == FileType::Symlink {
            return Ok(None);
        }
        accessat(folder, name, Access::WRITE_OK, AtFlags::empty())
            .map_err(self.io("open it for writing"))?;
        Ok(Some(match kind {
            FileType::RegularFile => Found::File(Box::new(stat)),
            _ => Found::Stream { linked: false },
        }))
    }

    /// Opens the target of a link in /proc. Its text is not a path; only the kernel can follow it.
    fn open_file(&self, folder: &OwnedFd, name: &OsStr) -> Result<Found, WriteError> {
        let stat = statat(folder, name, AtFlags::empty()).map_err(self.io("look at it"))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::RegularFile {
            return Err(self.refused(Refusal::OpenFile));
        }
        check_kind(kind).map_err(|refusal| self.refused(refusal))?;
        Ok(Found::Stream { linked: true })
    }

    fn io(&self, action: &'static str) -> impl FnOnce(Errno) -> WriteError {
        WriteError::io(self.path, action)
    }

    fn refused(&self, refusal: Refusal) -> WriteError {
        WriteError::refused(self.path)(refusal)
    }
}

fn check_kind(kind: FileType) -> Result<(), Refusal> {
    match kind {
        FileType::RegularFile | FileType::CharacterDevice | FileType::Fifo | FileType::Symlink => {
            Ok(())
        }
        FileType::Directory => Err(Refusal::Directory),
        FileType::BlockDevice => Err(Refusal::BlockDevice),
        FileType::Socket => Err(Refusal::Socket),
        FileType::Unknown => Err(Refusal::Unknown),
    }
}

/// True if an entry violates the rules of `fs.protected_symlinks` and its siblings, which a writer that
/// resolves links itself and renames would otherwise bypass.
fn is_foreign(folder: &OwnedFd, entry: &Stat) -> Result<bool, Errno> {
    let around = fstat(folder)?;
    let for_all = Mode::from_raw_mode(around.st_mode).contains(STICKY_FOR_ALL);
    let ours = entry.st_uid == geteuid().as_raw() || entry.st_uid == around.st_uid;
    Ok(for_all && !ours)
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Opens a folder such that it can be synced or, if it is not readable, at least such that files can be
/// created in it.
///
/// # Errors
/// The `Errno` of the system if the folder cannot be opened.
pub fn open_folder(from: BorrowedFd<'_>, folder: &Path, how: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | how;
    match openat(from, folder, flags | OFlags::RDONLY, Mode::empty()) {
        #[cfg(target_os = "linux")]
        Err(Errno::ACCESS) => openat(from, folder, flags | OFlags::PATH, Mode::empty()),
        opened => opened,
    }
}

/// True if the folder is in /proc, where the text of links is not a path.
#[cfg(target_os = "linux")]
fn is_proc(folder: &OwnedFd) -> bool {
    let system = rustix::fs::fstatfs(folder);
    system.is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_proc(_: &OwnedFd) -> bool {
    false
}
