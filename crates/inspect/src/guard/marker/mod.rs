//! Recognises files made by nandscope: an extended attribute holds inode, birth time and size of the
//! file, so that a copy with the attribute is not accepted. On file systems without attributes (FAT,
//! exFAT) a second file next to it holds birth time and size.

mod generation;

use nandscope_units::Bytes;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, XattrFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

/// Extended attribute that marks files made by nandscope.
const ATTRIBUTE: &str = "user.nandscope.made";
/// First line of the marker.
const TITLE: &str = "nandscope made this file to measure on it";
/// Suffix of the marker file.
const BESIDE: &str = ".nandscope-made";
/// Largest size of a marker file that is read, bytes.
const MOST_BYTES: u64 = 4096;

/// Result of checking a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerCheck {
    /// nandscope made this file.
    Own,
    /// The file has no marker.
    None,
    /// It is of a version that did not say which file it belongs to.
    Older,
    /// It belongs to another file.
    Copied,
    /// The file had the first of these sizes, and has the second.
    Resized(Bytes, Bytes),
}

impl MarkerCheck {
    pub(super) fn what(&self) -> String {
        let what = match self {
            MarkerCheck::Own | MarkerCheck::None => "nandscope did not make it",
            MarkerCheck::Older => {
                "its marker is of an older version of nandscope, which copies have too"
            }
            MarkerCheck::Copied => "it is a copy of a file that nandscope made",
            MarkerCheck::Resized(made, now) => {
                return format!(
                    "the file exists; nandscope made it with {} bytes, but something else resized it to {}",
                    made.0, now.0
                );
            }
        };
        format!("the file exists, but {what}")
    }
}

/// State of the mark of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marked {
    /// It is known again.
    Bound,
    /// It cannot be distinguished from a copy, and later runs refuse it.
    Unbound,
}

impl Marked {
    pub fn note(self) -> Option<String> {
        let note = "the file system has neither birth times nor inode generations: the file cannot be distinguished from a copy, and later runs will refuse it";
        (self == Marked::Unbound).then(|| note.to_string())
    }
}

/// Marks a file as made with this size. `folder` and `name` are its location.
pub(super) fn set(
    file: &File,
    folder: BorrowedFd<'_>,
    name: &OsStr,
    size: Bytes,
) -> io::Result<Marked> {
    let life = life(file);
    let own = format!(
        "{TITLE}\n{}",
        lines(Some(inode(file)?), life.as_deref(), size)
    );
    match rustix::fs::fsetxattr(file, ATTRIBUTE, own.as_bytes(), XattrFlags::empty()) {
        Ok(()) if life.is_some() => Ok(Marked::Bound),
        Ok(()) => Ok(Marked::Unbound),
        Err(Errno::OPNOTSUPP | Errno::PERM | Errno::NOSYS) => set_beside(file, folder, name, size),
        Err(e) => Err(e.into()),
    }
}

