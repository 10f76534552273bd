//! How a file that nandscope made is known again: by an extended attribute of the file, which
//! cannot be parted from it. On file systems without those (FAT, exFAT) by a file beside it, with
//! the time of birth of the marked one, so that another file of the same name does not inherit it.

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, XattrFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// The attribute.
const ATTRIBUTE: &str = "user.nandscope.made";
/// Its value, and the first line of the file beside.
const VALUE: &str = "nandscope made this file to measure on it";
/// Added to the name for the file beside.
const BESIDE: &str = ".nandscope-made";
/// Longer ones are none.
const MOST_BYTES: u64 = 4096;

/// Marks a file. `folder` and `name` are where it is.
pub(super) fn set(file: &File, folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match rustix::fs::fsetxattr(file, ATTRIBUTE, VALUE.as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::PERM | Errno::NOSYS) => set_beside(file, folder, name),
        Err(e) => Err(e.into()),
    }
}

/// Whether a file is marked.
pub(super) fn is_set(file: &File, folder: BorrowedFd<'_>, name: &OsStr) -> bool {
    let mut value = [0; 128];
    match rustix::fs::fgetxattr(file, ATTRIBUTE, &mut value[..]) {
        Ok(length) => value.get(..length) == Some(VALUE.as_bytes()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => is_set_beside(file, folder, name),
        Err(_) => false,
    }
}

fn set_beside(file: &File, folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let Some(birth) = birth(file) else {
        return Err(io::Error::other(
            "the file system has neither extended attributes nor times of birth",
        ));
    };
    let beside = beside(name);
    // What is left of an earlier file may be replaced; anything else of that name may not.
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fresh = rustix::fs::openat(folder, &beside, create | OFlags::EXCL, Mode::from(0o600));
    let mut marker = match fresh {
        Ok(marker) => File::from(marker),
        Err(Errno::EXIST) if read_beside(folder, name).is_some() => {
            let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            File::from(rustix::fs::openat(folder, &beside, flags, Mode::empty())?)
        }
        Err(e) => return Err(e.into()),
    };
    writeln!(marker, "{VALUE}\n{birth}")?;
    marker.sync_all()
}

fn is_set_beside(file: &File, folder: BorrowedFd<'_>, name: &OsStr) -> bool {
    let marked = read_beside(folder, name);
    marked.is_some() && marked == birth(file)
}

/// The time of birth that a marker beside a file of this name holds.
fn read_beside(folder: BorrowedFd<'_>, name: &OsStr) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let marker = rustix::fs::openat(folder, beside(name), flags, Mode::empty()).ok()?;
    let mut text = String::new();
    let reader = File::from(marker);
    reader.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    (lines.next() == Some(VALUE)).then(|| lines.next().unwrap_or_default().to_string())
}

fn beside(name: &OsStr) -> OsString {
    let mut beside = name.to_os_string();
    beside.push(BESIDE);
    beside
}

/// When a file came into being, where the file system keeps that.
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
        let file = make();
        if birth(&file).is_none() {
            eprintln!("SKIPPED: {} keeps no times of birth", folder.display());
            return std::fs::remove_dir_all(&folder).unwrap();
        }
        assert!(!is_set_beside(&file, at.as_fd(), name));
        set_beside(&file, at.as_fd(), name).unwrap();
        assert!(is_set_beside(&file, at.as_fd(), name));
        // Another file of the same name; the clock of file systems may tick every 4 ms.
        std::fs::remove_file(folder.join(name)).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let other = make();
        assert!(!is_set_beside(&other, at.as_fd(), name));
        // What was left behind is replaced; what is not ours is not.
        set_beside(&other, at.as_fd(), name).unwrap();
        assert!(is_set_beside(&other, at.as_fd(), name));
        std::fs::write(folder.join("target.nandscope-made"), "a note of mine").unwrap();
        assert!(set_beside(&other, at.as_fd(), name).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
