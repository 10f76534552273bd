//! Folders of runs: private, locked while their owner lives, and removed by it. What an owner leaves that
//! was killed, the next one removes: its lock is free.

use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The file in each folder that its owner holds locked. The system lets go of it when the owner ends,
/// however that is; a number of a process could belong to another one by then.
const LOCK: &str = "lock";

/// A folder that goes when its owner does.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Held for the lock on it.
    _lock: File,
}

impl Scratch {
    /// Creates a private folder `PREFIX-PROCESS-NUMBER` in `base`. Removes stale folders of the same
    /// prefix and user.
    ///
    /// # Errors
    /// `io::Error` if the folder cannot be created or locked.
    pub fn new(base: &Path, prefix: &str) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        remove_stale(base, prefix);
        for _ in 0..1000 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{prefix}-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            match lock(&path) {
                Ok(Some(lock)) => return Ok(Scratch { path, _lock: lock }),
                // Somebody took it for one without an owner, in between.
                Ok(None) => {}
                Err(error) => {
                    let _ = std::fs::remove_dir_all(&path);
                    return Err(error);
                }
            }
        }
        Err(io::Error::other("no free name for a folder"))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Creates and takes the lock of a new folder; `None` if another process removed the folder.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    let file = match options.open(folder.join(LOCK)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    flock(&file, FlockOperation::LockExclusive)?;
    Ok((file.metadata()?.nlink() > 0).then_some(file))
}

/// Removes folders of this prefix and user whose owner is gone.
fn remove_stale(base: &Path, prefix: &str) {
    let Ok(entries) = std::fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let rest = name.strip_prefix(prefix).and_then(|r| r.strip_prefix('-'));
        let ours = rest.is_some_and(|r| r.chars().all(|c| c.is_ascii_digit() || c == '-'));
        if ours {
            remove_if_stale(&entry.path());
        }
    }
}

fn remove_if_stale(folder: &Path) {
    // Folders of other users are not touched, and links not followed.
    let me = rustix::process::geteuid().as_raw();
    let mine = std::fs::symlink_metadata(folder).is_ok_and(|m| m.is_dir() && m.uid() == me);
    if !mine {
        return;
    }
    let mut options = File::options();
    options.write(true);
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    match options.open(folder.join(LOCK)) {
        Ok(file) => {
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                let _ = std::fs::remove_dir_all(folder);
            }
        }
        // Its owner ended between making the folder and the lock, or has yet to make it and tries again.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let _ = std::fs::remove_dir(folder);
        }
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder for folders.
    fn base(name: &str) -> Scratch {
        Scratch::new(&std::env::temp_dir(), &format!("nandscope-scratch-{name}")).unwrap()
    }

    fn names(base: &Scratch) -> Vec<String> {
        let entries = std::fs::read_dir(base.path()).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|n| n != LOCK).collect()
    }

    #[test]
    fn a_folder_is_private_and_goes_with_its_owner() {
        let base = base("owner");
        let one = Scratch::new(base.path(), "run").unwrap();
        let mode = std::fs::metadata(one.path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::create_dir(one.path().join("inner")).unwrap();
        let other = Scratch::new(base.path(), "run").unwrap();
        assert_ne!(one.path(), other.path());
        assert!(one.path().is_dir(), "a folder in use was removed");
        drop((one, other));
        assert_eq!(names(&base), [""; 0]);
    }

    #[test]
    fn what_a_killed_owner_left_is_removed_by_the_next() {
        let base = base("killed");
        let at = |name: &str| base.path().join(name);
        for name in ["run-1-0", "run-1-1", "run-1-2", "run-logs-1-0", "other-1-0"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        for name in ["run-1-0", "other-1-0"] {
            std::fs::write(at(name).join(LOCK), "").unwrap();
            std::fs::write(at(name).join("console.log"), "x").unwrap();
        }
        // Folders without a lock are kept unless they are empty.
        std::fs::write(at("run-1-1").join("data"), "x").unwrap();
        std::os::unix::fs::symlink(at("other-1-0"), at("run-1-3")).unwrap();
        drop(Scratch::new(base.path(), "run").unwrap());
        let mut left = names(&base);
        left.sort();
        assert_eq!(left, ["other-1-0", "run-1-1", "run-1-3", "run-logs-1-0"]);
        assert!(at("other-1-0").join("console.log").exists());
    }

    #[test]
    fn many_at_once_do_not_remove_each_other() {
        let base = base("many");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let mine = Scratch::new(base.path(), "run").unwrap();
                        std::fs::write(mine.path().join("file"), "x").unwrap();
                        assert!(mine.path().join(LOCK).exists());
                    }
                });
            }
        });
        assert_eq!(names(&base), [""; 0]);
    }
}