/// Reads and checks the marker of a file.
pub(super) fn read(file: &File, folder: BorrowedFd<'_>, name: &OsStr) -> MarkerCheck {
    let mut value = [0; 512];
    match rustix::fs::fgetxattr(file, ATTRIBUTE, &mut value[..]) {
        Ok(length) => {
            let value = value.get(..length).unwrap_or_default();
            let text = String::from_utf8_lossy(value);
            compare(&text, file, inode(file).ok())
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => read_beside(file, folder, name),
        Err(_) => MarkerCheck::None,
    }
}

/// Everything but the title.
fn lines(inode: Option<u64>, life: Option<&str>, size: Bytes) -> String {
    let inode = inode.map(|n| format!("inode {n}\n")).unwrap_or_default();
    let life = life.unwrap_or("unknown");
    format!("{inode}{life}\nsize {}", size.0)
}

/// Compares a marker with its file. Inodes of FAT and exFAT are not stable and are ignored.
fn compare(text: &str, file: &File, inode: Option<u64>) -> MarkerCheck {
    let Some(text) = text.strip_prefix(TITLE) else {
        return MarkerCheck::None;
    };
    let Some((identity, size)) = text.trim_end().rsplit_once("\nsize ") else {
        return MarkerCheck::Older;
    };
    let (Ok(made), Ok(about)) = (size.parse().map(Bytes), file.metadata()) else {
        return MarkerCheck::None;
    };
    let now = Bytes(about.len());
    let own = life(file).map(|life| lines(inode, Some(&life), made));
    if own.as_deref() != format!("{identity}\nsize {size}").strip_prefix('\n') {
        MarkerCheck::Copied
    } else if now == made || now == Bytes::ZERO {
        // An empty file has nothing to lose: its creation was interrupted.
        MarkerCheck::Own
    } else {
        MarkerCheck::Resized(made, now)
    }
}

fn set_beside(
    file: &File,
    folder: BorrowedFd<'_>,
    name: &OsStr,
    size: Bytes,
) -> io::Result<Marked> {
    let Some(birth) = birth(file) else {
        return Err(io::Error::other(
            "the file system has neither extended attributes nor birth times",
        ));
    };
    let beside = beside(name);
    // A marker of an earlier file may be replaced; any other file of that name may not.
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fresh = rustix::fs::openat(folder, &beside, create | OFlags::EXCL, Mode::from(0o600));
    let mut marker = match fresh {
        Ok(marker) => File::from(marker),
        Err(Errno::EXIST) if text_beside(folder, name).is_some_and(|t| t.starts_with(TITLE)) => {
            let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            File::from(rustix::fs::openat(folder, &beside, flags, Mode::empty())?)
        }
        Err(e) => return Err(e.into()),
    };
    writeln!(marker, "{TITLE}\n{}", lines(None, Some(&birth), size))?;
    marker.sync_all()?;
    Ok(Marked::Bound)
}

fn read_beside(file: &File, folder: BorrowedFd<'_>, name: &OsStr) -> MarkerCheck {
    match text_beside(folder, name) {
        Some(text) => compare(&text, file, None),
        None => MarkerCheck::None,
    }
}

fn text_beside(folder: BorrowedFd<'_>, name: &OsStr) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let marker = rustix::fs::openat(folder, beside(name), flags, Mode::empty()).ok()?;
    let mut text = String::new();
    let reader = File::from(marker);
    reader.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

fn beside(name: &OsStr) -> OsString {
    let mut beside = name.to_os_string();
    beside.push(BESIDE);
    beside
}

fn inode(file: &File) -> io::Result<u64> {
    file.metadata().map(|about| about.ino())
}

/// Distinguishes a file from earlier ones with the same inode: the birth time, or the generation on file
/// systems without birth times (f2fs, old ext4).
fn life(file: &File) -> Option<String> {
    birth(file).or_else(|| generation::of(file).map(|n| format!("generation {n}")))
}

/// Birth time of a file, if the file system has it.
fn birth(file: &File) -> Option<String> {
    let about = rustix::fs::statx(file.as_fd(), "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let known = about.stx_mask & StatxFlags::BTIME.bits() != 0;
    let time = about.stx_btime;
    known.then(|| format!("born {}.{:09}", time.tv_sec, time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way of file systems without attributes, taken on one that has them.
    #[test]
    fn a_marker_beside_belongs_to_one_file_only() {
        let folder = std::env::temp_dir().join(format!("marker-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = File::open(&folder).unwrap();
        let name = OsStr::new("target");
        let make = || File::create(folder.join(name)).unwrap();
        let set = |file: &File| set_beside(file, at.as_fd(), name, Bytes::ZERO);
        let file = make();
        if birth(&file).is_none() {
            eprintln!("SKIPPED: {} keeps no times of birth", folder.display());
            return std::fs::remove_dir_all(&folder).unwrap();
        }
        let mark = |file: &File| read_beside(file, at.as_fd(), name);
        assert_eq!(mark(&file), MarkerCheck::None);
        set(&file).unwrap();
        assert_eq!(mark(&file), MarkerCheck::Own);
        file.set_len(7).unwrap();
        assert_eq!(mark(&file), MarkerCheck::Resized(Bytes(0), Bytes(7)));
        // Another file of the same name; the clock of file systems may tick every 4 ms.
        std::fs::remove_file(folder.join(name)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let other = make();
        assert_eq!(mark(&other), MarkerCheck::Copied);
        // A stale marker is replaced; a foreign file is not.
        set(&other).unwrap();
        assert_eq!(mark(&other), MarkerCheck::Own);
        std::fs::write(folder.join("target.nandscope-made"), "a note of mine").unwrap();
        assert!(set(&other).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
